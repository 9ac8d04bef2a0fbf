# SPDX-License-Identifier: Apache-2.0
"""
The native MessagePack backend on PyPy: C handles the calls that it is for, and the pure codec the others.

The conformance and differential tests check results; they cannot detect that C was not used.
"""

from __future__ import annotations

import gc
import platform
from typing import Any

import pytest
from backends import available
from msgpack_oracle import outcome
from pypy_parts import pypy_part

from purepy import msgpack as pure

decoder = pypy_part("decoder")
marshal = pypy_part("marshal")

NATIVE: Any = available("msgpack").get("native")
pytestmark = pytest.mark.skipif(
    platform.python_implementation() != "PyPy" or NATIVE is None, reason="PyPy's native MessagePack backend"
)

MESSAGE = {"records": [{"id": i, "name": f"name {i}", "score": i / 7, "tags": ["a", "é"]} for i in range(50)]}


@pytest.fixture
def no_pure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the pure functions that the native ones fall back to fail."""

    def refuse(*args: Any, **options: Any) -> Any:
        raise AssertionError("the pure codec handled a call that C should handle")

    for name in ("unpackb_plain", "unpackb_with", "unpackb_from_with"):
        monkeypatch.setattr(f"cpkg._native.msgpack.pypy.functions_unpack.oneshot.{name}", refuse)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
@pytest.mark.parametrize(
    "options",
    [
        *({}, {"strict_map_key": False}, {"tuple_keys": True, "strict_map_key": False}, {"timestamp": 3}),
        *({"max_depth": 3000}, {"max_str_len": 10, "max_array_len": 50}, {"ext_hook": lambda code, data: (code, data)}),
    ],
    ids=str,
)
@pytest.mark.usefixtures("no_pure")
def test_marshal_is_used(kind: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The first plain calls never reach the decoder."""
    monkeypatch.setattr(marshal.READING, "left", 10**12)
    packed = NATIVE.packb(MESSAGE)
    assert NATIVE.unpackb(kind(packed), **options) == MESSAGE
    assert NATIVE.unpackb_from(kind(b"--" + packed + b"--"), 2, **options) == (MESSAGE, len(packed) + 2)


def test_c_reads_lists_of_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """C reads lists of numbers once the marshal phase is over."""
    monkeypatch.setattr(marshal.READING, "left", 0)
    calls = []
    read = decoder._read_numbers
    monkeypatch.setattr(decoder, "_read_numbers", lambda *args: calls.append(1) or read(*args))
    packed = pure.packb({"k": list(range(300)), "l": [0.5] * 300})
    hooked = {"object_hook": lambda o: o}
    for options, served in (({}, True), ({"strict_map_key": False, "timestamp": 3}, True), (hooked, False)):
        del calls[:]
        assert NATIVE.unpackb(packed, **options) == pure.unpackb(packed)
        assert NATIVE.unpackb_from(packed, **options) == (pure.unpackb(packed), len(packed))
        stream = NATIVE.Unpacker(**options)
        stream.feed(packed)
        assert stream.unpack() == pure.unpackb(packed)
        assert bool(calls) is served


@pytest.mark.parametrize(
    ("items", "served"),
    [
        *((list(range(-300, 300)), True), ([2**62 + i for i in range(8)], True), (list(range(10_000)), True)),
        *(([i / 3 for i in range(600)], True), ([2**63 + i for i in range(20)], False), ([1, 2.5] * 20, False)),
        *(([True, 1] * 20, False), (["a"] * 20, False), (list(range(7)), False), (tuple(range(20)), False)),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_lists_of_plain_numbers(items: Any, served: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """C packs the lists that PyPy stores as machine numbers, at any place, to the same bytes as the pure codec."""
    from cpkg._native.msgpack.pypy import scratch as pypy_scratch

    calls = []
    for name in ("_write_ints", "_write_doubles"):
        write = getattr(pypy_scratch, name)
        monkeypatch.setattr(pypy_scratch, name, lambda *args, write=write: calls.append(1) or write(*args))
    for obj in (items, [items, "x"], {"k": items, "l": 1}):
        del calls[:]
        assert pure.packb(obj) == NATIVE.packb(obj) == NATIVE.Packer().pack(obj)
        assert bool(calls) is served


@pytest.mark.parametrize("options", [{}, {"strict_types": True}, {"datetime": True}, {"max_depth": 5}], ids=str)
def test_the_scratch_buffer_is_used(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls whose options do not affect the bytes use the scratch buffer; while it is in use, the pure codec packs."""
    from cpkg._native.msgpack.pypy import pack as pypy_pack

    packed = pure.packb(MESSAGE)
    monkeypatch.setattr("purepy.msgpack.encoder.write_plain", None)
    assert NATIVE.packb(MESSAGE, **options) == NATIVE.Packer(**options).pack(MESSAGE) == packed
    monkeypatch.undo()
    monkeypatch.setattr(pypy_pack, "free", [])
    monkeypatch.setattr(pypy_pack, "is_taken", lambda: True)
    assert NATIVE.packb(MESSAGE, **options) == NATIVE.Packer(**options).pack(MESSAGE) == packed


def test_depth_of_lists_of_numbers() -> None:
    """A list that C would pack counts as a level like any other."""
    for depth in (0, 1, 2):
        obj: Any = list(range(20))
        for _ in range(depth):
            obj = [obj]
        assert NATIVE.packb(obj, max_depth=depth + 1) == pure.packb(obj)
        with pytest.raises(ValueError, match="recursion limit exceeded"):
            NATIVE.packb(obj, max_depth=depth)


def test_errors_are_those_of_the_pure_codec() -> None:
    """For a long invalid message, the error has the same type, text and offset."""
    packed = NATIVE.packb(MESSAGE)
    for wrong in (packed[:-1], packed + b"\x00", packed[:-2] + b"\xc1\xc1", packed.replace(b"name 30", b"nam\xff 30")):
        kind, *_ = found = outcome(NATIVE.unpackb, wrong)
        assert found == outcome(pure.unpackb, wrong)
        assert issubclass(kind, Exception)
    with pytest.raises(pure.LimitError) as limited:
        NATIVE.unpackb(packed, max_str_len=4)
    assert limited.value.offset is not None


def test_a_lost_scratch_buffer_is_found_again() -> None:
    """An interrupt may come after a call has taken the buffer: a buffer without references is free again."""
    from cpkg._native.msgpack.pypy import scratch as pypy_scratch

    held = [pypy_scratch.free.pop()]
    assert pypy_scratch.is_taken()
    del held[:]
    gc.collect()
    assert not pypy_scratch.is_taken()
    assert len(pypy_scratch.free) == 1
