# SPDX-License-Identifier: Apache-2.0
"""
Pack into C memory: the fast loop of the native backend on PyPy.

A jitted store into memory owned by cffi takes one nanosecond; appending bytes to PyPy's builder takes five. So headers
and numbers are stored directly, and short text and bins as slices, into a scratch buffer. The message is copied from
the buffer, or from a builder into which a full buffer is emptied. C packs lists of plain numbers, thousands in a call.

There is only one scratch buffer, so that the JIT can treat the buffer, its position and its flags as constants. While
another thread, or a call that waits for a hook to return, is using the buffer, calls pack with the pure codec's loop.

Text is not checked while it is stored. If the scratch buffer holds text with characters other than ASCII, C looks for
surrogates before the bytes leave the buffer, before a hook is called, and before another error is raised.

Another thread may change a container while it is packed. So its items are counted, and packing fails if their number
differs from the header. The count is also in C's memory, because PyPy allocates an object for an int that several paths
of a loop use.

All of this also works on CPython, where the tests use it, but is not fast there.
"""

from __future__ import annotations

import sys
from itertools import chain

from cpkg._native.msgpack.pypy.scratch import (
    AT,
    FULL,
    LEFT,
    TEXT,
    Output,
    check_text,
    flush,
    free,
    is_taken,
    put_array,
    put_bin,
    put_float,
    put_int,
    put_map,
    put_numbers,
    put_packed,
    put_text,
    scratch,
    state,
    window,
)
from purepy.base.errors import is_from_handler
from purepy.base.pypy import finish
from purepy.msgpack.plain_writer import RUN, Form, Frame, changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Callable, Final

    from purepy.base.types import Value

USABLE: Final = sys.byteorder == "little"
"""Whether the loop can run on this machine: it always reverses the bytes of numbers, as little-endian machines need."""

_NUMBERS: Final = 8
"""Shorter lists of numbers are packed item by item."""


def pack(
    obj: object, max_depth: int, tuple_type: type, other: Callable[..., None], form: Form | None, size_hint: int
) -> bytes | None:
    """
    Return the packed form of an object under the default options, or None if the scratch buffer is in use.

    Arguments and errors are those of `write_plain`; `size_hint` is a guess at the size of the message, in bytes.
    """
    token = None
    try:
        if not free and is_taken():
            return None
        token = free.pop()
        state[AT] = 0
        state[TEXT] = 0
        out = Output(size_hint)
        _write(out, obj, max_depth, tuple_type, other, form)
        if out.builder is None:
            if state[TEXT]:
                check_text()
            return window[: state[AT]]
        flush(out)
        return finish(out.builder)
    except Exception as exc:
        if token is None:
            if isinstance(exc, IndexError):
                return None  # another thread was faster
            raise
        if state[TEXT] and not is_from_handler(exc):
            check_text()  # an error in earlier text comes first
        raise
    finally:
        if token is not None:
            free.append(token)


def _put_run(out: Output, items: Iterator[object], kind: type) -> Iterator[object]:
    """
    Pack the leading items of a list that have the type `kind`; return an iterator of the remaining items.

    Packs nothing unless `kind` is str or float.
    """
    done = 0
    if kind is str:
        for item in items:
            if type(item) is not str:
                state[LEFT] -= done
                return chain((item,), items)
            done += 1
            if state[AT] > FULL:
                flush(out)
            put_text(out, item)
    elif kind is float:
        for item in items:
            if type(item) is not float:
                state[LEFT] -= done
                return chain((item,), items)
            done += 1
            if state[AT] > FULL:
                flush(out)
            put_float(item)
    state[LEFT] -= done
    return items


def _other(out: Output, obj: object, depth: int, node: Value, other: Callable[..., None]) -> None:
    """Pack `obj` by calling `other`; raise RuntimeError if that changed the size of `node`, the container around it."""
    flush(out)
    length = len(node)
    other(out, obj, depth)
    if len(node) != length:
        raise changed("dictionary" if type(node) is dict else "list")


def _write(
    out: Output, obj: object, max_depth: int, tuple_type: type, other: Callable[..., None], form: Form | None
) -> None:
    """Pack `obj` as `write_plain` does, but into the scratch buffer. The two halves mirror those of `write_plain`."""
    stack: list[Frame] = []
    node: Value = (obj,)
    items: Iterator[Value] = iter(node)
    kind: type | None
    packed: Value
    state[LEFT] = 1
    in_map = False
    while True:
        if in_map:
            for key, value in items:
                state[LEFT] -= 1
                if state[AT] > FULL:
                    flush(out)
                if type(key) is str:
                    put_text(out, key)
                else:
                    _other(out, key, len(stack), node, other)
                kind = type(value)
                if kind is str:
                    put_text(out, value)
                elif kind is int:
                    if -0x20 <= value < 0x80:
                        scratch[state[AT]] = value & 0xFF
                        state[AT] += 1
                    elif not put_int(value):
                        _other(out, value, len(stack), node, other)
                elif kind is float:
                    put_float(value)
                elif value is None:
                    scratch[state[AT]] = 0xC0
                    state[AT] += 1
                elif value is True:
                    scratch[state[AT]] = 0xC3
                    state[AT] += 1
                elif value is False:
                    scratch[state[AT]] = 0xC2
                    state[AT] += 1
                elif kind is dict:
                    if len(stack) >= max_depth:
                        raise ValueError("recursion limit exceeded.")
                    stack.append((True, items, node, state[LEFT]))
                    node = value
                    length = len(value)
                    state[LEFT] = length
                    put_map(out, length)
                    items = iter(value.items())
                    break
                elif kind is list or kind is tuple_type:
                    if len(stack) >= max_depth:
                        raise ValueError("recursion limit exceeded.")
                    if kind is list and len(value) >= _NUMBERS and put_numbers(out, value):
                        continue
                    stack.append((True, items, node, state[LEFT]))
                    node = value
                    length = len(value)
                    state[LEFT] = length
                    put_array(out, length)
                    items = iter(value) if length < RUN else _put_run(out, iter(value), type(next(iter(value), None)))
                    in_map = False
                    break
                elif kind is bytes:
                    put_bin(out, value)
                else:
                    packed = None if form is None or len(stack) >= max_depth else form(value)
                    if packed is None:
                        _other(out, value, len(stack), node, other)
                    elif type(packed) is bytes:
                        put_packed(out, packed)
                    else:
                        stack.append((True, items, node, state[LEFT]))
                        node = packed
                        length = len(packed)
                        state[LEFT] = length
                        put_map(out, length)
                        items = iter(packed)
                        break
                key = value = kind = packed = None
            else:
                if state[LEFT]:
                    raise changed("dictionary")
                in_map, items, node, length = stack.pop()
                state[LEFT] = length
                if length < 0:
                    raise changed("list")  # a hook that appends an item each time would never end
        else:
            for value in items:
                state[LEFT] -= 1
                if state[AT] > FULL:
                    flush(out)
                kind = type(value)
                if kind is str:
                    put_text(out, value)
                elif kind is int:
                    if -0x20 <= value < 0x80:
                        scratch[state[AT]] = value & 0xFF
                        state[AT] += 1
                    elif not put_int(value):
                        _other(out, value, len(stack), node, other)
                elif kind is float:
                    put_float(value)
                elif value is None:
                    scratch[state[AT]] = 0xC0
                    state[AT] += 1
                elif value is True:
                    scratch[state[AT]] = 0xC3
                    state[AT] += 1
                elif value is False:
                    scratch[state[AT]] = 0xC2
                    state[AT] += 1
                elif kind is dict:
                    if len(stack) >= max_depth:
                        raise ValueError("recursion limit exceeded.")
                    stack.append((False, items, node, state[LEFT]))
                    node = value
                    length = len(value)
                    state[LEFT] = length
                    put_map(out, length)
                    items = iter(value.items())
                    in_map = True
                    break
                elif kind is list or kind is tuple_type:
                    if len(stack) >= max_depth:
                        raise ValueError("recursion limit exceeded.")
                    if kind is list and len(value) >= _NUMBERS and put_numbers(out, value):
                        continue
                    stack.append((False, items, node, state[LEFT]))
                    node = value
                    length = len(value)
                    state[LEFT] = length
                    put_array(out, length)
                    items = iter(value) if length < RUN else _put_run(out, iter(value), type(next(iter(value), None)))
                    break
                elif kind is bytes:
                    put_bin(out, value)
                else:
                    packed = None if form is None or len(stack) >= max_depth else form(value)
                    if packed is None:
                        _other(out, value, len(stack), node, other)
                    elif type(packed) is bytes:
                        put_packed(out, packed)
                    else:
                        stack.append((False, items, node, state[LEFT]))
                        node = packed
                        length = len(packed)
                        state[LEFT] = length
                        put_map(out, length)
                        items = iter(packed)
                        in_map = True
                        break
                value = kind = packed = None
            else:
                if state[LEFT]:
                    raise changed("list")
                if not stack:
                    return
                in_map, items, node, length = stack.pop()
                state[LEFT] = length
                if length < 0:
                    raise changed("list")
