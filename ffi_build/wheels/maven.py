# SPDX-License-Identifier: Apache-2.0
"""
CPython for Windows and macOS, from Maven: headers, and libraries for linking and for checks.

Maven has no CPython for Windows on arm64. The files for x86_64 are used instead, because the headers and the exported
names are the same.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ffi_build.wheels.interpreters import Interpreter
from ffi_build.wheels.sources import Source, provide, run
from ffi_build.wheels.targets import Target

SYSTEMS = {
    "windows": (
        Target("windows", "x86_64", "x86_64-windows-gnu", ("win_amd64",)),
        Target("windows", "arm64", "aarch64-windows-gnu", ("win_arm64",)),
    ),
    "macos": (
        Target("macos", "x86_64", "x86_64-macos.11.0", ("macosx_11_0_x86_64",)),
        Target("macos", "arm64", "aarch64-macos.11.0", ("macosx_11_0_arm64",)),
    ),
}
_PACKAGES = {"3.11": "3.11.3-1.5.9", "3.12": "3.12.1-1.5.10", "3.13": "3.13.5-1.5.12", "3.14": "3.14.3-1.5.13"}
_SHA256 = {
    "windows-x86_64": {
        "3.11": "3263a50b256447bb7b9e604d6587627e419891370fc33b94469e6a06ff4de834",
        "3.12": "e69bc4491c311e19ea7169bafc5efbbe03b980d69c6962b049daf1fcb4913391",
        "3.13": "cfe5502ffa7ea369be707b6d88bf68344732a7800450665080fb4267c01bfeae",
        "3.14": "3291bf3d8f405335ac21dbe55780521fdfd295b0f9f43f7e6e8c55bedd709cb3",
    },
    "macosx-x86_64": {
        "3.11": "223aed1538351b9df68781f60afa865c5ca6cc640353cb5d46b4706049cec5e4",
        "3.12": "536045fa9d1b892b5ec2453d3d785eb44daa58ffa246fb04c0e28590283cf0e4",
        "3.13": "0c79e881075b8d7752be384a429a8b53d14ba00d939a7d04074deb1b1d3db19c",
        "3.14": "16f6d92143248378b57cee445924b2c3388020abfc8982ffb6a6ba64d6d7bb23",
    },
    "macosx-arm64": {
        "3.13": "b9ccb29cafe9c0f9bf341fa1573ac0f112d3557c13c398115ab91926091fdc0a",
        "3.14": "49a3055dc8f182744736f0c832f7637f0d515da7830b2049fa7da9f86220dbb1",
    },
}


def _classifier(target: Target) -> str:
    return f"macosx-{target.architecture}" if target.libc == "macos" else "windows-x86_64"


def python(name: str, target: Target, parts: Sequence[tuple[str, str]] = (), alias: str = "") -> Source:
    """
    Return the package of a CPython version for a system, to be fetched with `provide`.

    `parts` are pairs of a file to unpack and its destination; by default, the files for building modules are unpacked.
    `alias` replaces the name of the package.
    """
    classifier = _classifier(target)
    package = _PACKAGES[name]
    root = f"org/bytedeco/cpython/{classifier}"
    built_with: tuple[str, ...] = (f"libpython{name}.dylib", f"include/python{name}")
    if target.libc == "windows":
        built_with = (f"python{name.replace('.', '')}.dll", "libs", "include")
    return Source(
        name=alias or f"cpython-{classifier}",
        version=package.partition("-")[0],
        licence="PSF-2.0",
        purl=f"pkg:maven/org.bytedeco/cpython@{package}",
        archive=f"cpython-{package}-{classifier}.jar",
        sha256=_SHA256[classifier][name],
        package=f"org.bytedeco:cpython:{package}:jar:{classifier}",
        parts=tuple((f"{root}/{each}", put) for each, put in parts or ((part, part) for part in built_with)),
        licence_file="",
    )


def interpreters(system: str, names: Sequence[str], downloads: Path, folder: Path) -> list[tuple[Interpreter, Target]]:
    """
    Fetch the interpreters of a system for building modules; return each of them with its target.

    `names` are versions. Without names, all versions that are known for a target are fetched. Raises SystemExit if a
    version is not known for every target of the system.
    """
    pairs = []
    for target in SYSTEMS[system]:
        known = _SHA256[_classifier(target)]
        unknown = [name for name in names if name not in known]
        if unknown:
            raise SystemExit(f"no CPython {', '.join(unknown)} for {system}: expected any of {', '.join(known)}")
        for name in names or known:
            root = provide(python(name, target), downloads, folder)
            number = name.replace(".", "")
            if system == "windows":
                library, headers, suffix = f"python{number}.dll", "include", f".cp{number}-{target.platforms[0]}.pyd"
            else:
                library, headers, suffix = (
                    f"libpython{name}.dylib",
                    f"include/python{name}",
                    f".cpython-{number}-darwin.so",
                )
            pairs.append((Interpreter(name, root / library, root / headers, suffix, root), target))
    return pairs


def import_libraries(interpreter: Interpreter, target: Target, folder: Path) -> list[Path]:
    """
    Return the import libraries to link modules with; an empty list for systems other than Windows.

    For arm64, which Maven lacks, the library is generated in `folder`.
    """
    if target.libc != "windows":
        return []
    library = interpreter.program.with_suffix(".lib").name
    if target.architecture == "x86_64":
        return [interpreter.root / "libs" / library]
    # imported here because an environment that only fetches Maven's packages lacks lief
    from ffi_build.wheels.checks import exported_names

    definitions = folder / "exports.def"
    names = "".join(f"  {name}\n" for name in sorted(exported_names(interpreter)))
    definitions.write_text(f"LIBRARY {interpreter.program.name}\nEXPORTS\n{names}", encoding="utf-8")
    generate = ["dlltool", "-m", "arm64", "-d", str(definitions), "-l", str(folder / library)]
    run([sys.executable, "-m", "ziglang", *generate], folder)
    return [folder / library]
