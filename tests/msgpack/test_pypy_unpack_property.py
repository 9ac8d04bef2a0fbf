# SPDX-License-Identifier: Apache-2.0
"""
The token tape against the pure codec: what it reads must be the same object with the same end, and what it refuses the
pure codec decides. It is PyPy's, but its C side and its reader run on CPython too.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgpack_oracle import pure_read, same
from threads import run_threads

from purepy import msgpack as pure
from purepy.msgpack.ext import ExtType, Timestamp

tape = pytest.importorskip("cpkg._native.msgpack.pypy_unpack", reason="the native module is not built")
checks = pytest.importorskip("cpkg._native.msgpack.pypy_checks")

NOT_STRICT = (False, *checks.DEFAULT[1:])

ints = st.integers(-(2**63), 2**64 - 1) | st.integers(-40, 300) | st.sampled_from([-(2**39) - 1, -(2**39), 2**39])
floats = st.floats(allow_nan=False)
texts = st.text(max_size=60) | st.sampled_from(["", "id", "name", "a" * 48, "a" * 49, "é" * 24, "x" * 1024, "y" * 1025])
exts = st.builds(ExtType, st.integers(0, 127), st.binary(max_size=20))
timestamps = st.builds(Timestamp, st.integers(-(2**40), 2**40), st.integers(0, 999_999_999))
scalars = st.none() | st.booleans() | ints | floats | texts | st.binary(max_size=40) | exts | timestamps
# arrays of one type are moved together, as a whole, or a stretch of them
runs = (
    st.lists(ints, max_size=12) | st.lists(floats, max_size=12) | st.just(list(range(20_000))) | st.just([0.5] * 9_000)
)
keys = texts | st.binary(max_size=5)
any_keys = keys | ints | floats | st.none() | st.booleans() | exts

relaxed = settings(deadline=None)


def objects(keys: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Give nested objects whose maps have keys of `keys`."""
    return st.recursive(
        scalars | runs,
        lambda inner: st.lists(inner, max_size=8) | st.dictionaries(keys, inner, max_size=8),
        max_leaves=40,
    )


def read(data: bytes, options: Any = checks.DEFAULT, start: int = 0, timestamp: int = 0) -> Any:
    return tape.read(data, start, options, timestamp)


@relaxed
@given(objects(keys))
@example([])
@example({})
@example([[1, 2, 3, 4]])
@example({"a": [1.5, 2.5, 3.5, 4.5], "b": [1, 2, 3, 4.0]})
@example([2**63, 2**63, 2**63, 2**63])
def test_what_was_packed_is_read(obj: Any) -> None:
    """Any message with keys that are strict comes out of the tape as it went in."""
    data = pure.packb(obj)
    found = read(data)
    assert found is not None
    assert same((obj, len(data)), found)


@relaxed
@given(objects(any_keys))
def test_other_keys_where_they_are_allowed(obj: Any) -> None:
    """Keys of any scalar type are read if strict_map_key is off, and refused if it is on."""
    data = pure.packb(obj)
    assert same(pure_read(data, strict_map_key=False), read(data, NOT_STRICT))
    assert same(pure_read(data), read(data))


@relaxed
@given(objects(keys), st.data())
def test_damaged_messages(obj: Any, draw: st.DataObject) -> None:
    """A message with wrong bytes in it is read as the pure codec reads it, or refused where that raises."""
    data = bytearray(pure.packb(obj)[:3000])
    for _ in range(draw.draw(st.integers(1, 4))):
        byte = draw.draw(st.integers(0, 255) | st.sampled_from([0x91, 0x81, 0xC1, 0xC9, 0xDB, 0xDD, 0xDF]))
        data[draw.draw(st.integers(0, len(data) - 1))] = byte
    damaged = bytes(data)
    assert same(pure_read(damaged), read(damaged))


@relaxed
@given(st.binary(max_size=80))
def test_any_bytes(data: bytes) -> None:
    """Bytes that are no message at all."""
    assert same(pure_read(data), read(data))


def test_cut_at_each_byte() -> None:
    """No prefix of a message is taken for a message."""
    data = pure.packb(
        [{"key": [1, 2, 3, 4, 5], "other": [1.5] * 5, "é" * 30: b"bin"}, "é", ExtType(3, b"12345"), 2**40]
    )
    for length in range(len(data)):
        assert read(data[:length]) is None, length
    assert read(data) is not None


@pytest.mark.parametrize("header", [b"\x91", b"\xdc\x00\x01", b"\x81\xa1k", b"\x81\xc4\x01k"])
def test_depth(header: bytes) -> None:
    """The deepest message that is read has as many containers as the C side has frames, or as max_depth says."""
    for limit, options in (
        (1024, checks.DEFAULT),
        (5, (True, 5, *checks.DEFAULT[2:])),
        (0, (True, 0, *checks.DEFAULT[2:])),
    ):
        data = header * limit + b"\x01"
        assert read(data, options)[1] == pure_read(data, max_depth=limit)[1] == len(data)
        assert read(header * (limit + 1) + b"\x01", options) is None
    # empty containers are containers too
    assert read(b"\x91" * 1023 + b"\x90") is not None
    assert read(b"\x91" * 1024 + b"\x90") is None


@pytest.mark.parametrize(
    ("name", "index", "obj"),
    [
        ("max_str_len", 2, ["12345"]),
        ("max_str_len", 2, {"12345": 1}),
        ("max_bin_len", 3, [b"12345"]),
        ("max_array_len", 4, [1, 2, 3, 4, 5]),
        ("max_map_len", 5, dict.fromkeys("12345")),
        ("max_ext_len", 6, [ExtType(1, b"12345")]),
    ],
)
def test_limits(name: str, index: int, obj: Any) -> None:
    """Each limit holds exactly, and is refused as the pure codec refuses it."""
    data = pure.packb(obj)
    for limit in (4, 5, 6, 0):
        options = list(checks.DEFAULT)
        options[index] = limit
        assert same(pure_read(data, **{name: limit}), read(data, tuple(options)))


@pytest.mark.parametrize("timestamp", [0, 1, 2, 3])
@pytest.mark.parametrize(
    "payload", [b"\xd6\xff\0\0\0\7", b"\xd7\xff" + b"\1" * 8, b"\xc7\x0c\xff" + b"\0" * 12, b"\xd4\xff\0"]
)
def test_timestamps(timestamp: int, payload: bytes) -> None:
    """The timestamp type in each form, and one of a wrong length."""
    data = b"\x92\x01" + payload
    assert same(pure_read(data, timestamp=timestamp), read(data, timestamp=timestamp))


def test_start_and_end() -> None:
    """A message within a buffer: from an offset on, with more behind it."""
    data = b"xyz" + pure.packb({"a": ["b", 1.5]}) + b"\xc1"
    assert read(data, start=3) == ({"a": ["b", 1.5]}, len(data) - 1)


def test_more_keys_than_names() -> None:
    """Maps with more distinct keys than the table holds, again and again, so that it starts over in between."""
    for turn in range(8):
        obj = [{f"key {turn} {i}": i for i in range(3000)}, {"same": 1}, {"same": 2, "é" * 40: 3}]
        assert read(pure.packb(obj))[0] == obj


def test_a_key_that_is_no_text() -> None:
    """A key that is not UTF-8 leaves nothing behind that a later message could trip over."""
    for _ in range(3):
        assert read(b"\x82\xa3bad\x01\xa1\xff\x02") is None
        assert read(b"\x82\xa3bad\x01\xa1e\x02") == ({"bad": 1, "e": 2}, 9)


def test_long_strings_across_stretches() -> None:
    """Payloads longer than what is parsed at a time, with short values around them."""
    obj = [
        ["é" * 100_000, 1, "x" * 5000, b"b" * 70_000, {"k": "v" * 1024}] * 3,
        list(range(100_000)),
        [0.25] * 30_000,
        "end",
    ]
    assert read(pure.packb(obj))[0] == obj


def test_nested_reads() -> None:
    """Tapes are not shared: more messages at once than tapes are kept."""
    data = pure.packb([{"k": i} for i in range(2000)])
    wanted = [{"k": i} for i in range(2000)]

    def work() -> None:
        assert all(read(data)[0] == wanted for _ in range(20))

    assert run_threads(*[work] * 8) == []


@pytest.mark.parametrize(
    "data",
    [
        b"\x91" * 100_000,
        b"\xdd\xff\xff\xff\xff" * 3_000,
        b"\xdf\xff\xff\xff\xff",
        b"\xdc\xff\xff" * 5_000,
        b"\xc9\xff\xff\xff\xff\x01abc",
        b"\xdb\xff\xff\xff\xffabc",
        b"\xc6\xff\xff\xff\xff",
        b"",
    ],
)
def test_lying_lengths(data: bytes) -> None:
    """Declared counts and lengths that the message does not have: refused, and nothing made of their size."""
    assert read(data) is None
