# SPDX-License-Identifier: Apache-2.0
"""The weight of a message is as documented, the same on every backend, and at most 96 per byte."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from backends import available
from hypothesis import example, given
from hypothesis import strategies as st
from msgpack_messages import table
from msgpack_strategies import ANY_KEYS, EXTENSIONS, INTS, PLAIN, TEXTS, damaged, objects

from purepy import msgpack as pure
from purepy.msgpack.interface import HEAVIEST

BACKENDS = available("msgpack")


def weight(msgpack: ModuleType, message: bytes, max_depth: int = 1024) -> int:
    """Return the lowest limit that the message does not exceed."""
    low, high = 0, 200 * len(message) + 1000
    while low < high:
        middle = (low + high) // 2
        if msgpack.find_excess(message, middle, max_depth) < 0:
            high = middle
        else:
            low = middle + 1
    return low


@pytest.mark.parametrize(("message", "expected"), table("weights.txt", "="))
def test_weights(msgpack: ModuleType, message: bytes, expected: int) -> None:
    assert weight(msgpack, message) == expected


def test_the_offset_of_the_excess(msgpack: ModuleType) -> None:
    message = b"\x94\x01\xa2ab\xcd\x01\x00\x90"
    for limit, offset in ((0, 0), (95, 0), (96, 2), (153, 2), (154, 5), (185, 5), (186, 8), (249, 8), (250, ~0)):
        assert msgpack.find_excess(message, limit, 1024) == offset
    assert msgpack.find_excess(memoryview(message), 100, 1024) == 2
    assert msgpack.find_excess(message, 300, 1024) == ~50
    assert msgpack.find_excess(bytearray(message), 2**80, 2**80) < 0


def test_weighing_ends_where_unpacking_does(msgpack: ModuleType) -> None:
    """Values below max_depth have no weight."""
    nested = b"\x91" * 50 + b"\x90"
    assert weight(msgpack, nested, 50) == weight(msgpack, nested) == 50 * 72 + 64
    assert weight(msgpack, nested, 49) == 49 * 72
    assert weight(msgpack, b"\x91" * 5_000, 10**6) == 5_000 * 72 - 8


def test_keys_weigh_once(msgpack: ModuleType) -> None:
    """The first 1024 different keys are counted once."""
    keys = [f"key {i:5}" for i in range(1030)]
    once = weight(msgpack, msgpack.packb(dict.fromkeys(keys, 0)))
    assert once == 152 + 1030 * (40 + 56 + 9)
    twice = weight(msgpack, msgpack.packb([dict.fromkeys(keys, 0)] * 2))
    assert twice == 64 + 16 + 2 * once - 1024 * (56 + 9)


@given(objects(TEXTS | INTS, PLAIN))
def test_never_more_than_the_heaviest(value: Any) -> None:
    message = pure.packb(value)
    assert pure.find_excess(message, HEAVIEST * len(message), 1024) < 0


def test_the_heaviest_messages() -> None:
    for outer, inner in ((b"", b"\x90"), (b"\x81\xc0", b"\x80"), (b"\x81\x90", b"\x01"), (b"\x81\x91\x90", b"\x01")):
        heavy = outer * 1000 + inner
        assert weight(pure, heavy) <= HEAVIEST * len(heavy)
    assert weight(pure, b"\x81\xc0" * 1000 + b"\x01") > 0.99 * HEAVIEST * 2001


MESSAGES = st.lists(objects(ANY_KEYS, PLAIN | EXTENSIONS), max_size=6).map(pure.packb)


@pytest.mark.skipif(len(BACKENDS) < 2, reason="only the pure backend loads here")
@pytest.mark.property
@given(MESSAGES | damaged(MESSAGES), st.floats(0, 1), st.sampled_from([6, 3, 1024]))
@example(message=b"\xca", part=0.0, depth=6)
def test_all_backends_find_the_same(message: bytes, part: float, depth: int) -> None:
    """The backends agree on messages, and on messages with random changes."""
    highest = weight(pure, message, 6)
    for limit in (int(highest * part), highest, highest - 1):
        expected = pure.find_excess(message, limit, depth)
        assert {module.find_excess(message, limit, depth) for module in BACKENDS.values()} == {expected}
