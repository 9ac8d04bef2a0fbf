# SPDX-License-Identifier: Apache-2.0
"""
SeekableZstdFile: files of the seekable format, and any other file of frames with the same interface.

A seekable file (contrib/seekable_format of zstd, version 0.1.0) consists of frames that can be decompressed alone, and
a table of the frames at its end (purepy/zstd/seekable/table.py). To reach a position, only the frame with this position
is decompressed.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, BinaryIO, Callable, ClassVar

from purepy.base.cores import checked_int
from purepy.base.errors import SeekableFormatError
from purepy.zstd.files.writer import CompressWriter
from purepy.zstd.files.zstd_file import ZstdFile
from purepy.zstd.format.locks import release
from purepy.zstd.format.parameters import CompressionParameter
from purepy.zstd.format.rules import LEVEL_MIN
from purepy.zstd.seekable.frame_index import index_frames, index_name, write_index
from purepy.zstd.seekable.reader import TableReader
from purepy.zstd.seekable.table import SeekTable, read_seek_table
from purepy.zstd.seekable.writer import FrameCompressor, TableWriter

if TYPE_CHECKING:
    from purepy.base.types import Buffer, Compressor, Decompressor, Name, Parameters
    from purepy.zstd.format.zdict import DictArgument

_CHECKSUM_KEY = int(CompressionParameter.checksum_flag)
_LEVEL_KEY = int(CompressionParameter.compression_level)

_FRAME_SIZE_DEFAULT = 4 << 20
"""With pyzstd's default of 1 GiB few files would be seekable; frames of 4 MiB make files 2 % larger."""
_ADVICE = "if no frame is truncated, scan=True finds the frames by reading through the file"
_READ_SIZE_DEFAULT, _WRITE_SIZE_DEFAULT = 131075, 131591  # pyzstd's defaults, which no longer have an effect there


class SeekableZstdFile(ZstdFile):
    """
    A file of the Zstandard seekable format, open in binary mode for reading or writing.

    Args:
        filename: a path (str, bytes or PathLike) or a binary file object, which must be able to seek for reading. To
            append ("a"), a path.
        mode: "r", "w", "x" or "a", with or without "b".
        level_or_option: for writing, a level or a dict of CompressionParameter; for reading, a dict of
            DecompressionParameter.
        zstd_dict: a dictionary, as for ZstdFile.
        read_size, write_size: for reading and for writing; have no effect, but must be positive.
        max_frame_content_size: for writing, the bytes of content after which a frame ends, by default 4 MiB;
            flush(FLUSH_FRAME) also ends it. Reading at any position decompresses one frame from its beginning.
        checksums: for writing, whether the table has checksums; with mode "a", an existing table decides.
        scan: for reading, whether to find the frames by following their headers through the file if its table is
            missing or damaged; this works for any file of complete frames.
        index: for reading, the name of a file that keeps the result of `scan`, and is used as long as it matches; True
            means the file's name with ".seek" added.

    An argument that is only for the other direction raises ValueError unless it has its default value. When reading, a
    level raises TypeError, and `checksums` is ignored.

    `checksums`, `scan` and `index` do not exist in pyzstd. When reading, frames are checked against the sizes and
    checksums in the table.

    Raises SeekableFormatError if a file has no table and no other way to find the frames is given, or the table is
    damaged or does not match the frames. An empty file can be opened, but reading it raises EOFError. Raises ZstdError
    for damaged frames, and ValueError and TypeError for wrong arguments. Replaces `pyzstd.SeekableZstdFile`.
    """

    FRAME_MAX_C_SIZE: ClassVar[int] = 2 << 30
    """A frame also ends when its compressed size reaches this many bytes."""
    FRAME_MAX_D_SIZE: ClassVar[int] = 1 << 30
    """The largest allowed `max_frame_content_size`."""

    def __init__(
        self,
        filename: Name | BinaryIO,
        mode: str = "r",
        *,
        level_or_option: int | dict[int, int] | None = None,
        zstd_dict: DictArgument = None,
        read_size: int = _READ_SIZE_DEFAULT,
        write_size: int = _WRITE_SIZE_DEFAULT,
        max_frame_content_size: int = _FRAME_SIZE_DEFAULT,
        checksums: bool = True,
        scan: bool = False,
        index: Name | bool | None = None,
    ) -> None:
        if not isinstance(mode, str):
            raise TypeError("mode must be a str")
        kind = mode[:-1] if mode.endswith("b") else mode
        self._table: SeekTable | None = None
        self._scan = scan
        self._index = index_name(index, filename)
        level = options = None
        if kind == "r":
            if level_or_option is not None and not isinstance(level_or_option, dict):
                raise TypeError("in read mode level_or_option is a dict of DecompressionParameter, not a level")
            if read_size <= 0:
                raise ValueError(f"read_size must be positive, not {read_size}")
            if write_size != _WRITE_SIZE_DEFAULT or max_frame_content_size != _FRAME_SIZE_DEFAULT:
                raise ValueError("write_size and max_frame_content_size are for writing")
            options = level_or_option
        elif kind in ("w", "a", "x"):
            if level_or_option is not None and not isinstance(level_or_option, (int, dict)):
                raise TypeError("level_or_option must be an int or a dict")
            if read_size != _READ_SIZE_DEFAULT or scan or index is not None:
                raise ValueError("read_size, scan and index are for reading")
            if write_size <= 0:
                raise ValueError(f"write_size must be positive, not {write_size}")
            max_frame_content_size = checked_int("max_frame_content_size", max_frame_content_size)
            if not 0 < max_frame_content_size <= self.FRAME_MAX_D_SIZE:
                raise ValueError(
                    f"max_frame_content_size must be 1 to {self.FRAME_MAX_D_SIZE}, not {max_frame_content_size}"
                )
            if isinstance(level_or_option, dict):
                options = level_or_option
            else:
                level = level_or_option
            table = SeekTable(checksums=checksums)
            if kind == "a":
                if not isinstance(filename, (str, bytes, os.PathLike)):
                    raise TypeError("to append, SeekableZstdFile needs a file's name (str, bytes or PathLike)")
                if os.path.isfile(filename) and os.path.getsize(filename):
                    with open(filename, "rb") as file:
                        table = read_seek_table(file)
            self._table = table
            self._frame_size = max_frame_content_size
        super().__init__(filename, mode, level=level, options=options, zstd_dict=zstd_dict)

    def _new_writer(
        self,
        level: int | None,
        options: Parameters,
        zstd_dict: DictArgument,
        threads: int | None,
        frame_size: int | None,
    ) -> CompressWriter:
        table = self._table
        assert table is not None
        if table.checksums:
            options = {_LEVEL_KEY: level or 0} if options is None else dict(options)
            options[_CHECKSUM_KEY] = 1
            level = None
        compressor = self._compressor_type(level=level, options=options, zstd_dict=zstd_dict)
        return TableWriter(FrameCompressor(compressor, table, self._frame_size, self.FRAME_MAX_C_SIZE))

    def _reader_maker(
        self, options: Parameters, zstd_dict: DictArgument, threads: int | None
    ) -> Callable[[BinaryIO, bool], TableReader]:
        decompressor_type, compressor_type = self._decompressor_type, self._compressor_type
        release(decompressor_type(zstd_dict, options, multi_frame=True))

        def decompressor() -> Decompressor:
            return decompressor_type(zstd_dict, options, multi_frame=True)

        def hasher() -> Compressor:
            # libzstd provides an XXH64 only at the end of a frame, so a frame is created as fast as possible
            return compressor_type(options={_LEVEL_KEY: LEVEL_MIN, _CHECKSUM_KEY: 1})

        def make(fp: BinaryIO, close_fp: bool) -> TableReader:
            try:
                for name in ("readable", "seekable"):
                    if not hasattr(fp, name) or not getattr(fp, name)():
                        raise TypeError(f"expected a file object that is {name}, got {type(fp).__name__}")
                self._table = table = self._find_table(fp, zstd_dict, options)
                return TableReader(fp, close_fp, table, decompressor, hasher)
            except BaseException:
                if close_fp:
                    fp.close()
                self._fp = None
                raise

        return make

    def _find_table(self, fp: BinaryIO, zstd_dict: DictArgument, options: Parameters) -> SeekTable:
        size = fp.seek(0, io.SEEK_END)
        if not size:
            return SeekTable(checksums=False)
        try:
            return read_seek_table(fp)
        except SeekableFormatError as exc:
            if not self._scan and self._index is None:
                exc.advice = _ADVICE
                raise
            has_table = exc.has_table
        if self._index is not None:
            try:
                with open(self._index, "rb") as file:
                    return read_seek_table(file, size)
            except (FileNotFoundError, SeekableFormatError) as exc:
                if not self._scan:
                    text = f"the index {os.fsdecode(self._index)} is missing or does not fit: {exc}"
                    error = SeekableFormatError(text)
                    error.advice, error.has_table = _ADVICE, has_table
                    raise error from None
        table = index_frames(sys.modules[self._backend], fp, zstd_dict, options)
        if self._index is not None:
            write_index(self._index, table)
        return table

    def write(self, data: Buffer) -> int:
        """Write the bytes of `data`, a buffer, and return their number."""
        return super().write(data)

    def close(self) -> None:
        """
        Write the data that was held back, end the frame, write the table, and close the file if it was opened by name.

        May be called again. If writing fails, the file stays open and close() may be called again.
        """
        super().close()
        self._table = None

    @property
    def seek_table_info(self) -> tuple[int, int, int] | None:
        """
        The number of frames, their total size and their content's total size, in bytes; None once the file is closed.

        The table itself and data of the incomplete last frame are not counted.
        """
        table = self._table
        if table is None or self.closed:
            return None
        return len(table), table.compressed_size, table.decompressed_size

    @staticmethod
    def is_seekable_format_file(filename: Name | BinaryIO) -> bool:
        """
        Return whether `filename`, a name or a file object, is empty or ends with a seek table of the right sizes.

        The position of a file object is restored. Raises TypeError for any other object, and for a file object that
        cannot be read or cannot seek.
        """
        if isinstance(filename, (str, bytes, os.PathLike)):
            with open(filename, "rb") as file:
                return _has_table(file)
        if not all(hasattr(filename, name) and getattr(filename, name)() for name in ("readable", "seekable")):
            raise TypeError("expected a str, bytes or PathLike object, or a file object that is readable and seekable")
        position = filename.tell()
        try:
            return _has_table(filename)
        finally:
            filename.seek(position)


def _has_table(file: BinaryIO) -> bool:
    try:
        return not file.seek(0, io.SEEK_END) or bool(read_seek_table(file) is not None)
    except SeekableFormatError:
        return False
