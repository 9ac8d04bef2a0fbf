# SPDX-License-Identifier: Apache-2.0
"""
Check wheels with common tools and with the rules of this project.

The interpreter must export each Python function that a module calls. (abi3audit checks the same for the stable ABI.) A
module may export only the functions that an interpreter calls to import it. It may need only libraries of the system,
in versions that the wheel's tag allows. LIEF reads the tables of ELF, Mach-O and PE files.
"""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import lief

from ffi_build.wheels.interpreters import Interpreter
from ffi_build.wheels.targets import Target

lief.disable_leak_warning()  # at exit, modules still hold types of lief
lief.logging.disable()

_SYSTEM = {
    "glibc": r"(libc\.so\.6|libpthread\.so\.0|libdl\.so\.2|libm\.so\.6|librt\.so\.1|ld(-linux-[\w-]+|64)\.so\.\d)",
    "musl": r"libc\.musl-\w+\.so\.1",
    "macos": r"/usr/lib/libSystem\.B\.dylib",
    "windows": r"(?i)(kernel32|advapi32|ntdll|ucrtbase|msvcrt|vcruntime\d+|api-ms-win-[\w-]+)\.dll",
}
_ARCHITECTURES = {
    "x86_64": "X86_64",
    "aarch64": "AARCH64",
    "arm64": "ARM64",
    "ppc64le": "PPC64",
    "riscv64": "RISCV",
    "s390x": "S390",
}
# the functions for the interpreter, and the names that every dynamic library for macOS exports
_SHOWN = r"PyInit_|_cffi_pypyinit_|(_mh_dylib_header|__dso_handle)$"
# functions that gcc may call for atomic operations, CPU detection and arithmetic
_RUNTIME = r"__(aarch64_|atomic_|cpu_|gcov_|asan_|tsan_|(u?div|u?mod|mul|popcount|clz|ctz|ffs|parity|bswap)[sdtc]i\d?$)"


def check(paths: Sequence[Path], built: Iterable[tuple[Path, Interpreter, Target]]) -> None:
    """
    Check the files of a release; raises SystemExit if one has a fault.

    The text of the error is the output of the first tool that fails, or else all faults of the native modules. `built`
    has the wheels with native modules, each with its interpreter and system.
    """
    wheels = [path for path in paths if path.suffix == ".whl"]
    _run("twine", "check", "--strict", *paths)
    if wheels:
        # W002 refuses files with equal content, such as the stubs of the two native modules
        _run("check_wheel_contents", "--toplevel", "cpkg,purepy", "--ignore", "W002", "--no-config", *wheels)
    faults = []
    for path, interpreter, target in built:
        faults += [f"{path.name}: {fault}" for fault in wheel_faults(path, interpreter, target)]
        if target.is_linux and platform_by_auditwheel(path) not in target.platforms:
            faults.append(f"{path.name}: auditwheel reports {platform_by_auditwheel(path)}")
    if faults:
        raise SystemExit("\n".join(faults))


def _run(module: str, *arguments: object) -> str:
    result = subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        raise SystemExit(f"{module}:\n{result.stdout}{result.stderr}")
    return result.stdout


def platform_by_auditwheel(wheel: Path) -> str:
    """Return the best platform tag that auditwheel finds for a wheel; "none" if it prints none."""
    found = re.search(r'platform\s+tag:\s+"([^"]+)"', _run("auditwheel", "show", wheel))
    return found.group(1) if found else "none"


class _Image:
    """The tables of a program or library: the names it exports (`shows`) and calls, and the libraries it needs."""

    def __init__(self, data: bytes) -> None:
        binary: Any = lief.parse(data)
        if binary is None:
            raise SystemExit("expected an ELF, Mach-O or PE file")
        self.binary = binary
        self.architecture = binary.abstract.header.architecture.name
        self.shows: set[str]
        if binary.format == lief.Binary.FORMATS.PE:
            export = binary.get_export()
            self.shows = {entry.name for entry in export.entries} if export else set()
            self.calls = {entry.name for library in binary.imports for entry in library.entries}
            self.needs = [library.name for library in binary.imports]
        elif binary.format == lief.Binary.FORMATS.MACHO:
            symbols = [symbol for symbol in binary.symbols if symbol.raw_type & 0x01]  # N_EXT
            self.shows = {symbol.name[1:] for symbol in symbols if symbol.raw_type & 0x0E}  # N_TYPE
            self.calls = {symbol.name[1:] for symbol in symbols if not symbol.raw_type & 0x0E}
            own = lief.MachO.LoadCommand.TYPE.ID_DYLIB
            self.needs = [library.name for library in binary.libraries if library.command != own]
        else:
            self.architecture = binary.header.machine_type.name  # the abstract header does not know s390x
            symbols = [symbol for symbol in binary.dynamic_symbols if symbol.name]
            self.shows = {symbol.name for symbol in symbols if symbol.shndx}
            self.calls = {symbol.name for symbol in symbols if not symbol.shndx}
            self.needs = list(binary.libraries)


@cache
def exported_names(interpreter: Interpreter) -> frozenset[str]:
    """Return the names that an interpreter and its shared library, if any, export to extension modules."""
    program = interpreter.program.resolve()
    image = _Image(program.read_bytes())
    names = set(image.shows)
    libraries = (interpreter.root / "usr" / "lib").glob("*-linux-gnu")
    folders = [program.parent, program.parent.parent / "lib", *libraries]
    for path in (folder / name for name in image.needs if re.match(r"lib(python|pypy)", name) for folder in folders):
        if path.exists():
            names |= _Image(path.read_bytes()).shows
    return frozenset(names)


def wheel_faults(wheel: Path, interpreter: Interpreter, target: Target) -> Iterator[str]:
    """Yield the faults of the native modules in a wheel."""
    suffix = interpreter.suffix_for(target)
    with zipfile.ZipFile(wheel) as archive:
        modules = [name for name in archive.namelist() if name.endswith(suffix)]
        if len(modules) != 2:
            yield f"expected two native modules that end in {suffix}, found {modules}"
        for name in modules:
            for fault in _module_faults(_Image(archive.read(name)), interpreter, target):
                yield f"{name} {fault}"


def _module_faults(image: _Image, interpreter: Interpreter, target: Target) -> Iterator[str]:
    binary = image.binary
    if image.architecture != _ARCHITECTURES[target.architecture]:
        yield f"is for {image.architecture}, expected {target.architecture}"
    for name in image.needs:
        if name.lower() != interpreter.program.name and not re.fullmatch(_SYSTEM[target.libc], name):
            yield f"needs {name}"
    yield from (f"shows {name}" for name in sorted(image.shows) if not re.match(_SHOWN, name))
    exported = exported_names(interpreter)
    for name in sorted(image.calls):
        if re.match("_?Py", name) and name not in exported:
            yield f"calls {name}, which the target does not have"
        elif target.is_linux and re.match(_RUNTIME, name):
            yield f"calls {name} of gcc's own library, which is not linked in"
    if (target.libc, target.architecture) == ("windows", "x86_64") and _calls_of_nothing(binary):
        yield "calls a function that the linker did not find"
    elif target.libc == "macos":
        yield from _macos_faults(binary, target)
    elif target.libc == "glibc":
        for requirement in binary.symbols_version_requirement:
            for version in requirement.get_auxiliary_symbols():
                found = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version.name)
                if found and (int(found.group(1)), int(found.group(2))) > target.oldest_glibc:
                    yield f"needs {version.name}"


def _calls_of_nothing(binary: Any) -> bool:
    """Return whether x86_64 code calls address 0, the address of weak names that the linker has not found."""
    nowhere = -binary.imagebase % 2**32
    for section in binary.sections:
        for call in re.finditer(rb"\xe8(?=(.{4}))", bytes(section.content), re.DOTALL):
            if (section.virtual_address + call.end() + 4 + struct.unpack("<I", call[1])[0]) % 2**32 == nowhere:
                return True
    return False


def _macos_faults(binary: Any, target: Target) -> Iterator[str]:
    promised = [int(part) for part in target.platforms[0].split("_")[1:3]]
    built_for = binary.build_version
    if built_for is None or built_for.platform != lief.MachO.BuildVersion.PLATFORMS.MACOS:
        yield "does not state the macOS version it was built for"
    elif built_for.minos[:2] > promised:
        yield f"runs on macOS {built_for.minos[:2]} or newer, its name promises {promised}"
    if target.architecture == "arm64" and not binary.has_code_signature:
        yield "is not signed, which arm64 requires"
    own = [library.name for library in binary.libraries if library.command == lief.MachO.LoadCommand.TYPE.ID_DYLIB]
    yield from (f"contains the path {path}" for path in [*(each.path for each in binary.rpaths), *own] if "/" in path)
