# SPDX-License-Identifier: Apache-2.0
"""
Unpack rows on PyPy: consecutive messages that are maps with the same keys, like the records of many files.

C arranges the values column by column (`ffi_build/msgpack/pypy/rows.c`), in this thread or another one. One function
per kind of values (ints, texts and so on) turns columns into objects; the JIT compiles loops of few instructions, which
all columns share. A generator, compiled with the keys as constants, then builds the dicts. An ordinary decoder would
test the type of each value and look up each key.

A dict is created only when the caller asks for it: the garbage collector would copy a list of a whole batch of dicts.

Only the default options are supported, and only keys that are str. A function of the caller reads the values that C
does not read, such as extension values. At any other row, and at every error, reading stops before the row or its
batch, and the caller continues with the pure codec. All of this also works on CPython, where the tests use it.
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
        """The part of `cpkg._native.zstd.frame_queue.FrameJob` that this module uses."""

        @property
        def make(self) -> Callable[..., int]: ...

    Make = Callable[[int, list[list[object]]], Iterator[object]]
    Other = Callable[[bytes], object]
    Batch: TypeAlias = "tuple[Iterator[object], int, int]"

# the kinds of cells, and the sizes of heads, as in msgpack/pypy/rows.c
INT, FLOAT, CONSTANT, ASCII, TEXT_AT, BIN_AT, OTHER_AT, ARRAY = (1 << n for n in range(8))
_HEAD: Final = 4
_COLUMN_HEAD: Final = 5

_CONSTANTS: Final = (None, False, True)
_SIZE: Final = 2**32 - 1
# for a value that C does not read: its depth is counted from inside the map, so the limit is one less
_OTHER: Final = UNPACKING.defaults._replace(strict_map_key=False, max_depth=UNPACKING.defaults.max_depth - 1)
_MOST_MAKERS: Final = 64
_WRONG: Final = (CodecError, ValueError, TypeError, OverflowError, RecursionError, MemoryError)
"""The exceptions that a wrong value raises. Others, such as a TimeoutError, come from a signal handler."""

_unpack = ffi.unpack


def _read_other(content: bytes) -> object:
    """Unpack the bytes of one value that C does not read, such as an extension value, a map or an array of arrays."""
    return unpackb_plain(content, _OTHER)


class Rows:
    """
    C memory: about 100 KiB of work space, and the rows that C has arranged.

    `fewest` is the number of rows from which a batch pays off. `owned` is the address of existing memory, which its
    owner frees; 0 allocates new memory.
    """

    __slots__ = ("_handle",)

    def __init__(self, fewest: int = 1, owned: int = 0) -> None:
        handle = ffi.cast("cpkg_rows *", owned or lib.cpkg_rows_new())
        if not handle:
            raise MemoryError("not enough memory for rows")
        handle.fewest = fewest
        self._handle = handle if owned else ffi.gc(handle, lib.cpkg_rows_free)

    @classmethod
    def of_job(cls, job: Job, count: int, fewest: int) -> Rows | None:
        """
        Return Rows in memory that a job owns; the job's thread will arrange up to `count` of the job's rows there.

        `job` is a `cpkg._native.zstd.frame_queue.FrameJob`. Returns None if there is no memory, or if the job was
        submitted.
        """
        owned = job.make(*_FUNCTIONS, count)
        return cls(fewest, owned) if owned else None

    def next(self, data: bytes, start: int, most: int, fewest: int, other: Other) -> Batch | None:
        """Return the rows that begin at `start`, or None, as `read_rows` does; C arranges them in this memory."""
        self._handle.fewest = fewest
        if not lib.cpkg_rows_next(self._handle, data, len(data), start, most):
            return None
        batch = _sound_batch(self._handle.batches, data, other)
        return batch[:3] if batch is not None else None

    def each(self, data: bytes | CBuffer, other: Other = _read_other) -> Iterator[Batch]:
        """
        Yield the rows that a C thread arranged, up to 64 at a time, in the form in which `read_rows` returns them.

        `data`, bytes or a cffi buffer, holds the messages. Ends before a batch with a wrong value, which the pure codec
        must read.
        """
        words = self._handle.batches
        left = self._handle.rows
        while left:
            batch = _sound_batch(words, data, other)
            if batch is None:
                return
            rows, count, end, size = batch
            words += size
            left -= count
            yield rows, count, end


_FUNCTIONS: Final = tuple(
    int(ffi.cast("uintptr_t", ffi.addressof(lib, f"cpkg_rows_{name}"))) for name in ("new", "free", "after")
)
"""The addresses of the C functions that allocate memory for rows, free it, and arrange the rows of a content in it."""

_idle: list[Rows] = []
_makers: dict[bytes, Make | None] = {}


def read_rows(data: bytes, start: int, most: int, fewest: int = 1, other: Other = _read_other) -> Batch | None:
    """
    Return an iterator of the maps from offset `start` on, their number, and the offset of the end of the last one.

    All maps have the keys of the first map; there are at most `most` maps, and at most 64. `other` reads the
    values that C does not read. Returns None if the pure codec must read the next row, or if fewer than `fewest` rows
    (and fewer than `most`) have the same keys.
    """
    try:
        rows = _idle.pop()
    except IndexError:
        rows = Rows()
    try:
        return rows.next(data, start, most, fewest, other)
    finally:
        if not _idle:
            _idle.append(rows)


class _Cells:
    """
    The cells of a column. Each has a word of 8 bytes and a kind of one byte, and may refer to a text in `texts`.

    `words` and `doubles` point to the words, as ints and as floats; `kinds` points to the kinds. `data` holds the
    messages; `other` is the function that reads the values that C does not read.
    """

    __slots__ = ("data", "doubles", "kinds", "other", "texts", "words")

    def __init__(
        self,
        data: bytes | CBuffer,
        words: CData,
        doubles: CData,
        kinds: CData,
        texts: list[object],
        other: Other,
    ) -> None:
        self.data = data
        self.other = other
        self.words = words
        self.doubles = doubles
        self.kinds = kinds
        self.texts = texts


def _sound_batch(words: CData, data: bytes | CBuffer, other: Other) -> tuple[Iterator[object], int, int, int] | None:
    """Return the result of `_read_batch`; None for a wrong value, whose error the pure codec raises."""
    try:
        return _read_batch(words, data, other)
    except _WRONG:
        return None


def _read_batch(words: CData, data: bytes | CBuffer, other: Other) -> tuple[Iterator[object], int, int, int]:
    """
    Return an iterator of a batch's rows, their number, the end of the last one in the data, and the batch's size.

    The batch begins at `words`; its size is in words.
    """
    count, end, columns, size = words[0], words[1], words[2], words[3]
    chars = ffi.cast("char *", words)
    make = _maker(columns, _unpack(chars + 8 * _HEAD, size))
    if make is None:
        raise ValueError("duplicate key in a row")
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
        column = _Cells(data, words + begin, doubles + begin, bytes_ + 8 * kinds, texts, other)
        values.append(_column(column, count, cells, mask, item_mask))
    return make(count, values), count, end, at


def _maker(columns: int, packed: bytes) -> Make | None:
    """
    Return the function `make(count, values)` that yields `count` dicts with these keys; None if a key occurs twice.

    `packed` holds the keys, `columns` in number, as consecutive messages. `values` has a list of values per key.
    """
    make = _makers.get(packed, _maker)
    if make is _maker:
        if len(_makers) >= _MOST_MAKERS:
            _makers.clear()
        make = _makers[packed] = _generate(unpackb_plain(b"\xdc" + columns.to_bytes(2, "big") + packed))
    return make  # type: ignore[return-value]


def _generate(keys: list[str]) -> Make | None:
    """Compile the function that `_maker` returns, for these keys; return None if a key occurs twice."""
    if len(set(keys)) < len(keys):
        return None
    lines = ["def make(count, columns):"]
    lines += [f" c{number} = columns[{number}]" for number in range(len(keys))]
    pairs = ", ".join(f"{key!r}: c{number}[row]" for number, key in enumerate(keys))
    lines += [" for row in range(count):", f"  yield {{{pairs}}}"]
    names: dict[str, Named] = {}
    exec("\n".join(lines), names)  # the keys are literals, written by repr
    make: Make = names["make"]
    return make


def _texts(pool: bytes, ends: list[int]) -> list[object]:
    """
    Return a list of None followed by the ASCII texts in `pool`, which end at the offsets `ends`.

    Without the None, PyPy would store unboxed strings, and box one at each use.
    """
    text = pool.decode("ascii")
    texts: list[object] = [None]
    begin = 0
    for end in ends:
        texts.append(text[begin:end])
        begin = end
    return texts


def _column(column: _Cells, count: int, cells: int, mask: int, item_mask: int) -> list[object]:
    """
    Return the values of a column of `count` rows.

    The first `count` of its `cells` belong to the rows, the rest to the items of arrays. `mask` and `item_mask` have
    the bits of the kinds that occur in the two parts.
    """
    if mask == ARRAY:
        return _slices(column.words, _values(column, item_mask, count, cells), count)
    values = _values(column, mask, 0, count)
    if mask & ARRAY:
        _put_slices(column, values, _values(column, item_mask, count, cells), count)
    return values


def _values(column: _Cells, mask: int, begin: int, end: int) -> list[object]:
    """Return the values of the cells from `begin` to `end`, whose kinds are in `mask`; an array becomes None."""
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
    data, texts, other = column.data, column.texts, column.other
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
                values.append(other(content))
    return values


def _slices(words: CData, items: list[object], count: int) -> list[object]:
    """Split the items into `count` lists, one per row, whose lengths are the first `count` words."""
    slices = newlist_hint(count)
    begin = 0
    for row in range(count):
        end = begin + words[row]
        slices.append(items[begin:end])
        begin = end
    return slices


def _put_slices(column: _Cells, values: list[object], items: list[object], count: int) -> None:
    """For each row whose value is an array, put the list of the array's items into `values`; keep other values."""
    begin = 0
    for row in range(count):
        if column.kinds[row] == ARRAY:
            end = begin + column.words[row]
            values[row] = items[begin:end]
            begin = end
