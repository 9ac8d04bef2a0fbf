# SPDX-License-Identifier: Apache-2.0
"""
Record files on Dask: read by splits into bags and data frames, written one file per partition (extra `dask`).

    import cpkg.dask
    bag = cpkg.dask.read_records("s3://bucket/events/*.rec")
    cpkg.dask.write_records(bag.filter(lambda record: record["status"] >= 500), "s3://bucket/errors")

Dask schedules; the functions here take one partition each, which it may call again when a worker dies.
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

PARTITION_SIZE: Final = 8 << 20
"""Of compressed records; as objects they take some ten times as much memory."""

_PART: Final = re.compile(r"part-\d{5,}\.rec")
_SAMPLE: Final = 1000


def find(urls: Urls) -> list[str]:
    """
    Return the record files that paths, URLs, patterns (`*`) and folders name, those of each in the order of names.

    A folder means its files that end in .rec. Raises FileNotFoundError for what names none.
    """
    found = []
    for url in [urls] if isinstance(urls, (str, os.PathLike)) else urls:
        named = _named(os.fspath(url))
        if not named:
            raise FileNotFoundError(f"{os.fspath(url)}: there is no record file")
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
        url = os.path.join(glob.escape(url), "*" + _SUFFIX)
    elif os.path.exists(url):
        return [url]
    return sorted(glob.glob(url))


def partitions(urls: Urls, partition_size: int = PARTITION_SIZE) -> list[records.Split]:
    """Return the splits of files, each of about `partition_size` bytes in its file."""
    return [split for url in find(urls) for split in records.splits(url, size=partition_size)]


def read_records(urls: Urls, *, partition_size: int = PARTITION_SIZE, **options: object) -> dask.bag.Bag:
    """
    Return a dask.bag of the records of files, in order, with one partition per split.

    Args:
        urls: a path, URL of fsspec, pattern (`*`) or folder, or several; workers have to reach them, too.
        partition_size: how many bytes of a file make a partition.
        **options: `errors`, `type` and the options of unpacking, as for `records.open`.

    Reads the files' indexes now, the records when the bag is computed: one by one where what follows takes them so
    (`map`, `filter`, `sum`, `take`, ...), so that memory stays small. Raises FileNotFoundError if there are none,
    and what `records.splits` does.
    """
    splits = partitions(urls, partition_size)
    if not splits:
        return dask.bag.from_sequence([], npartitions=1)
    # not one list per partition: where Dask can, it takes the records one by one, and lets go of each
    return dask.bag.from_sequence(splits, npartitions=len(splits)).map(_read, options).flatten()


def _read(split: records.Split, options: dict[str, Any]) -> Iterator[object]:
    return split.read(**options)


def write_records(
    bag: dask.bag.Bag, url: str | os.PathLike[str], *, overwrite: bool = False, compute: bool = True, **options: object
) -> list[str] | Delayed:
    """
    Write each partition of a dask.bag to a file of its own, `part-00000.rec` and so on, in the folder `url`.

    From 100,001 partitions on the numbers have as many digits as the last one, so that names sort by them.

    Each file is written in a folder of this write's own (`.writing-...`), and gets its name when all are complete: the
    bag may read the files that it replaces, and a worker that dies, or a partition that is computed twice, leaves no
    record missing or doubled.

    Args:
        bag: a dask.bag of anything that MessagePack holds.
        url: a folder, or URL of one; created if it does not exist. This process and all workers have to reach it.
        overwrite: replace the parts that exist, and remove those beyond the last one. Other files stay.
        compute: write now and return the files' names; if false, return a Delayed that does.
        **options: `level`, `frame_size`, `dictionary` and the options of packing, as for `records.open`.

    A write that fails, or is interrupted, removes its own folder and nothing else; one that has begun to name the
    files goes on to the last of them. A Delayed that fails leaves that folder, and goes on in it when it is computed
    again.

    Raises FileExistsError if the folder has parts and `overwrite` is false: before anything is computed, and again
    when the files are to get their names.
    """
    folder = _Folder(os.fspath(url).rstrip("/"), overwrite)
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
    The folder that one write puts its parts into; pickles.

    In it is `.writing-...`, the write's own folder, with two marks beside the parts. While `begun` is there, parts are
    wanted; `named` says that all are complete and get their names. Whoever gives up takes `begun` away and then looks
    for `named`, whoever names the parts does so the other way around, and a worker that comes late finds no `begun`
    and removes what it has written. So the parts get all of their names or none, and nothing is left over.
    """

    def __init__(self, url: str, overwrite: bool) -> None:
        self.url = url
        self._overwrite = overwrite
        self._run = os.urandom(8).hex()
        self._is_new = False

    def _place(self) -> tuple[fsspec.AbstractFileSystem, str, str]:
        """Return the file system of the folder, its path there, and that of the write's own folder."""
        if is_url(self.url):
            fs, path = filesystem(self.url)
        else:
            fs, path = fsspec.filesystem("file"), os.path.abspath(self.url)
        fs.invalidate_cache()  # of what other processes have changed
        return fs, path, f"{path}/.writing-{self._run}"

    def begin(self) -> _Folder:
        """Make the write's own folder. Raises FileExistsError if there are parts that it may not replace."""
        fs, path, own = self._place()
        self._refuse_parts(fs, path, own)
        self._is_new = not fs.isdir(path)
        fs.makedirs(own, exist_ok=True)
        fs.touch(f"{own}/begun")
        return self

    def _refuse_parts(self, fs: fsspec.AbstractFileSystem, path: str, own: str) -> None:
        if not self._overwrite and not fs.exists(f"{own}/named") and self._parts(fs, path):
            raise FileExistsError(f"{self.url}: has record files; give another folder, or overwrite=True")

    @staticmethod
    def _parts(fs: fsspec.AbstractFileSystem, path: str) -> list[str]:
        """Return the names of the parts that are in the folder, whoever wrote them."""
        if not fs.isdir(path):
            return []
        names = (name.rstrip("/").rpartition("/")[2] for name in fs.ls(path, detail=False))
        return [name for name in names if _PART.fullmatch(name)]

    def write(self, number: int, part: Iterable[object], options: dict[str, Any]) -> None:
        """Write a part, which appears whole or not at all."""
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
        raise RuntimeError(f"{self.url}: part {number} comes too late, this write has failed or is complete")

    @staticmethod
    def _upload(fs: fsspec.AbstractFileSystem, name: str, rows: list[object], options: dict[str, Any]) -> None:
        temporary = f"{name}.{os.urandom(6).hex()}.tmp"
        with fs.open(temporary, "wb") as file, records.open(file, "wb", **options) as writer:
            writer.extend(rows)
        _move(fs, temporary, name)

    def finish(self, count: int, written: Iterable[None] = ()) -> list[str]:
        """
        Give the parts their names; `written` is there to be waited for.

        May be done again where it was interrupted, and by two at once: what has its name keeps it.
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
        """Name the parts, and return their names, if that has begun; else remove what this write has created."""
        fs, _, own = self._place()
        if fs.exists(f"{own}/named"):
            return self.finish(count)
        with Suppressed(OSError):  # the error that led here is what the caller has to see
            fs.rm_file(f"{own}/begun")
        if not fs.exists(f"{own}/named"):
            self._remove()
        return []

    def _remove(self) -> None:
        """Remove the write's own folder, and the one around it if that is new and empty. No name is a pattern here."""
        fs, path, own = self._place()
        with Suppressed(OSError):
            for name in sorted(fs.find(own), key=lambda name: not name.endswith("/begun")):
                with contextlib.suppress(FileNotFoundError):
                    fs.rm_file(name)
            # fails where there are no folders, or where one more part comes, whose writer does this again
            fs.rmdir(own)
            if self._is_new and "/" in path.strip("/"):  # what has no folder around it is a bucket
                fs.rmdir(path)


def _move(fs: fsspec.AbstractFileSystem, old: str, new: str) -> None:
    """Give a file another name in one step, or by a copy: the `mv` that copies takes names for patterns."""
    if type(fs).mv is fsspec.AbstractFileSystem.mv:
        fs.cp_file(old, new)
        fs.rm_file(old)
    else:
        fs.mv(old, new)


def _part(number: int, count: int = 0) -> str:
    """Return the name of a part; those of `count` parts sort by their numbers."""
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
    Return a dask.dataframe of the records of files, which have to be maps, with one partition per split.

    Args:
        urls, partition_size, **options: as for `read_records`.
        type: a dataclass, or another type with fields, that each record is decoded to by `cpkg.typed`; its fields are
            the columns.
        meta: an empty pandas.DataFrame (or dict of names and dtypes) that says the columns and their types; taken
            from the fields of `type`, or from the first 1000 records, if it is None.
        columns: the columns to keep; the others are dropped while each frame is read.

    Types from the fields or the records are int64, float64, bool, what pandas makes of texts and times, and Int64 and
    boolean where values are missing or None; missing floats are NaN. No value is changed to fit: ValueError, when it
    is computed, names the first record whose value does not, and a `meta` that has another type for it helps. Of the
    fields' types, timedelta is timedelta64, and what is none of these is object. A record that is not of `type`
    raises `typed.ValidationError`, whose path begins with its number.
    """
    import dask.dataframe

    from cpkg.dask import columns as _columns

    splits = partitions(urls, partition_size)
    if type is not None:
        options["type"] = type
    if meta is None and type is not None:
        meta = _columns.of_type(type)
    elif meta is None:
        sample: list[object] = []
        for batch in splits[0].batches(**options) if splits else ():
            sample += batch
            if len(sample) >= _SAMPLE:
                break
        meta = _columns.guessed(sample[:_SAMPLE], splits[0].first if splits else 0)
    elif isinstance(meta, dict):
        meta = _columns.empty(meta)
    if columns is not None:
        meta = meta[columns]
    # or Dask makes texts of all objects, lists and numbers among them
    with dask.config.set({"dataframe.convert-string": False}):
        if not splits:
            return dask.dataframe.from_pandas(meta, npartitions=1)
        return dask.dataframe.from_map(_frame, splits, meta=meta, types=meta.dtypes.to_dict(), options=options)


def _frame(split: records.Split, types: dict[str, object], options: dict[str, Any]) -> object:
    """Read a split into a pandas.DataFrame, a frame of the file at a time."""
    import pandas

    from cpkg.dask import columns as _columns

    columns: dict[str, list[object]] = {name: [] for name in types}
    getters = _columns.getters(options["type"], columns) if "type" in options else None
    # records that are passed over have numbers, too, which nobody knows here
    first = split.first if options.get("errors") != "skip" else None
    try:
        for batch in split.batches(**options):
            if getters is None:
                _columns.check_maps(batch, len(next(iter(columns.values()), ())), first)
            for name, values in columns.items():
                values += map(getters[name], batch) if getters is not None else [row.get(name) for row in batch]
        filled = {name: _columns.column(name, values, types[name], first) for name, values in columns.items()}
    except _columns.MisfitError as exc:
        raise ValueError(f"{split.place}: {exc}") from exc
    return pandas.DataFrame(filled, columns=list(types))
