# SPDX-License-Identifier: Apache-2.0
"""
Wheels for Windows, built on Linux: zig compiles and links, with CPython's headers and import library from Maven.

A check reads what a module needs and shows (PE's tables of imports and exports): Python's functions among those that
its DLL has, Windows' own libraries besides, and nothing to be seen but the function that the interpreter calls.
"""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path

from ffi_build.wheels.interpreters import Interpreter
from ffi_build.wheels.sources import Source, provide
from ffi_build.wheels.targets import Target

WINDOWS = Target("windows", "x86_64", "x86_64-windows-gnu", ("win_amd64",))
_ROOT = "org/bytedeco/cpython/windows-x86_64"
_SYSTEM = re.compile(r"(?i)(kernel32|advapi32|ntdll|ucrtbase|msvcrt|vcruntime\d+|api-ms-win-[\w-]+)\.dll")


def _python(version: str, package: str, sha256: str) -> Source:
    number = "".join(version.split(".")[:2])
    return Source(
        name="cpython-windows",
        version=version,
        licence="PSF-2.0",
        purl=f"pkg:maven/org.bytedeco/cpython@{package}",
        archive=f"cpython-{package}-windows-x86_64.jar",
        sha256=sha256,
        package=f"org.bytedeco:cpython:{package}:jar:windows-x86_64",
        parts=tuple((f"{_ROOT}/{name}", name) for name in ("include", "libs", f"python{number}.dll")),
        licence_file="",
    )


PYTHONS = (
    _python("3.11.3", "3.11.3-1.5.9", "3263a50b256447bb7b9e604d6587627e419891370fc33b94469e6a06ff4de834"),
    _python("3.12.1", "3.12.1-1.5.10", "e69bc4491c311e19ea7169bafc5efbbe03b980d69c6962b049daf1fcb4913391"),
    _python("3.13.5", "3.13.5-1.5.12", "cfe5502ffa7ea369be707b6d88bf68344732a7800450665080fb4267c01bfeae"),
    _python("3.14.3", "3.14.3-1.5.13", "3291bf3d8f405335ac21dbe55780521fdfd295b0f9f43f7e6e8c55bedd709cb3"),
)


def interpreters(names: Sequence[str], downloads: Path, folder: Path) -> list[Interpreter]:
    """Fetch what modules for Windows are built with, for the versions `names`, or for all if there are none."""
    known = {".".join(source.version.split(".")[:2]): source for source in PYTHONS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"no CPython {', '.join(unknown)} for Windows: expected any of {', '.join(known)}")
    found = []
    for name in names or known:
        root = provide(known[name], downloads, folder)
        number = name.replace(".", "")
        found.append(
            Interpreter(name, root / f"python{number}.dll", root / "include", f".cp{number}-win_amd64.pyd", root)
        )
    return found


def import_library(interpreter: Interpreter) -> Path:
    """Return the file that modules are linked with."""
    return interpreter.root / "libs" / interpreter.program.with_suffix(".lib").name


class Image:
    """The tables of a DLL: whom it needs for what, and what it shows."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        (pe,) = struct.unpack_from("<I", data, 0x3C)
        if data[pe : pe + 4] != b"PE\0\0":
            raise SystemExit("no PE file")
        self.machine, sections, optional = struct.unpack_from("<HH12xH", data, pe + 4)
        begin = pe + 24 + optional
        self._sections = [struct.unpack_from("<8x4I", data, begin + 40 * index) for index in range(sections)]
        tables = struct.unpack_from("<4I", data, pe + 24 + 112)  # of exports and imports, each with its size
        self.shows = self._exports(tables[0]) if tables[0] else []
        self.needs = self._imports(tables[2]) if tables[2] else {}

    def _at(self, address: int) -> int:
        for size, start, stored, offset in self._sections:
            if start <= address < start + max(size, stored):
                return address - start + offset
        raise SystemExit(f"no section holds the address {address:#x}")

    def _name(self, address: int) -> str:
        at = self._at(address)
        return self._data[at : self._data.index(b"\0", at)].decode("ascii")

    def _exports(self, table: int) -> list[str]:
        count, _, names = struct.unpack_from("<3I", self._data, self._at(table) + 24)
        return [self._name(address) for address in struct.unpack_from(f"<{count}I", self._data, self._at(names))]

    def _imports(self, table: int) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for entry in struct.iter_unpack("<5I", self._data[self._at(table) :][: 20 * 200]):
            if not any(entry):
                break
            begin = self._at(entry[0] or entry[4])
            names = found.setdefault(self._name(entry[3]), [])
            for (address,) in struct.iter_unpack("<Q", self._data[begin : begin + 8 * 4000]):
                if not address:
                    break
                names.append("" if address >> 63 else self._name((address & 0x7FFFFFFF) + 2))
        return found


def check(wheel: Path, interpreter: Interpreter) -> None:
    """Check the modules of a wheel for Windows; raises SystemExit with all that is wrong."""
    python = interpreter.program.name
    exported = set(Image(interpreter.program.read_bytes()).shows)
    faults = []
    with zipfile.ZipFile(wheel) as archive:
        modules = [name for name in archive.namelist() if name.endswith(interpreter.suffix)]
        if len(modules) != 2:
            faults.append(f"expected two native modules, found {modules}")
        for name in modules:
            image = Image(archive.read(name))
            if image.machine != 0x8664:
                faults.append(f"{name}: expected machine code of x86_64, found {image.machine:#x}")
            faults += [f"{name} shows {each}" for each in image.shows if not each.startswith("PyInit_")]
            for library, names in image.needs.items():
                if library.lower() == python:
                    faults += [f"{name} calls {each}, which is not there" for each in names if each not in exported]
                elif not _SYSTEM.fullmatch(library):
                    faults.append(f"{name} needs {library}")
    if faults:
        raise SystemExit("\n".join(f"{wheel.name}: {fault}" for fault in faults))
