# SPDX-License-Identifier: Apache-2.0
"""
Check wheels: with common tools, and by rules of this package.

Ours is what abi3audit does for one stable ABI, for each interpreter: the functions of Python that a module calls are
looked up among those that this interpreter exports. Besides, a module shows nothing but the function that the
interpreter calls, and needs no library but the C library's own, in no newer version than the tag says.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from elftools.elf.sections import SymbolTableSection

from ffi_build.wheels.interpreters import Interpreter
from ffi_build.wheels.targets import TARGETS, Target

_SYSTEM = {
    "glibc": r"(libc\.so\.6|libpthread\.so\.0|libdl\.so\.2|libm\.so\.6|librt\.so\.1|ld-linux-[\w-]+\.so\.\d)",
    "musl": r"libc\.musl-\w+\.so\.1",
}
_GLIBC = (2, 17)
# what gcc may call for atomic operations, for asking the processor, and for arithmetic
_RUNTIME = r"__(aarch64_|cpu_|gcov_|asan_|tsan_|(u?div|u?mod|mul|popcount|clz|ctz|ffs|parity|bswap)[sdtc]i\d?$)"


def check(paths: Sequence[Path], interpreters: Mapping[str, Interpreter]) -> None:
    """Check files of a release; raises SystemExit with all that is wrong."""
    wheels = [path for path in paths if path.suffix == ".whl"]
    _run("twine", "check", "--strict", *paths)
    if wheels:
        # W002: two native modules have the same stub
        _run("check_wheel_contents", "--toplevel", "cpkg,purepy", "--ignore", "W002", "--no-config", *wheels)
    exported = {one.tags: exported_names(one) for one in interpreters.values()}
    faults = []
    for path in wheels:
        _, python, abi, platform = path.stem.rsplit("-", 3)
        target = next((target for target in TARGETS if target.platforms[0] in platform.split(".")), None)
        if target is not None:
            faults += [f"{path.name}: {fault}" for fault in _faults(path, target, exported[python, abi])]
            if platform_by_auditwheel(path) not in target.platforms:
                faults.append(f"{path.name}: auditwheel gives it {platform_by_auditwheel(path)}")
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
    """Return the best platform tag that auditwheel finds a wheel to keep."""
    found = re.search(r'platform\s+tag:\s+"([^"]+)"', _run("auditwheel", "show", wheel))
    return found.group(1) if found else "none"


def exported_names(interpreter: Interpreter) -> set[str]:
    """
    Return the names that an interpreter gives to extension modules: its own, or those of its shared library.

    Of one that is not here these are all the names in its headers, since another one lends them.
    """
    if interpreter.is_lent:
        texts = (path.read_text(encoding="utf-8") for path in interpreter.headers.rglob("*.h"))
        return set(re.findall(r"\b_?Py\w+", " ".join(texts)))
    files = [interpreter.program.resolve()]
    with files[0].open("rb") as file:
        section = ELFFile(file).get_section_by_name(".dynamic")
        assert isinstance(section, DynamicSection)
        needed = [tag.needed for tag in section.iter_tags("DT_NEEDED")]
    for name in needed:
        if re.match(r"lib(python|pypy)", name):
            folders = [
                files[0].parent,
                files[0].parent.parent / "lib",
                *(interpreter.root / "usr" / "lib").glob("*-linux-gnu"),
            ]
            files += [path for folder in folders if (path := folder / name).exists()]
    names = set()
    for path in files:
        with path.open("rb") as file:
            table = ELFFile(file).get_section_by_name(".dynsym")
            assert isinstance(table, SymbolTableSection)
            names |= {symbol.name for symbol in table.iter_symbols() if symbol["st_shndx"] != "SHN_UNDEF"}
    return names


def _faults(wheel: Path, target: Target, exported: set[str]) -> list[str]:
    faults = []
    with zipfile.ZipFile(wheel) as archive:
        modules = [name for name in archive.namelist() if name.endswith(".so")]
        if len(modules) != 2:
            faults.append(f"expected two native modules, found {modules}")
        for name in modules:
            if target.triplet not in name:
                faults.append(f"{name} is not named for {target.triplet}")
            elf = ELFFile(io.BytesIO(archive.read(name)))
            faults += [f"{name}: {fault}" for fault in _module_faults(elf, target, exported)]
    return faults


def _module_faults(elf: ELFFile, target: Target, exported: set[str]) -> list[str]:
    faults = []
    machine = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}[target.architecture]
    if elf["e_machine"] != machine:
        faults.append(f"expected machine code of {machine}, found {elf['e_machine']}")
    dynamic, symbols = elf.get_section_by_name(".dynamic"), elf.get_section_by_name(".dynsym")
    assert isinstance(dynamic, DynamicSection)
    assert isinstance(symbols, SymbolTableSection)
    needed = [tag.needed for tag in dynamic.iter_tags("DT_NEEDED")]
    faults += [f"needs {name}" for name in needed if not re.fullmatch(_SYSTEM[target.libc], name)]
    own = [symbol.name for symbol in symbols.iter_symbols() if symbol.name and symbol["st_shndx"] != "SHN_UNDEF"]
    faults += [f"shows {name}" for name in own if not re.match(r"PyInit_|_cffi_pypyinit_", name)]
    asked = [symbol.name for symbol in symbols.iter_symbols() if symbol["st_shndx"] == "SHN_UNDEF"]
    for name in asked:
        if re.match("_?Py", name) and name not in exported:
            faults.append(f"calls {name}, which is not there")
        elif re.match(_RUNTIME, name):
            faults.append(f"calls {name} of gcc's own library, which is not inside")
    versions = elf.get_section_by_name(".gnu.version_r")
    if isinstance(versions, GNUVerNeedSection):
        for _, entries in versions.iter_versions():
            for entry in entries:
                found = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", entry.name)
                if found and (int(found.group(1)), int(found.group(2))) > _GLIBC:
                    faults.append(f"needs {entry.name}")
    return faults
