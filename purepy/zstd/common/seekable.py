# SPDX-License-Identifier: Apache-2.0
"""
Seekable files: SeekableZstdFile, and the frames of any file as an index of the same kind.

A seekable file (contrib/seekable_format of zstd, version 0.1.0) is made of frames that can be decompressed alone, and a
table of them at its end (purepy/zstd_seek_table.py), so that any position is reached in the time of one frame.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
from _thread import RLock
from typing import Any, Callable, ClassVar

from purepy._jit import sliceable
from purepy.errors import SeekableFormatError, ZstdError
from purepy.zstd.common.file import WRITE, CompressWriter, ZstdFile
from purepy.zstd.common.frame_scan import Frame, scan_frames
from purepy.zstd.common.parameters import CompressionParameter
from purepy.zstd.common.stream_functions import release
from purepy.zstd_format import CHECKSUM_FLAG, CHECKSUM_SIZE, MAGIC
from purepy.zstd_seek_table import SIZE_MAX, SeekTable, read_seek_table

_READ_SIZE = 64 << 10
_PIECE = 128 << 10
_CHECKSUM_KEY = int(CompressionParameter.checksum_flag)
_LEVEL_KEY = int(CompressionParameter.compression_level)
_FASTEST = -131072

_READ_SIZE_DEFAULT, _WRITE_SIZE_DEFAULT = 131075, 131591  # of pyzstd, where neither has an effect any more


class _FrameCompressor:
    """
    A compressor that ends a frame wherever it is full, and notes each in a table.

    The frames have checksums if the table has: an entry's is the one that its frame ends with.
    """

    def __init__(self, compressor: Any, table: SeekTable, frame_size: int, compressed_max: int) -> None:
        self._compressor = compressor
        self._frame_size = frame_size
        self._compressed_max = compressed_max
        self.table = table
        self._content = self._compressed = 0  # of the frame in the making
        self.last_mode: int = ZstdFile.FLUSH_FRAME

    def compress(self, data: Any) -> bytes:
        begins, self.last_mode = self.last_mode == ZstdFile.FLUSH_FRAME, 0
        view = sliceable(data)
        if not len(view):  # a frame that ended because it was full needs no empty one behind it
            return self._count(self._compressor.compress(b"")) if begins else b""
        pieces = []
        start = 0
        while start < len(view):
            part = view[start : start + self._frame_size - self._content]
            pieces.append(self._count(self._compressor.compress(part)))
            start += len(part)
            self._content += len(part)
            if self._content == self._frame_size or self._compressed >= self._compressed_max:
                pieces.append(self._end_frame())
        return b"".join(pieces)

    def flush(self, mode: int = ZstdFile.FLUSH_FRAME) -> bytes:
        self.last_mode = mode
        if mode == ZstdFile.FLUSH_FRAME:
            return self._end_frame()
        return self._count(self._compressor.flush(mode)) if self._compressed or self._content else b""

    def _end_frame(self) -> bytes:
        if self._compressor.last_mode == ZstdFile.FLUSH_FRAME:
            return b""
        output = self._count(self._compressor.flush(ZstdFile.FLUSH_FRAME))
        checksum = int.from_bytes(output[-CHECKSUM_SIZE:], "little") if self.table.checksums else None
        self.table.append(self._compressed, self._content, checksum)
        self._content = self._compressed = 0
        return output

    def _count(self, output: bytes) -> bytes:
        self._compressed += len(output)
        return output

    def _release(self) -> None:
        release(self._compressor)


class _TableWriter(CompressWriter):
    """A raw stream that compresses, and ends with the table of its frames."""

    _has_table = False

    def write(self, data: Any, /) -> int:
        if self._has_table:
            raise ValueError("the file has its table already: close() was called, and may be tried again")
        return super().write(data)

    def end_with_table(self) -> None:
        """End the frame and write the table, once; what a file does not take is tried again by the next call."""
        with self._turn():
            self._check_not_closed()
            self._end_with_table()

    def _end_with_table(self) -> None:
        self._end(ZstdFile.FLUSH_FRAME)
        if not self._has_table:
            self._has_table = True
            self._put(self.compressor.table.to_bytes())

    def close(self) -> None:
        try:
            with self._turn():
                if not self.closed and self._fp is not None and not self._refused:
                    self._end_with_table()
        finally:
            super().close()


class _TableReader(io.RawIOBase):
    """The content of a file whose frames are in a table, as a raw stream that goes to a frame at once."""

    _lock: Any = None
    _close_fp = False

    def __init__(
        self, fp: Any, close_fp: bool, table: SeekTable, decompressor: Callable[[], Any], hasher: Callable[[], Any]
    ) -> None:
        self._fp = fp
        self._close_fp = close_fp
        self._table = table
        self._decompressor = decompressor
        self._hasher = hasher
        self._lock = RLock()
        self._pos = 0
        self._frame: _FrameReader | None = None

    def close(self) -> None:
        if self._lock is None:
            super().close()
            return
        with self._lock:
            if self.closed:
                return
            self._leave()
            super().close()
            if self._close_fp:
                self._fp.close()

    def _leave(self) -> None:
        frame, self._frame = self._frame, None
        if frame is not None:
            frame.close()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._pos

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        with self._lock:
            if self.closed:
                raise ValueError("I/O operation on closed file")
            if whence == io.SEEK_CUR:
                offset += self._pos
            elif whence == io.SEEK_END:
                offset += self._table.decompressed_size
            elif whence != io.SEEK_SET:
                raise ValueError(f"Invalid value for whence: {whence}")
            self._pos = min(max(offset, 0), self._table.decompressed_size)
            return self._pos

    def readinto(self, buffer: Any, /) -> int:
        with self._lock, memoryview(buffer) as view, view.cast("B") as target:
            if self.closed:
                raise ValueError("I/O operation on closed file")
            if not len(target) or self._pos >= self._table.decompressed_size:
                return 0
            frame = self._frame
            if frame is None or not frame.position <= self._pos < frame.end:
                self._leave()
                index = self._table.find(self._pos)
                frame = _FrameReader(self._fp, self._table, index, self._decompressor(), self._hasher)
                self._frame = frame
            try:
                frame.skip_to(self._pos)
                content = frame.read(len(target))
            except BaseException:
                self._leave()
                raise
            target[: len(content)] = content
            self._pos += len(content)
            if self._pos == frame.end:
                self._leave()
            return len(content)

    def readall(self) -> bytes:
        pieces: list[bytes] = []
        while True:
            piece = self.read(_PIECE)
            if not piece:
                return b"".join(pieces)
            pieces.append(piece)


class _FrameReader:
    """One frame that is being decompressed, and held to what the table says of it."""

    def __init__(
        self, fp: Any, table: SeekTable, index: int, decompressor: Any, make_hasher: Callable[[], Any]
    ) -> None:
        self._fp = fp
        self._index = index
        self._start, size, self.position, content, self._checksum = table.frame(index)
        self._offset = self._start
        self._compressed_end = self._start + size
        self.end = self.position + content
        self._decompressor = decompressor
        self._make_hasher = make_hasher
        self._hasher: Any = None
        self._tail = b""

    def close(self) -> None:
        """Let go of the decompressor."""
        release(self._decompressor)
        if self._hasher is not None:
            release(self._hasher)

    def skip_to(self, position: int) -> None:
        """Pass over the content in front of a position."""
        while self.position < position:
            self.read(min(position - self.position, _PIECE))

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes of content, at least one; at the end of the frame check all of it."""
        while True:
            content: bytes = self._decompress(min(size, self.end - self.position))
            if content:
                break
        self.position += len(content)
        if self._hasher is not None:
            self._hasher.compress(content)
        if self.position == self.end:
            self._check_end()
        return content

    def _decompress(self, size: int) -> bytes:
        data = b""
        if self._decompressor.needs_input:
            data = self._more()
            if not data:
                raise self._lie(f"it has {self.end - self.position} bytes of content less than the table says")
        try:
            content: bytes = self._decompressor.decompress(data, size)
        except ZstdError as exc:
            if exc.offset is not None:
                exc.offset += self._start
            raise
        return content

    def _more(self) -> bytes:
        wanted = min(self._compressed_end - self._offset, _READ_SIZE)
        if not wanted:
            return b""
        self._fp.seek(self._offset)  # others may use the file, too
        data = self._fp.read(wanted)
        if data is None:
            raise BlockingIOError("the file has no data at the moment; a non-blocking file cannot be read")
        if not data:
            raise EOFError("Compressed file ended before the end-of-stream marker was reached")
        if self._offset == self._start and self._checksum is not None and not _has_checksum(data):
            self._hasher = self._make_hasher()
        self._offset += len(data)
        self._tail = (self._tail + data)[-CHECKSUM_SIZE:]
        return bytes(data)

    def _check_end(self) -> None:
        while not (self._decompressor.eof and self._offset == self._compressed_end):
            data = self._more() if self._decompressor.needs_input else b""
            if not data and self._decompressor.needs_input:
                raise self._lie("it is not complete where the table says that it ends")
            if self._decompressor.decompress(data, 1):
                raise self._lie("it has more content than the table says")
        if self._checksum is None:
            return
        found = self._tail if self._hasher is None else self._hasher.flush()[-CHECKSUM_SIZE:]
        if int.from_bytes(found, "little") != self._checksum:
            raise self._lie("its content has another checksum than the table says")

    def _lie(self, what: str) -> SeekableFormatError:
        exc = SeekableFormatError(f"the seek table does not fit frame {self._index}, at byte {self._start}: {what}")
        exc.offset = self._start
        return exc


def _has_checksum(data: bytes) -> bool:
    """Say whether the frame that data begins with ends with a checksum of its own."""
    return len(data) > len(MAGIC) and data[:4] == MAGIC and bool(data[4] & CHECKSUM_FLAG)


def index_frames(module: Any, file: Any, zstd_dict: Any = None, options: Any = None) -> SeekTable:
    """
    Return the table of the frames of a file that has none, or whose table is of no use.

    Goes over all of the file, but decompresses only frames that do not declare their size. Raises ZstdError for what is
    not whole frames, SeekableFormatError for a frame that a table cannot hold.
    """
    table = SeekTable(checksums=False)
    for frame in scan_frames(file, with_blocks=False):
        content = frame.content_size
        if content is None:
            content = _counted(module.ZstdDecompressor(zstd_dict, options), file, frame)
        if frame.size > SIZE_MAX or content > SIZE_MAX:
            raise SeekableFormatError(f"the frame at byte {frame.offset} is too large for a seek table")
        table.append(frame.size, content)
    return table


def _counted(decompressor: Any, file: Any, frame: Frame) -> int:
    """Return the size of a frame's content by decompressing it."""
    position = file.seek(frame.offset)
    total = 0
    while not decompressor.eof:
        data = file.read(min(_READ_SIZE, frame.offset + frame.size - position)) if decompressor.needs_input else b""
        position += len(data)
        total += len(decompressor.decompress(data, _PIECE))
    return total


class SeekableZstdFile(ZstdFile):
    """
    A file of the Zstandard seekable format, open in binary mode for reading or for writing.

    `filename` is a name (str, bytes or a path) or a binary file object; to read, one that can seek; to append ("a"), a
    name. `level_or_option` is a level or a dict of CompressionParameter when writing, a dict of DecompressionParameter
    when reading. A frame ends when its content has `max_frame_content_size` bytes, and by flush(FLUSH_FRAME): any
    position is reached by decompressing one frame from its beginning. `read_size` and `write_size` have no effect.

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
        filename: Any,
        mode: str = "r",
        *,
        level_or_option: Any = None,
        zstd_dict: Any = None,
        read_size: int = _READ_SIZE_DEFAULT,
        write_size: int = _WRITE_SIZE_DEFAULT,
        max_frame_content_size: int = 1 << 30,
        checksums: bool = True,
        scan: bool = False,
        index: Any = None,
    ) -> None:
        if not isinstance(mode, str):
            raise TypeError("mode must be a str")
        kind = mode[:-1] if mode.endswith("b") else mode
        self._table: SeekTable | None = None
        self._scan = scan
        self._index = _index_name(index, filename)
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

    def _new_writer(self, level: Any, options: Any, zstd_dict: Any, threads: Any, frame_size: Any) -> CompressWriter:
        table = self._table
        assert table is not None
        if table.checksums:
            options = {_LEVEL_KEY: level or 0} if options is None else dict(options)
            options[_CHECKSUM_KEY] = 1
            level = None
        compressor = self._compressor_type(level=level, options=options, zstd_dict=zstd_dict)
        return _TableWriter(_FrameCompressor(compressor, table, self._frame_size, self.FRAME_MAX_C_SIZE))

    def _reader_maker(self, options: Any, zstd_dict: Any, threads: Any) -> Callable[[Any, bool], Any]:
        decompressor_type, compressor_type = self._decompressor_type, self._compressor_type
        release(decompressor_type(zstd_dict, options, multi_frame=True))

        def decompressor() -> Any:
            return decompressor_type(zstd_dict, options, multi_frame=True)

        def hasher() -> Any:
            # libzstd tells an XXH64 only as the end of a frame, so that one is made as fast as can be
            return compressor_type(options={_LEVEL_KEY: _FASTEST, _CHECKSUM_KEY: 1})

        def make(fp: Any, close_fp: bool) -> _TableReader:
            try:
                for name in ("readable", "seekable"):
                    if not hasattr(fp, name) or not getattr(fp, name)():
                        raise TypeError(f"to be read by SeekableZstdFile a file object has to be {name}")
                self._table = table = self._find_table(fp, zstd_dict, options)
                return _TableReader(fp, close_fp, table, decompressor, hasher)
            except BaseException:
                if close_fp:
                    fp.close()
                self._fp = None
                raise

        return make

    def _find_table(self, fp: Any, zstd_dict: Any, options: Any) -> SeekTable:
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
        table = index_frames(_module_of(type(self)), fp, zstd_dict, options)
        if self._index is not None:
            _write_whole(self._index, table.to_bytes())
        return table

    def close(self) -> None:
        """
        Write what was held back, end the frame, write the table and close the file, if it was opened by name.

        May be called again; if writing fails, the file stays open and close() may be tried again.
        """
        if self._fp is not None and self._mode == WRITE and not self._buffer.raw.closed:
            self._buffer.flush()
            self._buffer.raw.end_with_table()
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
    def is_seekable_format_file(filename: Any) -> bool:
        """
        Return whether a file, by its name or as a file object, ends with a table that fits it, or has 0 bytes.

        A file object stays where it was. Raises TypeError for what is neither.
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


def _has_table(file: Any) -> bool:
    try:
        return not file.seek(0, io.SEEK_END) or bool(read_seek_table(file) is not None)
    except SeekableFormatError:
        return False


def _with_advice(exc: SeekableFormatError) -> SeekableFormatError:
    made = SeekableFormatError(f"{exc}; scan=True finds the frames by going over the file")
    made.offset = exc.offset
    return made


def _index_name(index: Any, filename: Any) -> Any:
    if index is None or index is False:
        return None
    if index is not True:
        return os.fspath(index)
    name = filename if isinstance(filename, (str, bytes, os.PathLike)) else getattr(filename, "name", None)
    if not isinstance(name, (str, bytes, os.PathLike)):
        raise ValueError("index=True is for files that have a name")
    return os.fsdecode(name) + ".seek"


def _write_whole(name: Any, data: bytes) -> None:
    """Write a file that appears whole or not at all."""
    folder, base = os.path.split(os.fsdecode(name))
    handle, made = tempfile.mkstemp(prefix=base, dir=folder or ".")
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(made, os.fsdecode(name))
    except BaseException:
        os.unlink(made)
        raise


def _module_of(kind: type[ZstdFile]) -> Any:
    return sys.modules[kind._backend]
