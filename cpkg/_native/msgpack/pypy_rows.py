# SPDX-License-Identifier: Apache-2.0
"""
Unpacking rows on PyPy: many messages that are maps with the same keys, as the records of a file often are.

C gives their values column by column (`ffi_build/msgpack/pypy/rows.c`). A column is made by a loop for what it holds,
ints, texts and so on, which the JIT compiles to a few instructions for a value, the same ones for each column; then a
function that is generated for the keys puts the values into dicts, as constants in the order that they stand in. A
decoder that goes from value to value decides for each what it is, and for each key which.

`read_rows()` serves default options, except that keys are not checked: for anything else, and for every error, it
returns None, and the caller turns to the pure codec. All of this works on CPython, too, where the tests use it.
"""

from __future__ import annotations

from cpkg._native._msgpack_ffi import ffi, lib
from purepy._jit import newlist_hint
from purepy.msgpack.oneshot import unpackb_plain
from purepy.msgpack.options import UNPACKING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Final

    Make = Callable[[int, list[Any]], list[Any]]

# the kinds of cells, as in msgpack/pypy/rows.c
INT, FLOAT, CONSTANT, ASCII, TEXT_AT, BIN_AT, OTHER_AT, ARRAY = (1 << n for n in range(8))

_CONSTANTS: Final = (None, False, True)
_SIZE: Final = 2**32 - 1
# of a value that C leaves: its depth is counted without the map that it is in
_OTHER: Final = UNPACKING.defaults._replace(strict_map_key=False, max_depth=UNPACKING.defaults.max_depth - 1)
_MOST_MAKERS: Final = 64

_find = lib.cpkg_rows_find
_column = lib.cpkg_rows_column
_unpack = ffi.unpack


class Rows:
    """The C side's memory (about 140 KiB) and the pointers into it."""

    __slots__ = ("doubles", "ends", "handle", "kinds", "pool", "words")

    def __init__(self) -> None:
        self.handle = handle = ffi.new("cpkg_rows *")
        self.words = handle.words
        self.doubles = ffi.cast("double *", handle.words)
        self.ends = handle.ends
        self.kinds = handle.kinds
        self.pool = handle.pool


_idle: list[Rows] = []
_makers: dict[tuple[bytes, ...], Make | None] = {}


def read_rows(data: bytes, start: int, most: int) -> tuple[list[Any], int] | None:
    """
    Return the maps that begin at `start`, up to `most` of them or a few dozen, and where the last one ends.

    They are those whose keys are the same as the first one's; None if there is none, or if the pure codec has to look.
    """
    try:
        rows = _idle.pop()
    except IndexError:
        rows = Rows()
    try:
        handle = rows.handle
        count = _find(handle, data, len(data), start, most)
        if not count:
            return None
        make = _maker(data, handle)
        if make is None:
            return None
        columns = [_read_column(rows, data, number, count) for number in range(handle.columns)]
        return make(count, columns), handle.position
    except Exception:
        return None  # text that is not UTF-8, an extension that is wrong: the pure codec raises the error
    finally:
        if not _idle:
            _idle.append(rows)


def _maker(data: bytes, handle: Any) -> Make | None:
    places = _unpack(handle.keys, 2 * handle.columns)
    packed = tuple([data[begin : begin + size] for begin, size in zip(places[::2], places[1::2])])
    make = _makers.get(packed, _maker)
    if make is _maker:
        if len(_makers) >= _MOST_MAKERS:
            _makers.clear()
        make = _makers[packed] = _generate([unpackb_plain(key) for key in packed])
    return make  # type: ignore[return-value]


def _generate(keys: list[str]) -> Make | None:
    """Return the function that makes dicts with these keys, None if one of them is there twice."""
    if len(set(keys)) < len(keys):
        return None
    lines = ["def make(count, columns):", " rows = newlist_hint(count)"]
    lines += [f" c{number} = columns[{number}]" for number in range(len(keys))]
    pairs = ", ".join(f"{key!r}: c{number}[row]" for number, key in enumerate(keys))
    lines += [" for row in range(count):", f"  rows.append({{{pairs}}})", " return rows"]
    names: dict[str, Any] = {"newlist_hint": newlist_hint}
    exec("\n".join(lines), names)  # of the keys it has what repr gives: str literals
    make: Make = names["make"]
    return make


def _read_column(rows: Rows, data: bytes, number: int, count: int) -> list[Any]:
    """Return the values of a column."""
    handle = rows.handle
    mask = _column(handle, data, len(data), number, count)
    texts = _texts(rows) if handle.texts else []
    if mask == ARRAY:
        return _slices(rows.words, _values(rows, data, texts, handle.item_mask, count, handle.cells), count)
    values = _values(rows, data, texts, mask, 0, count)
    if mask & ARRAY:
        items = _values(rows, data, texts, handle.item_mask, count, handle.cells)
        _put_slices(rows, values, items, count)
    return values


def _texts(rows: Rows) -> list[Any]:
    """Return the texts of the pool; number 0 is None, or else the list would store bare strings and wrap each use."""
    handle = rows.handle
    pool = ffi.buffer(rows.pool, handle.pool_used)[:].decode("ascii")
    texts: list[Any] = [None]
    begin = 0
    for end in _unpack(rows.ends, handle.texts):
        texts.append(pool[begin:end])
        begin = end
    return texts


def _values(rows: Rows, data: bytes, texts: list[Any], mask: int, begin: int, end: int) -> list[Any]:
    """Return the values of cells; None stands for arrays, which may be among the cells of the rows."""
    words = rows.words
    if mask == INT:
        return _unpack(words + begin, end - begin)
    if mask == FLOAT:
        return _unpack(rows.doubles + begin, end - begin)
    if mask == ASCII:
        return _pick(texts, words, begin, end)
    if mask == CONSTANT:
        return _pick(_CONSTANTS, words, begin, end)
    return _mixed(rows, data, texts, begin, end)


def _pick(values: Any, words: Any, begin: int, end: int) -> list[Any]:
    picked = [None] * (end - begin)
    for cell in range(begin, end):
        picked[cell - begin] = values[words[cell]]
    return picked


def _mixed(rows: Rows, data: bytes, texts: list[Any], begin: int, end: int) -> list[Any]:
    words = rows.words
    doubles = rows.doubles
    kinds = rows.kinds
    values: list[Any] = newlist_hint(end - begin)
    for cell in range(begin, end):
        kind = kinds[cell]
        if kind == ASCII:
            values.append(texts[words[cell]])
        elif kind == INT:
            values.append(words[cell])
        elif kind == CONSTANT:
            values.append(_CONSTANTS[words[cell]])
        elif kind == FLOAT:
            values.append(doubles[cell])
        elif kind == ARRAY:
            values.append(None)
        else:
            at = words[cell] >> 32
            content = data[at : at + (words[cell] & _SIZE)]
            if kind == TEXT_AT:
                values.append(content.decode())
            elif kind == BIN_AT:
                values.append(content)
            else:
                values.append(unpackb_plain(content, _OTHER))
    return values


def _slices(words: Any, items: list[Any], count: int) -> list[Any]:
    """Return lists of so many items as the words of the rows say, one behind the other."""
    slices = newlist_hint(count)
    begin = 0
    for row in range(count):
        end = begin + words[row]
        slices.append(items[begin:end])
        begin = end
    return slices


def _put_slices(rows: Rows, values: list[Any], items: list[Any], count: int) -> None:
    """Do the same for the rows that have arrays."""
    begin = 0
    for row in range(count):
        if rows.kinds[row] == ARRAY:
            end = begin + rows.words[row]
            values[row] = items[begin:end]
            begin = end
