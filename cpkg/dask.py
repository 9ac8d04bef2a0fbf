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
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any, Final, Union

from cpkg import records
from cpkg._files import replacing
from cpkg.records.sources import filesystem, is_url

try:
    import dask
    import dask.bag
except ImportError as exc:
    raise ImportError(f"{exc}; cpkg.dask needs Dask (pip install 'dask[distributed]')", name=exc.name) from None

Urls = Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]]

PARTITION_SIZE: Final = 8 << 20
"""Of compressed records; as objects they take some ten times as much memory."""

_SUFFIX: Final = ".rec"
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
        if "*" not in path and fs.isdir(path):
            path = f"{path.rstrip('/')}/*{_SUFFIX}"
        if "*" not in path:
            return [url] if fs.exists(path) else []
        return [fs.unstrip_protocol(name) for name in sorted(fs.glob(path))]
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
        **options: `errors` and the options of unpacking, as for `records.open`.

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

    Each file appears whole or not at all, under its name only when it is complete: a worker that dies, or a partition
    that is computed twice, leaves no record missing or doubled.

    Args:
        bag: a dask.bag of anything that MessagePack holds.
        url: a folder, or URL of one; made if it is not there. All workers have to write to the same place.
        overwrite: replace the parts that are there, and remove those beyond the last one when all are written.
        compute: write now and return the files' names; if false, return a Delayed that does.
        **options: `level`, `frame_size`, `dictionary` and the options of packing, as for `records.open`.

    Raises FileExistsError if the folder has parts and `overwrite` is false.
    """
    folder = os.fspath(url).rstrip("/")
    if not overwrite and _parts(folder):
        raise FileExistsError(f"{folder}: has record files; give another folder, or overwrite=True")
    names = [f"{folder}/part-{number:05d}{_SUFFIX}" for number in range(bag.npartitions)]
    write = dask.delayed(_write)
    written = [write(part, name, options) for part, name in zip(bag.to_delayed(), names)]
    done = dask.delayed(_finish)(written, folder)
    return done.compute() if compute else done


def _write(part: Iterable[Any], name: str, options: dict[str, Any]) -> str:
    """Write one file; another call for the same one may be at work or have been, here or elsewhere."""
    if not is_url(name):
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        with replacing(name) as file, records.open(file, "wb", **options) as writer:
            writer.extend(list(part))
        return name
    fs, path = filesystem(name)
    with tempfile.TemporaryFile() as spool:
        with records.open(spool, "wb", **options) as writer:
            writer.extend(list(part))
        spool.seek(0)
        fs.makedirs(path.rpartition("/")[0], exist_ok=True)
        temporary = f"{path}.{os.urandom(6).hex()}.tmp"
        with fs.open(temporary, "wb") as file:
            shutil.copyfileobj(spool, file, 1 << 20)
        fs.mv(temporary, path)
    return name


def _parts(folder: str) -> list[str]:
    if is_url(folder):
        fs, path = filesystem(folder)
        return [fs.unstrip_protocol(name) for name in fs.glob(f"{path}/part-*{_SUFFIX}")]
    return glob.glob(os.path.join(glob.escape(folder), f"part-*{_SUFFIX}"))


def _finish(written: list[str], folder: str) -> list[str]:
    """Remove what earlier writes left beyond these files, and what workers left that died."""
    ours = {name.rpartition("/")[2] for name in written}
    if is_url(folder):
        fs, path = filesystem(folder)
        stale = [name for name in fs.glob(f"{path}/part-*{_SUFFIX}*") if name.rpartition("/")[2] not in ours]
        for name in stale:
            fs.rm_file(name)
        return written
    for pattern in (f"part-*{_SUFFIX}", f".part-*{_SUFFIX}.cpkg-*.tmp"):
        for name in glob.glob(os.path.join(glob.escape(folder), pattern)):
            if os.path.basename(name) not in ours:
                os.unlink(name)
    return written


def to_dataframe(
    urls: Urls,
    *,
    meta: Any = None,
    columns: list[str] | None = None,
    partition_size: int = PARTITION_SIZE,
    **options: Any,
) -> Any:
    """
    Return a dask.dataframe of the records of files, which have to be maps, with one partition per split.

    Args:
        urls, partition_size, **options: as for `read_records`.
        meta: an empty pandas.DataFrame (or dict of names and dtypes) that says the columns and their types; taken
            from the first 1000 records if it is None.
        columns: the columns to keep; the others are dropped while each frame is read.

    Raises ValueError, when it is computed, where values do not fit the types: give a `meta` that they fit.
    """
    import dask.dataframe
    import pandas

    splits = partitions(urls, partition_size)
    if meta is None:
        sample: list[Any] = []
        for batch in splits[0].batches(**options) if splits else ():
            sample += batch
            if len(sample) >= _SAMPLE:
                break
        meta = pandas.DataFrame(sample[:_SAMPLE]).iloc[:0]
    elif isinstance(meta, dict):
        meta = pandas.DataFrame({name: pandas.Series(dtype=kind) for name, kind in meta.items()})
    if columns is not None:
        meta = meta[columns]
    if not splits:
        return dask.dataframe.from_pandas(meta, npartitions=1)
    return dask.dataframe.from_map(_frame, splits, meta=meta, types=meta.dtypes.to_dict(), options=options)


def _frame(split: records.Split, types: dict[str, Any], options: dict[str, Any]) -> Any:
    """Read a split into a pandas.DataFrame, a frame of the file at a time."""
    import pandas

    pieces = []
    for batch in split.batches(**options):
        frame = pandas.DataFrame.from_records(batch)
        pieces.append(frame[[column for column in types if column in frame]])
    whole = pandas.concat(pieces, ignore_index=True) if pieces else pandas.DataFrame()
    whole = whole.reindex(columns=list(types))
    try:
        return whole.astype(types)
    except (TypeError, ValueError) as exc:
        raise ValueError(f"records {split.first} to {split.stop} of {split.place} do not fit the types: {exc}") from exc
