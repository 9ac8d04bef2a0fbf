# SPDX-License-Identifier: Apache-2.0
"""The frames of any file as a seek table, which is built from their headers and kept in a separate file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO

from purepy.base.errors import SeekableFormatError, Suppressed, ZstdError
from purepy.base.new_files import NewFile
from purepy.base.reading import read_some
from purepy.zstd.format.chunks import decompressed
from purepy.zstd.format.error_codes import moved
from purepy.zstd.format.scanner import Frame, scan_frames
from purepy.zstd.seekable.table import SIZE_MAX, SeekTable

if TYPE_CHECKING:
    from purepy.base.types import Decompressor, Name, Parameters
    from purepy.zstd.format.zdict import DictArgument

_READ_SIZE = 64 << 10
_PIECE = 128 << 10


def index_frames(
    module: ModuleType, file: BinaryIO, zstd_dict: DictArgument = None, options: Parameters = None
) -> SeekTable:
    """
    Return a table of the frames of a file, found by the headers of all its frames and blocks.

    Only frames that do not declare their size are decompressed, by the backend `module`. Raises ZstdError unless the
    file consists of complete frames, and SeekableFormatError for a frame that a table cannot hold.
    """
    table = SeekTable(checksums=False)
    for frame in scan_frames(file, with_blocks=False):
        content = frame.content_size
        if content is None:
            content = _counted(module.ZstdDecompressor(zstd_dict, options, multi_frame=True), file, frame)
        if frame.size > SIZE_MAX or content > SIZE_MAX:
            raise SeekableFormatError(f"the frame at byte {frame.offset} is too large for a seek table")
        table.append(frame.size, content)
    return table


def _counted(decompressor: Decompressor, file: BinaryIO, frame: Frame) -> int:
    """Decompress a frame and return the size of its content."""

    def chunks() -> Iterator[bytes]:
        position, end = file.seek(frame.offset), frame.offset + frame.size
        while position < end and (data := read_some(file, min(_READ_SIZE, end - position))):  # b"": truncated meanwhile
            position += len(data)
            yield data

    try:
        return sum(map(len, decompressed(decompressor, chunks(), _PIECE)))
    except ZstdError as exc:
        moved(exc, frame.offset)
        raise


def index_name(index: Name | bool | None, filename: object) -> str | bytes | None:
    """
    Return the name of an index file: `index`, or for True, `filename` with ".seek" added; None for None and False.

    `filename` is a name, or a file object that may have one. Raises TypeError for another `index`, and ValueError for
    True if the file has no name, and for the name of the file itself, which the index would replace.
    """
    if index is None or index is False:
        return None
    name: Any = filename if isinstance(filename, (str, bytes, os.PathLike)) else getattr(filename, "name", None)
    has_name = isinstance(name, (str, bytes, os.PathLike))
    if index is not True:
        path = os.fspath(index)
        with Suppressed(OSError):  # one of them does not exist
            if has_name and os.path.samefile(path, name):
                raise ValueError(f"index={os.fsdecode(path)!r} is the file itself: pass the name of another file")
        return path
    if not has_name:
        raise ValueError("index=True needs a file that has a name")
    return os.fsdecode(name) + ".seek"


def write_index(name: str | bytes, table: SeekTable) -> None:
    """Write a table to its own file, which appears complete or not at all."""
    path = os.fsdecode(name)
    new = NewFile(path, shown=path)
    try:
        new.file.write(table.to_bytes())
        new.appear()
    finally:
        new.discard()
