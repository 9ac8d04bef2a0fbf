# SPDX-License-Identifier: Apache-2.0
"""
PyPy's Unpacker, which scans pieces in C, against the pure one: after every call on both, the same result or error, at
the same offset, with as much of the stream read. It is PyPy's, but runs on CPython too.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any, Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pypy_parts import pypy_part

from purepy import msgpack as pure
from purepy.msgpack.ext import ExtType, Raw, Timestamp

stream = pypy_part("stream")

relaxed = settings(deadline=None)

SIZES = [1, 2, 3, 5, 9, 40, 300, 5000]


@pytest.fixture(autouse=True, params=[0, 16, None], ids=["no waiting", "mixed", "as it is"])
def _thresholds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let short messages take the ways of long ones too."""
    if request.param is not None:
        monkeypatch.setattr(stream, "_PART", request.param)


ints = st.integers(-(2**63), 2**64 - 1) | st.integers(-40, 300)
texts = st.text(max_size=40) | st.sampled_from(
    ["", "id", "é" * 24, "x" * 300, "\ud7ff\ue000\uffff\U00010000\U0010ffff"]
)
exts = st.builds(ExtType, st.integers(0, 127), st.binary(max_size=20))
stamps = st.builds(Timestamp, st.integers(-(2**40), 2**40), st.integers(0, 999_999_999))
scalars = st.none() | st.booleans() | ints | st.floats() | texts | st.binary(max_size=40) | exts | stamps
keys = texts | st.binary(max_size=5) | st.sampled_from(["a", "b"])
any_keys = keys | ints | st.none() | st.booleans() | exts | stamps
# what no object packs to: wrong bytes, text that is no UTF-8, containers as keys, extensions that are refused
odd = st.sampled_from(
    [
        b"\xc1",
        b"\xa1\xff",
        b"\xa2\xc0\x80",
        b"\xa3\xed\xa0\x80",
        b"\xa4\xf4\x90\x80\x80",
        b"\xa2\xe6\x97",
        b"\x81\x90\x01",
        b"\x81\x91\xc0\x01",
        b"\x81\x80\x02",
        b"\xd4\x80\x01",
        b"\xd6\xff\x00\x00\x00\x07",
        b"\xd7\xff" + b"\xff" * 8,
        b"\xc7\x0c\xff" + b"\xff" * 12,
        b"\xc7\x03\xff123",
        b"\xdb\xff\xff\xff\xff",
        b"\xc9\xff\xff\xff\xff",
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff\xa1k",
        b"\xd9\x03a\xc3\xa9",
        b"\xdc\x00\x02",
        b"\xde\x00\x00",
        b"\xca\x3f\x80\x00\x00",
    ]
).map(Raw)


def objects(keys: st.SearchStrategy[Any], leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Give nested objects whose maps have keys of `keys`."""
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=8) | st.dictionaries(keys, inner, max_size=6),
        max_leaves=30,
    )


plain = objects(keys, scalars)
any_object = plain | objects(any_keys, scalars) | objects(keys, scalars | odd)

options = st.fixed_dictionaries(
    {},
    optional={
        "strict_map_key": st.booleans(),
        "timestamp": st.integers(0, 3),
        "raw": st.booleans(),
        "use_list": st.booleans(),
        "object_hook": st.sampled_from([None, dict]),
        "ext_hook": st.sampled_from([ExtType, lambda code, data: (code, data)]),
        "unicode_errors": st.sampled_from([None, "strict", "replace"]),
        "max_depth": st.sampled_from([0, 1, 2, 3, 64, 65, 1024]),
        "max_str_len": st.sampled_from([-1, 0, 1, 5, 100]),
        "max_bin_len": st.sampled_from([-1, 0, 3]),
        "max_array_len": st.sampled_from([-1, 0, 3]),
        "max_map_len": st.sampled_from([-1, 0, 2]),
        "max_ext_len": st.sampled_from([-1, 0, 4]),
        "max_total_items": st.sampled_from([-1, 5]),
        "max_buffer_size": st.sampled_from([0, 20, 1000, 10_000]),
        "tuple_keys": st.booleans(),
        "bin_view": st.booleans(),
        "raw_depth": st.sampled_from([-1, 1]),
    },
)


def outcome(call: Callable[..., Any], *args: Any) -> Any:
    """Return what a call gives or raises, so that it compares with types, texts and offsets."""
    try:
        result = call(*args)
    except Exception as exc:
        return type(exc), str(exc), getattr(exc, "offset", None)
    try:
        return re.sub("<memory at [^>]*>", "<memory>", repr(result))
    except RecursionError:
        return pure.packb(result)  # nested deeper than repr goes


class Pair:
    """Both Unpackers under the same options; every call goes to both and must come out the same."""

    def __init__(self, **options: Any) -> None:
        self.both = pure.Unpacker(**options), stream.Unpacker(**options)

    def __call__(self, name: str, *args: Any) -> Any:
        theirs, ours = (outcome(getattr(unpacker, name), *args) for unpacker in self.both)
        assert ours == theirs, name
        told, tells = (unpacker.tell() for unpacker in self.both)
        assert tells == told, name
        return ours

    def drain(self) -> Iterator[Any]:
        """Take objects until there is none, or an error comes twice in one place."""
        last = None
        while True:
            found = self("__next__")
            at = self.both[0].tell()
            if isinstance(found, tuple) and (found[0] is StopIteration or (found, at) == last):
                return
            last = found, at
            yield found


def split(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    """Cut data into pieces of these sizes, in turns."""
    at = turn = 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        yield data[at : at + size]
        at += size
        turn += 1


def packed(objects: list[Any]) -> bytes:
    return b"".join(map(pure.packb, objects))


piece_sizes = st.lists(st.sampled_from(SIZES) | st.integers(1, 60), min_size=1, max_size=6)


@relaxed
@given(st.lists(plain, min_size=1, max_size=4), piece_sizes)
@example([[[]] * 20, {"a": [1, 2, {"b": b"c"}]}], [1])
@example([["é" * 3000, "x" * 5000, list(range(3000))], 1, ["y"] * 3000], [7])
def test_messages_in_pieces(messages: list[Any], sizes: list[int]) -> None:
    """Objects come out as they were packed, however the message is cut, and in the same call."""
    pair = Pair()
    found = []
    for piece in split(packed(messages), sizes):
        pair("feed", piece)
        found.extend(pair.drain())
    assert found == list(map(repr, messages))


@relaxed
@given(st.lists(any_object, min_size=1, max_size=4), piece_sizes, options)
def test_any_options(messages: list[Any], sizes: list[int], options: dict[str, Any]) -> None:
    """Options, limits and what is invalid: the same errors in the same calls, and the same afterwards."""
    pair = Pair(**options)
    for piece in split(packed(messages)[:4000], sizes):
        pair("feed", piece)
        for _ in pair.drain():
            pass


@relaxed
@given(st.lists(plain, min_size=1, max_size=3), piece_sizes, st.data())
def test_damaged_messages(messages: list[Any], sizes: list[int], draw: st.DataObject) -> None:
    """Wrong bytes anywhere."""
    data = bytearray(packed(messages)[:3000])
    for _ in range(draw.draw(st.integers(1, 4))):
        byte = draw.draw(st.integers(0, 255) | st.sampled_from([0x91, 0x81, 0xC1, 0xC9, 0xDB, 0xDD, 0xDF]))
        data[draw.draw(st.integers(0, len(data) - 1))] = byte
    pair = Pair()
    for piece in split(bytes(data), sizes):
        pair("feed", piece)
        for _ in pair.drain():
            pass


@relaxed
@given(st.binary(max_size=200), piece_sizes, options)
def test_any_bytes(data: bytes, sizes: list[int], options: dict[str, Any]) -> None:
    """Bytes that are no messages at all."""
    pair = Pair(**options)
    for piece in split(data, sizes):
        pair("feed", piece)
        for _ in pair.drain():
            pass


calls = st.sampled_from(
    [
        ("__next__",),
        ("__next__",),
        ("unpack",),
        ("skip",),
        ("unpack_raw",),
        ("read_array_header",),
        ("read_map_header",),
    ]
    + [("read_bytes", n) for n in (0, 1, 7)]
)


@relaxed
@given(st.lists(any_object, min_size=1, max_size=4), piece_sizes, st.lists(calls, max_size=60))
def test_any_calls(messages: list[Any], sizes: list[int], calls: list[tuple[Any, ...]]) -> None:
    """Any method at any moment, also within an object that is not complete."""
    pair = Pair(strict_map_key=False)
    pieces = split(packed(messages)[:4000], sizes)
    for number, call in enumerate(calls):
        if number % 2 == 0:
            pair("feed", next(pieces, b""))
        pair(*call)
    for piece in pieces:
        pair("feed", piece)
        for _ in pair.drain():
            pass


@relaxed
@given(st.lists(any_object, min_size=1, max_size=4), st.integers(1, 3000), options)
def test_files(messages: list[Any], read_size: int, options: dict[str, Any]) -> None:
    """Read from a file as much at a time, and the same errors at its end."""
    data = packed(messages)
    read_size = min(read_size, options.get("max_buffer_size") or read_size)
    results = []
    for kind in (pure.Unpacker, stream.Unpacker):
        file = io.BytesIO(data)
        unpacker = kind(file, read_size=read_size, **options)
        results.append([(outcome(unpacker.unpack), unpacker.tell(), file.tell()) for _ in range(12)])
    assert results[0] == results[1]


@pytest.mark.parametrize("size", [1, 7, 4096, 100_000])
def test_large_messages(size: int) -> None:
    """Large messages with values in their midst that are refused or that C is unsure of: much was kept before."""
    record = {"id": 1, "name": "Zürich", "numbers": [1, 2.5, 2**40], "more": {"x": b"abc", "y": None}}
    count = {1: 20, 7: 100}.get(size, 1000)
    for middle in (1, Raw(b"\xc1"), Raw(b"\xa1\xff"), Raw(b"\x81\x90\x01"), Timestamp(2**40, 1), {"a": "b" * 20_000}):
        data = packed([[[record] * count, middle, [record] * count], "next", [record] * count])
        pair = Pair()
        found = []
        for piece in split(data, [size]):
            pair("feed", piece)
            found.extend(pair.drain())
            if any(isinstance(item, tuple) for item in found):
                break  # an error
        assert found


@pytest.mark.parametrize("header", [b"\x91", b"\xdc\x00\x01", b"\x81\xa1k"])
@pytest.mark.parametrize("depth", [62, 63, 64, 65, 66, 1023, 1024, 1025])
def test_depth(header: bytes, depth: int) -> None:
    """More containers open than the scanner has frames, and more than max_depth allows."""
    pair = Pair()
    for piece in split(header * depth + b"\x01" + b"\x90" * 40, [37]):
        pair("feed", piece)
        for _ in pair.drain():
            pass


def test_reused_after_an_error() -> None:
    """After an error in a message that was kept, the stream goes on behind the value that is wrong."""
    pair = Pair()
    pair("feed", b"\x93\x01\x02")
    pair("__next__")
    pair("feed", b"\xc1\x05\xa1a")
    found = [pair("__next__") for _ in range(4)]
    assert found[0][0] is pure.FormatError
    pair("feed", b"\x92\x01")
    pair("__next__")
    pair("__init__")
    pair("feed", b"\x02")
    assert pair("__next__") == "2"


def test_messages_of_changing_sizes() -> None:
    """Short messages among long ones, where the guess which of them is whole goes wrong."""
    sizes = [1, 1, 3, 4000, 2, 2, 2, 9000, 5000, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 20_000, 1]
    messages = [list(range(size)) for size in sizes]
    for piece in (10, 1000, 4096, 30_000):
        pair = Pair()
        found = []
        for data in split(packed(messages), [piece]):
            pair("feed", data)
            found.extend(pair.drain())
        assert found == list(map(repr, messages))


def test_the_scanner_is_used() -> None:
    """A message in pieces goes by the scanner: else all this would compare the pure decoder with itself."""
    unpacker = stream.Unpacker()
    message = list(range(30_000))
    *pieces, last = split(pure.packb(message), [4096])
    decoder = unpacker._decoder
    for piece in pieces:
        unpacker.feed(piece)
        assert list(unpacker) == []
        assert not decoder.eager
        assert decoder.waiting_size <= stream._PART
    assert bool(decoder.waiting) is (stream._PART > 16)
    unpacker.feed(last)
    assert list(unpacker) == [message]
    assert decoder.waiting == []
