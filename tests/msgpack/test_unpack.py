# SPDX-License-Identifier: Apache-2.0
"""Unpacking one object: formats, options, hooks, limits, errors and their offsets."""

from __future__ import annotations

import datetime
import sysconfig
from array import array
from io import BytesIO
from types import ModuleType
from typing import Any

import pytest
from msgpack_messages import fed, table

from purepy.msgpack.ext import ExtType, Raw, Timestamp

UTC = datetime.timezone.utc


@pytest.mark.parametrize(("data", "obj"), table("formats.txt", "=<"))
def test_formats(msgpack: ModuleType, data: bytes, obj: Any) -> None:
    """Each format unpacks: alone, nested, from every type of buffer, and with options that use the general path."""
    for value in (
        msgpack.unpackb(data),
        msgpack.unpackb(bytearray(data)),
        msgpack.unpackb(memoryview(data)),
        msgpack.unpackb(array("B", data)),
        msgpack.unpackb(memoryview(b"".join(bytes((b, 0)) for b in data))[::2]),
        msgpack.unpackb(data, max_total_items=100_000),
        msgpack.unpackb(b"\x91" + data)[0],
        msgpack.unpackb(b"\x81\xa1k" + data)["k"],
        msgpack.unpackb(b"\x81\xa1k\x91" + data, max_total_items=100_000)["k"][0],
        msgpack.unpackb_from(b"\xc1\xc1" + data + b"\xc1", 2)[0],
    ):
        assert value == obj
        assert type(value) is type(obj)


def test_nan(msgpack: ModuleType) -> None:
    """NaN is unpacked as a NaN, in both sizes."""
    for data in (b"\xca\x7f\xc0\x00\x00", b"\xcb\x7f\xf8" + bytes(6)):
        value = msgpack.unpackb(data)
        assert value != value


@pytest.mark.parametrize("size", [9_999, 10_000, 20_001, 70_000])
def test_large_containers(msgpack: ModuleType, size: int) -> None:
    """Arrays and maps up to and beyond the first allocation, complete and without their last byte."""
    items = list(range(size))
    pairs = {f"key {i}": i for i in items}
    for obj, options, expected in (
        (items, {}, items),
        (items, {"use_list": False}, tuple(items)),
        (pairs, {}, pairs),
        (pairs, {"object_pairs_hook": list}, list(pairs.items())),
    ):
        data = msgpack.packb(obj)
        assert msgpack.unpackb(data, **options) == expected
        assert fed(msgpack.Unpacker(**options), data, len(data) - 1) == [expected]


def test_duplicate_keys(msgpack: ModuleType) -> None:
    """For duplicate keys, the last value wins."""
    assert msgpack.unpackb(b"\x83\xa1a\x01\xa1b\x02\xa1a\x03") == {"a": 3, "b": 2}


@pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="without the GIL, threads share no table of keys"
)
def test_equal_keys_are_one_object(msgpack: ModuleType) -> None:
    """Equal keys of a message are the same str object."""
    data = msgpack.packb([{"some key": 1}, {"some key": 2}])
    first, second = msgpack.unpackb(data)
    assert next(iter(first)) is next(iter(second))


def test_many_different_keys(msgpack: ModuleType) -> None:
    """More keys than a table of keys holds, each twice, and keys that are too long for the table."""
    obj = [{f"{i}": i, "k" * (i % 300): i, "same": i} for i in range(3000)]
    data = msgpack.packb(obj)
    assert msgpack.unpackb(data) == obj
    assert msgpack.unpackb(data) == obj
    assert msgpack.unpackb(data, max_total_items=10**6) == obj


# --- input -------------------------------------------------------------------------------------------------------


def test_input_types(msgpack: ModuleType) -> None:
    """Buffers of one-byte items are accepted, and nothing else."""
    with pytest.raises(BufferError, match="multi-byte"):
        msgpack.unpackb(array("I", [1]))
    for bad in ("text", None, 5, [1]):
        with pytest.raises(TypeError):
            msgpack.unpackb(bad)


def test_unpack_from_stream(msgpack: ModuleType) -> None:
    """unpack() reads the whole stream, and accepts the options of unpackb."""
    assert msgpack.unpack(BytesIO(b"\x91\xa1a"), use_list=False, raw=True) == (b"a",)
    with pytest.raises(msgpack.ExtraData):
        msgpack.unpack(BytesIO(b"\x01\x02"))


# --- options -----------------------------------------------------------------------------------------------------


def test_use_list(msgpack: ModuleType) -> None:
    """With use_list=False, arrays of any size become tuples at every level."""
    assert msgpack.unpackb(b"\x92\x01\x91\x90", use_list=False) == (1, ((),))
    items = tuple(range(20000))
    assert msgpack.unpackb(msgpack.packb(items), use_list=False) == items


def test_raw(msgpack: ModuleType) -> None:
    """With raw=True, str values and keys become bytes."""
    assert msgpack.unpackb(b"\x81\xa1a\xa2\xff\xfe", raw=True) == {b"a": b"\xff\xfe"}


def test_unicode_errors(msgpack: ModuleType) -> None:
    """A handler decides about text that is not UTF-8."""
    assert msgpack.unpackb(b"\xa3a\xffb", unicode_errors="ignore") == "ab"
    assert msgpack.unpackb(b"\x81\xa1\xff\xa1\xff", unicode_errors="replace") == {"�": "�"}
    assert msgpack.unpackb(b"\xa3\xed\xa0\x80", unicode_errors="surrogatepass") == "\ud800"
    with pytest.raises(UnicodeDecodeError):
        msgpack.unpackb(b"\xa1\xff", unicode_errors="strict")
    with pytest.raises(LookupError):
        msgpack.unpackb(b"\xa1\xff", unicode_errors="no such handler")
    with pytest.raises(TypeError):
        msgpack.unpackb(b"\xa1a", unicode_errors=5)


@pytest.mark.parametrize(
    ("seconds", "nanoseconds"), [(0, 0), (1, 500000000), (2**34, 1000), (-1, 999999000), (-62135596800, 0)]
)
def test_timestamp(msgpack: ModuleType, seconds: int, nanoseconds: int) -> None:
    """Timestamps become Timestamp, float, int or datetime."""
    stamp = Timestamp(seconds, nanoseconds)
    data = msgpack.packb(stamp)
    assert msgpack.unpackb(data) == msgpack.unpackb(data, timestamp=0) == stamp
    assert msgpack.unpackb(data, timestamp=1) == stamp.to_unix()
    assert msgpack.unpackb(data, timestamp=2) == stamp.to_unix_nano()
    moment = msgpack.unpackb(data, timestamp=3)
    assert moment == stamp.to_datetime()
    assert moment.tzinfo is UTC
    asked = []
    msgpack.unpackb(data, ext_hook=lambda code, payload: asked.append(code))
    assert not asked  # the hook is not called for timestamps


def test_ext_hook(msgpack: ModuleType) -> None:
    """The hook receives the code and bytes of every type except timestamps; the default refuses negative codes."""
    assert msgpack.unpackb(b"\xd4\x05a", ext_hook=lambda code, data: (code, data)) == (5, b"a")
    assert msgpack.unpackb(b"\xd4\x80a", ext_hook=lambda code, data: (code, data)) == (-128, b"a")
    assert msgpack.unpackb(b"\xd6\xff\x00\x00\x00\x01", ext_hook=None) == Timestamp(1)
    with pytest.raises(ValueError, match="code must be 0~127") as info:
        msgpack.unpackb(b"\x91\xd4\xfb\x78")
    assert info.value.offset == 1  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="no ext_hook") as info:
        msgpack.unpackb(b"\x91\xd4\x05\x78", ext_hook=None)
    assert info.value.offset == 1  # type: ignore[attr-defined]


def test_object_hook(msgpack: ModuleType) -> None:
    """The hook is called with each dict, inner ones first."""
    seen = []

    def hook(obj: dict[str, Any]) -> Any:
        seen.append(obj)
        return len(seen)

    assert msgpack.unpackb(b"\x82\xa1a\x80\xa1b\x91\x81\xa1c\x00", object_hook=hook) == 3
    assert seen == [{}, {"c": 0}, {"a": 1, "b": [2]}]


def test_object_pairs_hook(msgpack: ModuleType) -> None:
    """The hook is called with a list of pairs, including duplicates."""
    assert msgpack.unpackb(b"\x83\xa1a\x01\xa1b\x80\xa1a\x03", object_pairs_hook=lambda pairs: pairs) == [
        ("a", 1),
        ("b", []),
        ("a", 3),
    ]
    with pytest.raises(ValueError, match="not allowed for map key"):
        msgpack.unpackb(b"\x81\x01\x02", object_pairs_hook=list)
    # unhashable keys are allowed if no dict is built
    assert msgpack.unpackb(b"\x81\x91\x01\x02", object_pairs_hook=list, strict_map_key=False) == [([1], 2)]


def test_list_hook(msgpack: ModuleType) -> None:
    """The hook is called with each list or tuple, and its result is used unchanged."""
    assert msgpack.unpackb(b"\x92\x01\x90", list_hook=len) == 2
    assert msgpack.unpackb(b"\x92\x01\x90", list_hook=repr, use_list=False) == "(1, '()')"
    assert msgpack.unpackb(b"\x91\x01", list_hook=lambda items: items, use_list=False) == (1,)


def test_hook_arguments(msgpack: ModuleType) -> None:
    """Hooks must be callable, and the two for maps exclude each other."""
    for name in ("object_hook", "object_pairs_hook", "list_hook", "ext_hook"):
        with pytest.raises(TypeError):
            msgpack.unpackb(b"\x01", **{name: 5})
    with pytest.raises(TypeError, match="mutually exclusive"):
        msgpack.unpackb(b"\x01", object_hook=dict, object_pairs_hook=dict)


def test_strict_map_key(msgpack: ModuleType) -> None:
    """By default only str and bytes are keys; otherwise any hashable value."""
    assert msgpack.unpackb(b"\x82\xa1a\x01\xc4\x01b\x02") == {"a": 1, b"b": 2}
    for key, name in (("01", "int"), ("c0", "NoneType"), ("c3", "bool"), ("cb" + "00" * 8, "float"), ("90", "list")):
        data = b"\x92\x00\x81" + bytes.fromhex(key) + b"\x00"
        with pytest.raises(ValueError, match=f"{name} is not allowed for map key") as info:
            msgpack.unpackb(data)
        assert info.value.offset == 3  # type: ignore[attr-defined]
    assert msgpack.unpackb(b"\x82\x01\x02\xc0\x91\x03", strict_map_key=False) == {1: 2, None: [3]}
    assert msgpack.unpackb(b"\x81\xd4\x05a\x01", strict_map_key=False) == {ExtType(5, b"a"): 1}


# --- limits ------------------------------------------------------------------------------------------------------

LIMITS = [
    ("max_str_len", b"\xa3abc", 3),
    ("max_str_len", b"\xd9\x03abc", 3),
    ("max_bin_len", b"\xc4\x03abc", 3),
    ("max_array_len", b"\x93\x01\x02\x03", 3),
    ("max_array_len", b"\xdc\x00\x03\x01\x02\x03", 3),
    ("max_map_len", b"\x82\xa1a\x01\xa1b\x02", 2),
    ("max_ext_len", b"\xc7\x03\x05abc", 3),
    ("max_ext_len", b"\xd5\x05ab", 2),
]


@pytest.mark.parametrize(("limit", "data", "length"), LIMITS)
def test_length_limits(msgpack: ModuleType, limit: str, data: bytes, length: int) -> None:
    """A length at the limit passes; a higher one is a LimitError at the header, whether or not the payload is there."""
    msgpack.unpackb(data, **{limit: length})
    for wrong in (data, data[:-1]):
        with pytest.raises(msgpack.LimitError, match=rf"^{length} exceeds {limit}\({length - 1}\)$") as info:
            msgpack.unpackb(b"\x92\x00" + wrong, **{limit: length - 1})
        assert info.value.offset == 2
        assert isinstance(info.value, ValueError)


def test_auto_limits(msgpack: ModuleType) -> None:
    """A count that the input cannot hold is refused at once."""
    with pytest.raises(ValueError, match=r"^4294967295 exceeds max_array_len\(5\)$"):
        msgpack.unpackb(b"\xdd\xff\xff\xff\xff")
    with pytest.raises(ValueError, match=r"^4 exceeds max_map_len\(3\)$"):
        msgpack.unpackb(b"\xde\x00\x04zzz")


def nested(depth: int, kind: str) -> bytes:
    return {"array": b"\x91", "map": b"\x81\xa1k", "mixed": b"\x91\x81\xa1k"}[kind] * (
        depth // 2 if kind == "mixed" else depth
    ) + b"\xc0"


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
    with pytest.raises(ValueError, match="max_depth"):
        msgpack.unpackb(b"\x05", max_depth=-1, **options)


def test_max_total_items(msgpack: ModuleType) -> None:
    """Each key, value and container counts as one; the error is at the container that exceeds the limit."""
    data = b"\x92\x01\x82\xa1a\x01\xa1b\x91\x02"  # 1 + 2 + 4 + 1
    assert msgpack.unpackb(data, max_total_items=8) == [1, {"a": 1, "b": [2]}]
    for limit, count, offset in ((7, 8, 8), (6, 7, 2), (3, 7, 2), (2, 3, 0)):
        with pytest.raises(msgpack.LimitError, match=rf"^{count} exceeds max_total_items\({limit}\)$") as info:
            msgpack.unpackb(data, max_total_items=limit)
        assert info.value.offset == offset
    assert msgpack.unpackb(b"\x01", max_total_items=1) == 1
    with pytest.raises(msgpack.LimitError):
        msgpack.unpackb(b"\x01", max_total_items=0)


def test_max_total_bytes(msgpack: ModuleType) -> None:
    """The payloads of str, bin and ext count, including keys and timestamps."""
    data = b"\x82\xa1a\xc4\x02bb\xa1c\x92\xd4\x05d\xd6\xff\x00\x00\x00\x01"  # 1 + 2 + 1 + 1 + 4
    assert msgpack.unpackb(data, max_total_bytes=9)
    for limit, count, offset in ((8, 9, 13), (4, 5, 10), (3, 4, 7), (2, 3, 3), (0, 1, 1)):
        with pytest.raises(msgpack.LimitError, match=rf"^{count} exceeds max_total_bytes\({limit}\)$") as info:
            msgpack.unpackb(data, max_total_bytes=limit)
        assert info.value.offset == offset


# --- errors ------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("data", [bytearray(b"\x91\x01\x02\x03"), memoryview(b"\x91.\x01.\x02.\x03.")[::2]])
def test_extra_data(msgpack: ModuleType, data: Any) -> None:
    """Bytes after the object are an error that has the object, the bytes, and their offset."""
    with pytest.raises(msgpack.ExtraData, match=r"unpack\(b\) received extra data") as info:
        msgpack.unpackb(data)
    assert info.value.unpacked == [1]
    assert info.value.extra == b"\x02\x03"
    assert type(info.value.extra) is bytes
    assert info.value.offset == 2
    assert str(info.value).endswith(": 2 bytes after the object (at byte 2)")
    assert str(msgpack.ExtraData(1, b"x")).endswith(": 1 byte after the object")


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


# --- offsets in a buffer -----------------------------------------------------------------------------------------


def test_unpackb_from(msgpack: ModuleType) -> None:
    """Consecutive objects are read from one buffer."""
    data = b"\x91\x01\xa1a\xc0\x81\xa1b\x02"
    position, found = 0, []
    while position < len(data):
        obj, position = msgpack.unpackb_from(data, position)
        found.append((obj, position))
    assert found == [([1], 2), ("a", 4), (None, 5), ({"b": 2}, 9)]
    assert msgpack.unpackb_from(bytearray(data), offset=2, raw=True) == (b"a", 4)
    assert msgpack.unpackb_from(memoryview(data)[2:]) == ("a", 2)
    for offset in (-1, 10):
        with pytest.raises(ValueError, match=f"offset {offset} is outside the buffer of 9 bytes"):
            msgpack.unpackb_from(data, offset)
    with pytest.raises(TypeError):
        msgpack.unpackb_from(data, "0")
    with pytest.raises(msgpack.TruncatedError) as info:
        msgpack.unpackb_from(data, 9)
    assert info.value.offset == 9


# --- tuple keys, views, fragments --------------------------------------------------------------------------------


def test_tuple_keys(msgpack: ModuleType) -> None:
    """Arrays in keys become tuples at every level; arrays elsewhere stay lists."""
    obj = {(1, ("a", (2,))): [1, [2]], "s": [(3,)]}
    data = msgpack.packb(obj)
    options = {"strict_map_key": False, "tuple_keys": True}
    assert msgpack.unpackb(data, **options) == {(1, ("a", (2,))): [1, [2]], "s": [[3]]}
    assert msgpack.unpackb(b"\x81\x90\x00", **options) == {(): 0}
    assert msgpack.unpackb(b"\x82\x91\x91\x01\x02\x91\x03\x91\x04", **options) == {((1,),): 2, (3,): [4]}
    seen = []
    msgpack.unpackb(b"\x81\x91\x01\x91\x02", list_hook=lambda items: seen.append(items) or items, **options)
    assert seen == [(1,), [2]]
    with pytest.raises(ValueError, match=r"tuple is not allowed for map key|list is not allowed for map key"):
        msgpack.unpackb(data, tuple_keys=True)
    with pytest.raises(TypeError, match="unhashable") as info:
        msgpack.unpackb(b"\x81\x92\x01\x81\xa1a\x00\x05", **options)  # a dict within the tuple
    assert info.value.offset == 1  # type: ignore[attr-defined]


def test_bin_view(msgpack: ModuleType) -> None:
    """bin values become read-only views of the input, keys become bytes."""
    packed = msgpack.packb({"a": [b"abc", b""], b"k": b"d"})
    for data in (packed, bytearray(packed), memoryview(bytearray(packed))):
        value = msgpack.unpackb(data, bin_view=True)
        view = value["a"][0]
        assert isinstance(view, memoryview)
        assert view.readonly
        assert view == b"abc"
        assert (view.format, view.itemsize, view.ndim) == ("B", 1, 1)
        assert value["a"][1] == b""
        assert value[b"k"] == b"d"
    changing = bytearray(msgpack.packb(b"abc"))
    view = msgpack.unpackb(changing, bin_view=True)
    changing[2] = ord("x")
    assert view == b"xbc"  # no copy
    assert msgpack.unpackb_from(b"\x00\xc4\x01a", 1, bin_view=True) == (b"a", 4)
    gaps = memoryview(b"".join(bytes((b, 0)) for b in packed))[::2]
    assert msgpack.unpackb(gaps, bin_view=True)["a"][0] == b"abc"
    assert msgpack.unpackb(b"\x81\x91\xc4\x01a\x01", bin_view=True, strict_map_key=False, tuple_keys=True) == {
        (b"a",): 1
    }


def test_raw_depth(msgpack: ModuleType) -> None:
    """Values below this number of containers stay packed; keys never do."""
    inner = b"\x92\x01\x81\xa1x\xc4\x01\xff"
    data = b"\x82\xa1a" + inner + b"\xa1b\x02"
    assert msgpack.unpackb(data, raw_depth=0) == Raw(data)
    assert msgpack.unpackb(data, raw_depth=1) == {"a": Raw(inner), "b": Raw(b"\x02")}
    assert msgpack.unpackb(data, raw_depth=2) == {"a": [Raw(b"\x01"), Raw(inner[2:])], "b": 2}
    assert msgpack.unpackb(data, raw_depth=9) == msgpack.unpackb(data)
    assert msgpack.unpackb(b"\x05", raw_depth=1) == 5
    assert msgpack.unpackb(b"\x81\x91\x01\x02", raw_depth=1, strict_map_key=False, tuple_keys=True) == {
        (1,): Raw(b"\x02")
    }
    assert msgpack.unpackb_from(b"\x00" + data + b"\x00", 1, raw_depth=0) == (Raw(data), 1 + len(data))
    # fragments are packed unchanged
    assert msgpack.packb(msgpack.unpackb(data, raw_depth=1)) == data


def test_raw_depth_checks_the_form(msgpack: ModuleType) -> None:
    """In a fragment, the depth and the unused byte 0xc1 are checked; text, keys and lengths are not."""
    for wrong, error, offset in (
        (b"\x91\x92\x01\xc1", "FormatError", 3),
        (b"\x91\x92\x01", "TruncatedError", 3),
        (b"\x91\xc4\x05ab", "TruncatedError", 1),
        (b"\x91\xc9\xff\xff\xff\xff\x01" + b"a" * 100, "TruncatedError", 1),
        (b"\x91" * 1025 + b"\x01", "StackError", 1024),
    ):
        with pytest.raises(getattr(msgpack, error)) as info:
            msgpack.unpackb(wrong, raw_depth=1)
        assert info.value.offset == offset
    assert msgpack.unpackb(b"\x91\x91\xa1\xff", raw_depth=1) == [Raw(b"\x91\xa1\xff")]
    assert msgpack.unpackb(b"\x91\x81\x01\x02", raw_depth=1) == [Raw(b"\x81\x01\x02")]
    assert msgpack.unpackb(b"\x91\xa3abc", raw_depth=1, max_str_len=1) == [Raw(b"\xa3abc")]


def test_raw_depth_limits(msgpack: ModuleType) -> None:
    """A fragment counts as one item and as its number of bytes."""
    data = b"\x92\x01\x93\x01\x02\x03"
    assert msgpack.unpackb(data, raw_depth=1, max_total_items=3, max_total_bytes=5)
    with pytest.raises(msgpack.LimitError, match=r"^5 exceeds max_total_bytes\(4\)$") as info:
        msgpack.unpackb(data, raw_depth=1, max_total_bytes=4)
    assert info.value.offset == 2
