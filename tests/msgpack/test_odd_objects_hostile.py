# SPDX-License-Identifier: Apache-2.0
"""Objects and subclasses that misreport their type, size or items: every backend handles them alike."""

from __future__ import annotations

import io
import struct
from types import ModuleType
from typing import Any

import pytest

from purepy.msgpack.ext import ExtType


def subclass(base: Any, **names: Any) -> Any:
    return type("Sub", (base,), names)


@pytest.mark.parametrize("answer", [[("a", 1), ("b", 2), ("c", 3)], [1, 2], [("a",), ("b",)], 5, None])
def test_items_of_a_dict_that_are_wrong(msgpack: ModuleType, answer: Any) -> None:
    """An error, or a map whose header matches the number of pairs."""
    try:
        packed = msgpack.packb(subclass(dict, items=lambda self: answer)(a=1, b=2))
    except (RuntimeError, TypeError, ValueError, AttributeError):
        return
    assert isinstance(msgpack.unpackb(packed), dict)


def test_an_init_without_super_init_leaves_the_defaults(msgpack: ModuleType) -> None:
    def nothing(self: Any) -> None:
        pass

    packer = subclass(msgpack.Packer, __init__=nothing)()
    assert (packer.bytes(), packer.pack([1, "a", b"b"])) == (b"", b"\x93\x01\xa1a\xc4\x01b")
    assert (packer.pack_array_header(3), packer.bytes(), packer.reset()) == (b"\x93", b"", None)
    unpackers = [subclass(msgpack.Unpacker, __init__=nothing)() for _ in range(6)]
    for method in ("unpack", "skip", "read_array_header"):
        with pytest.raises(msgpack.OutOfData):
            getattr(unpackers.pop(), method)()
    assert (unpackers.pop().tell(), list(unpackers.pop())) == (0, [])
    unpackers[0].feed(b"\x91\x01\xa1a")
    assert (unpackers[0].unpack(), unpackers[0].tell(), list(unpackers[0])) == ([1], 2, ["a"])
    assert not hasattr(unpackers[0], "no_such_name")


@pytest.mark.parametrize("hook", ["object_hook", "list_hook", "ext_hook", "object_pairs_hook"])
@pytest.mark.parametrize("size", [1, 3, 100])
def test_tell_in_a_hook(msgpack: ModuleType, hook: str, size: int) -> None:
    """tell() returns the position before the call that runs the hook, as in msgpack; the same in read() of the file."""
    data = msgpack.packb([1, {"a": [1, 2], "b": ExtType(5, b"abc")}]) + msgpack.packb({"c": [ExtType(6, b"")]})
    found, expected = [], []

    def seen(first: Any, *more: Any) -> Any:
        found.append(unpacker.tell())
        return None

    unpacker = msgpack.Unpacker(**{hook: seen})
    for start in range(0, len(data), size):
        before = unpacker.tell()
        unpacker.feed(data[start : start + size])
        for _ in unpacker:
            expected += [before] * (len(found) - len(expected))
            before = unpacker.tell()
        expected += [before] * (len(found) - len(expected))
    assert found
    assert found == expected

    class File(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            told.append(unpacker.tell())
            return super().read(size)

    told: list[int] = []
    unpacker = msgpack.Unpacker(File(data), read_size=4)
    assert len(list(unpacker)) == 2
    assert (told[0], told[-1]) == (0, len(data))
    assert told == sorted(told)


@pytest.mark.parametrize("count", [16, 20])
@pytest.mark.parametrize("sign", [b"\x7f", b"\xff"])
def test_a_signaling_nan_becomes_quiet(msgpack: ModuleType, sign: bytes, count: int) -> None:
    """Converting between 4 and 8 bytes makes a NaN quiet, as in C, and keeps its other bits; 8 bytes are unchanged."""
    signalling, quiet = sign + b"\xa0\x12\x34", sign + b"\xe0\x12\x34"
    message = b"\xdc" + count.to_bytes(2, "big") + (b"\xca" + signalling) * count
    unpacker = msgpack.Unpacker()
    unpacker.feed(message)
    wide = struct.unpack(">d", sign + b"\xf4" + bytes(5) + b"\1")[0]
    for found in (msgpack.unpackb(message), unpacker.unpack()):
        assert {struct.pack(">d", number) for number in found} == {sign + bytes.fromhex("fc024680000000")}
    assert msgpack.packb([wide] * count, use_single_float=True).endswith((b"\xca" + sign + b"\xe0\0\0") * count)
    assert msgpack.packb([wide] * count).endswith((b"\xcb" + struct.pack(">d", wide)) * count)
    assert msgpack.packb(msgpack.unpackb(message), use_single_float=True) == message.replace(signalling, quiet)
