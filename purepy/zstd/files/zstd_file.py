# SPDX-License-Identifier: Apache-2.0
"""
ZstdFile: file objects over any backend's stream types.

Three things make it faster than the file object of `compression.zstd`, which it replaces. Small writes are collected
before they are compressed. On CPython, methods of the buffer below (an io.BufferedReader, an io.BufferedWriter or their
replacements) are set as attributes of the file object, so that reading or writing a line runs no Python function. And
one decompressor, with its context, reads all frames of the file.
"""

from __future__ import annotations

import io
import os
import sys

from purepy.base.pypy import JIT
from purepy.zstd.files.buffering import BuilderWriter, PlainWriter, is_closed_from_above
from purepy.zstd.files.read_half import READ_METHODS, ReadHalf
from purepy.zstd.files.readers import ContentReader, DecompressReader
from purepy.zstd.files.write_half import PUTS_METHODS_ON_OBJECTS, Backlog, WriteHalf
from purepy.zstd.files.writer import CompressWriter, WriteFile
from purepy.zstd.format.error_codes import truncated_file_error
from purepy.zstd.format.locks import release
from purepy.zstd.format.rules import FLUSH_BLOCK, FLUSH_FRAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Callable, ClassVar

    from purepy.base.types import Compressor, Decompressor, File, Parameters
    from purepy.zstd.format.zdict import DictArgument

BUFFER_SIZE = 128 << 10
"""The most bytes decompressed ahead while reading, and collected before compression while writing."""

TEXT_CHUNK_SIZE = 32 << 10
"""Bytes that io.TextIOWrapper decodes at a time; its default of 8 KiB makes reading lines half as slow again."""

_PUT_METHODS = frozenset((*READ_METHODS, "write"))


def text_types(
    encoding: str | None, newline: str | None
) -> tuple[Callable[..., io.TextIOWrapper], Callable[..., io.BufferedIOBase]]:
    """Return the type of a text file for reading and the type of the reader below it; backends may have faster ones."""
    return io.TextIOWrapper, io.BufferedReader


class ZstdFile(ReadHalf, WriteHalf):
    """
    A Zstandard file, open in binary mode for reading or writing (replaces `compression.zstd.ZstdFile`).

    Args:
        file (str | bytes | PathLike | file object): a path to open, or an object with read() or write(), which close()
            leaves open.
        mode (str): "r", "w", "x" or "a", with or without "b".
        level (int | None): for writing, -131072 to 22; None and 0 mean 3.
        options (dict[int, int] | None): for writing, values of CompressionParameter, instead of `level`; for
            reading, values of DecompressionParameter.
        zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.
        threads (int | None): how many frames may be processed at a time, 0 for one per core. If `threads` or
            `frame_size` is given, a file is written in several frames, and flush() ends a frame.
        frame_size (int | None): for writing, the most bytes of content in a frame; None for 16 to 64 MiB, depending on
            the level and the options.
        padding (bool): for reading, whether zero bytes may follow the frames; they add nothing to the content.

    Raises ValueError for another mode, and TypeError or ValueError for other wrong arguments. A corrupted dictionary
    raises ZstdError when the file is opened or used. Reading raises EOFError for a file that is empty or ends inside a
    frame, and ZstdError for a file that is damaged or not a Zstandard file.

    All frames of the file are read. Small writes are collected, so data reaches the underlying file with flush() and
    close(), or once enough has been collected.
    """

    # As a slot, `closed` needs no Python call: io.TextIOWrapper reads it for each line and each write.
    __slots__ = ("closed",)

    FLUSH_BLOCK = FLUSH_BLOCK
    """Mode of flush(): end the block and continue the frame."""
    FLUSH_FRAME = FLUSH_FRAME
    """Mode of flush(): end the frame."""

    _backend: ClassVar[str]  # the name of the backend's module
    _compressor_type: ClassVar[Callable[..., Compressor]]
    _decompressor_type: ClassVar[Callable[..., Decompressor]]
    _reader_type: Callable[..., io.BufferedIOBase] = io.BufferedReader
    _text_types = staticmethod(text_types)
    _writer_type: ClassVar[type[BuilderWriter | PlainWriter]] = BuilderWriter if JIT else PlainWriter

    _put: ClassVar[tuple[str, ...]] = READ_METHODS if PUTS_METHODS_ON_OBJECTS else ()
    """The names of the buffer's methods that a file for reading sets as attributes of its own object."""

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        cls._put = tuple(name for name in ZstdFile._put if getattr(cls, name) is getattr(ZstdFile, name))

    def __init__(
        self,
        file: object,
        /,
        mode: str = "r",
        *,
        level: int | None = None,
        options: Parameters = None,
        zstd_dict: DictArgument = None,
        threads: int | None = None,
        frame_size: int | None = None,
        padding: bool = False,
    ) -> None:
        for name in self.__dict__.keys() & _PUT_METHODS:  # methods of another file, if __init__ is called again
            delattr(self, name)
        self.closed = True  # type: ignore[misc]
        self._buffer: File = None  # set before the file, because newer collectors finalize in this order
        self._fp: File = None
        self._close_fp = False
        self._is_reading = self._is_writing = self._is_ending = self._has_ended = False
        self._backlog: Backlog | None = None
        if not isinstance(mode, str):
            raise ValueError("mode must be a str")
        if options is not None and not isinstance(options, dict):
            raise TypeError("options must be a dict or None")
        kind = mode[:-1] if mode.endswith("b") else mode
        if kind == "r":
            if level is not None or frame_size is not None:
                raise TypeError(f"{'level' if level is not None else 'frame_size'} is illegal in read mode")
        elif kind in ("w", "a", "x"):
            if level is not None and not isinstance(level, int):
                raise TypeError("level must be int or None")
            if padding:
                raise TypeError("padding is illegal in write mode")
            raw = self._new_writer(level, options, zstd_dict, threads, frame_size)
            buffer = self._writer_type(raw, BUFFER_SIZE)  # so that nothing can fail once the file is open
        else:
            raise ValueError(f"Invalid mode: {mode!r}")

        # wrong options raise before the file is opened
        make_reader = self._reader_maker(options, zstd_dict, threads) if kind == "r" else None
        if isinstance(file, (str, bytes, os.PathLike)):
            self._fp = open(file, "rb") if kind == "r" else WriteFile(os.fspath(file), kind)  # noqa: SIM115
            self._close_fp = True
        elif hasattr(file, "read" if kind == "r" else "write"):
            self._fp = file
        else:
            raise TypeError("file must be a file-like object or a str, bytes, or PathLike object")
        if make_reader is not None:
            source = self._fp
            if padding:
                from purepy.zstd.format.padding import UnpaddedFile

                source = UnpaddedFile(source)
            self._buffer = self._reader_type(make_reader(source, self._close_fp), BUFFER_SIZE)
            self._is_reading = True
            for name in self._put:
                setattr(self, name, getattr(self._buffer, name))
        else:
            raw.attach(self._fp, self._close_fp)
            self._buffer = buffer
            self._is_writing = True
        self.closed = False  # type: ignore[misc]

    def _new_writer(
        self,
        level: int | None,
        options: Parameters,
        zstd_dict: DictArgument,
        threads: int | None,
        frame_size: int | None,
    ) -> CompressWriter:
        """Return the raw stream that compresses."""
        if threads is None and frame_size is None:
            return CompressWriter(self._compressor_type(level=level, options=options, zstd_dict=zstd_dict))
        from purepy.zstd.threads.arguments import plan_compression
        from purepy.zstd.threads.compress import ParallelCompressor

        plan = plan_compression(sys.modules[self._backend], threads, frame_size, level, options, zstd_dict)
        return CompressWriter(ParallelCompressor(plan))

    def _reader_maker(
        self, options: Parameters, zstd_dict: DictArgument, threads: int | None
    ) -> Callable[[BinaryIO, bool], ContentReader]:
        """Check the arguments; return a function `(fp, close_fp)` that creates the raw stream of a file's content."""
        decompressor_type = self._decompressor_type

        def make_decompressor() -> Decompressor:
            return decompressor_type(zstd_dict, options, multi_frame=True)

        first = make_decompressor()
        if threads is not None:
            from purepy.zstd.threads.arguments import plan_decompression

            plan = plan_decompression(sys.modules[self._backend], threads, zstd_dict, options, truncated_file_error)
            if plan is not None:
                from purepy.zstd.files.threaded_reader import ParallelReader

                release(first)
                return lambda fp, close_fp: ParallelReader(fp, close_fp, plan)
        return lambda fp, close_fp: DecompressReader(fp, close_fp, first, make_decompressor)

    def close(self) -> None:
        """
        Write the data that was held back, end the frame, and close the file if it was opened by name.

        May be called again; other methods raise ValueError afterwards. If writing fails, the file stays open and
        nothing is lost: close() may be called again, and until that succeeds the frame has no end. A file that an
        interrupt has broken (so that other calls raise ZstdError) is closed without ending its frame.
        """
        buffer, fp = self._buffer, self._fp
        if fp is None:  # closed, perhaps by another thread
            return
        if self._is_writing:
            self._finish()
        try:
            if self._is_writing:
                self._close_buffer()
            elif buffer is not None and PUTS_METHODS_ON_OBJECTS:
                # PyPy's io.BufferedReader crashes if it is closed while another thread reads from it
                buffer.close()
            if buffer is not None:
                buffer.raw.close()
        finally:  # the next call completes what an interrupt has prevented
            if buffer is None or (buffer.raw.closed and (not self._close_fp or fp.closed)):
                self._end_of_use()

    def _end_of_use(self) -> None:
        self.closed = True  # type: ignore[misc]
        self._is_reading = self._is_writing = False
        self._fp = None

    def __del__(self) -> None:
        # If methods are set on objects, a file that was not closed is closed with the last of these methods.
        if PUTS_METHODS_ON_OBJECTS or not getattr(self, "_is_writing", False):
            return
        if not is_closed_from_above(self._buffer.raw):
            try:
                self.close()
            except Exception:
                self._buffer.__del__()  # tries once more and releases the file

    def _check_not_closed(self) -> None:
        if not (self._is_reading or self._is_writing):
            raise ValueError("I/O operation on closed file")

    def _file_below(self) -> File:
        file = self._fp  # another thread's close() may remove it
        if file is None:
            raise ValueError("I/O operation on closed file")
        self._check_not_closed()
        return file

    def tell(self) -> int:
        """Return the position in the content."""
        self._check_not_closed()
        return int(self._buffer.tell())

    def fileno(self) -> int:
        """Return the descriptor of the compressed file."""
        return int(self._file_below().fileno())

    @property
    def _compressor(self) -> object:
        """The compressor of a file that is open for writing: subclasses may pledge the content's size to it."""
        if not self._is_writing:
            raise AttributeError("a file that is not open for writing has no compressor")
        return self._buffer.raw.compressor

    @property
    def name(self) -> Any:
        """The name of the compressed file; raises AttributeError if the file object has no name."""
        return self._file_below().name

    @property
    def mode(self) -> str:
        """The mode of the compressed file: "wb" while this file is open for writing, otherwise "rb"."""
        return "wb" if self._is_writing else "rb"

    def seekable(self) -> bool:
        """Return whether seek() works: the file is open for reading, and the underlying file can seek."""
        return self.readable() and self._buffer.seekable()

    def readable(self) -> bool:
        """Return whether the file is open for reading; raises ValueError once it is closed."""
        self._check_not_closed()
        return self._is_reading

    def writable(self) -> bool:
        """Return whether the file is open for writing; raises ValueError once it is closed."""
        self._check_not_closed()
        return self._is_writing
