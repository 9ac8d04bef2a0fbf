# SPDX-License-Identifier: Apache-2.0
"""
Check modules for Windows, which nothing else on Linux can check.

PE's tables of imports and exports say what a module needs and shows: Python's functions among those that its DLL has,
Windows' own libraries besides, and nothing to be seen but the function that the interpreter calls. Its code says
whether what it calls was linked.
"""

from __future__ import annotations

import re
import struct
import zipfile
from pathlib import Path

from ffi_build.wheels.interpreters import Interpreter

_SYSTEM = re.compile(r"(?i)(kernel32|advapi32|ntdll|ucrtbase|msvcrt|vcruntime\d+|api-ms-win-[\w-]+)\.dll")


class Image:
    """The tables of a DLL: the functions that it imports, by DLL, and those that it exports."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        (pe,) = struct.unpack_from("<I", data, 0x3C)
        if data[pe : pe + 4] != b"PE\0\0":
            raise SystemExit("no PE file")
        self.machine, sections, optional = struct.unpack_from("<HH12xH", data, pe + 4)
        (self._base,) = struct.unpack_from("<Q", data, pe + 24 + 24)
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

    def calls_of_nothing(self) -> int:
        """Return how many calls are of address 0, where a linker leaves weak names that it has not looked for."""
        nowhere, calls = -self._base % 2**32, 0
        for _, start, stored, offset in self._sections:
            for call in re.finditer(rb"\xe8(?=(.{4}))", self._data[offset : offset + stored], re.DOTALL):
                (distance,) = struct.unpack("<I", call[1])
                calls += (start + call.end() + 4 + distance) % 2**32 == nowhere
        return calls

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
            if image.calls_of_nothing():
                faults.append(f"{name} calls a function that the linker did not find")
            for library, names in image.needs.items():
                if library.lower() == python:
                    faults += [f"{name} calls {each}, which is not there" for each in names if each not in exported]
                elif not _SYSTEM.fullmatch(library):
                    faults.append(f"{name} needs {library}")
    if faults:
        raise SystemExit("\n".join(f"{wheel.name}: {fault}" for fault in faults))
