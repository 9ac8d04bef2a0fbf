# SPDX-License-Identifier: Apache-2.0
"""
Check modules for macOS, which cannot be run on Linux.

A Mach-O file's load commands say which system it is for, from which version on, which libraries it needs and by which
paths; its symbols say what it shows, and which of Python's functions it calls.
"""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

from ffi_build.wheels.interpreters import Interpreter
from ffi_build.wheels.targets import Target

_MAGIC, _HEADER_SIZE = 0xFEEDFACF, 32
_MACHINES = {"x86_64": 0x01000007, "arm64": 0x0100000C}
_SYMBOLS, _LIBRARY, _OWN_NAME, _SIGNATURE, _BUILT_FOR, _SEARCHED = 0x2, 0xC, 0xD, 0x1D, 0x32, 0x8000001C
_MACOS = 1
_EXTERNAL, _TYPE = 0x01, 0x0E
_SYSTEM = ("/usr/lib/libSystem.B.dylib",)
_LINKERS = ("_mh_dylib_header", "__dso_handle")  # of every library


class Image:
    """The load commands and symbols of a dynamic library for a 64-bit machine."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        magic, self.machine, _, _, self._commands = struct.unpack_from("<5I", data)
        if magic != _MAGIC:
            raise SystemExit("no Mach-O file of 64 bits")
        self.needs: list[str] = []
        self.searches: list[str] = []
        self.name = ""
        self.oldest = (0, 0)
        self.is_signed = False
        self.shows: set[str] = set()
        self.calls: set[str] = set()
        for kind, at in self._load_commands():
            if kind == _LIBRARY:
                self.needs.append(self._text(at))
            elif kind == _SEARCHED:
                self.searches.append(self._text(at))
            elif kind == _OWN_NAME:
                self.name = self._text(at)
            elif kind == _BUILT_FOR:
                platform, oldest = struct.unpack_from("<2I", data, at + 8)
                self.oldest = (oldest >> 16, oldest >> 8 & 0xFF) if platform == _MACOS else (0, 0)
            elif kind == _SYMBOLS:
                self._read_symbols(*struct.unpack_from("<4I", data, at + 8))
            self.is_signed |= kind == _SIGNATURE

    def _load_commands(self) -> Iterator[tuple[int, int]]:
        at = _HEADER_SIZE
        for _ in range(self._commands):
            kind, size = struct.unpack_from("<2I", self._data, at)
            yield kind, at
            at += size

    def _text(self, at: int) -> str:
        """Return the text of a load command; its offset follows the command's kind and size."""
        (offset,) = struct.unpack_from("<I", self._data, at + 8)
        return self._string(at + offset)

    def _string(self, at: int) -> str:
        return self._data[at : self._data.index(b"\0", at)].decode()

    def _read_symbols(self, table: int, count: int, strings: int, _: int) -> None:
        for name, kind in struct.iter_unpack("<IB11x", self._data[table : table + 16 * count]):
            if kind & _EXTERNAL:
                (self.shows if kind & _TYPE else self.calls).add(self._string(strings + name).removeprefix("_"))


def check(wheel: Path, interpreter: Interpreter, target: Target) -> None:
    """Check the modules of a wheel for macOS; raises SystemExit with all that is wrong."""
    exported = Image(interpreter.program.read_bytes()).shows
    version = re.match(r"macosx_(\d+)_(\d+)_", target.platforms[0])
    assert version is not None
    promised = tuple(map(int, version.groups()))
    faults = []
    with zipfile.ZipFile(wheel) as archive:
        modules = [name for name in archive.namelist() if name.endswith(interpreter.suffix)]
        if len(modules) != 2:
            faults.append(f"expected two native modules, found {modules}")
        for path in modules:
            image = Image(archive.read(path))
            if image.machine != _MACHINES[target.architecture]:
                faults.append(f"{path}: expected machine code of {target.architecture}, found {image.machine:#x}")
            if not (0, 0) < image.oldest <= promised:
                faults.append(f"{path} runs on macOS {image.oldest} or newer, its name says {promised}")
            if target.architecture == "arm64" and not image.is_signed:
                faults.append(f"{path} is not signed, which arm64 requires")
            faults += [f"{path} needs {each}" for each in image.needs if each not in _SYSTEM]
            faults += [f"{path} has the path {each}" for each in [*image.searches, image.name] if "/" in each]
            faults += [
                f"{path} shows {each}" for each in sorted(image.shows) if not each.startswith(("PyInit_", *_LINKERS))
            ]
            asked = sorted(name for name in image.calls if re.match("_?Py", name))
            faults += [f"{path} calls {each}, which is not there" for each in asked if each not in exported]
    if faults:
        raise SystemExit("\n".join(f"{wheel.name}: {fault}" for fault in faults))
