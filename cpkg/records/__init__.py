# SPDX-License-Identifier: Apache-2.0
"""
Record files: MessagePack records in Zstandard frames, to append to, seek in, split and recover.

    with records.open("events.rec", "ab") as file:
        file.append({"user": 7, "seconds": 0.25})
    with records.open("events.rec") as file:
        print(len(file), file[0], file[-10:])

A record file uses the Zstandard seekable format: `zstd -dc` prints its records as a stream of MessagePack objects.
docs/records.md shows how to use record files, docs/records_format.md describes the format byte by byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from cpkg.records.errors import DamagedError, LockedError, RecordsError
from cpkg.records.opening import open_reader, open_writer
from cpkg.records.packing import FRAME_SIZE, LEVEL
from cpkg.records.reader import Reader
from cpkg.records.settings import WriterSettings
from cpkg.records.writer import Writer
from purepy.base.lazy import lazy_names, public_dir

if TYPE_CHECKING:
    from cpkg._places import Place
    from cpkg.records.checking import Damage, Report, inspect, join, repair, verify
    from cpkg.records.shards import Shards
    from cpkg.records.splitting import Split, splits
    from cpkg.records.typed_records import Record
    from cpkg.zstd import ZstdDict

__all__ = [
    "Damage",
    "DamagedError",
    "LockedError",
    "Reader",
    "RecordsError",
    "Report",
    "Shards",
    "Split",
    "Writer",
    "inspect",
    "join",
    "open",
    "repair",
    "splits",
    "verify",
]

_SOURCES = {
    **dict.fromkeys(("Damage", "Report", "inspect", "join", "repair", "verify"), "cpkg.records.checking"),
    **dict.fromkeys(("Split", "splits"), "cpkg.records.splitting"),
    "Shards": "cpkg.records.shards",
}
"""The module of each public name that is imported at its first use: importing these takes as long as all others."""

__getattr__ = lazy_names(__name__, _SOURCES)


@overload
def open(
    place: list[Place] | tuple[Place, ...],
    mode: Literal["rb", "r"] = "rb",
    *,
    type: type[Record],
    threads: int | None = None,
    errors: Literal["raise", "skip"] = "raise",
    **options: object,
) -> Shards[Record]: ...
@overload
def open(
    place: Place,
    mode: Literal["rb", "r"] = "rb",
    *,
    type: type[Record],
    threads: int | None = None,
    errors: Literal["raise", "skip"] = "raise",
    **options: object,
) -> Reader[Record]: ...
@overload
def open(
    place: list[Place] | tuple[Place, ...],
    mode: Literal["rb", "r"] = "rb",
    *,
    threads: int | None = None,
    errors: Literal["raise", "skip"] = "raise",
    **options: object,
) -> Shards: ...
@overload
def open(
    place: Place,
    mode: Literal["rb", "r"] = "rb",
    *,
    threads: int | None = None,
    errors: Literal["raise", "skip"] = "raise",
    **options: object,
) -> Reader: ...
@overload
def open(
    place: Place,
    mode: Literal["wb", "xb", "ab", "w", "x", "a"],
    *,
    threads: int | None = None,
    level: int = LEVEL,
    frame_size: int = FRAME_SIZE,
    fsync: Literal["never", "close", "flush"] = "never",
    dictionary: ZstdDict | None = None,
    **options: object,
) -> Writer: ...
def open(place: Any, mode: str = "rb", *, threads: int | None = None, **arguments: Any) -> Any:
    """
    Open a record file: mode "rb" returns a Reader; "wb" (replace), "xb" (create only), "ab" (append) return a Writer.

    For a list or tuple of places, or a folder with files that end in .rec, "rb" returns Shards.

    Args:
        place: a path, a URL for fsspec ("rb", "wb"), or a descriptor or binary file object that can seek ("rb") or
            write ("wb").
        threads: the number of threads that compress or decompress. 1: the calling thread only; 0: one per core; None:
            as many as are useful, at most 4.
        errors: "raise" DamagedError for records that cannot be read, or "skip" them (reading). Readers and Shards list
            skipped damage in `damage`.
        level: the Zstandard level, -131072 to 22 (writing).
        frame_size: a frame ends once its records have this many bytes (writing). Reading a record decompresses a frame.
        fsync: when written data is forced to disk, so that it survives a system crash: "never", at "close", or at
            each "flush" and when closed (writing). Flushed records survive the end of the process, except at a URL.
        dictionary: a trained ZstdDict, as returned by `cpkg.zstd.train_dict`, for small frames (writing).
        max_memory: the limit in bytes for the objects of a frame, or of a single record that is read alone (reading).
            The default is 64 MiB or 100 times the compressed size of the frame, whichever is larger; -1 for no limit.
        type: a dataclass, or another type that `cpkg.typed` supports, to which each record is decoded (reading);
            `options` are then the options of `cpkg.typed.Decoder`. The path of a ValidationError begins with the number
            of the record.
        **options: the options of `cpkg.msgpack.unpackb` (reading) or `Packer` (writing; except those for its buffer).
            By default, map keys may have any type, and records may contain any type that `cpkg.dumps` packs; `default`
            and `ext_hook` are for other types.

    Raises OSError like the builtin `open`; ImportError for a URL without fsspec; RecordsError if an existing file to
    read or append to is not a record file, cannot seek, has a newer format version, consists of joined files, has a
    damaged dictionary or, when appending, has the header of another file in its unfinished frame; LockedError if
    another writer has the file open; LimitError beyond `max_memory`; ValueError and TypeError for wrong arguments.
    """
    asked, mode = mode, mode if mode.endswith("b") else mode + "b"
    if mode == "rb":
        errors = arguments.pop("errors", "raise")
        return open_reader(place, threads=threads, errors=errors, options=arguments)
    if mode not in ("wb", "xb", "ab"):
        raise ValueError(f"mode must be 'rb', 'wb', 'xb' or 'ab', not {asked!r}")
    return open_writer(place, mode, WriterSettings(threads=threads, **arguments))


__dir__ = public_dir(__name__)
