# SPDX-License-Identifier: Apache-2.0
"""
Record files: MessagePack records in Zstandard frames, to append to, seek in, split and recover.

    with records.open("events.rec", "ab") as file:
        file.append({"user": 7, "seconds": 0.25})
    with records.open("events.rec") as file:
        print(len(file), file[0], file[-10:])

A record file is a file of the Zstandard seekable format: `zstd -dc` gives its records as a stream of MessagePack.
docs/records.md shows what can be done with it, docs/records_format.md describes it byte for byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from cpkg.records.checking import Damage, Report, inspect, join, repair, verify
from cpkg.records.errors import DamagedError, LockedError, RecordsError
from cpkg.records.opening import open_reader, open_writer
from cpkg.records.packing import FRAME_SIZE, LEVEL
from cpkg.records.reader import Reader
from cpkg.records.settings import WriterSettings
from cpkg.records.shards import Shards
from cpkg.records.splits import Split, splits
from cpkg.records.writer import Writer

if TYPE_CHECKING:
    from cpkg._places import Place
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
    Open a record file: a Reader for mode "rb", a Writer for "wb" (anew), "xb" (only if there is none), "ab" (append).

    A list of places, and the path of a folder, whose files that end in .rec are meant, give Shards for "rb".

    Args:
        place: a path; a URL of fsspec ("rb", "wb"); a binary file object that can seek ("rb") or has `write` ("wb").
        threads: how many threads compress or decompress, the caller's among them: 1 is his alone, 0 one per core, None
            as many as help (one per core, at most 4 for writing and 3 for reading).
        errors: "raise" a DamagedError where records cannot be read, or "skip" them and note it ("rb").
        level: of Zstandard, -131072 to 22 (writing).
        frame_size: how many bytes of records make a frame (writing); one record is read by decompressing one frame.
        fsync: what outlasts a crash of the whole system: "never", or what was written when "close" or "flush" returns
            (writing). What `flush` has returned for always outlasts the process.
        dictionary: a ZstdDict with tables, as `cpkg.zstd.train_dict` makes it, for small frames (writing).
        max_memory: how many bytes the objects of a frame may take at once, or of a record where they come one by one,
            in place of 64 MiB or 100 times the frame's compressed size, whichever is larger; -1 for any (reading).
            Beyond it LimitError is raised.
        type: a dataclass, or another type of `cpkg.typed`, that each record is decoded to (reading); `options` are
            those of `cpkg.typed.Decoder` then. The path of a ValidationError begins with the record's number.
        **options: of `cpkg.msgpack.unpackb` (reading) and `Packer` (writing). Map keys of every type are allowed.

    Raises OSError as the builtin `open` does, RecordsError if it is no record file, LockedError (another writer has
    it), ValueError and TypeError for wrong arguments.
    """
    asked, mode = mode, mode if mode.endswith("b") else mode + "b"
    if mode == "rb":
        errors = arguments.pop("errors", "raise")
        return open_reader(place, threads=threads, errors=errors, options=arguments)
    if mode not in ("wb", "xb", "ab"):
        raise ValueError(f"mode must be 'rb', 'wb', 'xb' or 'ab', not {asked!r}")
    return open_writer(place, mode, WriterSettings(threads=threads, **arguments))


def __dir__() -> list[str]:
    """Leave out the modules, of which completion would show more than public names."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("_"))})
