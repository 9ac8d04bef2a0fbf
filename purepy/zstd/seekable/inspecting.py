# SPDX-License-Identifier: Apache-2.0
"""
Extensions of `compression.zstd` that are the same on every backend: inspection and verification of frames.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from purepy.base.buffers import view_of
from purepy.base.cores import checked_threads
from purepy.base.errors import SeekableFormatError
from purepy.base.reading import read_full
from purepy.zstd.format import scanner
from purepy.zstd.format.backend_methods import BackendMethods
from purepy.zstd.format.error_codes import located, output_limit_error
from purepy.zstd.format.parameters import size_argument
from purepy.zstd.seekable.frame_index import index_frames
from purepy.zstd.seekable.table import SEEKABLE_MAGIC, SeekTable, read_seek_table

if TYPE_CHECKING:
    from typing import Union

    from purepy.base.types import Parameters
    from purepy.zstd.format.zdict import DictArgument

    Source = Union[bytes, bytearray, memoryview, str, os.PathLike[str], BinaryIO]

_READ_SIZE = 1 << 20


class Verified(NamedTuple):
    """
    The results of `verify`: numbers of frames and checksums, sizes in bytes, and whether a seek table ends the data.

    `frames` and `compressed_size` include skippable frames, and so the seek table.
    """

    frames: int
    skippable_frames: int
    checksums: int
    compressed_size: int
    decompressed_size: int
    has_seek_table: bool


@contextmanager
def _opened(source: Source) -> Iterator[BinaryIO]:
    """Yield a seekable binary file: the file of a path, the caller's file, or a file over a buffer's bytes."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        yield io.BytesIO(view_of(source))
    elif isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as file:
            yield file
    elif hasattr(source, "read") and hasattr(source, "seek"):
        yield source
    else:
        kind = type(source).__name__
        raise TypeError(f"expected bytes, a file name (str or PathLike) or a binary file that can seek, not {kind}")


class Extras(BackendMethods):
    """The functions of one backend for inspecting frames."""

    def iter_frames(self, source: Source) -> Iterator[scanner.Frame]:
        """
        Yield the frames of bytes or a file, with their blocks, without decompressing.

        `source` is bytes, a bytearray or memoryview, a file name (str or PathLike), or a seekable binary file, which is
        read from its beginning. A frame has its offset and size, its header's fields (magic number, content size,
        window, dictionary id, checksum), the most bytes that its blocks can hold, and its blocks, each with type,
        offset and size. Raises ZstdError for data that is not a frame or is truncated, after yielding the frames before
        it.
        """
        with _opened(source) as file:
            yield from scanner.scan_frames(file)

    def index_frames(self, source: Source, zstd_dict: DictArgument = None, options: Parameters = None) -> SeekTable:
        """
        Return a table of the frames of bytes or a file, like a seekable file's table, but without checksums.

        `source` is as in `iter_frames`. Only frames that do not declare their size are decompressed; `zstd_dict` and
        `options` are as in `decompress`. Appending the result's `to_bytes()` to the frames creates a seekable file.
        Raises ZstdError unless the source consists of complete frames, and SeekableFormatError for a frame that has
        4 GiB or more, compressed or decompressed.
        """
        with _opened(source) as file:
            return index_frames(self._backend, file, zstd_dict, options)

    def verify(
        self,
        source: Source,
        zstd_dict: DictArgument = None,
        options: Parameters = None,
        *,
        threads: int | None = None,
        max_output_size: int | None = None,
    ) -> Verified:
        """
        Decompress bytes or a file without keeping the content; return a Verified, which counts frames and bytes.

        `source` is as in `iter_frames`; `zstd_dict`, `options`, `threads` and `max_output_size` are as in
        `decompress_iter`. If the source ends with a seek table, its frames are found by the table and decompressed in
        the calling thread; the table's sizes and checksums must match the frames. Raises the errors of decompression,
        ZstdError for data that does not consist of complete frames, and SeekableFormatError for a table that does not
        match.
        """
        max_output_size = size_argument(max_output_size, "max_output_size")
        checked_threads(0 if threads is None else threads)
        with _opened(source) as file:
            frames = skippable = checksums = 0
            bounds = []
            for frame in scanner.scan_frames(file, with_blocks=False):
                frames += 1
                skippable += frame.is_skippable
                checksums += frame.checksum is not None
                bounds.append(frame.offset + frame.size)
            has_table = _ends_with_table(file)
            if has_table:
                pieces = self._through_table(file, bounds, zstd_dict, options)
            else:
                file.seek(0)
                pieces = self._backend.decompress_iter(
                    file, zstd_dict, options, threads=threads, max_output_size=max_output_size, read_size=_READ_SIZE
                )
            content = 0
            for piece in pieces:
                content += len(piece)
                if max_output_size is not None and content > max_output_size:
                    raise output_limit_error(max_output_size, None)
            return Verified(frames, skippable, checksums, bounds[-1] if bounds else 0, content, has_table)

    def _through_table(
        self, file: BinaryIO, bounds: list[int], zstd_dict: DictArgument, options: Parameters
    ) -> Iterator[bytes]:
        """Yield the content of a file with a seek table; its entries must match the frames, which end at `bounds`."""
        table = read_seek_table(file)
        known = set(bounds)
        for index in range(len(table)):
            offset, size, *_ = table.frame(index)
            if offset + size not in known:
                text = f"the seek table does not fit: no frame ends where entry {index} ends"
                raise located(SeekableFormatError(text), offset)
        with self._backend.SeekableZstdFile(file, level_or_option=options, zstd_dict=zstd_dict) as opened:
            yield from iter(lambda: opened.read(_READ_SIZE), b"")


def _ends_with_table(file: BinaryIO) -> bool:
    size = file.seek(0, io.SEEK_END)
    file.seek(max(size - 4, 0))
    return read_full(file, 4) == SEEKABLE_MAGIC.to_bytes(4, "little")
