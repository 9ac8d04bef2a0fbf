# SPDX-License-Identifier: Apache-2.0
"""The frames of a buffer, divided into parts that threads decompress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, NamedTuple

from purepy.base.buffers import as_bytes, view_of
from purepy.base.crew import run_all
from purepy.base.errors import ZstdError
from purepy.base.pypy import JIT
from purepy.zstd.format.chunks import sliceable, sliceable_alone
from purepy.zstd.format.rules import is_trusted
from purepy.zstd.format.scanner import FrameScanner
from purepy.zstd.threads.arguments import DecompressionPlan

if TYPE_CHECKING:
    from purepy.base.types import Buffer, Bytes

_PART_SIZE = 1 << 20  # the least content in bytes for which a thread is worthwhile


class Part(NamedTuple):
    """
    Adjacent whole frames, `data[start:end]` of the buffer, and the position and size of their content in bytes.

    `content_size` is None if a frame does not declare it; then the positions of later parts are only upper bounds.
    """

    start: int
    end: int
    position: int
    content_size: int | None


class Divided(NamedTuple):
    """A buffer of frames and its parts; `content_size` is their total, or None if a frame does not declare its size."""

    data: Buffer
    parts: list[Part]
    content_size: int | None


def divide(data: Buffer, window_max: int, limit: int | None) -> Divided | None:
    """
    Divide the frames of a buffer into parts that are each worth a thread; return None if one thread must do it all.

    Returns None if there are fewer than two parts, or if the buffer is not C-contiguous or does not consist of whole
    frames. Also returns None if a frame declares more than its blocks can hold or requires a window of more than
    `window_max` bytes, if the declared total is implausible for so little data, or if the content exceeds `limit`
    (None: no limit). With a limit, every frame must declare its size. If something is wrong, the one thread raises the
    error.
    """
    try:
        # bytes need no view, and CPython 3.11 crashes if it collects a cycle of garbage in which C holds such a view
        data = as_bytes(data) if JIT else view_of(data)
    except BufferError:
        return None
    parts = _parts(data, window_max)
    sizes = [part.content_size for part in parts]
    if len(parts) < 2 or (None in sizes and limit is not None):
        return None
    if None in sizes:
        return Divided(data, parts, None)
    total = sum(size or 0 for size in sizes)
    if (limit is not None and total > limit) or not is_trusted(total, len(data)):
        return None
    return Divided(data, parts, total)


def _parts(data: Bytes, window_max: int) -> list[Part]:
    """Return the parts of a buffer of frames; [] if a frame is truncated, or if `divide` refuses its headers."""
    scanner = FrameScanner()
    parts: list[Part] = []
    start = position = content = 0
    is_known = True
    end = len(data)
    while scanner.offset < end:
        try:
            if not scanner.step(data, scanner.offset, end) or scanner.offset > end:
                return []
        except ZstdError:
            return []
        header = scanner.header
        if not scanner.is_between or header is None:
            continue
        declared = header.content_size
        if header.window_size > window_max or (declared or 0) > scanner.content_max:
            return []
        if declared is None:
            is_known = False
            content += scanner.content_max
        else:
            content += declared
        if content >= _PART_SIZE or scanner.offset == end:
            parts.append(Part(start, scanner.offset, position, content if is_known else None))
            start, position, content, is_known = scanner.offset, position + content, 0, True
    return parts if scanner.is_between else []


def decompress_parts(plan: DecompressionPlan, divided: Divided) -> bytes | None:
    """Decompress the parts in threads and return their content, joined; None if there is an error in the data."""
    view = sliceable(divided.data)
    contents: list[bytes] = [b""] * len(divided.parts)

    def work(number: int, check: Callable[[], None]) -> None:
        part = divided.parts[number]
        frames = sliceable_alone(view)[part.start : part.end]
        contents[number] = plan.decompress(frames, plan.zstd_dict, plan.options)

    try:
        run_all(plan.threads, len(contents), work)
    except ZstdError:
        return None
    return b"".join(contents)
