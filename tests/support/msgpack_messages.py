# SPDX-License-Identifier: Apache-2.0
"""Messages for tests: from tables in files, and messages that declare more items or bytes than they have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from purepy.base import errors
from purepy.msgpack.ext import ExtType, Timestamp

FOLDER = Path(__file__).resolve().parents[1] / "msgpack"
LIES = {
    "array32": b"\xdd\xff\xff\xff\xff",
    "map32": b"\xdf\xff\xff\xff\xff",
    "str32": b"\xdb\xff\xff\xff\xff",
    "bin32": b"\xc6\xff\xff\xff\xff",
    "ext32": b"\xc9\xff\xff\xff\xff\x05",
    "array16 in array16": b"\xdc\xff\xff" * 900,
    "array32 in array32": b"\xdd\x05\xff\xff\xff" * 900,
    "map16 in map16": b"\xde\x07\x00\xa1a" * 900,
    "map32 in map32": b"\xdf\x02\xff\xff\xff\xa0" * 900,
    "full array16 in array16": b"\xdc\x27\x10" * 1000 + b"\xc0" * 10_000,
}


def table(name: str, marks: str) -> list[Any]:
    """
    Return the lines of a file in tests/msgpack that begin with one of `marks`, as parameters (message, object).

    The message is in hexadecimal, where 61*31 stands for 31 bytes 0x61. Two or more spaces separate it from the object,
    which is a Python expression.
    """
    names = {**vars(errors), "ExtType": ExtType, "Timestamp": Timestamp}
    found = []
    for line in (FOLDER / name).read_text(encoding="utf-8").splitlines():
        if line and line[0] in marks:
            packed, _, obj = line[2:].partition("  ")
            found.append(pytest.param(_bytes(packed), eval(obj, names), id=packed))
    return found


def fed(unpacker: Any, data: bytes, size: int) -> list[Any]:
    """Feed data in pieces of `size` bytes; return the unpacked objects."""
    found: list[Any] = []
    for start in range(0, len(data), size):
        unpacker.feed(data[start : start + size])
        found.extend(unpacker)
    return found


def _bytes(packed: str) -> bytes:
    parts = (part.partition("*") for part in packed.split())
    return b"".join(bytes.fromhex(digits) * int(times or 1) for digits, _, times in parts)
