# SPDX-License-Identifier: Apache-2.0
"""
Whole streams in bounded memory, over any backend's stream types: extensions that `compression.zstd` does not have.

A source is an iterable of buffers or a file object open for reading; what comes out never needs more memory than a
chunk, the compressor's window and `write_size`.
"""

from __future__ import annotations

import sys

from purepy._reading import read_some
from purepy._writing import write_all
from purepy.zstd.common.error_codes import output_limit_error, truncated_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Callable

CONTINUE, FLUSH_BLOCK, FLUSH_FRAME = 0, 1, 2
"""Modes of compressors (ZSTD_EndDirective)."""

READ_SIZE = 128 << 10
WRITE_SIZE = 128 << 10
_LARGE_READ_SIZE = 1 << 20


def _chunks(source: Any, read_size: int) -> Iterator[Any]:
    """Yield the chunks of a source; of a file object, what read(read_size) gives until it gives nothing."""
    if getattr(source, "read", None) is None:
        yield from source
        return
    while True:
        chunk = read_some(source, read_size)
        if not chunk:
            return
        yield chunk


def _nbytes(chunk: Any) -> int:
    if isinstance(chunk, (bytes, bytearray)):
        return len(chunk)
    with memoryview(chunk) as view:
        return view.nbytes


def release(stream: Any) -> None:
    """Let a stream object that is not used again give back what it keeps, if its backend has that."""
    give_back = getattr(stream, "_release", None)
    if give_back is not None:
        give_back()


def decompressed(
    decompressor: Any,
    chunks: Iterable[Any],
    write_size: int,
    limit: int | None = None,
    truncated: Callable[[int], Exception] = truncated_error,
) -> Iterator[bytes]:
    """
    Yield what a decompressor that nobody else uses makes of chunks, in pieces of at most `write_size`.

    `truncated(given)` makes the error of chunks that end inside a frame, after so many bytes.
    """
    total = given = 0
    try:
        for chunk in chunks:
            given += _nbytes(chunk)
            content = decompressor.decompress(chunk, write_size)
            while True:
                total += len(content)
                if limit is not None and total > limit:
                    raise output_limit_error(limit, None)
                if content:
                    yield content
                if decompressor.needs_input:
                    break
                content = decompressor.decompress(b"", write_size)
        if not decompressor.eof:
            raise truncated(given)
    finally:
        release(decompressor)


class Streams:
    """The stream functions of one backend, as methods of an object that knows its types."""

    def __init__(self, module: str, compressor_type: Any, decompressor_type: Any) -> None:
        self._module = module
        self._compressor_type = compressor_type
        self._decompressor_type = decompressor_type

    def compress_iter(
        self,
        chunks: Any,
        level: Any = None,
        options: Any = None,
        zstd_dict: Any = None,
        *,
        size: int | None = None,
        read_size: int = READ_SIZE,
        threads: int | None = None,
        frame_size: int | None = None,
    ) -> Iterator[bytes]:
        """
        Compress an iterable of buffers, or a file object, into one frame; yield its bytes piece by piece.

        `level`, `options` and `zstd_dict` are those of `compress`. `size` is the content's size in bytes, if known:
        it is written into the header, and content of another size is a ZstdError. `read_size` is how much is read
        from a file object at a time. With `threads` or `frame_size` it makes several frames, as `compress` does; then
        `size` is that of all content, and in no header. Wrong arguments raise at the call, not at the first piece.
        """
        if threads is not None or frame_size is not None:
            return self._compressed_frames(
                chunks, level, options, zstd_dict, size, read_size, threads, frame_size, None
            )
        compressor = self._compressor_type(level, options, zstd_dict)
        if size is not None:
            compressor.set_pledged_input_size(size)
        return self._compressed(compressor, _chunks(chunks, _positive(read_size, "read_size")))

    def _compressed_frames(
        self,
        source: Any,
        level: Any,
        options: Any,
        zstd_dict: Any,
        size: int | None,
        read_size: int,
        threads: int | None,
        frame_size: int | None,
        read: Callable[[int], None] | None,
    ) -> Iterator[bytes]:
        from purepy.zstd.common import parallel, parallel_compress

        parameters = parallel.compressing(sys.modules[self._module], threads, frame_size, level, options, zstd_dict)
        read_size = _positive(read_size, "read_size")
        return parallel_compress.compressed_pieces(
            parameters, source, lambda source: _chunks(source, read_size), size, read
        )

    def _compressed(self, compressor: Any, chunks: Iterator[Any]) -> Iterator[bytes]:
        try:
            for chunk in chunks:
                output = compressor.compress(chunk)
                if output:
                    yield output
            # with CONTINUE first even an empty stream keeps to a pledged size
            yield compressor.compress(b"") + compressor.flush()
        finally:
            release(compressor)

    def decompress_iter(
        self,
        chunks: Any,
        zstd_dict: Any = None,
        options: Any = None,
        *,
        max_output_size: int | None = None,
        read_size: int = READ_SIZE,
        write_size: int = WRITE_SIZE,
        threads: int | None = None,
    ) -> Iterator[bytes]:
        """
        Decompress an iterable of buffers, or a file object; yield the content in pieces of at most `write_size`.

        Goes over all frames. `zstd_dict` and `options` are those of `decompress`. Raises ZstdLimitError once there is
        more than `max_output_size` bytes, and ZstdError for data that is truncated, corrupted or no frame; pieces
        yielded before that are not to be taken for the whole. `read_size` is how much is read from a file object at
        a time. With several `threads` (0: one per core) frames are decompressed beside each other, and the source is
        read ahead; it is read in the caller's thread.
        """
        decompressor = self._decompressor_type(zstd_dict, options, multi_frame=True)
        source = _chunks(chunks, _positive(read_size, "read_size"))
        write_size = _positive(write_size, "write_size")
        if threads is not None:
            from purepy.zstd.common import parallel

            parameters = parallel.decompressing(sys.modules[self._module], threads, zstd_dict, options)
            if parameters is not None:
                release(decompressor)
                return parallel.decompressed_pieces(parameters, source, max_output_size, write_size)
        return decompressed(decompressor, source, write_size, max_output_size)

    def copy_stream(
        self,
        source: Any,
        destination: Any,
        *,
        mode: str = "compress",
        level: Any = None,
        options: Any = None,
        zstd_dict: Any = None,
        size: int | None = None,
        max_output_size: int | None = None,
        read_size: int = READ_SIZE,
        write_size: int = WRITE_SIZE,
        progress: Callable[[int, int], Any] | None = None,
        threads: int | None = None,
        frame_size: int | None = None,
    ) -> tuple[int, int]:
        """
        Compress or decompress a source into a file object; return the bytes read and the bytes written.

        `source` is a file object or an iterable of buffers, `destination` an object with write(); `mode` is
        "compress" or "decompress". `level` and `size` are for compressing, `max_output_size` and `write_size` for
        decompressing, as in `compress_iter` and `decompress_iter`; `threads` for both, `frame_size` for compressing.
        With several threads a plain file of the io module is read, and written, in larger pieces than `read_size` and
        `write_size`. `progress(read, written)` is called after each
        piece; an exception that it raises ends the copy. Neither file is closed. If it fails, what the destination
        holds is not whole: the frame has no end, so that a reader finds out. Raises BlockingIOError, whose
        `characters_written` counts the bytes written, if the destination would block, and OSError if it takes none.
        """
        read = written = 0
        chunk_size = _positive(read_size, "read_size")
        if threads is not None:
            from purepy.zstd.common.file_places import is_plain_file

            chunk_size = max(chunk_size, _LARGE_READ_SIZE) if is_plain_file(source) else chunk_size

        def counted() -> Iterator[Any]:
            nonlocal read
            for chunk in _chunks(source, chunk_size):
                read += _nbytes(chunk)
                yield chunk

        pieces: Any
        if mode == "compress":
            if max_output_size is not None:
                raise ValueError("max_output_size is for mode='decompress'")
            if threads is not None or frame_size is not None:

                def count(size: int) -> None:
                    nonlocal read
                    read += size

                pieces = self._compressed_frames(
                    source, level, options, zstd_dict, size, read_size, threads, frame_size, count
                )
            else:
                pieces = self.compress_iter(counted(), level, options, zstd_dict, size=size)
        elif mode == "decompress":
            if level is not None or size is not None:
                raise ValueError("level and size are for mode='compress'")
            if frame_size is not None:
                raise ValueError("frame_size is for mode='compress'")
            parameters = self._parameters_of_threads(destination, threads, zstd_dict, options)
            if parameters is None:
                pieces = self.decompress_iter(
                    counted(),
                    zstd_dict,
                    options,
                    max_output_size=max_output_size,
                    write_size=write_size,
                    threads=threads,
                )
            else:
                from purepy.zstd.common.parallel_copy import copy_frames, rest_of

                _positive(write_size, "write_size")
                read, written = copy_frames(parameters, source, destination, max_output_size, progress)
                pieces = rest_of(parameters, counted(), max_output_size, read, written)
        else:
            raise ValueError(f"mode must be 'compress' or 'decompress', not {mode!r}")
        try:
            for piece in pieces:
                try:
                    write_all(destination, piece)
                except BlockingIOError as exc:
                    exc.characters_written = written + getattr(exc, "characters_written", 0)
                    raise
                written += len(piece)
                if progress is not None:
                    progress(read, written)
        finally:
            pieces.close()
        return read, written

    def _parameters_of_threads(self, destination: Any, threads: int | None, zstd_dict: Any, options: Any) -> Any:
        """Check the arguments; return None unless several threads may write to the destination as they like."""
        if threads is None:
            return None
        from purepy.zstd.common import file_places, parallel

        parameters = parallel.decompressing(sys.modules[self._module], threads, zstd_dict, options)
        # which does not keep what it is given
        return parameters if file_places.is_plain_file(destination) else None


def _positive(value: int, name: str) -> int:
    if value <= 0:
        raise ValueError(f"{name} must be positive, not {value}")
    return value
