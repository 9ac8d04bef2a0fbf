# SPDX-License-Identifier: Apache-2.0
"""ZstdDecompressor: decompresses with fixed limits and a dictionary."""

from __future__ import annotations

from collections.abc import Iterator
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar

from cpkg.zstandard.arguments import as_size, check_copy, read_chunk, rename, require_positive, threads_wanted
from cpkg.zstandard.constants import (
    DECOMPRESSION_RECOMMENDED_INPUT_SIZE,
    DECOMPRESSION_RECOMMENDED_OUTPUT_SIZE,
    FORMAT_ZSTD1,
    FORMAT_ZSTD1_MAGICLESS,
    WINDOWLOG_MAX,
    WINDOWLOG_MIN,
)
from cpkg.zstandard.decompression_objects import ZstdDecompressionObj
from cpkg.zstandard.dictionary import ZstdCompressionDict, dictionary_argument
from cpkg.zstandard.frames import header_of
from cpkg.zstandard.readers import ZstdDecompressionReader, chunks_of, size_of, too_much_skipped
from cpkg.zstandard.writers import ZstdDecompressionWriter, outputs, write_pieces
from purepy.base.buffers import view_of
from purepy.base.errors import ZstdError
from purepy.zstd.format.error_codes import (
    NAMES,
    PARAMETER_OUT_OF_BOUND,
    coded_error,
    located,
    output_limit_error,
    truncated_error,
)
from purepy.zstd.format.header import Header
from purepy.zstd.format.locks import release
from purepy.zstd.format.zdict import ZstdDict

if TYPE_CHECKING:
    from cpkg._backend_protocols import ZstdBackend
    from cpkg.zstandard.buffers import BufferWithSegmentsCollection
    from purepy.base.types import Buffer, Bytes, DecompressionStream, Readable, Source, Writable

_NOT_WHOLE = "did not decompress full frame"


class ZstdDecompressor:
    """
    Decompresses data, with the same limits each time (replaces `zstandard.ZstdDecompressor`).

    `dict_data` is a ZstdCompressionDict. `max_window_size` is the largest window, in bytes, that a frame may require
    (0: 128 MiB). `format` is FORMAT_ZSTD1 or FORMAT_ZSTD1_MAGICLESS. Raises ZstdError for values out of bounds.

    Threads may share a decompressor. It may have any number of streams at a time: each stream has its own context.
    """

    _codec: ClassVar[ZstdBackend]
    """The module of the backend."""

    if TYPE_CHECKING:

        def _configure(self, zstd_dict: object, how: int, window_max: int | None, has_magic: bool) -> None: ...
        def _new_stream(self, multi_frame: bool = False, frame_by_frame: bool = False) -> DecompressionStream: ...
        def _memory_size(self) -> int: ...
        def _whole_frame(self, data: bytes) -> bytes | None: ...

    def __init__(
        self, dict_data: ZstdCompressionDict | None = None, max_window_size: int = 0, format: int = FORMAT_ZSTD1
    ) -> None:
        max_window_size = as_size(max_window_size)
        if index(format) not in (FORMAT_ZSTD1, FORMAT_ZSTD1_MAGICLESS):
            raise _out_of_bound(
                "decoding format", f"format must be FORMAT_ZSTD1 or FORMAT_ZSTD1_MAGICLESS, not {format!r}"
            )
        if max_window_size and not 1 << WINDOWLOG_MIN <= max_window_size <= 1 << WINDOWLOG_MAX:
            allowed = f"{1 << WINDOWLOG_MIN} to {1 << WINDOWLOG_MAX} bytes"
            raise _out_of_bound("max window size", f"max_window_size must be 0 or {allowed}, not {max_window_size}")
        dictionary = dictionary_argument(dict_data)
        found, how = (None, 0) if dictionary is None else dictionary._for_decompression()
        self._is_magicless = format == FORMAT_ZSTD1_MAGICLESS
        self._configure(found, how, max_window_size or None, not self._is_magicless)

    def memory_size(self) -> int:
        """Return about how many bytes of memory decompression needs, without the window."""
        return self._memory_size()

    def decompress(
        self,
        data: Buffer,
        max_output_size: int = 0,
        read_across_frames: bool = False,
        allow_extra_data: bool = True,
    ) -> bytes:
        """
        Decompress the frame at the start of `data`, a buffer, and return its content as bytes.

        `max_output_size` limits the content, in bytes: a larger content raises ZstdLimitError. 0 means no limit, which
        is allowed only for frames that declare their content's size. Skippable frames before the frame are skipped.
        Data after the frame is ignored, or raises ZstdError if `allow_extra_data` is false. As in python-zstandard,
        `read_across_frames` is not implemented and raises ZstdError. Raises ZstdError for truncated or corrupted data.
        """
        if read_across_frames:
            raise ZstdError(
                "ZstdDecompressor.read_across_frames=True is not yet implemented: use stream_reader(data).readall()"
            )
        max_output_size = as_size(max_output_size)
        if type(data) is bytes and not max_output_size and allow_extra_data:
            whole = self._whole_frame(data)
            if whole is not None:
                return whole
        view = view_of(data)
        size, start = len(view), 0
        try:
            header = header_of(view, self._is_magicless)
            while not isinstance(header, int) and header.is_skippable:  # pzstd writes one before each frame
                view = memoryview(view)[8 + header.skipped_size :]
                start = size - len(view)
                header = header_of(view, self._is_magicless)
        except ZstdError as exc:
            raise rename(exc, "error determining content size from frame header", start) from exc
        if isinstance(header, int):
            raise located(ZstdError("error determining content size from frame header: the header is truncated"), start)
        if header.content_size is None and max_output_size <= 0:
            unknown = located(ZstdError("could not determine content size in frame header"), start)
            unknown.advice = "pass max_output_size, or use stream_reader(data).readall()"
            raise unknown
        stream = self._new_stream()
        try:
            content = self._whole(stream, view, max_output_size, header)
            extra = 0 if allow_extra_data else len(stream.unused_data)
        except ZstdError as exc:
            raise rename(exc, "decompression error", start) from exc
        finally:
            release(stream)
        if extra:
            raise ZstdError(f"compressed input contains {extra} bytes of unused data, which is disallowed")
        return content

    # a `decompress` in C passes rare cases on to this method
    _decompress = decompress

    def _whole(self, stream: DecompressionStream, data: Bytes, limit: int, header: Header) -> bytes:
        if limit <= 0:
            content = stream.decompress(data)
        else:
            declared = header.content_size
            if declared is not None and declared > limit:
                raise output_limit_error(limit, 0)
            content = stream.decompress(data, limit)
            while not stream.eof and not stream.needs_input:
                if stream.decompress(b"", 1):
                    raise rename(output_limit_error(limit, 0), _NOT_WHOLE)
        if not stream.eof:
            raise rename(truncated_error(len(data)), _NOT_WHOLE)
        return content

    def decompressobj(
        self, write_size: int = DECOMPRESSION_RECOMMENDED_OUTPUT_SIZE, read_across_frames: bool = False
    ) -> ZstdDecompressionObj:
        """
        Return an object that decompresses one frame in pieces; with `read_across_frames`, frame after frame.

        `write_size` has no effect, but raises ValueError if it is not positive.
        """
        if write_size != DECOMPRESSION_RECOMMENDED_OUTPUT_SIZE:
            require_positive(write_size, "write_size")
        return ZstdDecompressionObj(self._new_stream(bool(read_across_frames)), bool(read_across_frames))

    def stream_reader(
        self,
        source: Source,
        read_size: int = DECOMPRESSION_RECOMMENDED_INPUT_SIZE,
        read_across_frames: bool = False,
        closefd: bool = True,
    ) -> ZstdDecompressionReader:
        """
        Return a file from which the decompressed content of `source`, a file or a buffer, is read.

        `read_size` is how many bytes are read from a file at a time. A read of a given size stops at the end of each
        frame unless `read_across_frames` is true; read() and readall() always return all frames. Closing the reader
        closes the source unless `closefd` is false.
        """
        require_positive(read_size, "read_size")
        stream = self._new_stream(True, not read_across_frames)
        return ZstdDecompressionReader(stream, source, read_size, read_across_frames, closefd)

    def stream_writer(
        self,
        writer: Any,
        write_size: int = DECOMPRESSION_RECOMMENDED_OUTPUT_SIZE,
        write_return_read: bool = True,
        closefd: bool = True,
    ) -> ZstdDecompressionWriter:
        """
        Return a file that decompresses the data written to it, and writes the result to the file `writer`.

        `write_size` is the maximum size of each write in bytes. With `write_return_read=False`, write() returns how
        many bytes it wrote to `writer`. Closing the returned file closes `writer` unless `closefd` is false.
        """
        if not hasattr(writer, "write"):
            raise ValueError(f"must pass an object with a write() method, not {type(writer).__name__}")
        require_positive(write_size, "write_size")
        return ZstdDecompressionWriter(self._new_stream(True), writer, write_size, write_return_read, closefd)

    def read_to_iter(
        self,
        reader: Source,
        read_size: int = DECOMPRESSION_RECOMMENDED_INPUT_SIZE,
        write_size: int = DECOMPRESSION_RECOMMENDED_OUTPUT_SIZE,
        skip_bytes: int = 0,
    ) -> Iterator[bytes]:
        """
        Yield the content of the first frame of `reader`, a file or buffer, in pieces of at most `write_size` bytes.

        A file is read in pieces of `read_size` bytes; the first `skip_bytes` bytes, fewer than `read_size`, are
        skipped. Reading begins when the first piece is requested. Data after the frame is ignored. A skippable frame,
        and a `reader` without further data, yield no pieces. Raises ValueError for an object that is neither a file nor
        a buffer, and for data of fewer than `skip_bytes` bytes. Raises ZstdError for data that is truncated, corrupted
        or not a frame.
        """
        require_positive(write_size, "write_size")
        skip_bytes = index(skip_bytes)
        if not 0 <= skip_bytes < as_size(read_size):
            raise ValueError(
                f"skip_bytes must be smaller than read_size ({read_size}) and not negative, not {skip_bytes}"
            )
        try:
            size = size_of(reader, skip_bytes)
        except TypeError as exc:
            raise ValueError(str(exc)) from None
        if skip_bytes > size:
            raise too_much_skipped(skip_bytes, size)
        return self._pieces(reader, read_size, write_size, skip_bytes)

    def _pieces(self, reader: Source, read_size: int, write_size: int, skip: int) -> Iterator[bytes]:
        stream = self._new_stream()
        taken = 0
        try:
            next_chunk = chunks_of(reader, read_size, skip)
            while chunk := next_chunk():
                taken += len(chunk)
                for output in outputs(stream, chunk, write_size):
                    if output:
                        yield output
                if stream.eof:
                    return
            if taken:
                raise truncated_error(taken)
        finally:
            release(stream)

    def copy_stream(
        self,
        ifh: Readable,
        ofh: Writable,
        read_size: int = DECOMPRESSION_RECOMMENDED_INPUT_SIZE,
        write_size: int = DECOMPRESSION_RECOMMENDED_OUTPUT_SIZE,
    ) -> tuple[int, int]:
        """
        Decompress all frames of the file `ifh` into the file `ofh`; return how many bytes were read and written.

        A file without further data gives (0, 0). At most `read_size` bytes are read and `write_size` bytes written at a
        time. Neither file is closed. Raises ZstdError for data that is truncated, corrupted or not a frame; the output
        written until then is incomplete.
        """
        check_copy(ifh, ofh, read_size, write_size)
        stream = self._new_stream(True)
        taken = written = 0
        try:
            while chunk := read_chunk(ifh, read_size):
                taken += len(chunk)
                written += sum(write_pieces(ofh, output, write_size) for output in outputs(stream, chunk, write_size))
            if not stream._at_start:
                raise truncated_error(taken)
            return taken, written
        finally:
            release(stream)

    def decompress_content_dict_chain(self, frames: list[bytes]) -> bytes:
        """
        Return the content of the last of several frames; the content of each frame is the dictionary of the next.

        This decompressor's own settings do not apply. Raises TypeError if `frames` is not a list, ValueError for an
        empty list and for items that are not frames or do not declare their content's size, and ZstdError for frames
        that fail to decompress.
        """
        if not isinstance(frames, list):
            raise TypeError("argument must be a list")
        if not frames:
            raise ValueError("empty input chain")
        content = b""
        for number, frame in enumerate(frames):
            content = self._link(number, frame, content)
        return content

    def _link(self, number: int, frame: object, before: bytes) -> bytes:
        if not isinstance(frame, bytes):
            raise ValueError(f"chunk {number} must be bytes")
        try:
            header = header_of(frame)
        except ZstdError as exc:
            raise ValueError(f"chunk {number} is not a valid zstd frame") from exc
        if isinstance(header, int):
            raise ValueError(f"chunk {number} is too small to contain a zstd frame")
        if header.content_size is None:
            raise ValueError(f"chunk {number} missing content size in frame")
        prefix = ZstdDict(before, is_raw=True).as_prefix if len(before) >= _PREFIX_MIN else None
        stream = self._codec.ZstdDecompressor(prefix)
        try:
            content: bytes = stream.decompress(frame)
        except ZstdError as exc:
            raise rename(exc, f"could not decompress chunk {number}") from exc
        if not stream.eof:
            raise rename(truncated_error(len(frame)), f"chunk {number} {_NOT_WHOLE}")
        return content

    def multi_decompress_to_buffer(
        self, frames: object, decompressed_sizes: Buffer | None = None, threads: int = 0
    ) -> BufferWithSegmentsCollection:
        """
        Decompress many frames; return a BufferWithSegmentsCollection of their contents.

        `frames` is a list of buffers, a BufferWithSegments or a BufferWithSegmentsCollection. `decompressed_sizes` is a
        buffer with the size in bytes of each content, as 64-bit unsigned integers; 0 is allowed for frames that declare
        their size. `threads` is the number of threads: 0 and 1 mean one, below 0 means one per processor. Raises
        TypeError and ValueError for wrong arguments, and ValueError for a frame whose size is neither given nor
        declared. Raises ZstdError, whose text names the item, for a frame that fails to decompress or has another size.
        """
        from cpkg.zstandard.batches import decompress_all

        return decompress_all(self.decompress, frames, decompressed_sizes, threads_wanted(threads))


_PREFIX_MIN = 8
"""The least size in bytes of content that serves as a dictionary; shorter content is not used."""


def _out_of_bound(what: str, detail: str) -> ZstdError:
    return coded_error(PARAMETER_OUT_OF_BOUND, f"unable to set {what}: {NAMES[PARAMETER_OUT_OF_BOUND]}: {detail}")
