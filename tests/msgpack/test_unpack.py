# SPDX-License-Identifier: Apache-2.0
"""Unpacking one object: formats, large containers, timestamps, depth, errors and their offsets."""

from __future__ import annotations

import struct
import sysconfig
from array import array
from types import ModuleType
from typing import Any

import pytest
from msgpack_messages import fed, table


@pytest.mark.parametrize(("data", "obj"), table("formats.txt", "=<"))
def test_formats(msgpack: ModuleType, data: bytes, obj: Any) -> None:
    """Each format unpacks: alone, nested, from every type of buffer, and with options that use the general path."""
    gaps = bytearray(2 * len(data))
    gaps[::2] = data
    for value in (
        msgpack.unpackb(data),
        msgpack.unpackb(bytearray(data)),
        msgpack.unpackb(memoryview(data)),
        msgpack.unpackb(array("B", data)),
        msgpack.unpackb(memoryview(gaps)[::2]),
        msgpack.unpackb(data, max_total_items=100_000),
        msgpack.unpackb(b"\x91" + data)[0],
        msgpack.unpackb(b"\x81\xa1k" + data)["k"],
        msgpack.unpackb(b"\x81\xa1k\x91" + data, max_total_items=100_000)["k"][0],
        msgpack.unpackb_from(b"\xc1\xc1" + data + b"\xc1", 2)[0],
    ):
        assert value == obj
        assert type(value) is type(obj)


@pytest.mark.parametrize("size", [9_999, 10_000, 65_537])
def test_large_containers(msgpack: ModuleType, size: int) -> None:
    """Arrays and maps up to and beyond the first allocation, complete and without their last byte."""
    items = list(range(size))
    pairs = {f"key {i}": i for i in items}
    cases = [(items, {}, items), (pairs, {}, pairs)]
    if size <= 10_000:
        cases += [(items, {"use_list": False}, tuple(items)), (pairs, {"object_pairs_hook": list}, list(pairs.items()))]
    for obj, options, expected in cases:
        data = msgpack.packb(obj)
        assert msgpack.unpackb(data, **options) == expected
        assert fed(msgpack.Unpacker(**options), data, len(data) - 1) == [expected]


@pytest.mark.skipif(bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="threads share no table of keys")
def test_equal_keys_are_one_object(msgpack: ModuleType) -> None:
    """Equal keys of a message are the same str object."""
    data = msgpack.packb([{"some key": 1}, {"some key": 2}])
    first, second = msgpack.unpackb(data)
    assert next(iter(first)) is next(iter(second))


def test_many_different_keys(msgpack: ModuleType) -> None:
    """More keys than a table of keys holds, each twice, and keys that are too long for the table."""
    obj = [{f"{i}": i, "k" * (i % 300): i, "same": i} for i in range(3000)]
    data = msgpack.packb(obj)
    assert msgpack.unpackb(data) == msgpack.unpackb(data) == obj
    assert msgpack.unpackb(data, max_total_items=10**6) == obj


def nested(depth: int, kind: str) -> bytes:
    times = depth // 2 if kind == "mixed" else depth
    return {"array": b"\x91", "map": b"\x81\xa1k", "mixed": b"\x91\x81\xa1k"}[kind] * times + b"\xc0"


@pytest.mark.parametrize("kind", ["array", "map", "mixed"])
@pytest.mark.parametrize("options", [{}, {"max_total_items": 10**6}, {"use_list": False}], ids=["", "general", "tuple"])
def test_depth(msgpack: ModuleType, kind: str, options: dict[str, Any]) -> None:
    """1024 levels unpack; deeper input is a StackError at the container that is too deep."""
    value = msgpack.unpackb(nested(1024, kind), **options)
    depth = 0
    while value is not None:
        value = value["k"] if isinstance(value, dict) else value[0]
        depth += 1
    assert depth == 1024
    with pytest.raises(msgpack.StackError, match=r"^nested deeper than max_depth\(1024\)$") as info:
        msgpack.unpackb(nested(1026, kind), **options)
    assert info.value.offset == {"array": 1024, "map": 3072, "mixed": 2048}[kind]
    assert msgpack.unpackb(nested(2, kind), max_depth=2, **options)
    with pytest.raises(msgpack.StackError):
        msgpack.unpackb(nested(4, kind), max_depth=2, **options)
    assert msgpack.unpackb(b"\x05", max_depth=0, **options) == 5
    with pytest.raises(msgpack.StackError) as info:
        msgpack.unpackb(b"\x90", max_depth=0, **options)
    assert info.value.offset == 0


GENERAL = pytest.mark.parametrize("general", [{}, {"max_total_items": 10_000}], ids=["plain", "general"])
"""Without options (the fast path), and on the general path."""


@GENERAL
@pytest.mark.parametrize(("data", "found"), table("errors.txt", "?"))
def test_truncated(msgpack: ModuleType, data: bytes, found: tuple[int, int], general: dict[str, Any]) -> None:
    """The offset is that of the truncated value, or the end; in a stream tell() counts what was read, as in msgpack."""
    offset, told = found
    empty = "" if data else ": the input is empty, expected a MessagePack object"
    with pytest.raises(msgpack.TruncatedError, match=f"^Unpack failed: incomplete input{empty}$") as info:
        msgpack.unpackb(data, **general)
    assert info.value.offset == offset
    with pytest.raises(msgpack.TruncatedError) as info:
        msgpack.unpackb_from(b"\xc1\xc1\xc1" + data, 3, **general)
    assert info.value.offset == offset + 3
    unpacker = msgpack.Unpacker(max_str_len=2**32, max_ext_len=2**32, **general)
    unpacker.feed(b"\x07" + data)
    assert unpacker.unpack() == 7
    with pytest.raises(msgpack.OutOfData, match=r"^No more data to unpack\.$") as wanting:
        unpacker.unpack()
    assert wanting.value.offset == 1 + offset
    assert unpacker.tell() == 1 + told


@GENERAL
@pytest.mark.parametrize(("data", "found"), table("errors.txt", "!"))
def test_wrong(msgpack: ModuleType, data: bytes, found: tuple[Any, ...], general: dict[str, Any]) -> None:
    """An error has the offset of the invalid value's header, in a message and in a stream after other messages."""
    error, offset, *options = found
    options = {**dict(*options), **general}
    with pytest.raises(error) as caught:
        msgpack.unpackb(data, **options)
    assert type(caught.value) is error
    assert caught.value.offset == offset  # type: ignore[attr-defined]
    if error is msgpack.FormatError:
        assert str(caught.value) == "byte 0xc1 is not a MessagePack format"
    # a container is refused as a key once it is complete: in pieces, tell() is after it
    for size in {len(data), len(data) if error is TypeError else 1}:
        unpacker = msgpack.Unpacker(**options)
        unpacker.feed(b"\xc0\xc0\xc0")
        assert list(unpacker) == [None] * 3
        with pytest.raises(error) as caught:
            fed(unpacker, data, size)
        assert caught.value.offset == unpacker.tell() == offset + 3  # type: ignore[attr-defined]


def test_errors_pickle(msgpack: ModuleType) -> None:
    """Errors can be pickled, so they can be sent to other processes."""
    import pickle

    for data in (b"\x92\x01", b"\x91\xc1", b"\x01\x02", b"\x91" * 2000):
        with pytest.raises(ValueError) as info:
            msgpack.unpackb(data)
        copied = pickle.loads(pickle.dumps(info.value))
        assert type(copied) is type(info.value)
        assert str(copied) == str(info.value)
        assert copied.offset == info.value.offset  # type: ignore[attr-defined]


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
