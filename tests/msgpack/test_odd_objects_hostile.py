# SPDX-License-Identifier: Apache-2.0
"""Objects and subclasses that misreport their type, size or items: every backend handles them alike."""

from __future__ import annotations

import copy
import io
import pickle
import struct
import weakref
from types import ModuleType
from typing import Any
from unittest.mock import Mock

import pytest

from purepy.msgpack.ext import ExtType


def subclass(base: Any, **names: Any) -> Any:
    return type("Sub", (base,), names)


@pytest.mark.parametrize("kind", [dict, list, tuple, str, bytes, bytearray, int, float, ExtType])
def test_the_class_attribute_is_ignored(msgpack: ModuleType, kind: type) -> None:
    """An object whose `__class__` is another type is not treated as that type."""
    liar = Mock(spec=kind)
    assert isinstance(liar, kind)
    with pytest.raises(TypeError, match="can not serialize 'Mock' object"):
        msgpack.packb([liar])
    assert msgpack.packb([liar], default=lambda obj: "none") == b"\x91\xa4none"


def test_a_proxy_is_not_packed_as_its_object(msgpack: ModuleType) -> None:
    obj = subclass(dict)(a=1)
    with pytest.raises(TypeError, match="can not serialize"):
        msgpack.packb(weakref.proxy(obj))
    assert msgpack.packb(weakref.proxy(obj), default=lambda proxy: dict(proxy)) == b"\x81\xa1a\x01"


@pytest.mark.parametrize("length", [0, 1, 5])
@pytest.mark.parametrize("base", [list, tuple])
def test_items_are_counted_if_len_is_wrong(msgpack: ModuleType, base: type, length: int) -> None:
    assert msgpack.packb(subclass(base, __len__=lambda self: length)([7, 8])) == b"\x92\x07\x08"
    own = subclass(base, __len__=lambda self: length, __iter__=lambda self: iter([1, 2, 3]))
    assert msgpack.packb(own([7, 8])) == b"\x93\x01\x02\x03"


def test_a_wrong_len_of_a_dict_is_an_error(msgpack: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="dictionary changed size"):
        msgpack.packb(subclass(dict, __len__=lambda self: 5)(a=1))
    with pytest.raises(RuntimeError, match="dictionary changed size"):
        msgpack.packb(subclass(dict, items=lambda self: [("a", 1)])(a=1, b=2))
    assert msgpack.packb(subclass(dict, items=lambda self: [(1, 2)])(a=1)) == b"\x81\x01\x02"


@pytest.mark.parametrize("answer", [[("a", 1), ("b", 2), ("c", 3)], [1, 2], [("a",), ("b",)], 5, None])
def test_items_of_a_dict_that_are_wrong(msgpack: ModuleType, answer: Any) -> None:
    """An error, or a map whose header matches the number of pairs."""
    try:
        packed = msgpack.packb(subclass(dict, items=lambda self: answer)(a=1, b=2))
    except (RuntimeError, TypeError, ValueError, AttributeError):
        return
    assert isinstance(msgpack.unpackb(packed), dict)


def test_a_subclass_of_list_that_changes_is_noticed(msgpack: ModuleType) -> None:
    items = subclass(list)([object(), 1])
    with pytest.raises(RuntimeError, match="list changed size"):
        msgpack.packb(items, default=lambda obj: items.append(2))


@pytest.mark.parametrize("number", [5, -5, 2**64 - 1, -(2**63)])
def test_numbers_are_packed_by_value(msgpack: ModuleType, number: int) -> None:
    odd = subclass(int, __int__=lambda self: 9, __index__=lambda self: 9)
    assert msgpack.packb(odd(number)) == msgpack.packb(number)
    with pytest.raises(OverflowError):
        msgpack.packb(odd(2**64))
    assert msgpack.packb(subclass(float, __float__=lambda self: 9.0)(1.5)) == msgpack.packb(1.5)


def test_overrides_of_an_exttype_subclass_are_used(msgpack: ModuleType) -> None:
    assert msgpack.packb(subclass(ExtType)(5, b"ab")) == b"\xd5\x05ab"
    assert msgpack.packb(subclass(ExtType, data=property(lambda self: b"X"))(5, b"ab")) == b"\xd4\x05X"
    assert msgpack.packb(subclass(ExtType, code=property(lambda self: -7))(5, b"ab")) == b"\xd5\xf9ab"
    long = subclass(bytes, __len__=lambda self: 9)(b"ab")
    assert msgpack.packb(ExtType(5, long)) == b"\xd5\x05ab"
    for code in (128, -129, 2**70):
        with pytest.raises(OverflowError, match=r"code must be in -128\.\.127"):
            msgpack.packb(subclass(ExtType, code=property(lambda self, code=code: code))(5, b"ab"))
    for name in ("code", "data"):
        with pytest.raises(TypeError):
            msgpack.packb(subclass(ExtType, **{name: property(lambda self: "x")})(5, b"ab"))
    with pytest.raises(IndexError):
        msgpack.packb(tuple.__new__(ExtType, (5,)))


@pytest.mark.parametrize("name", ["Packer", "Unpacker"])
def test_no_copies(msgpack: ModuleType, name: str) -> None:
    """Copying is refused, because a copy would share the original's buffer or position in the stream."""
    for obj in (getattr(msgpack, name)(), subclass(getattr(msgpack, name))()):
        for make in (copy.copy, copy.deepcopy, pickle.dumps, lambda obj: pickle.dumps(obj, 0)):
            with pytest.raises(TypeError, match=f"cannot pickle '{type(obj).__name__}' object"):
                make(obj)


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


@pytest.mark.parametrize("name", ["no\0", "\0", "strict\0ignore"])
def test_a_handler_with_a_null_is_refused(msgpack: ModuleType, name: str) -> None:
    for call in (
        lambda: msgpack.packb("a", unicode_errors=name),
        lambda: msgpack.Packer(unicode_errors=name),
        lambda: msgpack.unpackb(b"\xa1a", unicode_errors=name),
        lambda: msgpack.Unpacker(unicode_errors=name),
    ):
        with pytest.raises(ValueError, match="null character"):
            call()
    with pytest.raises(LookupError):
        msgpack.unpackb(b"\xa1\xff", unicode_errors="")


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
