# SPDX-License-Identifier: Apache-2.0
"""
Record files on Dask: read splits into bags and data frames, and write one file per partition (extra `dask`).

    import cpkg.dask
    bag = cpkg.dask.read_records("s3://bucket/events/*.rec")
    cpkg.dask.write_records(bag.filter(lambda record: record["status"] >= 500), "s3://bucket/errors")

Dask does the scheduling. Each of its tasks works on one partition, and Dask may run it again if a worker dies.
docs/records.md shows more.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, Union

from cpkg import records
from cpkg._urls import filesystem, is_url
from cpkg.records.opening import SUFFIX as _SUFFIX
from cpkg.records.opening import files_in
from purepy.base.errors import Suppressed, is_from_handler
from purepy.base.new_files import replacing

try:
    import dask
    import dask.bag
    import fsspec
except ImportError as exc:
    raise ImportError(f"{exc}; cpkg.dask needs Dask (pip install 'dask[distributed]')", name=exc.name) from None

if TYPE_CHECKING:
    import dask.dataframe
    from dask.delayed import Delayed

Urls = Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]]

PARTITION_SIZE: Final = 1 << 19
"""
The default size of a partition in bytes of the file: 30,000 to 500,000 short records, usually 12 to 25 MB of objects.

A file of a million short records has several partitions, so that several workers can read it.
"""

_PART: Final = re.compile(r"part-\d{5,}\.rec")
_SAMPLE: Final = 1000


def find(urls: Urls) -> list[str]:
    """
    Return the record files for paths, URLs, patterns (`*`) and folders; the files of each are sorted by name.

    The record files of a folder are its files that end in .rec. Raises FileNotFoundError if one of these has none.
    """
    found = []
    for url in [urls] if isinstance(urls, (str, os.PathLike)) else urls:
        named = _named(os.fspath(url))
        if not named:
            raise FileNotFoundError(f"{os.fspath(url)}: no record file found")
        found += named
    return found


def _named(url: str) -> list[str]:
    if is_url(url):
        fs, path = filesystem(url)
        if fs.isdir(path):
            names = [name for name in fs.ls(path, detail=False) if name.endswith(_SUFFIX)]
        elif fs.exists(path):
            return [url]
        else:
            names = fs.glob(path)
        return [fs.unstrip_protocol(name) for name in sorted(names)]
    if os.path.isdir(url):
        return files_in(url)
    return [url] if os.path.exists(url) else sorted(glob.glob(url))


def partitions(urls: Urls, partition_size: int = PARTITION_SIZE) -> list[records.Split]:
    """Return the splits of the record files that `find` returns for `urls`, each with about `partition_size` bytes."""
    return [split for url in find(urls) for split in records.splits(url, size=partition_size)]


def read_records(urls: Urls, *, partition_size: int = PARTITION_SIZE, **options: object) -> dask.bag.Bag:
    """
    Return a dask.bag with the records of files, in order, with one partition per split.

    Args:
        urls: a path, URL for fsspec, pattern (`*`) or folder, or several of these; workers must be able to reach them.
        partition_size: the bytes of a file per partition.
        **options: `errors`, `type` and the options of unpacking, as in `records.open`.

    Reads the indexes of the files now (without an index, the headers), and the records when the bag is computed.
    Operations that process records one by one (`map`, `filter`, `sum`, `take`, ...) need little memory. Raises
    FileNotFoundError if there are no files, and the errors of `records.splits`.
    """
    splits = partitions(urls, partition_size)
    if not splits:
        return dask.bag.from_sequence([], npartitions=1)
    # not one list per partition: Dask can then process the records one by one and drop each
    return dask.bag.from_sequence(splits, npartitions=len(splits)).map(_read, options).flatten()


def _read(split: records.Split, options: dict[str, Any]) -> Iterator[object]:
    return split.read(**options)


def write_records(
    bag: dask.bag.Bag, url: str | os.PathLike[str], *, overwrite: bool = False, compute: bool = True, **options: object
) -> list[str] | Delayed:
    """
    Write each partition of a dask.bag to its own file, `part-00000.rec` and so on, in the folder `url`.

    With more than 100,000 partitions, all numbers have as many digits as the last one, so that names sort in order.

    The files are first written to a temporary folder (`url/.writing-...`), and moved once all are complete. So the
    bag may read the files that it replaces, and no record is lost or duplicated if a worker dies or a partition is
    computed twice.

    Args:
        bag: a dask.bag of objects that a record file can contain, as in `records.open`.
        url: a folder, or the URL of one, which is created if missing. This process and all workers must reach it.
        overwrite: replace existing parts, and remove all parts with other names. Other files stay.
        compute: if true, write now and return the names of the files; if false, return a Delayed that does so later.
        **options: `level`, `frame_size`, `dictionary` and the options of packing, as in `records.open`.

    A write that fails or is interrupted removes its temporary folder, and `url` if the write created it. But if it has
    begun to move the files, it moves all of them. A Delayed that fails keeps the temporary folder, and continues there
    when it is computed again.

    Raises FileExistsError if the folder has parts and `overwrite` is false; this is checked before anything is
    computed, and again before the files are moved.
    """
    # the slashes of a root, such as memory://, stay
    folder = _Folder(re.sub(r"(?<=[^/:])/+$", "", os.fspath(url)) or os.curdir, overwrite)
    parts = bag.to_delayed()
    try:
        begun = folder.begin() if compute else dask.delayed(_Folder.begin)(folder)
        write = dask.delayed(_Folder.write)
        written = [write(begun, number, part, options) for number, part in enumerate(parts)]
        done = dask.delayed(_Folder.finish)(begun, len(parts), written)
        return done.compute() if compute else done
    except BaseException as exc:
        names = folder.settle(len(parts))
        if names and isinstance(exc, Exception) and not is_from_handler(exc):
            return names
        raise


class _Folder:
    """
    The folder to which one write adds its parts; can be pickled.

    The write has a temporary folder `.writing-...` in the folder, with the parts and up to two marker files. `begun`
    exists while parts are wanted; `named` exists once all parts are complete and are getting their names. A process
    that gives up removes `begun`, then checks for `named`. A process that names the parts creates `named`, then checks
    for `begun`. A late worker finds no `begun` and removes its part. So either all parts get their names or none, and
    no temporary file is left.
    """

    def __init__(self, url: str, overwrite: bool) -> None:
        self.url = url
        self._overwrite = overwrite
        self._run = os.urandom(8).hex()
        self._is_new = False

    def _place(self) -> tuple[fsspec.AbstractFileSystem, str, str]:
        """Return the file system, the path of the folder, and the path of this write's temporary folder in it."""
        if is_url(self.url):
            fs, path = filesystem(self.url)
        else:
            fs, path = fsspec.filesystem("file"), os.path.abspath(self.url)
        fs.invalidate_cache()  # other processes may have changed files
        return fs, path, f"{path}/.writing-{self._run}"

    def begin(self) -> _Folder:
        """
        Create the temporary folder, and return this object for the tasks that follow.

        Raises FileExistsError if the folder already has parts and `overwrite` is false.
        """
        fs, path, own = self._place()
        self._refuse_parts(fs, path, own)
        self._is_new = not fs.isdir(path)
        fs.makedirs(own, exist_ok=True)
        fs.touch(f"{own}/begun")
        return self

    def _refuse_parts(self, fs: fsspec.AbstractFileSystem, path: str, own: str) -> None:
        if not self._overwrite and not fs.exists(f"{own}/named") and self._parts(fs, path):
            raise FileExistsError(
                f"{self.url}: the folder already has record files; choose another folder, or pass overwrite=True"
            )

    @staticmethod
    def _parts(fs: fsspec.AbstractFileSystem, path: str) -> list[str]:
        """Return the names of all parts in the folder, from any write."""
        if not fs.isdir(path):
            return []
        names = (name.rstrip("/").rpartition("/")[2] for name in fs.ls(path, detail=False))
        return [name for name in names if _PART.fullmatch(name)]

    def write(self, number: int, part: Iterable[object], options: dict[str, Any]) -> None:
        """Write a part, complete or not at all; remove it and raise RuntimeError if parts are no longer wanted."""
        rows = list(part)
        fs, _, own = self._place()
        name = f"{own}/{_part(number)}"
        if fs.exists(f"{own}/begun"):
            if is_url(self.url):
                self._upload(fs, name, rows, options)
            else:
                with replacing(name) as file, records.open(file, "wb", **options) as writer:
                    writer.extend(rows)
            if fs.exists(f"{own}/begun"):
                return
        self._remove()
        raise RuntimeError(f"{self.url}: part {number} arrived after this write failed or was completed")

    @staticmethod
    def _upload(fs: fsspec.AbstractFileSystem, name: str, rows: list[object], options: dict[str, Any]) -> None:
        temporary = f"{name}.{os.urandom(6).hex()}.tmp"
        with fs.open(temporary, "wb") as file, records.open(file, "wb", **options) as writer:
            writer.extend(rows)
        _move(fs, temporary, name)

    def finish(self, count: int, written: Iterable[None] = ()) -> list[str]:
        """
        Give the `count` parts their names, remove all other parts, and return the paths or URLs of the files.

        `written` only makes Dask wait for the parts. After an interruption, the call may be repeated, and two processes
        may call `finish` at once: parts that already have their names keep them. If the temporary folder no longer has
        a file `begun`, the call only returns the names. Raises FileExistsError if another write has added parts and
        `overwrite` is false.
        """
        fs, path, own = self._place()
        names = [_part(number, count) for number in range(count)]
        if fs.exists(f"{own}/begun"):
            try:
                self._refuse_parts(fs, path, own)
            except FileExistsError:
                self.settle(count)
                raise
            fs.touch(f"{own}/named")
            if fs.exists(f"{own}/begun"):
                for number, name in enumerate(names):
                    with contextlib.suppress(FileNotFoundError):
                        _move(fs, f"{own}/{_part(number)}", f"{path}/{name}")
                for name in set(self._parts(fs, path)).difference(names):
                    with contextlib.suppress(FileNotFoundError):
                        fs.rm_file(f"{path}/{name}")
            self._remove()
        return [f"{self.url}/{name}" for name in names]

    def settle(self, count: int) -> list[str]:
        """
        If parts are getting their names, name all and return their paths or URLs; otherwise remove this write's files.

        Returns an empty list in the second case.
        """
        fs, _, own = self._place()
        if fs.exists(f"{own}/named"):
            return self.finish(count)
        with Suppressed(OSError):  # the caller must see the first error
            fs.rm_file(f"{own}/begun")
        if not fs.exists(f"{own}/named"):
            self._remove()
        return []

    def _remove(self) -> None:
        """Remove the temporary folder, and the folder itself if it is empty and from this write; ignore OSError."""
        fs, path, own = self._place()
        with Suppressed(OSError):
            for name in sorted(fs.find(own), key=lambda name: not name.endswith("/begun")):
                with contextlib.suppress(FileNotFoundError):
                    fs.rm_file(name)
            # fails if the file system has no folders, or if a late part arrives, whose writer calls `_remove` again
            fs.rmdir(own)
            if self._is_new and "/" in path.strip("/"):  # a path without a parent is a bucket
                fs.rmdir(path)


def _move(fs: fsspec.AbstractFileSystem, old: str, new: str) -> None:
    """Rename a file, in one step if possible; fsspec's generic `mv`, which copies, would interpret patterns."""
    if type(fs).mv is fsspec.AbstractFileSystem.mv:
        fs.cp_file(old, new)
        fs.rm_file(old)
    else:
        fs.mv(old, new)


def _part(number: int, count: int = 0) -> str:
    """Return the file name of a part, with at least 5 digits; the names of `count` parts sort in order."""
    return f"part-{number:0{max(len(str(count - 1)), 5)}d}{_SUFFIX}"


def to_dataframe(
    urls: Urls,
    *,
    type: object = None,
    meta: Any = None,
    columns: list[str] | None = None,
    partition_size: int = PARTITION_SIZE,
    **options: Any,
) -> dask.dataframe.DataFrame:
    """
    Return a dask.dataframe with the records of files, which must be maps or of `type`, one partition per split.

    Args:
        urls, partition_size, **options: as in `read_records`.
        type: a dataclass, or another type with fields, to which `cpkg.typed` decodes each record; its fields become
            the columns.
        meta: an empty pandas.DataFrame (or a dict of names and dtypes) with the columns and their dtypes; None takes
            them from the fields of `type`, or from the first 1000 records.
        columns: the columns to keep; the other columns are dropped while each frame is read.

    Dtypes from fields are int64, float64, bool, timedelta64, the dtype that pandas infers for str, and object for other
    types. Dtypes from records are int64, uint64, float64 (also for ints and floats together), bool, object for other
    values of several types, and otherwise the dtype that pandas infers. If some values are missing or None, ints have
    the dtype Int64 or UInt64, and bools boolean; missing floats become NaN. Values are never changed to fit: computing
    the frame raises ValueError for the first record that does not fit. The error has the record's number, except with
    `errors="skip"`; pass another dtype for the column in `meta`. A record that is not of `type` raises
    `typed.ValidationError`, whose path begins with the number of the record. Raises TypeError for a `type` without
    fields, and the errors of `read_records`.
    """
    import dask.dataframe

    from cpkg.dask import columns as _columns

    splits = partitions(urls, partition_size)
    if type is not None:
        options["type"] = type
    if meta is None and type is not None:
        meta = _columns.of_type(type)
    elif meta is None:
        meta = _columns.guessed(_sample(splits, options))
    elif isinstance(meta, dict):
        meta = _columns.empty(meta)
    if columns is not None:
        meta = meta[columns]
    # otherwise Dask would convert all objects to strings, even lists and numbers
    with dask.config.set({"dataframe.convert-string": False}):
        if not splits:
            return dask.dataframe.from_pandas(meta, npartitions=1)
        return dask.dataframe.from_map(_frame, splits, meta=meta, types=meta.dtypes.to_dict(), options=options)


def _sample(splits: list[records.Split], options: dict[str, Any]) -> list[Any]:
    """Return the first _SAMPLE records of the splits; raise ValueError if a record in their frames is not a map."""
    from cpkg.dask import columns as _columns

    rows: list[Any] = []
    for split in splits:
        before = len(rows)
        for batch in split.batches(**options):
            with _naming(split):
                _columns.check_maps(batch, len(rows) - before, _first(split, options))
            rows += batch
            if len(rows) >= _SAMPLE:
                return rows[:_SAMPLE]
    return rows


def _first(split: records.Split, options: dict[str, Any]) -> int | None:
    """Return the number of a split's first record, or None with errors="skip", where record numbers are unknown."""
    return split.first if options.get("errors") != "skip" else None


@contextlib.contextmanager
def _naming(split: records.Split) -> Iterator[None]:
    """Turn a MisfitError of the block into a ValueError with the name of the file."""
    from cpkg.dask.columns import MisfitError

    try:
        yield
    except MisfitError as exc:
        raise ValueError(f"{split.place}: {exc}") from exc


def _frame(split: records.Split, types: dict[str, object], options: dict[str, Any]) -> object:
    """Read a split into a pandas.DataFrame, one frame of the file at a time."""
    import pandas

    from cpkg.dask import columns as _columns

    columns: dict[str, list[object]] = {name: [] for name in types}
    getters = _columns.getters(options["type"], columns) if "type" in options else None
    first, count = _first(split, options), 0
    with _naming(split):
        for batch in split.batches(**options):
            if getters is None:
                _columns.check_maps(batch, count, first)
            count += len(batch)
            for name, values in columns.items():
                values += map(getters[name], batch) if getters is not None else [row.get(name) for row in batch]
        filled = {name: _columns.column(name, values, types[name], first) for name, values in columns.items()}
    return pandas.DataFrame(filled, columns=list(types), index=pandas.RangeIndex(count))
