# SPDX-License-Identifier: Apache-2.0
"""
SeekableZstdFile: files of the seekable format, and the frames of any file as if it were one.

A seekable file (contrib/seekable_format of zstd, version 0.1.0) is made of frames that can be decompressed alone, and a
table of them at its end (purepy/zstd/seekable/table.py), so that any position is reached in the time of one frame.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, BinaryIO, Callable, ClassVar

from purepy.base.errors import SeekableFormatError
from purepy.zstd.files.writer import CompressWriter
from purepy.zstd.files.zstd_file import ZstdFile
from purepy.zstd.format.error_codes import located
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

_READ_SIZE_DEFAULT, _WRITE_SIZE_DEFAULT = 131075, 131591  # of pyzstd, where neither has an effect any more


class SeekableZstdFile(ZstdFile):
    """
    A file of the Zstandard seekable format, open in binary mode for reading or for writing.

    `filename` is a name (str, bytes or a path) or a binary file object; to read, one that can seek; to append ("a"), a
    name. `level_or_option` is a level or a dict of CompressionParameter when writing, a dict of DecompressionParameter
    when reading, `zstd_dict` what ZstdFile takes. A frame ends when its content has `max_frame_content_size` bytes, and
    by flush(FLUSH_FRAME): any position is reached by decompressing one frame from its beginning. `read_size` and
    `write_size` have no effect.

    Beyond pyzstd: the table has checksums, unless `checksums` is false; reading, frames are held to them and to their
    sizes. With `scan=True` a file whose table is missing or damaged, or any file of frames, is gone over for its
    frames. `index` names a file that keeps what was found, and is used as long as it fits; True stands for the file's
    name and ".seek".

    Raises SeekableFormatError for a file without a table, or whose table is damaged or does not fit the frames,
    ZstdError for damaged frames, ValueError and TypeError for wrong arguments. Replaces `pyzstd.SeekableZstdFile`.
    """

    FRAME_MAX_C_SIZE: ClassVar[int] = 2 << 30
    """A frame ends, too, when it takes so many bytes."""
    FRAME_MAX_D_SIZE: ClassVar[int] = 1 << 30
    """The most that `max_frame_content_size` may be."""

    def __init__(
        self,
        filename: Name | BinaryIO,
        mode: str = "r",
        *,
        level_or_option: int | dict[int, int] | None = None,
        zstd_dict: DictArgument = None,
        read_size: int = _READ_SIZE_DEFAULT,
        write_size: int = _WRITE_SIZE_DEFAULT,
        max_frame_content_size: int = 1 << 30,
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
            if write_size != _WRITE_SIZE_DEFAULT or max_frame_content_size != 1 << 30:
                raise ValueError("write_size and max_frame_content_size are for writing")
            options = level_or_option
        elif kind in ("w", "a", "x"):
            if level_or_option is not None and not isinstance(level_or_option, (int, dict)):
                raise TypeError("level_or_option must be an int or a dict")
            if read_size != _READ_SIZE_DEFAULT or scan or index is not None:
                raise ValueError("read_size, scan and index are for reading")
            if write_size <= 0:
                raise ValueError(f"write_size must be positive, not {write_size}")
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
                    raise TypeError("to append, SeekableZstdFile takes a file's name (str, bytes or PathLike)")
                if os.path.isfile(filename) and os.path.getsize(filename):
                    with open(filename, "rb") as file:
                        table = read_seek_table(file)
            self._table = table
            self._frame_size = max_frame_content_size
        super().__init__(filename, mode, level=level, options=options, zstd_dict=zstd_dict)
        if kind == "a":
            self._fp.truncate(table.compressed_size)  # the table comes again, behind what is written now

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
            # libzstd gives an XXH64 only as the end of a frame, so one is made as fast as can be
            return compressor_type(options={_LEVEL_KEY: LEVEL_MIN, _CHECKSUM_KEY: 1})

        def make(fp: BinaryIO, close_fp: bool) -> TableReader:
            try:
                for name in ("readable", "seekable"):
                    if not hasattr(fp, name) or not getattr(fp, name)():
                        raise TypeError(f"to be read by SeekableZstdFile a file object has to be {name}")
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
                raise _with_advice(exc) from None
        if self._index is not None:
            try:
                with open(self._index, "rb") as file:
                    return read_seek_table(file, size)
            except (FileNotFoundError, SeekableFormatError) as exc:
                if not self._scan:
                    text = f"the index {os.fsdecode(self._index)} is missing or does not fit: {exc}"
                    raise _with_advice(SeekableFormatError(text)) from None
        table = index_frames(sys.modules[self._backend], fp, zstd_dict, options)
        if self._index is not None:
            write_index(self._index, table)
        return table

    def write(self, data: Buffer) -> int:
        """Write the bytes of `data`, a buffer, and return how many they are."""
        return super().write(data)

    def close(self) -> None:
        """
        Write what was held back, end the frame, write the table and close the file, if it was opened by name.

        May be called again; if writing fails, the file stays open and close() may be tried again.
        """
        super().close()
        self._table = None

    @property
    def seek_table_info(self) -> tuple[int, int, int] | None:
        """
        The number of frames, their size and that of their content, in bytes; None once the file is closed.

        The table itself, and what is in no whole frame yet, are not counted.
        """
        table = self._table
        if table is None or self.closed:
            return None
        return len(table), table.compressed_size, table.decompressed_size

    @staticmethod
    def is_seekable_format_file(filename: Name | BinaryIO) -> bool:
        """
        Return whether a file ends with a table that fits it, or has 0 bytes; `filename` is its name or a file object.

        A file object stays where it was. Raises TypeError for an object that is neither.
        """
        if isinstance(filename, (str, bytes, os.PathLike)):
            with open(filename, "rb") as file:
                return _has_table(file)
        if not all(hasattr(filename, name) and getattr(filename, name)() for name in ("readable", "seekable")):
            raise TypeError(
                "a str, bytes or PathLike object, or a file object that is readable and seekable, is needed"
            )
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


def _with_advice(exc: SeekableFormatError) -> SeekableFormatError:
    text = f"{exc}; scan=True finds the frames by going over the file"
    return located(SeekableFormatError(text), exc.offset)
