# SPDX-License-Identifier: Apache-2.0
"""Several record files as one sequence."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, overload

from cpkg._places import Place
from cpkg.records.errors import DamagedError, about
from cpkg.records.reader import Reader, ascending, index_of, reader_of, records_of, within
from cpkg.records.typed_records import Record


class Shards(Generic[Record]):
    """
    The records of several files, one after the other, as a sequence.

    Returned by `records.open([place, ...])`, and by `records.open(folder)` for the files in a folder that end in .rec,
    sorted by name. Records are numbered consecutively over all files; but an error about a record's content gives
    the number of the record in its file. Shards have `iter`, `batches`, `take`, indexing and `damage` like a Reader,
    but not `refresh`. They can be pickled if each file has a path or URL. Each local file is kept open and needs a
    descriptor. Several threads may use Shards.
    """

    def __init__(
        self, places: Sequence[Place], *, threads: int | None, errors: str, options: dict[str, object]
    ) -> None:
        self._readers: list[Reader[Record]] = []
        try:
            for place in places:
                self._readers.append(reader_of(place, threads, errors, options))
        except BaseException:
            self.close()
            raise
        self._ends = list(accumulate(map(len, self._readers)))

    @property
    def damage(self) -> list[DamagedError]:
        """
        The damage that was skipped so far, with `errors="skip"`, in the order of the files.

        Each `reason` begins with the name of the file, in which `offset` and `first` count.
        """
        found = []
        for reader in self._readers:
            for error in reader.damage:
                named = DamagedError(about(reader.name, error.reason), error.offset, error.first, error.count)
                named.advice = None
                found.append(named)
        return found

    def _begin(self, file: int) -> int:
        return self._ends[file - 1] if file else 0

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def _find(self, number: int) -> tuple[int, int]:
        """Return the index of the file with a record, and the record's number in it; raises IndexError if none."""
        index = index_of(number, len(self))
        file = bisect_right(self._ends, index)
        return file, index - self._begin(file)

    @overload
    def __getitem__(self, number: int) -> Record: ...
    @overload
    def __getitem__(self, number: slice) -> list[Record]: ...
    def __getitem__(self, number: int | slice) -> Record | list[Record]:
        """
        Return one record, or the records of a slice as a list.

        Raises IndexError if there is no such record, DamagedError if it cannot be read, even with `errors="skip"`. A
        slice, with any step, skips and raises what iterating over its records does.
        """
        if isinstance(number, slice):
            wanted = range(*number.indices(len(self)))
            records = self._sliced(ascending(wanted))
            return records if wanted.step > 0 else records[::-1]
        file, inside = self._find(number)
        return self._readers[file][inside]

    def _sliced(self, wanted: range) -> list[Record]:
        """Return the records of a slice with these ascending numbers, from slices of all files."""
        found: list[Record] = []
        for file, reader in enumerate(self._readers):
            begin = self._begin(file)
            if inside := within(wanted, begin, self._ends[file]):
                found += reader[inside.start - begin : inside.stop - begin : inside.step]
        return found

    def take(self, numbers: Iterable[int]) -> list[Record]:
        """Return the records with these numbers, in the given order, as `Reader.take` does."""
        files: dict[int, list[tuple[int, int]]] = {}
        found: list[Any] = []
        for place, number in enumerate(numbers):
            file, inside = self._find(number)
            files.setdefault(file, []).append((place, inside))
            found.append(None)
        for file, pairs in files.items():
            for (place, _), record in zip(pairs, self._readers[file].take([inside for _, inside in pairs])):
                found[place] = record
        return found

    __getitems__ = take

    def __iter__(self) -> Iterator[Record]:
        return self.iter()

    def iter(self, start: int = 0, stop: int | None = None) -> Iterator[Record]:
        """Iterate over the records from number `start` on, up to `stop` (not included) or the end."""
        return records_of(self._each(Reader._streams, *slice(start, stop).indices(len(self))))

    def batches(self, start: int = 0, stop: int | None = None) -> Iterator[list[Record]]:
        """Iterate over lists of the records from number `start` to `stop` (not included) or the end, one per frame."""
        return self._each(Reader._batches, *slice(start, stop).indices(len(self)))

    def _each(self, way: Callable[..., Iterator[Any]], start: int, stop: int, _step: int) -> Iterator[Any]:
        """Yield what `way(reader, first, last)` yields for the records of each file from number `start` to `stop`."""
        if start >= stop and len(self):
            return
        for file in range(bisect_left(self._ends, start), len(self._readers)):  # from a file without records, if any
            begin = self._begin(file)
            if begin >= stop and stop < len(self):
                return
            yield from way(self._readers[file], max(start - begin, 0), min(stop, self._ends[file]) - begin)

    def close(self) -> None:
        """Close the files, except file objects of the caller."""
        for reader in self._readers:
            reader.close()

    def __repr__(self) -> str:
        names = ", ".join(repr(os.path.basename(reader.name)) for reader in self._readers[:3])
        more = f", and {len(self._readers) - 3} more" if len(self._readers) > 3 else ""
        return f"<cpkg.records.Shards of {names}{more}: {len(self)} records>"

    def __reduce__(self) -> tuple[Callable[..., Shards[Record]], tuple[object, ...]]:
        """Pickle the paths or URLs, from which the copy opens the files again; raise TypeError if a file has none."""
        return _reopened, ([reader.__reduce__() for reader in self._readers],)

    def __enter__(self) -> Shards[Record]:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _reopened(readers: list[tuple[Callable[..., Reader], tuple[object, ...]]]) -> Shards:
    shards: Shards = Shards([], threads=None, errors="raise", options={})
    try:
        for function, arguments in readers:
            shards._readers.append(function(*arguments))
    except BaseException:
        shards.close()
        raise
    shards._ends = list(accumulate(map(len, shards._readers)))
    return shards
