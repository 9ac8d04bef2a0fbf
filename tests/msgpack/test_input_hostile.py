# SPDX-License-Identifier: Apache-2.0
"""MessagePack input with wrong lengths, a missing end or endless nesting: the documented error, in bounded memory."""

from __future__ import annotations

import threading
from functools import partial
from types import ModuleType
from typing import Any

import pytest
from threads import run_threads

from purepy.base.errors import OutOfData, StackError, TruncatedError

MESSAGE: Any = {
    "ints": [0, 127, 128, 255, 256, 65535, 65536, 2**32, 2**63, -1, -33, -129, -32769, -(2**31) - 1],
    "text": ["", "short", "x" * 40, "y" * 300, "é漢🎈" * 30],
    "bin": [b"", b"a" * 20, b"b" * 300],
    "float": [1.5, -0.0],
    "nested": {"deep": {"deeper": [[[{}]]]}},
    "none": [None, True, False],
}


def unpack_error(msgpack: ModuleType, data: bytes, **options: Any) -> Any:
    with pytest.raises(ValueError) as caught:
        msgpack.unpackb(data, **options)
    return caught.value


@pytest.mark.parametrize("options", [{}, {"max_total_items": 100}], ids=["plain", "general"])
def test_truncated_at_each_byte(msgpack: ModuleType, options: dict[str, Any]) -> None:
    """Input cut at any byte has its own error, with an offset up to the end of the input; a stream continues there."""
    data = msgpack.packb(MESSAGE)
    for size in range(len(data)):
        error = unpack_error(msgpack, data[:size], max_map_len=1000, max_array_len=1000, **options)
        assert type(error) is TruncatedError
        assert 0 <= error.offset <= size
        assert str(error).startswith("Unpack failed: incomplete input")
        stream = msgpack.Unpacker(**options)
        stream.feed(data[:size])
        with pytest.raises(OutOfData):
            stream.unpack()
        stream.feed(data[size:])
        assert stream.unpack() == MESSAGE
        assert stream.tell() == len(data)


@pytest.mark.parametrize("lead", [b"\x91", b"\x81\xa1k"])
def test_very_deep_by_request(msgpack: ModuleType, lead: bytes) -> None:
    """A higher max_depth is respected, far beyond the depth that recursion on the C stack would survive."""
    depth = 30_000
    o = msgpack.unpackb(lead * depth + b"\x90", max_depth=depth + 1)
    for _ in range(depth):
        o = o[0] if type(o) is list else o["k"]
    assert o == []
    assert type(unpack_error(msgpack, lead * depth + b"\x90", max_depth=depth)) is StackError


class Box(dict):  # type: ignore[type-arg]
    """A subclass, which takes the slowest path through the packer."""


@pytest.mark.parametrize("kind", [dict, Box])
@pytest.mark.parametrize("stack_size", [512 * 1024, 0])
def test_packing_very_deep(msgpack: ModuleType, kind: type, stack_size: int) -> None:
    """At any max_depth, packing succeeds or raises the documented error; it never overflows a thread's C stack."""
    results: list[Any] = []

    def work(depth: int) -> None:
        levels: list[Any] = [[]]
        for level in range(depth - 1):
            levels.append([levels[-1]] if level % 2 else kind(k=levels[-1]))
        try:
            packed = msgpack.packb(levels[-1], max_depth=depth)
            assert packed.count(b"\x91") == (depth - 1) // 2
            results.append("packed")
        except ValueError as exc:
            assert str(exc) == "recursion limit exceeded."  # noqa: PT017
            results.append("refused")
        # CPython 3.13 frees nested objects by recursion, too deep for a small stack: take the object apart from outside
        for nested in reversed(levels):
            nested.clear()

    before = threading.stack_size(stack_size)
    try:
        for depth in (50, 1_000, 5_000, 40_000):
            assert run_threads(partial(work, depth)) == []
    finally:
        threading.stack_size(before)
    assert len(results) == 4
    assert results[0] == "packed"
    if not stack_size:
        assert results[1] == "packed"
