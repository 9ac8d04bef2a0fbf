# SPDX-License-Identifier: Apache-2.0
"""Data in pieces: callers' buffers are cut, callers' sources are read, and chunks are decompressed."""

from __future__ import annotations

from purepy.base.buffers import as_bytes, memory_of, view_of
from purepy.base.cores import python_runs_in_parallel
from purepy.base.pypy import JIT
from purepy.base.reading import read_some
from purepy.zstd.format.error_codes import output_limit_error, truncated_error
from purepy.zstd.format.locks import release

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator
    from typing import Callable

    from purepy.base.types import Buffer, Bytes, Decompressor, Readable


def sliceable(data: Buffer) -> Bytes:
    """Return the bytes of a C-contiguous buffer, with slices that C code reads fast: a memoryview, on PyPy bytes."""
    # PyPy passes the bytes of a view's slice to C only by copying them one by one
    return as_bytes(data) if JIT else memoryview(view_of(data))


def sliceable_alone(data: Bytes) -> Bytes:
    """
    Return `data`, a result of `sliceable`, as an object that only one thread slices.

    Without the GIL, CPython counts the slices of a memoryview without a lock. Two threads that begin or end slices at
    the same time corrupt the count: the memory stays locked, or is released too early. The views of a buffer itself are
    counted atomically, so each thread gets its own view. With the GIL, and on PyPy, `data` itself is returned.
    """
    if JIT or not python_runs_in_parallel():
        return data
    from _pickle import PickleBuffer  # it takes a view of a buffer and exports it again

    return memoryview(PickleBuffer(data))


def content_of(pieces: Iterable[Buffer], write_size: int) -> Iterator[bytes]:
    """Yield the content of each buffer in turn, as bytes objects of at most `write_size` bytes, some perhaps empty."""
    for piece in pieces:
        if type(piece) is bytes and len(piece) <= write_size:
            yield piece
            continue
        view = sliceable(piece)
        for start in range(0, len(view), write_size):
            yield bytes(view[start : start + write_size])


def chunks_of(source: Readable | Iterable[Buffer], read_size: int) -> Iterator[Buffer]:
    """
    Yield a source's chunks: the results of its `read(read_size)` up to the first empty one, which is left out.

    For a source without `read`, they are its items. Raises BlockingIOError if `read` returns None.
    """
    if getattr(source, "read", None) is None:
        yield from source  # type: ignore[misc]
    else:
        while chunk := read_some(source, read_size):  # type: ignore[arg-type]
            yield chunk


def nbytes(chunk: Buffer) -> int:
    if isinstance(chunk, (bytes, bytearray)):
        return len(chunk)
    with memory_of(chunk) as view:
        return view.nbytes


def decompressed(
    decompressor: Decompressor,
    chunks: Iterable[Buffer],
    write_size: int,
    limit: int | None = None,
    truncated: Callable[[int], Exception] = truncated_error,
) -> Generator[bytes, None, None]:
    """
    Yield the decompressed content of chunks in pieces of at most `write_size` bytes.

    Nothing else may use `decompressor`, which is released at the end. Raises ZstdLimitError for more than `limit` bytes
    of content (None: no limit). If the chunks end inside a frame or contain no frame, raises the error that
    `truncated(given)` returns, where `given` is the size of all chunks in bytes.
    """
    total = given = 0
    try:
        for chunk in chunks:
            given += nbytes(chunk)
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
