# SPDX-License-Identifier: Apache-2.0
"""
PyPy's Unpacker, which scans pieces in C, against the pure one: after each call on both, the same result or error, at
the same offset and position. It is for PyPy, but also runs on CPython.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgpack_messages import LIES, table
from msgpack_oracle import outcome
from msgpack_strategies import ANY_KEYS, EXTENSIONS, PLAIN, SCALARS, STRICT_KEYS, damaged, objects, unpack_options
from pypy_parts import pypy_part

from purepy import msgpack as pure
from purepy.msgpack.ext import Raw, Timestamp

stream = pypy_part("stream")

pytestmark = pytest.mark.interpreter

PARTS = [0, 16, stream._PART]
"""Sizes up to which pieces wait to be joined: the real one, and smaller ones, so that short messages use every path."""


@pytest.fixture(autouse=True)
def _threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore the size after a test whose Pairs set it."""
    monkeypatch.setattr(stream, "_PART", PARTS[-1])


# messages that no packer writes: longer than needed, invalid, or with a declared size that is too large
ODD = [*(row.values[0] for row in table("formats.txt", "<") + table("errors.txt", "!?")), *LIES.values()]
odd = st.sampled_from([message for message in ODD if len(message) < 20]).map(Raw)
plain = objects(STRICT_KEYS, PLAIN | EXTENSIONS)
any_object = plain | objects(ANY_KEYS | EXTENSIONS, SCALARS) | objects(STRICT_KEYS, SCALARS | odd)

options = unpack_options(
    object_hook=st.sampled_from([None, dict]), max_buffer_size=st.sampled_from([0, 20, 1000, 10_000])
)


class Pair:
    """Both Unpackers with the same options; each call goes to both, and the results must be equal."""

    def __init__(self, part: int, **options: Any) -> None:
        stream._PART = part
        self.both = pure.Unpacker(**options), stream.Unpacker(**options)

    def __call__(self, name: str, *args: Any) -> Any:
        theirs, ours = (outcome(getattr(unpacker, name), *args) for unpacker in self.both)
        assert ours == theirs, name
        told, tells = (unpacker.tell() for unpacker in self.both)
        assert tells == told, name
        return ours

    def drain(self) -> Iterator[Any]:
        """Read objects until there is none, or until an error occurs twice at one position."""
        last = None
        while True:
            found = self("__next__")
            at = self.both[0].tell()
            if isinstance(found, tuple) and (found[0] is StopIteration or (found, at) == last):
                return
            last = found, at
            yield found

    def read(self, pieces: Iterable[bytes]) -> list[Any]:
        """Feed pieces and drain after each; return all results."""
        found = []
        for piece in pieces:
            self("feed", piece)
            found += self.drain()
        return found


def split(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    """Cut data into pieces of these sizes, in turn."""
    at = turn = 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        yield data[at : at + size]
        at += size
        turn += 1


def packed(objects: list[Any]) -> bytes:
    return b"".join(map(pure.packb, objects))


piece_sizes = st.lists(st.sampled_from([1, 2, 3, 5, 9, 40, 300, 5000]) | st.integers(1, 60), min_size=1, max_size=6)
parts = st.sampled_from(PARTS)
many = st.lists(any_object, min_size=1, max_size=2).map(packed)


@given(st.lists(plain, min_size=1, max_size=2), piece_sizes, parts)
@example([[[]] * 20, {"a": [1, 2, {"b": b"c"}]}], [1], 0)
@example([["é" * 1000, "x" * 1500, list(range(1000))], 1, ["y"] * 1000], [7], 16)
def test_messages_in_pieces(messages: list[Any], sizes: list[int], part: int) -> None:
    """However the message is cut, the objects are the same as packed, and come in the same call on both."""
    assert Pair(part).read(split(packed(messages), sizes)) == list(map(repr, messages))


@given(many, piece_sizes, options, parts)
def test_any_options(data: bytes, sizes: list[int], options: dict[str, Any], part: int) -> None:
    """With any options and limits, invalid data gives the same errors in the same calls, and the same state later."""
    Pair(part, **options).read(split(data[:4000], sizes))


@given(damaged(st.lists(plain, min_size=1, max_size=2).map(packed)) | st.binary(max_size=200), piece_sizes, parts)
def test_any_bytes(data: bytes, sizes: list[int], part: int) -> None:
    """Wrong bytes at any place, and bytes that are not a message at all."""
    Pair(part).read(split(data, sizes))


METHODS = ("__next__", "__next__", "unpack", "skip", "unpack_raw", "read_array_header", "read_map_header")
calls = st.sampled_from([*((name,) for name in (*METHODS, "__init__")), *(("read_bytes", size) for size in (0, 1, 7))])


@given(many, piece_sizes, st.lists(calls, max_size=30), parts)
def test_any_calls(data: bytes, sizes: list[int], calls: list[tuple[Any, ...]], part: int) -> None:
    """Any method at any time, also within an incomplete object."""
    pair = Pair(part, strict_map_key=False)
    pieces = split(data[:4000], sizes)
    for number, call in enumerate(calls):
        if number % 2 == 0:
            pair("feed", next(pieces, b""))
        pair(*call)
    pair.read(pieces)


@given(many, st.integers(1, 3000), options, parts)
def test_files(data: bytes, read_size: int, options: dict[str, Any], part: int) -> None:
    """Both read equal amounts from a file at a time, and raise the same errors at its end."""
    read_size = min(read_size, options.get("max_buffer_size") or read_size)
    stream._PART = part
    results = []
    for kind in (pure.Unpacker, stream.Unpacker):
        file = io.BytesIO(data)
        unpacker = kind(file, read_size=read_size, **options)
        results.append([(outcome(unpacker.unpack), unpacker.tell(), file.tell()) for _ in range(12)])
    assert results[0] == results[1]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("size", [7, 4096, 40_000])
def test_large_messages(size: int, part: int) -> None:
    """Large messages that contain values that are refused, or that C cannot judge after keeping many bytes."""
    record = {"id": 1, "name": "Zürich", "numbers": [1, 2.5, 2**40], "more": {"x": b"abc", "y": None}}
    count = 12 if size == 7 else 100
    for middle in (1, Raw(b"\xc1"), Raw(b"\xa1\xff"), Raw(b"\x81\x90\x01"), Timestamp(2**40, 1), {"a": "b" * 20_000}):
        data = packed([[[record] * count, middle, [record] * count], "next", [record] * count])
        pair = Pair(part)
        found: list[Any] = []
        for piece in split(data, [size]):
            found += pair.read([piece])
            if any(isinstance(item, tuple) for item in found):
                break  # an error
        assert found


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("header", [b"\x91", b"\xdc\x00\x01", b"\x81\xa1k"])
@pytest.mark.parametrize("depth", [62, 63, 64, 65, 66, 1023, 1024, 1025])
def test_depth(header: bytes, depth: int, part: int) -> None:
    """More open containers than the scanner has frames, and more than max_depth allows."""
    Pair(part).read(split(header * depth + b"\x01" + b"\x90" * 40, [37]))


@pytest.mark.parametrize("part", PARTS)
def test_messages_of_changing_sizes(part: int) -> None:
    """Short messages among long ones, so that guessing which are complete fails."""
    sizes = [1, 1, 3, 4000, 2, 2, 2, 9000, 5000, *[1] * 13, 20_000, 1]
    messages = [list(range(size)) for size in sizes]
    expected = list(map(repr, messages))
    for piece in (1000, 30_000):
        assert Pair(part).read(split(packed(messages), [piece])) == expected


@pytest.mark.parametrize("part", PARTS)
def test_the_scanner_is_used(part: int) -> None:
    """The scanner reads a message in pieces; otherwise these tests would compare the pure decoder with itself."""
    stream._PART = part
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
