# SPDX-License-Identifier: Apache-2.0
"""
Functions for whole streams in bounded memory, over any backend's stream types; `compression.zstd` does not have them.

A source is an iterable of buffers or a file object open for reading. Without `threads`, the memory in use is about a
chunk of the source, the output for this chunk (at most `write_size` bytes when decompressing), and the codec's window
and tables.
"""

from __future__ import annotations

from purepy.base.buffers import as_bytes
from purepy.base.cores import checked_int
from purepy.base.errors import Suppressed
from purepy.base.writing import write_all
from purepy.zstd.format.backend_methods import BackendMethods
from purepy.zstd.format.chunks import chunks_of, decompressed, nbytes
from purepy.zstd.format.locks import release
from purepy.zstd.format.parameters import pledge_argument, size_argument
from purepy.zstd.format.rules import MAGIC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator
    from typing import Callable, Union

    from purepy.base.types import Buffer, Bytes, Compressor, Parameters, Readable, Writable
    from purepy.zstd.format.zdict import DictArgument

    Source = Union[Readable, Iterable[Buffer]]

READ_SIZE = 128 << 10
WRITE_SIZE = 128 << 10
_LARGE_READ_SIZE = 1 << 20


class Streams(BackendMethods):
    """The stream functions of one backend."""

    def compress_iter(
        self,
        chunks: Source,
        level: int | None = None,
        options: Parameters = None,
        zstd_dict: DictArgument = None,
        *,
        size: int | None = None,
        read_size: int = READ_SIZE,
        threads: int | None = None,
        frame_size: int | None = None,
    ) -> Generator[bytes, None, None]:
        """
        Compress `chunks`, an iterable of buffers or a file object, into one frame or several; yield them in pieces.

        `level`, `options` and `zstd_dict` are those of `compress`. `size` is the content's size in bytes, if known: it
        is declared in the header, and content of another size raises ZstdError. `read_size` is how many bytes are read
        from a file object at a time. `threads` or `frame_size` create several frames, as in `compress`; then `size` is
        the size of the whole content, and no header declares it. Pieces yielded before an error are incomplete output,
        although they may be complete frames. Wrong arguments raise at the call, not at the first piece, except
        `chunks`.
        """
        if threads is not None or frame_size is not None:
            return self._compressed_frames(
                chunks, level, options, zstd_dict, size, read_size, threads, frame_size, None
            )
        compressor = self._backend.ZstdCompressor(level, options, zstd_dict)
        if size is not None:
            compressor.set_pledged_input_size(size)
        return self._compressed(compressor, chunks_of(chunks, _positive(read_size, "read_size")))

    def _compressed_frames(
        self,
        source: Source,
        level: int | None,
        options: Parameters,
        zstd_dict: DictArgument,
        size: int | None,
        read_size: int,
        threads: int | None,
        frame_size: int | None,
        read: Callable[[int], None] | None,
    ) -> Generator[bytes, None, None]:
        from purepy.zstd.threads.arguments import plan_compression
        from purepy.zstd.threads.compress import compressed_pieces

        plan = plan_compression(self._backend, threads, frame_size, level, options, zstd_dict)
        size = pledge_argument(size)
        return compressed_pieces(plan, source, _positive(read_size, "read_size"), size, read)

    def _compressed(self, compressor: Compressor, chunks: Iterator[Buffer]) -> Generator[bytes, None, None]:
        try:
            for chunk in chunks:
                output = compressor.compress(chunk)
                if output:
                    yield output
            # compressing with CONTINUE first lets even an empty stream check the pledged size
            yield compressor.compress(b"") + compressor.flush()
        finally:
            release(compressor)

    def decompress_iter(
        self,
        chunks: Source,
        zstd_dict: DictArgument = None,
        options: Parameters = None,
        *,
        max_output_size: int | None = None,
        read_size: int = READ_SIZE,
        write_size: int = WRITE_SIZE,
        threads: int | None = None,
        padding: bool = False,
    ) -> Generator[bytes, None, None]:
        """
        Decompress `chunks`, an iterable of buffers or a file object, in pieces of at most `write_size` bytes.

        All frames are decompressed. `zstd_dict` and `options` are as in `decompress`. Raises ZstdLimitError once the
        content exceeds `max_output_size` bytes, and ZstdError for data that is truncated, corrupted or not a frame;
        pieces yielded before an error are incomplete content. `read_size` is how many bytes are read from a file object
        at a time. With several `threads` (0: one per core), they decompress frames in parallel while the calling thread
        reads the source ahead, unless the backend needs the GIL. With `padding`, zero bytes may follow the frames.
        """
        decompressor = self._backend.ZstdDecompressor(zstd_dict, options, multi_frame=True)
        source = chunks_of(chunks, _positive(read_size, "read_size"))
        if padding:
            from purepy.zstd.format.padding import Unpadded

            source = map(Unpadded().feed, map(as_bytes, source))
        write_size = _positive(write_size, "write_size")
        max_output_size = size_argument(max_output_size, "max_output_size")
        if threads is not None:
            from purepy.zstd.threads.arguments import plan_decompression

            plan = plan_decompression(self._backend, threads, zstd_dict, options)
            if plan is not None:
                from purepy.zstd.threads.decompress import decompressed_pieces

                release(decompressor)
                return decompressed_pieces(plan, source, max_output_size, write_size)
        return decompressed(decompressor, source, write_size, max_output_size)

    def copy_stream(
        self,
        source: Source,
        destination: Writable,
        *,
        mode: str = "compress",
        level: int | None = None,
        options: Parameters = None,
        zstd_dict: DictArgument = None,
        size: int | None = None,
        max_output_size: int | None = None,
        read_size: int = READ_SIZE,
        write_size: int = WRITE_SIZE,
        progress: Callable[[int, int], object] | None = None,
        threads: int | None = None,
        frame_size: int | None = None,
    ) -> tuple[int, int]:
        """
        Compress or decompress a source into a file object; return how many bytes were read and written.

        Args:
            source: a file object or an iterable of buffers.
            destination: an object with write().
            mode: "compress" or "decompress".
            level, size, frame_size: for compressing, as in `compress_iter`.
            max_output_size, write_size: for decompressing, as in `decompress_iter`.
            options, zstd_dict: as in `compress` or `decompress`.
            read_size: how many bytes are read from a file object at a time.
            progress: called as `progress(read, written)` after each piece; an exception that it raises ends the copy.
            threads: as in `compress_iter` and `decompress_iter`. With several threads, a plain file of the io module
                is read and written in larger pieces than `read_size` and `write_size`.

        Neither file is closed. After an error the destination is incomplete. Readers of compressed data detect that,
        because the frame has no end, or because the beginning of another frame follows complete frames; but if the
        destination's write() raised the error, complete frames may remain. Raises BlockingIOError, whose
        `characters_written` counts the bytes written, if the destination would block, and OSError if it takes no bytes.
        """
        copy = _Copy(destination, progress)
        after_frames = b""
        _positive(read_size, "read_size")
        if mode == "compress":
            if max_output_size is not None:
                raise ValueError("max_output_size is for mode='decompress'")
            pieces: Generator[Bytes, None, None]
            if threads is None and frame_size is None:
                chunks = copy.counted(chunks_of(source, read_size))
                pieces = self.compress_iter(chunks, level, options, zstd_dict, size=size)
            else:
                arguments = (source, level, options, zstd_dict, size, read_size, threads, frame_size)
                pieces = self._compressed_frames(*arguments, copy.count)
                after_frames = MAGIC
        elif mode == "decompress":
            if level is not None or size is not None:
                raise ValueError("level and size are for mode='compress'")
            if frame_size is not None:
                raise ValueError("frame_size is for mode='compress'")
            max_output_size = size_argument(max_output_size, "max_output_size")
            pieces = self._decompressed(
                copy, source, zstd_dict, options, max_output_size, read_size, write_size, threads
            )
        else:
            raise ValueError(f"mode must be 'compress' or 'decompress', not {mode!r}")
        copy.write(pieces, after_frames)
        return copy.read, copy.written

    def _decompressed(
        self,
        copy: _Copy,
        source: Source,
        zstd_dict: DictArgument,
        options: Parameters,
        limit: int | None,
        read_size: int,
        write_size: int,
        threads: int | None,
    ) -> Generator[Bytes, None, None]:
        """Let threads copy from file to file where possible; return a generator of the content not yet copied."""
        plan = None
        if threads is not None:
            from purepy.base.descriptors import is_plain_file
            from purepy.zstd.threads.arguments import plan_decompression

            plan = plan_decompression(self._backend, threads, zstd_dict, options)
            if is_plain_file(source):
                read_size = max(read_size, _LARGE_READ_SIZE)
            if not is_plain_file(copy.destination):  # other objects might keep the buffers that they are given
                plan = None
        chunks = copy.counted(chunks_of(source, read_size))
        if plan is None:
            return self.decompress_iter(
                chunks, zstd_dict, options, max_output_size=limit, write_size=write_size, threads=threads
            )
        from purepy.zstd.threads.copy_files import copy_frames, rest_of

        copy.read, copy.written = copy_frames(plan, source, copy.destination, limit, copy.progress)
        return rest_of(plan, chunks, limit, copy.read, copy.written)


class _Copy:
    """The state of a copy to `destination`: `read` and `written` count bytes; `progress` is a function or None."""

    def __init__(self, destination: Writable, progress: Callable[[int, int], object] | None) -> None:
        self.destination = destination
        self.progress = progress
        self.read = self.written = 0

    def count(self, size: int) -> None:
        """Count `size` bytes as read."""
        self.read += size

    def counted(self, chunks: Iterator[Buffer]) -> Iterator[Buffer]:
        """Yield chunks and count their bytes as read."""
        for chunk in chunks:
            self.read += nbytes(chunk)
            yield chunk

    def write(self, pieces: Generator[Bytes, None, None], after_frames: bytes) -> None:
        """
        Write pieces to the destination and count their bytes; call `progress` after each. Closes `pieces`.

        If an error occurs after a piece was written completely, writes `after_frames`, so that even complete frames
        read as truncated.
        """
        is_between = False
        try:
            for piece in pieces:
                is_between = False
                try:
                    write_all(self.destination, piece)
                except BlockingIOError as exc:
                    exc.characters_written = self.written + getattr(exc, "characters_written", 0)
                    raise
                is_between = True
                self.written += len(piece)
                if self.progress is not None:
                    self.progress(self.read, self.written)
        except BaseException:
            if is_between and after_frames:
                with Suppressed(OSError, ValueError):  # ValueError: the file is closed
                    self.destination.write(after_frames)
            raise
        finally:
            pieces.close()


def _positive(value: int, name: str) -> int:
    number = checked_int(name, value)
    if number <= 0:
        raise ValueError(f"{name} must be positive, not {number}")
    return number
