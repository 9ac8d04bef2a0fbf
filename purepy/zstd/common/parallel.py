# SPDX-License-Identifier: Apache-2.0
"""
What the functions of a backend do with `threads` and `frame_size`; loaded when one of them is given.

`module` is the backend's module, whose functions do the work. Threads are of use where that runs without the GIL: the
pure backend makes the same frames in the calling thread, and decompresses as if no threads were asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Callable, NamedTuple

from purepy._cores import python_runs_in_parallel, thread_count
from purepy.errors import ZstdError
from purepy.zstd.common import parallel_compress, parallel_decompress
from purepy.zstd.common.error_codes import output_limit_error, truncated_error
from purepy.zstd.common.frame_scan import FrameScanner
from purepy.zstd.common.parallel_compress import compress_at_once
from purepy.zstd.common.parallel_decompress import ParallelDecompressor
from purepy.zstd.common.parameters import DECOMPRESSION_FORMAT
from purepy.zstd.common.pieces import content_of, sliceable
from purepy.zstd.common.threads import run_all
from purepy.zstd.common.zdict import DIGESTED, PREFIX, parse_dict_argument
from purepy.zstd_format import is_trusted

_PART_SIZE = 1 << 20  # of content, that is worth a thread's while


def useful_threads(module: Any, threads: Any) -> int:
    """Check the argument `threads`; return how many are of use. None is one, 0 one per core."""
    count = 1 if threads is None else thread_count(threads)
    return count if module.BACKEND != "pure" or python_runs_in_parallel() else 1


def compressing(
    module: Any, threads: Any, frame_size: Any, level: Any, options: Any, zstd_dict: Any
) -> parallel_compress.Parameters:
    """Check the arguments of a compression into several frames."""
    return parallel_compress.checked(
        module.compress,
        module.ZstdCompressor,
        useful_threads(module, threads),
        frame_size,
        level,
        options,
        zstd_dict,
    )


def decompressing(
    module: Any, threads: Any, zstd_dict: Any, options: Any, truncated: Callable[[int], Exception] = truncated_error
) -> parallel_decompress.Parameters | None:
    """
    Check `threads`; return None if several are of no use, else what they decompress with.

    They are of none for frames without magic number, and with a prefix, which is for one frame.
    """
    count = useful_threads(module, threads)
    if count == 1 or (options and options.get(DECOMPRESSION_FORMAT)):
        return None
    if zstd_dict is not None and parse_dict_argument(zstd_dict, DIGESTED)[1] == PREFIX:
        return None
    if options is not None:
        options = dict(options)
    return parallel_decompress.Parameters(
        module.decompress, module.decompress_into, module.ZstdDecompressor, count, zstd_dict, options, truncated
    )


def join_pieces(pieces: list[bytes], threads: int) -> bytes:
    """Stand for a `join` where a backend has no faster one."""
    return b"".join(pieces)


def compress(
    module: Any,
    data: Any,
    level: Any,
    options: Any,
    zstd_dict: Any,
    threads: Any,
    frame_size: Any,
    join: Callable[[list[bytes], int], bytes] = join_pieces,
) -> bytes:
    """Compress a buffer into frames of `frame_size`, which `join(frames, threads)` puts together."""
    return compress_at_once(data, compressing(module, threads, frame_size, level, options, zstd_dict), join)


class Part(NamedTuple):
    """Whole frames next to each other: where they are, and where their content goes; `content_size` None if unknown."""

    start: int
    end: int
    position: int
    content_size: int | None


def divide(data: Any, window_max: int) -> list[Part]:
    """
    Divide the frames of a buffer into parts that are worth a thread's while.

    Raises ZstdError if it does not consist of whole frames, if one declares more than its blocks can hold, and if one
    asks for more than `window_max`.
    """
    scanner = FrameScanner()
    parts: list[Part] = []
    start = position = content = 0
    is_known = True
    end = len(data)
    while scanner.offset < end:
        if scanner.step(data, scanner.offset, end) is None or scanner.offset > end:
            raise truncated_error(end)
        header = scanner.header
        if not scanner.is_between or header is None:
            continue
        declared = header.content_size
        if header.window_size > window_max:
            raise ZstdError("a frame asks for a larger window than allowed")
        if declared is None:
            is_known = False
            content += scanner.content_max
        elif declared > scanner.content_max:
            raise ZstdError("a frame declares more than its blocks can hold")
        else:
            content += declared
        if content >= _PART_SIZE or scanner.offset == end:
            parts.append(Part(start, scanner.offset, position, content if is_known else None))
            start, position, content, is_known = scanner.offset, position + content, 0, True
    if not scanner.is_between:
        raise truncated_error(end)
    return parts


def decompress(
    module: Any,
    data: Any,
    zstd_dict: Any,
    options: Any,
    threads: Any,
    max_output_size: int | None,
    window_max: int,
    fill: Callable[[Any, list[Part], int, int], bytes | None],
) -> bytes | None:
    """
    Decompress the frames of a buffer by several threads; None if that is of no use, or if something is wrong.

    What is wrong, the caller's thread finds out and says as it would without threads. `fill(view, parts, size,
    threads)` decompresses parts whose sizes are known into one bytes object; None if it cannot.
    """
    parameters = decompressing(module, threads, zstd_dict, options)
    if parameters is None:
        return None
    try:
        view = sliceable(data)
    except BufferError:
        return None
    if not len(view):
        return None
    try:
        # views that C has are not released by hand: an error may hold on to what C has of them
        return _decompress_parts(view, divide(view, window_max), parameters, max_output_size, fill)
    except ZstdError:
        return None


def _decompress_parts(
    view: Any,
    parts: list[Part],
    parameters: parallel_decompress.Parameters,
    limit: int | None,
    fill: Callable[[Any, list[Part], int, int], bytes | None],
) -> bytes | None:
    if len(parts) < 2:
        return None
    if all(part.content_size is not None for part in parts):
        total = sum(part.content_size or 0 for part in parts)
        if (limit is not None and total > limit) or not is_trusted(total, len(view)):
            return None
        result = fill(view, parts, total, parameters.threads)
        if result is not None:
            return result
    elif limit is not None:
        return None
    contents: list[bytes] = [b""] * len(parts)

    def work(number: int, check: Callable[[], None]) -> None:
        part = parts[number]
        frames = view[part.start : part.end]
        contents[number] = parameters.decompress(frames, parameters.zstd_dict, parameters.options)

    run_all(parameters.threads, len(parts), work)
    return b"".join(contents)


def fill_nothing(view: Any, parts: list[Part], size: int, threads: int) -> bytes | None:
    """Stand for a `fill` where a backend cannot decompress into a bytes object."""
    return None


def decompressed_views(
    parameters: parallel_decompress.Parameters, chunks: Iterator[Any], limit: int | None, before: int = 0
) -> Iterator[Any]:
    """
    Yield the content of a stream, as bytes or views that hold until the next is asked for.

    `limit` is for it and the `before` bytes of content in front of it.
    """
    pieces = ParallelDecompressor(parameters).pieces(chunks)
    total = before
    try:
        for piece in pieces:
            total += len(piece)
            if limit is not None and total > limit:
                raise output_limit_error(limit, None)
            yield piece
    finally:
        pieces.close()  # type: ignore[attr-defined]


def decompressed_pieces(
    parameters: parallel_decompress.Parameters, chunks: Iterator[Any], limit: int | None, write_size: int
) -> Iterator[bytes]:
    """Yield the content of a stream in pieces of at most `write_size`, within the limit."""
    views = decompressed_views(parameters, chunks, limit)
    try:
        yield from content_of(views, write_size)
    finally:
        views.close()  # type: ignore[attr-defined]
