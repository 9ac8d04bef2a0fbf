# SPDX-License-Identifier: Apache-2.0
"""
Unpacking rows on PyPy: many messages that are maps with the same keys, as the records of a file often are.

C lays out their values column by column (`ffi_build/msgpack/pypy/rows.c`), here or in a thread of its own. A column is
made by a loop for what it holds, ints, texts and so on, which the JIT compiles to a few instructions for a value, the
same ones for each column; then a generator that is made for the keys puts the values into dicts, as constants in the
same order. A decoder that goes from value to value decides for each what it is, and for each key which.

Dicts are made when they are asked for: those of a whole batch that wait in a list are copied by the collector.

This serves default options, except that keys are not checked: for anything else, and for every error, it ends in front
of the row, and the caller turns to the pure codec. All of it works on CPython, too, where the tests use it.
"""

from __future__ import annotations

from cpkg._native._msgpack_ffi import ffi, lib
from purepy.base.errors import CodecError
from purepy.base.pypy import newlist_hint
from purepy.msgpack.oneshot import unpackb_plain
from purepy.msgpack.options import UNPACKING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Callable, Final, Protocol

    from typing_extensions import TypeAlias

    from cpkg._native.cffi_types import CBuffer, CData
    from purepy.base.types import Named

    class Job(Protocol):
        """A frame that a thread of C decompresses (`cpkg._native.zstd.frame_queue`)."""

        @property
        def make(self) -> Callable[..., int]: ...

    Make = Callable[[int, list[list[object]]], Iterator[object]]
    Batch: TypeAlias = "tuple[Iterator[object], int, int]"

# the kinds of cells, and the sizes of heads, as in msgpack/pypy/rows.c
INT, FLOAT, CONSTANT, ASCII, TEXT_AT, BIN_AT, OTHER_AT, ARRAY = (1 << n for n in range(8))
_HEAD: Final = 4
_COLUMN_HEAD: Final = 5

_CONSTANTS: Final = (None, False, True)
_SIZE: Final = 2**32 - 1
# of a value that C leaves: its depth is counted without the map that it is in
_OTHER: Final = UNPACKING.defaults._replace(strict_map_key=False, max_depth=UNPACKING.defaults.max_depth - 1)
_MOST_MAKERS: Final = 64
_WRONG: Final = (CodecError, ValueError, TypeError, OverflowError, RecursionError, MemoryError)
"""What a wrong value raises, and not what a signal handler does: a TimeoutError, for example."""

_unpack = ffi.unpack


class Rows:
    """
    Memory of C: some 100 KiB, and the rows laid out there.

    A batch of less than `fewest` rows is not worth while. `owned` is the address of memory that somebody else frees.
    """

    __slots__ = ("_handle",)

    def __init__(self, fewest: int = 1, owned: int = 0) -> None:
        handle = ffi.cast("cpkg_rows *", owned or lib.cpkg_rows_new())
        if not handle:
            raise MemoryError("no memory for rows")
        handle.fewest = fewest
        self._handle = handle if owned else ffi.gc(handle, lib.cpkg_rows_free)

    @classmethod
    def of_job(cls, job: Job, count: int, fewest: int) -> Rows | None:
        """
        Have a thread of C lay out all rows of the content of a job, `count` at most, in memory that is the job's.

        `job` is one of `cpkg._native.zstd.frame_queue`. Returns None if there is no memory.
        """
        owned = job.make(*_FUNCTIONS, count)
        return cls(fewest, owned) if owned else None

    def next(self, data: bytes, start: int, most: int, fewest: int) -> Batch | None:
        """Do what `read_rows` does, in this memory."""
        self._handle.fewest = fewest
        if not lib.cpkg_rows_next(self._handle, data, len(data), start, most):
            return None
        batch = _sound_batch(self._handle.batches, data)
        return batch[:3] if batch is not None else None

    def each(self, data: bytes | CBuffer) -> Iterator[Batch]:
        """
        Yield the rows that were laid out in advance, a few dozen at a time, as `read_rows` returns them.

        `data` holds the messages, bytes or a buffer of cffi's.
        """
        words = self._handle.batches
        left = self._handle.rows
        while left:
            batch = _sound_batch(words, data)
            if batch is None:
                return
            rows, count, end, size = batch
            words += size
            left -= count
            yield rows, count, end


_FUNCTIONS: Final = tuple(
    int(ffi.cast("uintptr_t", ffi.addressof(lib, f"cpkg_rows_{name}"))) for name in ("new", "free", "after")
)
"""The addresses of what makes memory for rows, frees it, and lays out all rows of a content in it."""

_idle: list[Rows] = []
_makers: dict[bytes, Make | None] = {}


def read_rows(data: bytes, start: int, most: int, fewest: int = 1) -> Batch | None:
    """
    Return an iterator of the maps that begin at `start`, how many they are, and where the last one ends.

    They are those whose keys are the same as the first one's, up to `most` or a few dozen. None if the pure codec has
    to look, or if the next one has other keys and they are less than `fewest`.
    """
    try:
        rows = _idle.pop()
    except IndexError:
        rows = Rows()
    try:
        return rows.next(data, start, most, fewest)
    finally:
        if not _idle:
            _idle.append(rows)


class _Cells:
    """The cells of a column: pointers to their words, as ints and as floats, and to their kinds, and the texts."""

    __slots__ = ("data", "doubles", "kinds", "texts", "words")

    def __init__(self, data: bytes | CBuffer, words: CData, doubles: CData, kinds: CData, texts: list[object]) -> None:
        self.data = data
        self.words = words
        self.doubles = doubles
        self.kinds = kinds
        self.texts = texts


def _sound_batch(words: CData, data: bytes | CBuffer) -> tuple[Iterator[object], int, int, int] | None:
    """Return what `_read_batch` does; None for a wrong value, whose error the pure codec raises."""
    try:
        return _read_batch(words, data)
    except _WRONG:
        return None


def _read_batch(words: CData, data: bytes | CBuffer) -> tuple[Iterator[object], int, int, int]:
    """Return a batch's rows, how many they are, where the last one ends in the data, and the batch's size in words."""
    count, end, columns, size = words[0], words[1], words[2], words[3]
    chars = ffi.cast("char *", words)
    make = _maker(columns, _unpack(chars + 8 * _HEAD, size))
    if make is None:
        raise ValueError("a key is there twice")
    doubles, bytes_ = ffi.cast("double *", words), ffi.cast("unsigned char *", words)
    at = _HEAD + (size + 7 >> 3)
    values = []
    for _ in range(columns):
        mask, item_mask, cells, number, used = words[at], words[at + 1], words[at + 2], words[at + 3], words[at + 4]
        begin = at + _COLUMN_HEAD
        ends = begin + cells
        kinds = ends + number
        pool = kinds + (cells + 7 >> 3)
        at = pool + (used + 7 >> 3)
        texts = _texts(_unpack(chars + 8 * pool, used), _unpack(words + ends, number)) if number else []
        column = _Cells(data, words + begin, doubles + begin, bytes_ + 8 * kinds, texts)
        values.append(_column(column, count, cells, mask, item_mask))
    return make(count, values), count, end, at


def _maker(columns: int, packed: bytes) -> Make | None:
    """Return what makes dicts with these keys, packed one behind the other; None if one of them is there twice."""
    make = _makers.get(packed, _maker)
    if make is _maker:
        if len(_makers) >= _MOST_MAKERS:
            _makers.clear()
        make = _makers[packed] = _generate(unpackb_plain(b"\xdc" + columns.to_bytes(2, "big") + packed))
    return make  # type: ignore[return-value]


def _generate(keys: list[str]) -> Make | None:
    """Return the generator that makes dicts with these keys, None if one of them is there twice."""
    if len(set(keys)) < len(keys):
        return None
    lines = ["def make(count, columns):"]
    lines += [f" c{number} = columns[{number}]" for number in range(len(keys))]
    pairs = ", ".join(f"{key!r}: c{number}[row]" for number, key in enumerate(keys))
    lines += [" for row in range(count):", f"  yield {{{pairs}}}"]
    names: dict[str, Named] = {}
    exec("\n".join(lines), names)  # of the keys it has what repr gives: str literals
    make: Make = names["make"]
    return make


def _texts(pool: bytes, ends: list[int]) -> list[object]:
    """Return the texts of a pool; number 0 is None, or else the list would store bare strings and wrap each use."""
    text = pool.decode("ascii")
    texts: list[object] = [None]
    begin = 0
    for end in ends:
        texts.append(text[begin:end])
        begin = end
    return texts


def _column(column: _Cells, count: int, cells: int, mask: int, item_mask: int) -> list[object]:
    """Return the values of a column of so many rows."""
    if mask == ARRAY:
        return _slices(column.words, _values(column, item_mask, count, cells), count)
    values = _values(column, mask, 0, count)
    if mask & ARRAY:
        _put_slices(column, values, _values(column, item_mask, count, cells), count)
    return values


def _values(column: _Cells, mask: int, begin: int, end: int) -> list[object]:
    """Return the values of cells; arrays, which may be among the cells of the rows, are None."""
    words = column.words
    if mask == INT:
        return _unpack(words + begin, end - begin)
    if mask == FLOAT:
        return _unpack(column.doubles + begin, end - begin)
    if mask == ASCII:
        return _pick(column.texts, words, begin, end)
    if mask == CONSTANT:
        return _pick(_CONSTANTS, words, begin, end)
    return _mixed(column, begin, end)


def _pick(values: Sequence[object], words: CData, begin: int, end: int) -> list[object]:
    picked: list[object] = [None] * (end - begin)
    for cell in range(begin, end):
        picked[cell - begin] = values[words[cell]]
    return picked


def _mixed(column: _Cells, begin: int, end: int) -> list[object]:
    words, doubles, kinds = column.words, column.doubles, column.kinds
    data, texts = column.data, column.texts
    values: list[object] = newlist_hint(end - begin)
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


def _slices(words: CData, items: list[object], count: int) -> list[object]:
    """Return lists of so many items as the words of the rows say, one behind the other."""
    slices = newlist_hint(count)
    begin = 0
    for row in range(count):
        end = begin + words[row]
        slices.append(items[begin:end])
        begin = end
    return slices


def _put_slices(column: _Cells, values: list[object], items: list[object], count: int) -> None:
    """Do the same for the rows that have arrays."""
    begin = 0
    for row in range(count):
        if column.kinds[row] == ARRAY:
            end = begin + column.words[row]
            values[row] = items[begin:end]
            begin = end
