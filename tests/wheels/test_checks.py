# SPDX-License-Identifier: Apache-2.0
"""Checks of the modules in the wheels of a release, without compiling anything."""

from __future__ import annotations

import struct
import sys
import zipfile
from pathlib import Path

import pytest

# last, because the tests are for the installed package, and its source is also there
sys.path.append(str(Path(__file__).resolve().parents[2]))

from ffi_build.wheels import maven
from ffi_build.wheels.interpreters import Interpreter
from ffi_build.wheels.targets import Target

pytest.importorskip("lief", reason="it reads the tables of modules; in the group `wheels`, and on CPython in `tests`")
from ffi_build.wheels import checks


def faults(folder: Path, module: bytes, python: Interpreter, target: Target) -> list[str]:
    """Return the faults of a wheel with one module instead of two."""
    wheel = folder / "a.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"a{python.suffix}", module)
    return list(checks.wheel_faults(wheel, python, target))


def mach_o(oldest: tuple[int, int], library: str, name: str, shown: str, called: str) -> bytes:
    """Return a dynamic library for arm64 that consists of load commands and symbols."""

    def text(kind: int, value: str) -> bytes:
        stored = value.encode().ljust(len(value) // 8 * 8 + 8, b"\0")
        return struct.pack("<6I", kind, 24 + len(stored), 24, 0, 0, 0) + stored

    strings = b"\0_" + shown.encode() + b"\0_" + called.encode() + b"\0"
    symbols = struct.pack("<IBBHQ", 1, 0x0F, 1, 0, 0) + struct.pack("<IBBHQ", 3 + len(shown), 0x01, 0, 0, 0)
    fixed = (
        text(0xC, library) + text(0xD, name) + struct.pack("<6I", 0x32, 24, 1, oldest[0] << 16 | oldest[1] << 8, 0, 0)
    )
    end = 32 + len(fixed) + 24
    commands = fixed + struct.pack("<6I", 0x2, 24, end, 2, end + len(symbols), len(strings))
    header = struct.pack("<8I", 0xFEEDFACF, 0x0100000C, 0, 6, 4, len(commands), 0, 0)
    return header + commands + symbols + strings


def test_modules_for_macos(tmp_path: Path) -> None:
    (tmp_path / "libpython3.14.dylib").write_bytes(
        mach_o((11, 0), "/usr/lib/libSystem.B.dylib", "p", "PyLong_Type", "x")
    )
    python = Interpreter("3.14", tmp_path / "libpython3.14.dylib", tmp_path, ".cpython-314-darwin.so")
    bad = mach_o((12, 3), "/opt/lib/libzstd.dylib", "/home/me/a.so", "ZSTD_compress", "Py_None")
    module = "a.cpython-314-darwin.so"
    assert faults(tmp_path, bad, python, maven.SYSTEMS["macos"][1]) == [
        f"expected two native modules that end in .cpython-314-darwin.so, found ['{module}']",
        f"{module} needs /opt/lib/libzstd.dylib",
        f"{module} shows ZSTD_compress",
        f"{module} calls Py_None, which the target does not have",
        f"{module} runs on macOS [12, 3] or newer, its name promises [11, 0]",
        f"{module} is not signed, which arm64 requires",
        f"{module} contains the path /home/me/a.so",
    ]
    good = mach_o((11, 0), "/usr/lib/libSystem.B.dylib", "a.so", "PyInit_a", "PyLong_Type")
    assert faults(tmp_path, good, python, maven.SYSTEMS["macos"][1])[1:] == [
        f"{module} is not signed, which arm64 requires"
    ]
    assert f"{module} is for ARM64, expected x86_64" in faults(tmp_path, good, python, maven.SYSTEMS["macos"][0])


def pe(distance: int) -> bytes:
    """Return a DLL without imports and exports, with one five-byte call of the address at a distance."""
    headers = struct.pack("<2s58xI", b"MZ", 64) + struct.pack("<4sHH12xHH", b"PE", 0x8664, 1, 240, 0x2022)
    optional = struct.pack("<H22xQII", 0x20B, 0x180000000, 0x1000, 0x200).ljust(108, b"\0") + struct.pack("<I128x", 16)
    section = struct.pack("<8s4I16x", b".text", 5, 0x1000, 5, 0x200)
    return (headers + optional + section).ljust(0x200, b"\0") + b"\xe8" + struct.pack("<I", distance)


@pytest.mark.parametrize(("distance", "is_found"), [(0x80000000 - 0x1005, True), (0, False)])
def test_a_call_of_what_was_not_linked(tmp_path: Path, distance: int, is_found: bool) -> None:
    (tmp_path / "python314.dll").write_bytes(pe(0))
    python = Interpreter("3.14", tmp_path / "python314.dll", tmp_path, ".cp314-win_amd64.pyd")
    found = faults(tmp_path, pe(distance), python, maven.SYSTEMS["windows"][0])[1:]
    assert found == ["a.cp314-win_amd64.pyd calls a function that the linker did not find"] * is_found
