# SPDX-License-Identifier: Apache-2.0
"""
BufferWithSegments and related types: many pieces of bytes in one block of memory.

All types except the collection have the buffer protocol. A Python class can implement it since Python 3.12, and on PyPy
with `bufferable`. On CPython before 3.12 the types are subclasses of bytes instead, which copy their data.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from struct import Struct
from typing import TYPE_CHECKING

from purepy.base.buffers import view_of
from purepy.zstd.format.chunks import sliceable_alone

SEGMENT = Struct("=QQ")
"""The offset and length of a segment, in bytes."""

if TYPE_CHECKING:
    from typing_extensions import Buffer

    class Exporter:
        """Base of types with the buffer protocol; their memory is read-only."""

        def __new__(cls, data: Buffer) -> Exporter: ...
        @property
        def _memory(self) -> memoryview: ...
        def __len__(self) -> int: ...
        def __buffer__(self, flags: int, /) -> memoryview: ...

elif sys.implementation.name == "cpython" and sys.version_info < (3, 12):

    class Exporter(bytes):
        """Base of types with the buffer protocol; their memory is read-only."""

        @property
        def _memory(self):
            return memoryview(self)

else:
    try:
        from __pypy__.bufferable import bufferable as _base
    except ImportError:
        _base = object

    class Exporter(_base):
        """Base of types with the buffer protocol; their memory is read-only."""

        def __new__(cls, data):
            exporter = super().__new__(cls)
            exporter._memory = memoryview(data).toreadonly()
            return exporter

        def __buffer__(self, flags):
            return self._memory


class BufferSegment(Exporter):
    """
    A part of a BufferWithSegments (replaces `zstandard.BufferSegment`).

    Returned by `BufferWithSegments[number]`. Has the buffer protocol.
    """

    _offset = 0

    @property
    def offset(self) -> int:
        """The position in bytes at which the segment begins in its buffer."""
        return self._offset

    def __len__(self) -> int:
        return len(self._memory)

    def tobytes(self) -> bytes:
        """Return a copy of the segment."""
        return bytes(self._memory)


class BufferSegments(Exporter):
    """
    Offsets and lengths of segments, 64-bit unsigned integers of this machine (replaces `zstandard.BufferSegments`).

    Returned by `BufferWithSegments.segments`. Has the buffer protocol.
    """

    def __len__(self) -> int:
        return len(self._memory) // SEGMENT.size


class BufferWithSegments(Exporter):
    """
    A buffer and the positions of the segments in it (replaces `zstandard.BufferWithSegments`).

    `data` is a buffer. `segments` is a buffer with the offset and length of each segment, as 64-bit unsigned integers
    of this machine. Raises ValueError for segments that are not inside the data, and if the size of `segments` is not a
    multiple of 16. Has the buffer protocol, and is a sequence of BufferSegment.
    """

    _segments: bytes

    def __new__(cls, data: Buffer, segments: Buffer) -> BufferWithSegments:
        view, table = memoryview(view_of(data)), bytes(view_of(segments))
        if len(table) % SEGMENT.size:
            raise ValueError(f"segments array size is not a multiple of {SEGMENT.size}: {len(table)} bytes")
        for offset, length in SEGMENT.iter_unpack(table):
            if offset + length > len(view):
                segment = f"a segment of {length} bytes at byte {offset}, in {len(view)} bytes"
                raise ValueError(f"offset within segments array references memory outside buffer: {segment}")
        return cls._over(view, table)

    @classmethod
    def _over(cls, data: Buffer, table: bytes) -> BufferWithSegments:
        """Return a BufferWithSegments without checking that its segments are inside the data."""
        made = super().__new__(cls, data)
        assert isinstance(made, BufferWithSegments)
        made._segments = table
        return made

    @property
    def size(self) -> int:
        """The size of the buffer in bytes."""
        return len(self._memory)

    def __len__(self) -> int:
        return len(self._segments) // SEGMENT.size

    def __getitem__(self, i: int) -> BufferSegment:  # type: ignore[override, unused-ignore]
        if i < 0:
            raise IndexError(f"offset must be non-negative, not {i}")
        if i >= len(self):
            raise IndexError(f"offset must be less than {len(self)}, not {i}")
        offset, length = SEGMENT.unpack_from(self._segments, i * SEGMENT.size)
        segment = BufferSegment(sliceable_alone(self._memory)[offset : offset + length])
        segment._offset = offset
        return segment

    def __iter__(self) -> Iterator[BufferSegment]:  # type: ignore[override, unused-ignore]
        return (self[i] for i in range(len(self)))

    def segments(self) -> BufferSegments:
        """Return the offsets and lengths of the segments."""
        return BufferSegments(self._segments)

    def tobytes(self) -> bytes:
        """Return a copy of the buffer."""
        return bytes(self._memory)


class BufferWithSegmentsCollection:
    """
    The segments of several `buffers` (BufferWithSegments) as one sequence, in order.

    Raises ValueError if there are no buffers or a buffer has no segments or no bytes, and TypeError for other types.
    Replaces `zstandard.BufferWithSegmentsCollection`.
    """

    __slots__ = ("_buffers", "_ends")

    def __init__(self, *buffers: BufferWithSegments) -> None:
        if not buffers:
            raise ValueError("must pass at least 1 argument")
        for buffer in buffers:
            if not isinstance(buffer, BufferWithSegments):
                raise TypeError(f"arguments must be BufferWithSegments instances, not {type(buffer).__name__}")
            if not len(buffer) or not buffer.size:
                raise ValueError("ZstdBufferWithSegments cannot be empty")
        self._set(list(buffers))

    @classmethod
    def _of(cls, buffers: list[BufferWithSegments]) -> BufferWithSegmentsCollection:
        """Return a collection of at least one buffer without checking them; a buffer may have no bytes."""
        made = cls.__new__(cls)
        made._set(buffers)
        return made

    def _set(self, buffers: list[BufferWithSegments]) -> None:
        self._buffers = buffers
        self._ends = list(accumulate(map(len, buffers)))

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, i: int) -> BufferSegment:
        if i < 0:
            raise IndexError(f"offset must be non-negative, not {i}")
        if i >= len(self):
            raise IndexError(f"offset must be less than {len(self)}, not {i}")
        at = bisect_right(self._ends, i)
        return self._buffers[at][i - (self._ends[at - 1] if at else 0)]

    def size(self) -> int:
        """Return the sum of the sizes of all segments in bytes."""
        return sum(length for buffer in self._buffers for _, length in SEGMENT.iter_unpack(buffer._segments))
