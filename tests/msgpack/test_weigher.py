# SPDX-License-Identifier: Apache-2.0
"""The weight of a message: what is documented, the same on every backend, never more than 96 per byte."""

from __future__ import annotations

import random
from types import ModuleType
from typing import Any

import pytest
from backends import available
from hypothesis import given
from hypothesis import strategies as st

from purepy import msgpack as pure
from purepy.msgpack.interface import HEAVIEST

BACKENDS = available("msgpack")


def weight(msgpack: ModuleType, message: bytes, max_depth: int = 1024) -> int:
    """Return the least limit that the message keeps."""
    low, high = 0, 200 * len(message) + 1000
    while low < high:
        middle = (low + high) // 2
        if msgpack.find_excess(message, middle, max_depth) < 0:
            high = middle
        else:
            low = middle + 1
    return low


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"\x05", 0),
        (b"\xff", 0),
        (b"\xc0", 0),
        (b"\xc3", 0),
        (b"\xcc\xff", 0),
        (b"\xd0\x80", 0),
        (b"\xcd\x01\x00", 32),
        (b"\xd3" + bytes(8), 32),
        (b"\xca" + bytes(4), 32),
        (b"\xcb" + bytes(8), 32),
        (b"\x90", 64),
        (b"\x80", 64),
        (b"\x93\x01\x02\x03", 64 + 24),
        (b"\xdc\x00\x01\xc0", 64 + 8),
        (b"\x82\x01\x02\x03\x04", 152 + 80),
        (b"\xdf\x00\x00\x00\x01\xc0\x90", 152 + 40 + 64),
        (b"\xa0", 0),
        (b"\xa1a", 0),
        (b"\xa2ab", 58),
        (b"\xd9\x02ab", 58),
        (b"\xdb\x00\x00\x00\x02ab", 58),
        (b"\xa2\xc3\xa9", 76 + 1),
        (b"\xa4ab\xc4\x80", 76 + 3 * 2),
        (b"\xd9\x06ab" + "\U0001f600".encode(), 76 + 3 * 4),
        (b"\xc4\x01a", 0),
        (b"\xc4\x02ab", 58),
        (b"\xc5\x00\x02\xff\xff", 58),
        (b"\xd4\x05a", 129),
        (b"\xd6\xff" + bytes(4), 132),
        (b"\xc7\x03\x05abc", 131),
        (b"\x92\x81\xa2id\x01\x81\xa2id\x02", 64 + 16 + 2 * 192 + 58),
        (b"\x92\x81\xd9\x02id\x01\x81\xd9\x02id\x02", 64 + 16 + 2 * (192 + 58)),
        (b"\x81\xa2id\xa2id", 192 + 2 * 58),
        (b"\x81\x90\x01", 192),
        (b"\x81\x92\x90\x91\x90\x90", 192 + 80 + 72 + 64),
    ],
    ids=lambda value: value.hex() if isinstance(value, bytes) else "",
)
def test_weights(msgpack: ModuleType, message: bytes, expected: int) -> None:
    assert weight(msgpack, message) == expected


def test_the_value_that_is_too_much_is_named(msgpack: ModuleType) -> None:
    message = b"\x94\x01\xa2ab\xcd\x01\x00\x90"
    for limit, offset in ((0, 0), (95, 0), (96, 2), (153, 2), (154, 5), (185, 5), (186, 8), (249, 8), (250, -1)):
        assert msgpack.find_excess(message, limit, 1024) == offset
    assert msgpack.find_excess(memoryview(message), 100, 1024) == 2
    assert msgpack.find_excess(bytearray(message), 2**80, 2**80) == -1


def test_it_ends_with_the_message_and_where_unpacking_does(msgpack: ModuleType) -> None:
    """Nothing behind that value is made, and a header is believed no more than the bytes behind it allow."""
    assert weight(msgpack, b"\x91\x01" + b"\x90" * 1000) == 72
    assert weight(msgpack, b"\x93\x90\xc1\x90\x90") == 64 + 24 + 64
    assert weight(msgpack, b"\xdd\xff\xff\xff\xff\x01\x01") == 64 + 16
    assert weight(msgpack, b"\xdf\xff\xff\xff\xff\x01\x01") == 152 + 40
    assert weight(msgpack, b"\xdb\xff\xff\xff\xffabc") == 0
    assert weight(msgpack, b"\xdd\xff") == weight(msgpack, b"") == 0
    nested = b"\x91" * 50 + b"\x90"
    assert weight(msgpack, nested, 50) == weight(msgpack, nested) == 50 * 72 + 64
    assert weight(msgpack, nested, 49) == 49 * 72
    assert weight(msgpack, b"\x91" * 100_000, 10**6) == 100_000 * 72 - 8


def test_keys_weigh_once(msgpack: ModuleType) -> None:
    """As long as there are not too many that differ."""
    keys = [f"key {i:5}" for i in range(1030)]
    once = weight(msgpack, msgpack.packb(dict.fromkeys(keys, 0)))
    assert once == 152 + 1030 * (40 + 56 + 9)
    twice = weight(msgpack, msgpack.packb([dict.fromkeys(keys, 0)] * 2))
    assert twice == 64 + 16 + 2 * once - 1024 * (56 + 9)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=8) | st.integers(0, 300), inner),
    max_leaves=40,
)


@given(VALUES)
def test_never_more_than_the_heaviest(value: Any) -> None:
    message = pure.packb(value)
    assert pure.find_excess(message, HEAVIEST * len(message), 1024) == -1


def test_the_heaviest() -> None:
    for heavy in (
        b"\x81\xc0" * 1000 + b"\x80",
        b"\x90",
        b"\x81\x90" * 1000 + b"\x01",
        b"\x81\x91\x90" * 1000 + b"\x01",
    ):
        assert weight(pure, heavy) <= HEAVIEST * len(heavy)
    assert weight(pure, b"\x81\xc0" * 1000 + b"\x01") > 0.99 * HEAVIEST * 2001


@pytest.mark.skipif(len(BACKENDS) < 2, reason="only the pure backend loads here")
def test_all_backends_find_the_same() -> None:
    """In messages, and in what is left of them after random changes."""
    natives = [module for name, module in BACKENDS.items() if name != "pure"]
    generator = random.Random(5)
    words = ["id", "name", "naïve", "\u6f22", "\U0001f600", "x" * 31, "x" * 32, "", "y"]

    def make(depth: int) -> Any:
        kind = generator.randrange(12 if depth < 4 else 7)
        if kind < 7:
            return [
                None, generator.randrange(-40, 300), 2**40, 0.5, generator.choice(words), b"ab" * kind,
                pure.ExtType(5, b"ab"),
            ][kind]  # fmt: skip
        count = generator.randrange(5) if generator.random() < 0.98 else 70
        if kind < 10:
            return [make(depth + 1) for _ in range(count)]
        return {
            generator.choice([*words, i, (i, ()), f"key {generator.randrange(1500)}"]): make(depth + 1)
            for i in range(count)
        }

    compared = 0
    for _ in range(600):
        message = bytearray(pure.packb([make(0) for _ in range(generator.randrange(1, 30))]))
        if generator.random() < 0.5:
            for _ in range(generator.randrange(1, 6)):
                message[generator.randrange(len(message))] = generator.randrange(256)
        data = bytes(message)
        highest = weight(pure, data, 6)
        for limit in (*(generator.randrange(highest + 2) for _ in range(4)), highest, highest - 1):
            depth = generator.choice([6, 6, 3, 1024])
            expected = pure.find_excess(data, limit, depth)
            for native in natives:
                assert native.find_excess(data, limit, depth) == expected, (data, limit, depth)
            compared += expected >= 0
    assert compared > 500
