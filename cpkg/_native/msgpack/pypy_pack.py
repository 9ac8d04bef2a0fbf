# SPDX-License-Identifier: Apache-2.0
"""
Packing into C's memory: the fast loop of the native backend on PyPy.

A jitted store into memory that cffi owns takes a nanosecond, where appending bytes to PyPy's builder takes five. So
headers and numbers are stored directly, and text and bins as slices. The scratch buffer that they are stored in becomes
the message, or is emptied into a builder when it is full. Lists of plain numbers are packed by C, in one call.

There is one scratch buffer. A call that finds it taken, by another thread or by a call that waits for a hook to return,
packs with the pure codec's loop instead. So the buffer, its position and its flags can be constants for the JIT.

Text is not checked while it is stored. If there is text beyond ASCII in the scratch buffer, C looks for surrogates in
it before its bytes leave it, and before anything else that a caller can see: a hook, another error.

Another thread may change a container while it is packed. So its items are counted, and packing fails if they are not as
many as its header says. The count is in C's memory, too: PyPy makes an object of an int that paths of a loop have in
common.

All of this works on CPython too, where the tests use it, but is not fast there.
"""

from __future__ import annotations

import sys
from itertools import chain

from cpkg._native._msgpack_ffi import ffi, lib
from purepy._jit import content, finish, list_kind, new_builder
from purepy.msgpack.plain_writer import RUN, Frame, array_header, bin_header, changed, map_header, str_header

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Callable, Final

USABLE: Final = sys.byteorder == "little"
"""Whether the loop can run here: it turns the bytes of numbers around."""

SCRATCH_SIZE: Final = 1 << 19
"""Bytes. The memory becomes real as it is used; what a processor's cache holds beside the objects is no larger."""

_CHUNK: Final = 1 << 16
"""Bytes that a builder is given at once: PyPy makes larger objects outside of its nursery."""

LONG: Final = 2048
"""Longer text and bins do not go through the scratch buffer."""

_FULL: Final = SCRATCH_SIZE - 2 * (LONG + 16)
"""A pair of a map begins below this position."""

_NUMBERS: Final = 8
"""Shorter lists of numbers are packed item by item."""

PIECE: Final = 4096
"""Numbers that one C call packs, in at most nine bytes each."""

# the words of the state
_AT: Final = 0  # where the next byte goes
_TEXT: Final = 1  # whether the scratch buffer has text beyond ASCII
_NUMBER: Final = 2  # a double whose bits are taken
_LEFT: Final = 3  # how many items or pairs of the container at hand are still to come

_owner: Final = (ffi.new("unsigned char[]", SCRATCH_SIZE), ffi.new("int64_t[4]"), ffi.new("int64_t[]", PIECE))
_scratch: Final = ffi.cast("unsigned char *", _owner[0])
_window: Final = ffi.buffer(_owner[0], SCRATCH_SIZE)
_state: Final = ffi.cast("int64_t *", _owner[1])
_doubles: Final = ffi.cast("double *", _owner[1])
_ints: Final = ffi.cast("int64_t *", _owner[2])
_floats: Final = ffi.cast("double *", _owner[2])
_uint32: Final = ffi.typeof("uint32_t *")
_cast: Final = ffi.cast
_write_ints: Final = lib.cpkg_tape_write_ints
_write_doubles: Final = lib.cpkg_tape_write_doubles
_find_surrogate: Final = lib.cpkg_tape_find_surrogate

# Taking the one item is taking the scratch buffer: a list's pop is atomic.
_free: Final = [_scratch]


class _Output:
    """The destination of the scratch buffer's bytes: a builder, made when there is something for it."""

    __slots__ = ("builder", "size_hint")

    def __init__(self, size_hint: int) -> None:
        self.builder: Any = None
        self.size_hint = size_hint

    def append(self, data: bytes) -> None:
        if self.builder is None:
            self.builder = new_builder(max(self.size_hint, _CHUNK))
        self.builder.append(data)


def pack(obj: Any, max_depth: int, tuple_type: type, other: Callable[..., None], size_hint: int) -> bytes | None:
    """
    Return the packed form of an object under the default options, or None if the scratch buffer is taken.

    The arguments are those of `write_plain`, the errors too; `size_hint` guesses the size of the message, in bytes.
    """
    try:
        token = _free.pop()
    except IndexError:
        return None
    try:
        _state[_AT] = 0
        _state[_TEXT] = 0
        out = _Output(size_hint)
        _write(out, obj, max_depth, tuple_type, other)
        if out.builder is None:
            if _state[_TEXT]:
                _check()
            return _window[: _state[_AT]]
        _flush(out)
        return finish(out.builder)
    except Exception:
        if _state[_TEXT]:
            _check()  # text that came before the place of this error is the first error
        raise
    finally:
        _free.append(token)


def _check() -> None:
    """Raise UnicodeEncodeError for the first text in the scratch buffer that has surrogates."""
    _state[_TEXT] = 0
    begin = _find_surrogate(_scratch, _state[_AT], _state + _NUMBER)
    if begin >= 0:
        _window[begin : begin + _state[_NUMBER]].decode("utf-8", "surrogatepass").encode()


def _flush(out: _Output) -> None:
    """Give the scratch buffer's bytes to the output."""
    if _state[_TEXT]:
        _check()
    size = _state[_AT]
    for begin in range(0, size, _CHUNK):
        out.append(_window[begin : min(begin + _CHUNK, size)])
    _state[_AT] = 0


def _put_u16(at: int, value: int) -> None:
    _scratch[at] = value >> 8
    _scratch[at + 1] = value & 0xFF


def _put_u32(at: int, value: int) -> None:
    value = value >> 24 | value >> 8 & 0xFF00 | (value & 0xFF00) << 8 | (value & 0xFF) << 24
    _cast(_uint32, _scratch + at)[0] = value


def _put_text(out: _Output, text: str) -> None:
    packed = content(text)
    size = len(packed)
    at = _state[_AT]
    if size < 32:
        _scratch[at] = 0xA0 | size
        at += 1
    elif size <= 0xFF:
        _scratch[at] = 0xD9
        _scratch[at + 1] = size
        at += 2
    elif size <= LONG:
        _scratch[at] = 0xDA
        _put_u16(at + 1, size)
        at += 3
    else:
        _flush(out)
        packed = text.encode()
        out.append(str_header(size))
        out.append(packed)
        return
    _window[at : at + size] = packed
    _state[_AT] = at + size
    if size != len(text):
        _state[_TEXT] = 1


def _put_bin(out: _Output, data: bytes) -> None:
    size = len(data)
    at = _state[_AT]
    if size <= 0xFF:
        _scratch[at] = 0xC4
        _scratch[at + 1] = size
        at += 2
    elif size <= LONG:
        _scratch[at] = 0xC5
        _put_u16(at + 1, size)
        at += 3
    else:
        _flush(out)
        out.append(bin_header(size))
        out.append(data)
        return
    _window[at : at + size] = data
    _state[_AT] = at + size


def _put_int(value: int) -> bool:
    """Store an int that is no fixint in the shortest format; return False if it is out of range."""
    at = _state[_AT]
    if value >= 0:
        if value <= 0xFF:
            _scratch[at] = 0xCC
            _scratch[at + 1] = value
            at += 2
        elif value <= 0xFFFF:
            _scratch[at] = 0xCD
            _put_u16(at + 1, value)
            at += 3
        elif value <= 0xFFFFFFFF:
            _scratch[at] = 0xCE
            _put_u32(at + 1, value)
            at += 5
        elif value <= 0x7FFFFFFFFFFFFFFF or value <= 0xFFFFFFFFFFFFFFFF:
            _scratch[at] = 0xCF
            _put_u32(at + 1, value >> 32)
            _put_u32(at + 5, value & 0xFFFFFFFF)
            at += 9
        else:
            return False
    elif value >= -0x80:
        _scratch[at] = 0xD0
        _scratch[at + 1] = value & 0xFF
        at += 2
    elif value >= -0x8000:
        _scratch[at] = 0xD1
        _put_u16(at + 1, value & 0xFFFF)
        at += 3
    elif value >= -0x80000000:
        _scratch[at] = 0xD2
        _put_u32(at + 1, value & 0xFFFFFFFF)
        at += 5
    elif value >= -0x8000000000000000:
        _scratch[at] = 0xD3
        _put_u32(at + 1, value >> 32 & 0xFFFFFFFF)
        _put_u32(at + 5, value & 0xFFFFFFFF)
        at += 9
    else:
        return False
    _state[_AT] = at
    return True


def _put_float(value: float) -> None:
    _doubles[_NUMBER] = value
    bits = _state[_NUMBER]
    at = _state[_AT]
    _scratch[at] = 0xCB
    _put_u32(at + 1, bits >> 32 & 0xFFFFFFFF)
    _put_u32(at + 5, bits & 0xFFFFFFFF)
    _state[_AT] = at + 9


def _put_array(out: _Output, length: int) -> None:
    at = _state[_AT]
    if length <= 0xF:
        _scratch[at] = 0x90 | length
        _state[_AT] = at + 1
    elif length <= 0xFFFF:
        _scratch[at] = 0xDC
        _put_u16(at + 1, length)
        _state[_AT] = at + 3
    else:
        _flush(out)
        out.append(array_header(length))


def _put_map(out: _Output, length: int) -> None:
    at = _state[_AT]
    if length <= 0xF:
        _scratch[at] = 0x80 | length
        _state[_AT] = at + 1
    elif length <= 0xFFFF:
        _scratch[at] = 0xDE
        _put_u16(at + 1, length)
        _state[_AT] = at + 3
    else:
        _flush(out)
        out.append(map_header(length))


def _put_numbers(out: _Output, items: list[Any]) -> bool:
    """Pack a list that PyPy stores as bare ints or floats, its header too; return whether it does."""
    kind = list_kind(items)
    if kind == "IntegerListStrategy":
        length = len(items)
        _put_array(out, length)
        for begin in range(0, length, PIECE):
            if _state[_AT] + 9 * min(length - begin, PIECE) > _FULL:
                _flush(out)
            i = 0
            for item in _piece(items, begin, length, kind):
                _ints[i] = item
                i += 1
            _state[_AT] += _write_ints(_ints, i, _scratch + _state[_AT])
        return True
    if kind == "FloatListStrategy":
        length = len(items)
        _put_array(out, length)
        for begin in range(0, length, PIECE):
            if _state[_AT] + 9 * min(length - begin, PIECE) > _FULL:
                _flush(out)
            i = 0
            for item in _piece(items, begin, length, kind):
                _floats[i] = item
                i += 1
            _state[_AT] += _write_doubles(_floats, i, _scratch + _state[_AT])
        return True
    return False


def _piece(items: list[Any], begin: int, length: int, kind: str) -> list[Any]:
    """Return the next numbers of a list; RuntimeError if another thread has made another list of it."""
    end = min(begin + PIECE, length)
    piece = items[begin:end]
    if len(piece) != end - begin or list_kind(piece) != kind:
        raise changed("list")
    return piece


def _put_run(out: _Output, items: Iterator[Any], kind: type) -> Iterator[Any]:
    """Pack the leading items of a list as `purepy.msgpack.plain_writer.write_run` does; return the others."""
    done = 0
    if kind is str:
        for item in items:
            if type(item) is not str:
                _state[_LEFT] -= done
                return chain((item,), items)
            done += 1
            if _state[_AT] > _FULL:
                _flush(out)
            _put_text(out, item)
    elif kind is float:
        for item in items:
            if type(item) is not float:
                _state[_LEFT] -= done
                return chain((item,), items)
            done += 1
            if _state[_AT] > _FULL:
                _flush(out)
            _put_float(item)
    _state[_LEFT] -= done
    return items


def _other(out: _Output, obj: Any, depth: int, node: Any, other: Callable[..., None]) -> None:
    """Have an object packed that this loop does not know, and see whether that changed the container it is in."""
    _flush(out)
    length = len(node)
    other(out, obj, depth)
    if len(node) != length:
        raise changed("dictionary" if type(node) is dict else "list")


def _write(out: _Output, obj: Any, max_depth: int, tuple_type: type, other: Callable[..., None]) -> None:
    """Do what `write_plain` does, with the scratch buffer."""
    stack: list[Frame] = []
    node: Any = (obj,)
    items: Any = iter(node)
    kind: Any
    _state[_LEFT] = 1
    in_map = False
    while True:
        if in_map:
            for key, value in items:
                _state[_LEFT] -= 1
                if _state[_AT] > _FULL:
                    _flush(out)
                if type(key) is str:
                    _put_text(out, key)
                else:
                    _other(out, key, len(stack), node, other)
                kind = type(value)
                if kind is str:
                    _put_text(out, value)
                elif kind is int:
                    if -0x20 <= value < 0x80:
                        _scratch[_state[_AT]] = value & 0xFF
                        _state[_AT] += 1
                    elif not _put_int(value):
                        _other(out, value, len(stack), node, other)
                elif kind is float:
                    _put_float(value)
                elif value is None:
                    _scratch[_state[_AT]] = 0xC0
                    _state[_AT] += 1
                elif value is True:
                    _scratch[_state[_AT]] = 0xC3
                    _state[_AT] += 1
                elif value is False:
                    _scratch[_state[_AT]] = 0xC2
                    _state[_AT] += 1
                elif kind is dict:
                    if len(stack) >= max_depth:
                        raise ValueError("recursion limit exceeded.")
                    stack.append((True, items, node, _state[_LEFT]))
                    node = value
                    length = len(value)
                    _state[_LEFT] = length
                    _put_map(out, length)
                    items = iter(value.items())
                    break
                elif kind is list or kind is tuple_type:
                    if len(stack) >= max_depth:
                        raise ValueError("recursion limit exceeded.")
                    if kind is list and len(value) >= _NUMBERS and _put_numbers(out, value):
                        continue
                    stack.append((True, items, node, _state[_LEFT]))
                    node = value
                    length = len(value)
                    _state[_LEFT] = length
                    _put_array(out, length)
                    items = iter(value) if length < RUN else _put_run(out, iter(value), type(next(iter(value), None)))
                    in_map = False
                    break
                elif kind is bytes:
                    _put_bin(out, value)
                else:
                    _other(out, value, len(stack), node, other)
                key = value = kind = None
            else:
                if _state[_LEFT]:
                    raise changed("dictionary")
                in_map, items, node, length = stack.pop()
                _state[_LEFT] = length
                if length < 0:
                    raise changed("list")  # by a hook that appends to it each time: it would never end
        else:
            for value in items:
                _state[_LEFT] -= 1
                if _state[_AT] > _FULL:
                    _flush(out)
                kind = type(value)
                if kind is str:
                    _put_text(out, value)
                elif kind is int:
                    if -0x20 <= value < 0x80:
                        _scratch[_state[_AT]] = value & 0xFF
                        _state[_AT] += 1
                    elif not _put_int(value):
                        _other(out, value, len(stack), node, other)
                elif kind is float:
                    _put_float(value)
                elif value is None:
                    _scratch[_state[_AT]] = 0xC0
                    _state[_AT] += 1
                elif value is True:
                    _scratch[_state[_AT]] = 0xC3
                    _state[_AT] += 1
                elif value is False:
                    _scratch[_state[_AT]] = 0xC2
                    _state[_AT] += 1
                elif kind is dict:
                    if len(stack) >= max_depth:
                        raise ValueError("recursion limit exceeded.")
                    stack.append((False, items, node, _state[_LEFT]))
                    node = value
                    length = len(value)
                    _state[_LEFT] = length
                    _put_map(out, length)
                    items = iter(value.items())
                    in_map = True
                    break
                elif kind is list or kind is tuple_type:
                    if len(stack) >= max_depth:
                        raise ValueError("recursion limit exceeded.")
                    if kind is list and len(value) >= _NUMBERS and _put_numbers(out, value):
                        continue
                    stack.append((False, items, node, _state[_LEFT]))
                    node = value
                    length = len(value)
                    _state[_LEFT] = length
                    _put_array(out, length)
                    items = iter(value) if length < RUN else _put_run(out, iter(value), type(next(iter(value), None)))
                    break
                elif kind is bytes:
                    _put_bin(out, value)
                else:
                    _other(out, value, len(stack), node, other)
                value = kind = None
            else:
                if _state[_LEFT]:
                    raise changed("list")
                if not stack:
                    return
                in_map, items, node, length = stack.pop()
                _state[_LEFT] = length
                if length < 0:
                    raise changed("list")
