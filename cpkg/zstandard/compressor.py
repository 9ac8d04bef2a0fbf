# SPDX-License-Identifier: Apache-2.0
"""ZstdCompressor: compresses with a fixed set of parameters and a dictionary."""

from __future__ import annotations

from collections.abc import Iterator
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar

from cpkg.zstandard.arguments import check_copy, require_positive, threads_wanted
from cpkg.zstandard.compression_objects import ZstdCompressionChunker, ZstdCompressionObj
from cpkg.zstandard.constants import (
    COMPRESSION_RECOMMENDED_INPUT_SIZE,
    COMPRESSION_RECOMMENDED_OUTPUT_SIZE,
    MAX_COMPRESSION_LEVEL,
)
from cpkg.zstandard.dictionary import ZstdCompressionDict, dictionary_argument
from cpkg.zstandard.feeding import Feed, Progress
from cpkg.zstandard.parameters import FORCE_MAX_WINDOW, ZstdCompressionParameters, level_pairs
from cpkg.zstandard.readers import ZstdCompressionReader, chunks_of, size_of
from cpkg.zstandard.writers import ZstdCompressionWriter, write_pieces
from purepy.base.errors import ZstdError
from purepy.zstd.format.parameters import CompressionParameter

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from cpkg._backend_protocols import ZstdBackend
    from cpkg.zstandard.buffers import BufferWithSegmentsCollection
    from purepy.base.types import CompressionStream, Readable, Source, Writable

_WORKERS = int(CompressionParameter.nb_workers)


class ZstdCompressor:
    """
    Compresses data, with the same parameters each time (replaces `zstandard.ZstdCompressor`).

    Args:
        level: -131072 to 22; 0 means 3. A lower level counts as -131072, a higher one raises ValueError.
        dict_data: a ZstdCompressionDict.
        compression_params: a ZstdCompressionParameters. With it, `level` is only checked, and the arguments below must
            not be given (ValueError).
        write_checksum: whether frames end with a checksum; default False.
        write_content_size: whether the header declares the content's size, if it is known; default True.
        write_dict_id: whether the header names the dictionary; default True.
        threads: how many additional threads compress a frame; below 0, one per processor. Raises ZstdError if the
            backend does not support such threads.

    Threads may share a compressor. It may have any number of streams at a time: each stream has its own context.
    """

    _codec: ClassVar[ZstdBackend]
    """The module of the backend."""

    if TYPE_CHECKING:

        def compress(self, data: Buffer) -> bytes:
            """
            Compress `data`, a buffer, into one frame and return it as bytes.

            The header declares the content's size unless the parameters exclude it. Raises ZstdError on failure.
            """

        def _configure(self, pairs: list[tuple[int, int]], zstd_dict: object, how: int) -> None: ...
        def _new_stream(self) -> CompressionStream: ...
        def _memory_size(self) -> int: ...

    def __init__(
        self,
        level: int = 3,
        dict_data: ZstdCompressionDict | None = None,
        compression_params: ZstdCompressionParameters | None = None,
        write_checksum: bool | None = None,
        write_content_size: bool | None = None,
        write_dict_id: bool | None = None,
        threads: int = 0,
    ) -> None:
        if level > MAX_COMPRESSION_LEVEL:
            raise level_too_high(level)
        threads = threads_wanted(threads)
        if compression_params is None:
            pairs = level_pairs(level, write_checksum, write_content_size, write_dict_id, threads)
        else:
            if not isinstance(compression_params, ZstdCompressionParameters):
                kind = type(compression_params).__name__
                raise TypeError(f"compression_params must be zstd.ZstdCompressionParameters, not {kind}")
            for name, given in (
                ("write_checksum", write_checksum is not None),
                ("write_content_size", write_content_size is not None),
                ("write_dict_id", write_dict_id is not None),
                ("threads", threads),
            ):
                if given:
                    raise ValueError(f"cannot define compression_params and {name}")
            pairs = compression_params._pairs()
        self._check_backend(pairs)
        dictionary = dictionary_argument(dict_data)
        found, how = None, 0
        if dictionary is not None:
            pairs, found, how = dictionary._for_compression(pairs)
        self._progress = Progress()
        self._configure(pairs, found, how)

    def _check_backend(self, pairs: list[tuple[int, int]]) -> None:
        """Raise ZstdError for parameters that the backend does not support."""
        for key, value in pairs:
            if key == _WORKERS and value > self._codec.parameter_bounds(_WORKERS, True)[1]:
                raise ZstdError(
                    f"threads={value}: the {self._codec.BACKEND} backend compresses a frame only in the calling thread"
                )
            if key == FORCE_MAX_WINDOW and not self._codec.IS_WRAPPED:
                raise ZstdError(
                    f"force_max_window: the {self._codec.BACKEND} backend does not support it: use native or dlopen"
                )

    def memory_size(self) -> int:
        """Return about how many bytes of memory compression needs with these parameters."""
        return self._memory_size()

    def frame_progression(self) -> tuple[int, int, int]:
        """
        Return how many bytes the most recent stream has taken, has compressed, and has produced: three counts.

        All are 0 before the first stream. `compress` does not use a stream and is not counted.
        """
        return self._progress.counts()

    def _new_feed(self, size: int) -> Feed:
        feed = Feed(self._new_stream(), size)
        self._progress = feed.progress
        return feed

    def compressobj(self, size: int = -1) -> ZstdCompressionObj:
        """Return an object that compresses one frame in pieces; `size` is the content's size in bytes (-1: unknown)."""
        return ZstdCompressionObj(self._new_feed(size))

    def chunker(self, size: int = -1, chunk_size: int = COMPRESSION_RECOMMENDED_OUTPUT_SIZE) -> ZstdCompressionChunker:
        """
        Return an object that compresses one frame into chunks of `chunk_size` bytes; the last may be shorter.

        `size` is the content's size in bytes, if known. Raises ValueError if the chunk size is not positive.
        """
        require_positive(chunk_size, "chunk_size")
        return ZstdCompressionChunker(self._new_feed(size), chunk_size)

    def stream_reader(
        self,
        source: Source,
        size: int = -1,
        read_size: int = COMPRESSION_RECOMMENDED_INPUT_SIZE,
        closefd: bool = True,
    ) -> ZstdCompressionReader:
        """
        Return a file from which the compressed content of `source`, a file or a buffer, is read.

        `size` is the content's size in bytes, if known; a buffer's size is always known. `read_size` is how many bytes
        are read from a file at a time. Closing the reader closes the source unless `closefd` is false.
        """
        require_positive(read_size, "read_size")
        return ZstdCompressionReader(self._new_feed(size_of(source, size)), source, read_size, closefd)

    def stream_writer(
        self,
        writer: Any,
        size: int = -1,
        write_size: int = COMPRESSION_RECOMMENDED_OUTPUT_SIZE,
        write_return_read: bool = True,
        closefd: bool = True,
    ) -> ZstdCompressionWriter:
        """
        Return a file that compresses the data written to it, and writes the result to the file `writer`.

        `size` is the content's size in bytes, if known; `write_size` is the maximum size of each write in bytes.
        With `write_return_read=False`, write() returns how many bytes it wrote to `writer`. Closing the returned file
        closes `writer` unless `closefd` is false.
        """
        if not hasattr(writer, "write"):
            raise ValueError(f"must pass an object with a write() method, not {type(writer).__name__}")
        require_positive(write_size, "write_size")
        return ZstdCompressionWriter(self._new_feed(size), writer, write_size, write_return_read, closefd)

    def read_to_iter(
        self,
        reader: Source,
        size: int = -1,
        read_size: int = COMPRESSION_RECOMMENDED_INPUT_SIZE,
        write_size: int = COMPRESSION_RECOMMENDED_OUTPUT_SIZE,
    ) -> Iterator[bytes]:
        """
        Yield the compressed content of `reader`, a file or buffer, in pieces of at most `write_size` bytes.

        `size` is the content's size in bytes, if known; a file is read in pieces of `read_size` bytes. Reading begins
        when the first piece is requested. Raises ValueError for an object that is neither a file nor a buffer.
        """
        require_positive(read_size, "read_size")
        require_positive(write_size, "write_size")
        size = index(size)
        try:
            size = size_of(reader, size)
        except TypeError as exc:
            raise ValueError(str(exc)) from None
        return self._pieces(self._new_feed(size), reader, read_size, write_size)

    def _pieces(self, feed: Feed, reader: Source, read_size: int, write_size: int) -> Iterator[bytes]:
        for output in feed.outputs(chunks_of(reader, read_size)):
            yield from split(output, write_size)

    def copy_stream(
        self,
        ifh: Readable,
        ofh: Writable,
        size: int = -1,
        read_size: int = COMPRESSION_RECOMMENDED_INPUT_SIZE,
        write_size: int = COMPRESSION_RECOMMENDED_OUTPUT_SIZE,
    ) -> tuple[int, int]:
        """
        Compress the rest of the file `ifh` into the file `ofh`; return how many bytes were read and written.

        `size` is the content's size in bytes, if known; at most `read_size` bytes are read and `write_size` bytes
        written at a time. Neither file is closed. After an error the frame in the output is incomplete, which readers
        detect.
        """
        check_copy(ifh, ofh, read_size, write_size)
        feed = self._new_feed(size)
        written = sum(write_pieces(ofh, output, write_size) for output in feed.outputs(chunks_of(ifh, read_size)))
        return feed.progress.ingested, written

    def multi_compress_to_buffer(self, data: object, threads: int = 0) -> BufferWithSegmentsCollection:
        """
        Compress each of many buffers into a frame; return a BufferWithSegmentsCollection of the frames.

        `data` is a list of buffers, a BufferWithSegments or a BufferWithSegmentsCollection. `threads` is the number of
        threads: 0 and 1 mean one, below 0 means one per processor. Raises TypeError for other objects, and ValueError
        if there are no buffers or all are empty.
        """
        from cpkg.zstandard.batches import compress_all

        return compress_all(self.compress, data, threads_wanted(threads))


def level_too_high(level: int) -> ValueError:
    """Return the error for a compression level above the maximum."""
    return ValueError(f"level must be less than {MAX_COMPRESSION_LEVEL + 1}, not {level}")


def split(data: bytes, size: int) -> Iterator[bytes]:
    """Yield `data` in pieces of at most `size` bytes; yield nothing if it is empty."""
    if len(data) <= size:
        if data:
            yield data
        return
    for start in range(0, len(data), size):
        yield data[start : start + size]
