# SPDX-License-Identifier: Apache-2.0
"""
Record files on Dask: read by splits into bags and data frames, written one file per partition (extra `dask`).

    import cpkg.dask
    bag = cpkg.dask.read_records("s3://bucket/events/*.rec")
    cpkg.dask.write_records(bag.filter(lambda record: record["status"] >= 500), "s3://bucket/errors")

Dask schedules; what stands here are functions of one partition each, which it may call again when a worker dies.
docs/records.md shows more.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any, Final, Union

from cpkg import records
from cpkg._places import filesystem, is_url, replacing
from cpkg.dask import columns as _columns

try:
    import dask
    import dask.bag
except ImportError as exc:
    raise ImportError(f"{exc}; cpkg.dask needs Dask (pip install 'dask[distributed]')", name=exc.name) from None

Urls = Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]]

PARTITION_SIZE: Final = 8 << 20
"""Of compressed records; as objects they take some ten times as much memory."""

_SUFFIX: Final = ".rec"
_PART: Final = re.compile(r"part-\d{5,}\.rec")
_SAMPLE: Final = 1000


def find(urls: Urls) -> list[str]:
    """
    Return the record files that paths, URLs, patterns (`*`) and folders name, those of each in the order of names.

    A folder stands for its files that end in .rec. Raises FileNotFoundError for what names none.
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


def read_records(urls: Urls, *, partition_size: int = PARTITION_SIZE, **options: Any) -> Any:
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


def _read(split: records.Split, options: dict[str, Any]) -> Iterator[Any]:
    return split.read(**options)


def write_records(
    bag: Any, url: str | os.PathLike[str], *, overwrite: bool = False, compute: bool = True, **options: Any
) -> Any:
    """
    Write each partition of a dask.bag to a file of its own, `part-00000.rec` and so on, in the folder `url`.

    Each file is written in a folder of this write's own (`.writing-...`), and gets its name when all are complete: the
    bag may read the files that it replaces, and a worker that dies, or a partition that is computed twice, leaves no
    record missing or doubled.

    Args:
        bag: a dask.bag of anything that MessagePack holds.
        url: a folder, or URL of one; made if it does not exist. All workers have to write to the same place.
        overwrite: replace the parts that exist, and remove those beyond the last one. Other files stay.
        compute: write now and return the files' names; if false, return a Delayed that does.
        **options: `level`, `frame_size`, `dictionary` and the options of packing, as for `records.open`.

    Raises FileExistsError if the folder has parts and `overwrite` is false, when they are to appear.
    """
    folder = _Folder(os.fspath(url).rstrip("/"), os.urandom(8).hex())
    if not overwrite and compute:
        folder.refuse_parts()
    write = dask.delayed(_write)
    written = [write(part, folder, number, options) for number, part in enumerate(bag.to_delayed())]
    done = dask.delayed(_finish)(written, folder, overwrite)
    return done.compute() if compute else done


class _Folder:
    """The folder that one write puts its parts into; pickles."""

    def __init__(self, url: str, run: str) -> None:
        self.url = url
        self._run = run

    def begin(self, number: int) -> str:
        """Return where a part is written, perhaps by another worker at the same time."""
        fs, path = self._place()
        fs.makedirs(self._own(path), exist_ok=True)
        return f"{self._own(path)}/{_part(number)}"

    def _place(self) -> tuple[Any, str]:
        """Return the file system of the folder, and its path there."""
        if is_url(self.url):
            return filesystem(self.url)
        return _Local(), self.url

    def _own(self, path: str) -> str:
        return f"{path}/.writing-{self._run}"

    def write(self, number: int, rows: list[Any], options: dict[str, Any]) -> None:
        """Write a part, which appears whole or not at all."""
        fs, _ = self._place()
        name = self.begin(number)
        if isinstance(fs, _Local):
            with replacing(name) as file, records.open(file, "wb", **options) as writer:
                writer.extend(rows)
            return
        with tempfile.TemporaryFile() as spool:
            with records.open(spool, "wb", **options) as writer:
                writer.extend(rows)
            spool.seek(0)
            temporary = f"{name}.{os.urandom(6).hex()}.tmp"
            with fs.open(temporary, "wb") as file:
                shutil.copyfileobj(spool, file, 1 << 20)
            fs.mv(temporary, name)

    def parts(self) -> list[str]:
        """Return the names of the parts that are in the folder, whoever wrote them."""
        fs, path = self._place()
        if not fs.isdir(path):
            return []
        if hasattr(fs, "invalidate_cache"):
            fs.invalidate_cache()
        names = (name.rstrip("/").rpartition("/")[2] for name in fs.ls(path, detail=False))
        return sorted(name for name in names if _PART.fullmatch(name))

    def refuse_parts(self) -> None:
        """Raise FileExistsError if there are parts."""
        if self.parts():
            raise FileExistsError(f"{self.url}: has record files; give another folder, or overwrite=True")

    def finish(self, count: int, *, overwrite: bool) -> list[str]:
        """Give the parts their names. May be done again where it was interrupted: what has its name keeps it."""
        fs, path = self._place()
        own = self._own(path)
        if fs.isdir(own):
            begun = f"{own}/begun"
            if not overwrite and not fs.exists(begun):
                try:
                    self.refuse_parts()
                except FileExistsError:
                    fs.rm(own, recursive=True)
                    raise
            fs.touch(begun)
            for number in range(count):
                if fs.exists(f"{own}/{_part(number)}"):
                    fs.mv(f"{own}/{_part(number)}", f"{path}/{_part(number)}")
            for name in self.parts():
                if int(name[len("part-") : -len(_SUFFIX)]) >= count:
                    fs.rm_file(f"{path}/{name}")
            fs.rm(own, recursive=True)
        return [f"{self.url}/{_part(number)}" for number in range(count)]


class _Local:
    """What a _Folder needs of fsspec's file systems, of the system's own files."""

    exists = staticmethod(os.path.exists)
    isdir = staticmethod(os.path.isdir)
    mv = staticmethod(os.replace)
    rm_file = staticmethod(os.unlink)

    def makedirs(self, path: str, exist_ok: bool) -> None:
        os.makedirs(path, exist_ok=exist_ok)

    def ls(self, path: str, detail: bool) -> list[str]:
        return os.listdir(path)

    def touch(self, path: str) -> None:
        with open(path, "wb"):
            pass

    def rm(self, path: str, recursive: bool) -> None:
        shutil.rmtree(path)


def _part(number: int) -> str:
    return f"part-{number:05d}{_SUFFIX}"


def _write(part: Iterable[Any], folder: _Folder, number: int, options: dict[str, Any]) -> int:
    folder.write(number, list(part), options)
    return number


def _finish(written: list[int], folder: _Folder, overwrite: bool) -> list[str]:
    return folder.finish(len(written), overwrite=overwrite)


def to_dataframe(
    urls: Urls,
    *,
    type: Any = None,
    meta: Any = None,
    columns: list[str] | None = None,
    partition_size: int = PARTITION_SIZE,
    **options: Any,
) -> Any:
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
    import pandas

    splits = partitions(urls, partition_size)
    if type is not None:
        options["type"] = type
    if meta is None and type is not None:
        meta = _columns.of_type(type)
    elif meta is None:
        sample: list[Any] = []
        for batch in splits[0].batches(**options) if splits else ():
            sample += batch
            if len(sample) >= _SAMPLE:
                break
        meta = _columns.guessed(sample[:_SAMPLE], splits[0].first or 0 if splits else 0)
    elif isinstance(meta, dict):
        meta = pandas.DataFrame({name: pandas.Series(dtype=kind) for name, kind in meta.items()})
    if columns is not None:
        meta = meta[columns]
    # or Dask makes texts of all objects, lists and numbers among them
    with dask.config.set({"dataframe.convert-string": False}):
        if not splits:
            return dask.dataframe.from_pandas(meta, npartitions=1)
        return dask.dataframe.from_map(_frame, splits, meta=meta, types=meta.dtypes.to_dict(), options=options)


def _frame(split: records.Split, types: dict[str, Any], options: dict[str, Any]) -> Any:
    """Read a split into a pandas.DataFrame, a frame of the file at a time."""
    import pandas

    columns: dict[str, list[Any]] = {name: [] for name in types}
    getters = _columns.getters(options["type"], columns) if "type" in options else None
    # records that are passed over have numbers, too, which nobody knows here
    first = split.first if options.get("errors") != "skip" else None
    try:
        for batch in split.batches(**options):
            if getters is None:
                _columns.check_maps(batch, len(next(iter(columns.values()), ())), first)
            for name, values in columns.items():
                values += map(getters[name], batch) if getters is not None else [row.get(name) for row in batch]
        made = {name: _columns.column(name, values, types[name], first) for name, values in columns.items()}
    except _columns.MisfitError as exc:
        raise ValueError(f"{split.place}: {exc}") from exc
    return pandas.DataFrame(made, columns=list(types))
