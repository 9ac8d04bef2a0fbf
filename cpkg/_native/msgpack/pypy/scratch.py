# SPDX-License-Identifier: Apache-2.0
"""
The scratch buffer of packing on PyPy, in C memory, and the stores into it (the loop is in `pack`).

There is only one buffer: its memory, position and flags are constants for the JIT. A call that takes the item from
`free` owns the buffer until it puts the item back.
"""

from __future__ import annotations

from _weakref import ref

from cpkg._native._msgpack_ffi import ffi, lib
from purepy.base.pypy import content, list_kind, new_builder
from purepy.msgpack.plain_writer import array_header, bin_header, changed, map_header, str_header

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Final

    from purepy.base.locks import RLock
    from purepy.base.types import Builder

SCRATCH_SIZE: Final = 1 << 19
"""In bytes. The system allocates the pages on first use; a larger buffer would not fit in a processor's cache."""

_CHUNK: Final = 1 << 16
"""The most bytes to move to a builder at once: PyPy allocates larger objects outside its nursery."""

LONG: Final = 2048
"""Text, bins and packed forms of more bytes do not go through the scratch buffer."""

FULL: Final = SCRATCH_SIZE - 2 * (LONG + 16)
"""The last position where an item or a pair may begin: beyond it the buffer is flushed first, to make room."""

PIECE: Final = 4096
"""The most numbers that one C call packs, in at most nine bytes each."""

# the words of the state
AT: Final = 0  # the position of the next byte
TEXT: Final = 1  # whether the scratch buffer has text with characters other than ASCII
_NUMBER: Final = 2  # a double, whose bits are read as an int
LEFT: Final = 3  # the missing items or pairs of the current container

_owner: Final = (ffi.new("unsigned char[]", SCRATCH_SIZE), ffi.new("int64_t[4]"), ffi.new("int64_t[]", PIECE))
scratch: Final = ffi.cast("unsigned char *", _owner[0])
window: Final = ffi.buffer(_owner[0], SCRATCH_SIZE)
state: Final = ffi.cast("int64_t *", _owner[1])
_doubles: Final = ffi.cast("double *", _owner[1])
_ints: Final = ffi.cast("int64_t *", _owner[2])
_floats: Final = ffi.cast("double *", _owner[2])
_uint32: Final = ffi.typeof("uint32_t *")
_cast: Final = ffi.cast
_write_ints: Final = lib.cpkg_write_ints
_write_doubles: Final = lib.cpkg_write_doubles
_find_surrogate: Final = lib.cpkg_find_surrogate


class _Token:
    """The call that holds the token owns the scratch buffer."""

    __slots__ = ("__weakref__",)


# A call takes the only item to own the scratch buffer: list.pop is atomic. An interrupt after the pop loses the token
# until the garbage collector finds it; meanwhile the pure codec packs.
free: Final = [_Token()]
_watched: Final = [ref(free[0])]
_guards: Final[dict[int, RLock]] = {}


def is_taken() -> bool:
    """Return whether a call owns the scratch buffer; replace a token that an interrupt lost."""
    if not free and _watched[0]() is None:
        from purepy.base.locks import process_lock

        with process_lock(_guards):
            if not free and _watched[0]() is None:
                token = _Token()
                _watched[0] = ref(token)
                free.append(token)
    return not free


class Output:
    """The destination of the scratch buffer's bytes: `builder`, which is None until the first bytes arrive."""

    __slots__ = ("builder", "size_hint")

    def __init__(self, size_hint: int) -> None:
        self.builder: Builder = None
        self.size_hint = size_hint

    def append(self, data: bytes) -> None:
        if self.builder is None:
            self.builder = new_builder(max(self.size_hint, _CHUNK))
        self.builder.append(data)


def check_text() -> None:
    """Raise UnicodeEncodeError if a text in the scratch buffer has surrogates, for the first such text."""
    state[TEXT] = 0
    begin = _find_surrogate(scratch, state[AT], state + _NUMBER)
    if begin >= 0:
        window[begin : begin + state[_NUMBER]].decode("utf-8", "surrogatepass").encode()


def flush(out: Output) -> None:
    """Move the scratch buffer's bytes to the output; raise UnicodeEncodeError if its text has surrogates."""
    if state[TEXT]:
        check_text()
    size = state[AT]
    for begin in range(0, size, _CHUNK):
        out.append(window[begin : min(begin + _CHUNK, size)])
    state[AT] = 0


def _put_u16(at: int, value: int) -> None:
    scratch[at] = value >> 8
    scratch[at + 1] = value & 0xFF


def _put_u32(at: int, value: int) -> None:
    value = value >> 24 | value >> 8 & 0xFF00 | (value & 0xFF00) << 8 | (value & 0xFF) << 24
    _cast(_uint32, scratch + at)[0] = value


def put_text(out: Output, text: str) -> None:
    packed = content(text)
    size = len(packed)
    at = state[AT]
    if size < 32:
        scratch[at] = 0xA0 | size
        at += 1
    elif size <= 0xFF:
        scratch[at] = 0xD9
        scratch[at + 1] = size
        at += 2
    elif size <= LONG:
        scratch[at] = 0xDA
        _put_u16(at + 1, size)
        at += 3
    else:
        flush(out)
        packed = text.encode()
        out.append(str_header(size))
        out.append(packed)
        return
    window[at : at + size] = packed
    state[AT] = at + size
    if size != len(text):
        state[TEXT] = 1


def put_bin(out: Output, data: bytes) -> None:
    size = len(data)
    at = state[AT]
    if size <= 0xFF:
        scratch[at] = 0xC4
        scratch[at + 1] = size
        at += 2
    elif size <= LONG:
        scratch[at] = 0xC5
        _put_u16(at + 1, size)
        at += 3
    else:
        flush(out)
        out.append(bin_header(size))
        out.append(data)
        return
    window[at : at + size] = data
    state[AT] = at + size


def put_packed(out: Output, packed: bytes) -> None:
    """Store `packed`, the packed form of an object, in the scratch buffer, or directly in the output if it is long."""
    size = len(packed)
    if size > LONG:
        flush(out)
        out.append(packed)
        return
    at = state[AT]
    window[at : at + size] = packed
    state[AT] = at + size


def put_int(value: int) -> bool:
    """Store an int that is not a fixint, in the shortest format; return False if it is out of range."""
    at = state[AT]
    if value >= 0:
        if value <= 0xFF:
            scratch[at] = 0xCC
            scratch[at + 1] = value
            at += 2
        elif value <= 0xFFFF:
            scratch[at] = 0xCD
            _put_u16(at + 1, value)
            at += 3
        elif value <= 0xFFFFFFFF:
            scratch[at] = 0xCE
            _put_u32(at + 1, value)
            at += 5
        elif value <= 0x7FFFFFFFFFFFFFFF or value <= 0xFFFFFFFFFFFFFFFF:
            scratch[at] = 0xCF
            _put_u32(at + 1, value >> 32)
            _put_u32(at + 5, value & 0xFFFFFFFF)
            at += 9
        else:
            return False
    elif value >= -0x80:
        scratch[at] = 0xD0
        scratch[at + 1] = value & 0xFF
        at += 2
    elif value >= -0x8000:
        scratch[at] = 0xD1
        _put_u16(at + 1, value & 0xFFFF)
        at += 3
    elif value >= -0x80000000:
        scratch[at] = 0xD2
        _put_u32(at + 1, value & 0xFFFFFFFF)
        at += 5
    elif value >= -0x8000000000000000:
        scratch[at] = 0xD3
        _put_u32(at + 1, value >> 32 & 0xFFFFFFFF)
        _put_u32(at + 5, value & 0xFFFFFFFF)
        at += 9
    else:
        return False
    state[AT] = at
    return True


def put_float(value: float) -> None:
    _doubles[_NUMBER] = value
    bits = state[_NUMBER]
    at = state[AT]
    scratch[at] = 0xCB
    _put_u32(at + 1, bits >> 32 & 0xFFFFFFFF)
    _put_u32(at + 5, bits & 0xFFFFFFFF)
    state[AT] = at + 9


def put_array(out: Output, length: int) -> None:
    _put_count(out, length, 0x90, 0xDC, array_header)


def put_map(out: Output, length: int) -> None:
    _put_count(out, length, 0x80, 0xDE, map_header)


def _put_count(out: Output, length: int, short: int, long: int, header: Callable[[int], bytes]) -> None:
    at = state[AT]
    if length <= 0xF:
        scratch[at] = short | length
        state[AT] = at + 1
    elif length <= 0xFFFF:
        scratch[at] = long
        _put_u16(at + 1, length)
        state[AT] = at + 3
    else:
        flush(out)
        out.append(header(length))


def put_numbers(out: Output, items: list[object]) -> bool:
    """
    Pack a list, with its header, if PyPy stores its items as unboxed ints or floats; return whether it does.

    Raises RuntimeError if another thread shortens the list or changes the type of its items meanwhile.

    The two loops mirror each other: a single loop would compile to one trace that tests the type of each item.
    """
    kind = list_kind(items)
    if kind == "IntegerListStrategy":
        length = len(items)
        put_array(out, length)
        for begin in range(0, length, PIECE):
            if state[AT] + 9 * min(length - begin, PIECE) > FULL:
                flush(out)
            i = 0
            for item in _piece(items, begin, length, kind):
                _ints[i] = item
                i += 1
            state[AT] += _write_ints(_ints, i, scratch + state[AT])
        return True
    if kind == "FloatListStrategy":
        length = len(items)
        put_array(out, length)
        for begin in range(0, length, PIECE):
            if state[AT] + 9 * min(length - begin, PIECE) > FULL:
                flush(out)
            i = 0
            for item in _piece(items, begin, length, kind):
                _floats[i] = item
                i += 1
            state[AT] += _write_doubles(_floats, i, scratch + state[AT])
        return True
    return False


def _piece(items: list[object], begin: int, length: int, kind: str) -> list[object]:
    """
    Return a copy of a list's items from `begin` to before `length`, at most PIECE of them.

    Raises RuntimeError if another thread has shortened the list, or changed its storage from `kind`.
    """
    end = min(begin + PIECE, length)
    piece = items[begin:end]
    if len(piece) != end - begin or list_kind(piece) != kind:
        raise changed("list")
    return piece
