# SPDX-License-Identifier: Apache-2.0
"""
Packing into the scratch buffer against the pure codec: the same bytes, and the same errors. It is for PyPy, but its
loop and its C side also run on CPython.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgpack_oracle import outcome
from msgpack_strategies import EDGES, SCALARS, TEXTS, WORDS
from pypy_parts import pypy_part
from threads import run_threads

from purepy import msgpack as pure
from purepy.msgpack.packer import PLAIN_ENCODER, Packer

scratch = pypy_part("pack")
memory = pypy_part("scratch")

pytestmark = pytest.mark.interpreter

CHARACTERS = "aé한\ud7ff\ud800\udfff\ue000😀"  # with the characters next to the surrogates

texts = TEXTS | st.text(CHARACTERS, max_size=40)
scalars = (
    SCALARS
    | texts
    | st.integers(2**64, 2**64 + 2)
    | st.sampled_from([b"\xed\xa0\x80", 0xEDA0, 0xEDA0EDA0, "z" * 2048, "é" * 1025, b"b" * 2049])
    | st.just(object())
)
objects = st.recursive(
    scalars | st.lists(WORDS, max_size=20) | st.lists(st.floats(), max_size=20) | st.lists(texts, max_size=30),
    lambda inner: st.lists(inner, max_size=20)
    | st.tuples(inner, inner)
    | st.dictionaries(texts | WORDS | st.binary(max_size=5), inner, max_size=20),
    max_leaves=40,
)


def pack(obj: Any, max_depth: int = 1024, encoder: Any = PLAIN_ENCODER) -> Any:
    return scratch.pack(obj, max_depth, tuple, encoder.write, encoder.form, 0)


def written(function: Any, kind: str, items: list[Any]) -> bytes:
    output = memory.ffi.new("unsigned char[]", 9 * len(items))
    size = function(memory.ffi.new(kind, items), len(items), output)
    return bytes(memory.ffi.buffer(output, size))


@given(objects)
@example([EDGES, [*EDGES, None]])
def test_the_scratch_buffer_packs_as_pure_does(obj: Any) -> None:
    """The same bytes or the same error."""
    assert outcome(pack, obj) == outcome(pure.packb, obj)


@given(st.lists(WORDS, max_size=50), st.lists(st.floats(), max_size=50))
@example(EDGES, [])
def test_numbers_are_written_as_pure_writes_them(ints: list[int], floats: list[float]) -> None:
    """Each 64-bit int and each float gives the same bytes, NaNs included."""
    assert written(memory.lib.cpkg_write_ints, "int64_t[]", ints) == b"".join(map(pure.packb, ints))
    assert written(memory.lib.cpkg_write_doubles, "double[]", floats) == b"".join(map(pure.packb, floats))


@pytest.mark.parametrize("length", [0, 7, 8, 4095, 4096, 4097, 60_000])
def test_long_lists(length: int) -> None:
    """Lists of numbers that are longer than a piece and than the scratch buffer."""
    lists = list(range(2**31, 2**31 + length)), ["é"] * length, [i / 7 for i in range(length)]
    for items in lists[: 1 if length > 5000 else None]:
        assert pack({"k": items, "l": [items, 1]}) == pure.packb({"k": items, "l": [items, 1]})


@pytest.mark.parametrize(
    "size", [31, 32, 255, 256, 2047, 2048, 2049, 65_535, 65_536, memory.SCRATCH_SIZE - 3, memory.SCRATCH_SIZE]
)
def test_text_and_bins_of_any_length(size: int) -> None:
    """The limits of each header, and values that bypass the scratch buffer."""
    for item in ("a" * size, "é" * (size // 2), b"b" * size):
        for obj in (item, [item] * 3, {"k": item, item: 1}, [1, item, 2.5, {"x": [item]}]):
            assert pack(obj) == pure.packb(obj)


@pytest.mark.parametrize("step", range(0, 4200, 311))
def test_the_end_of_the_scratch_buffer(step: int) -> None:
    """The largest pairs and items that go through the scratch buffer, wherever its end is."""
    filler = b"\x00" * 2048
    pairs = {str(i) + "k" * (memory.LONG - len(str(i))): "v" * memory.LONG for i in range(300)}
    obj = [[filler] * 100, b"s" * (step // 2), b"t" * (step // 2), pairs, [filler] * 300, [1.5, "é"] * 20]
    assert pack(obj) == pure.packb(obj)


SURROGATES = ["\ud800", "é" * 2000 + "\udabc", "한\udfff", "é" * 30 + "\udabc", "x" * 300 + "\udabc"]


@pytest.mark.parametrize(
    ("bad", "before"),
    # the largest exceeds the scratch buffer, so it is slow
    [(bad, before) for before in (0, 1, 1000, 70_000) for bad in SURROGATES[: 1 if before > 1000 else None]],
)
def test_surrogates(bad: str, before: int) -> None:
    """Text without a UTF-8 encoding raises the error of encoding it, at any place."""
    fill = ["é", b"\xed\xa0\x80" * 5, 0xEDA0, float.fromhex("0x1.da0p+1")] * (before // 4 + (before > 0))
    objs = [fill, bad], {"k": fill, bad: 1}, [fill, [bad, 1]], {"k": fill, "b": bad}, [[fill, bad], object()]
    for obj in objs[: 2 if before > 1000 else None]:
        with pytest.raises(UnicodeEncodeError) as raised:
            pack(obj)
        with pytest.raises(UnicodeEncodeError) as expected:
            bad.encode()
        assert raised.value.args == expected.value.args
    assert pack([fill, "é"]) == pure.packb([fill, "é"])  # and nothing of the bad text remains


def test_the_first_error_is_raised() -> None:
    """No hook is called for an object after text without a UTF-8 encoding."""
    called: list[Any] = []
    encoder = Packer(default=lambda obj: called.append(obj))._encoder
    for obj in (["\ud800", object()], {"k": "\ud800", "l": object()}, {"k": "\ud800", "l": 2**70}):
        with pytest.raises(UnicodeEncodeError):
            pack(obj, encoder=encoder)
    assert called == []
    for obj in ([2**70, "\ud800"], [object(), "\ud800"], [["\ud800"]]):
        assert outcome(pack, obj, 1) == outcome(pure.packb, obj, max_depth=1)


def test_one_call_has_the_scratch_buffer() -> None:
    """A call within a call finds the scratch buffer in use, and does not disturb the outer call."""
    inner: list[Any] = []

    def default(obj: Any) -> str:
        inner.append(pack(["é"]))
        return "é"

    assert pack(["a", object(), 2.5], encoder=Packer(default=default)._encoder) == pure.packb(["a", "é", 2.5])
    assert inner == [None]
    assert pack(1) == b"\x01"


def test_threads() -> None:
    """The messages of threads that pack at the same time do not mix."""

    def work(number: int) -> None:
        obj = [{"k": number, "é": [number / 7] * 20, "t": "x" * number}] * 200
        expected = pure.packb(obj)
        assert all(pack(obj) in (None, expected) for _ in range(20))

    assert run_threads(*(partial(work, number) for number in range(8))) == []
    assert pack("é") == pure.packb("é")
