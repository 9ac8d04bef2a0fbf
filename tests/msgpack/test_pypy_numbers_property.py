# SPDX-License-Identifier: Apache-2.0
"""PyPy's decoder, for which C reads lists of numbers, against the pure one; its C side also runs on CPython."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgpack_oracle import pure_read, same
from msgpack_strategies import INTS
from pypy_parts import pypy_part
from threads import run_threads

from purepy import msgpack as pure
from purepy.msgpack import oneshot
from purepy.msgpack.options import UNPACKING

decoder = pypy_part("decoder")

pytestmark = pytest.mark.interpreter

others = st.none() | st.text(max_size=3) | st.floats(allow_nan=False) | INTS
lists = st.lists(INTS, max_size=40) | st.lists(st.floats(allow_nan=False), max_size=40)


def read(data: bytes) -> Any:
    try:
        return oneshot.unpackb_from_with(data, 0, UNPACKING.defaults, decoder.Decoder)
    except Exception:
        return None


@given(st.lists(lists | others, max_size=6), lists, st.integers(0, 400))
@example([], list(range(10_000)), 400)
@example([], [0.5] * 9_000, 400)
def test_as_the_pure_decoder(obj: list[Any], numbers: list[Any], cut: int) -> None:
    """Lists of numbers alone and among other values, whole and cut."""
    data = pure.packb([*obj, numbers, {"k": numbers + obj}])
    assert same(pure_read(data), read(data))
    assert same(pure_read(data[:cut]), read(data[:cut]))


@pytest.mark.parametrize("pieces", [1, 2])
@pytest.mark.parametrize(("first", "then"), [(1.5, 7), (7, 1.5), (1.5, None)])
def test_the_type_changes_between_pieces(first: Any, then: Any, pieces: int) -> None:
    """C reads one type of number in each call, and Python reads the numbers of a call as that type."""
    data = pure.packb([first] * (decoder._PIECE * pieces) + [then] * 40 + [first] * 5000)
    assert same(pure_read(data), read(data))
    assert same(pure_read(data[:-30]), read(data[:-30]))


@given(lists, st.binary(max_size=20))
def test_damaged_lists(numbers: list[Any], tail: bytes) -> None:
    """Any bytes after the first numbers of a list."""
    data = b"\xdc\x01\x00" + b"".join(map(pure.packb, numbers)) + tail
    assert same(pure_read(data), read(data))


def test_threads_read_lists_of_their_own() -> None:
    """Threads do not share the memory on the C side while it is in use."""
    wanted = [[number + i for i in range(5000)] for number in range(8)]
    packed = [pure.packb(obj) for obj in wanted]

    def work(number: int) -> None:
        assert all(read(packed[number])[0] == wanted[number] for _ in range(10))

    assert run_threads(*[lambda number=number: work(number) for number in range(8)]) == []
