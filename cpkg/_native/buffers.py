# SPDX-License-Identifier: Apache-2.0
"""
Pass the memory of Python's buffers to C: the only module that handles the pitfalls of `ffi.from_buffer`.

On PyPy 7.3.11, `from_buffer` of a non-contiguous view reads a copy, and an exported bytearray may be resized, which
leaves C with a stale pointer; on PyPy 8 the bytearray stays locked after the call. `len()` of a view counts items, not
bytes. So callers' buffers go through this module before C gets them. The code that calls `from_buffer` must hold the
resulting cdata for as long as C uses the memory.
"""

from __future__ import annotations

import sys

from purepy.base.buffers import as_bytes, check_writable, memory_of, view_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Buffer, TypeAlias

    from cpkg._native.cffi_types import Allocator, CData

Bytes: TypeAlias = "bytes | memoryview"


DIRECT = sys.implementation.name == "cpython"
"""
Whether C may use the memory of a writable buffer directly. On PyPy 7.3.11 the memory may move during the call; on
PyPy 8 the buffer would stay locked after the call, until the collector runs.
"""


def readable(data: Buffer) -> Bytes:
    """
    Return the bytes of a C-contiguous buffer as bytes or a view of unsigned bytes, without a copy where that is safe.

    On PyPy a writable buffer is copied. Raises TypeError for an object that is not a buffer, and BufferError for a
    buffer that is not contiguous.
    """
    if type(data) is bytes:
        return data
    if DIRECT:
        return view_of(data)
    with memory_of(data) as view:
        is_readonly = view.readonly
    return view_of(data) if is_readonly else as_bytes(data)


def writable(buffer: Buffer) -> memoryview:
    """
    Return a view of unsigned bytes of a writable C-contiguous buffer.

    Raises TypeError for an object that is read-only or not a buffer, and BufferError for a non-contiguous buffer.
    """
    view = memory_of(buffer)
    check_writable(view, buffer)
    if view.format != "B" or view.ndim != 1:
        view = view.cast("B") if view.nbytes else memoryview(bytearray())
    return view


class OutputBuffer:
    """
    A writable buffer for one call into C: `with OutputBuffer(library, view) as target`; `view` is from `writable`.

    Write to `target.view`, whose memory for C is `target.address`, and store the number of bytes in `target.written`.
    If C cannot use the buffer directly (on PyPy), `target.view` is separate memory. Then that number of bytes
    is copied to the buffer at the end of the block, unless the block raised an error.
    """

    def __init__(self, library: Allocator, view: memoryview) -> None:
        self.written = 0
        self._library = library
        self._final = view
        if DIRECT:
            self.view = view
        else:
            self._memory = library.new_nonzero("char[]", max(len(view), 1))
            self.view = memoryview(library.ffi.buffer(self._memory, len(view)))

    @property
    def address(self) -> CData:
        """The memory as cdata, which must be held while C writes to it."""
        return self._library.ffi.from_buffer(self.view, require_writable=True)

    def __enter__(self) -> OutputBuffer:
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        if self.view is self._final:
            return
        if kind is None:
            self._final[: self.written] = self.view[: self.written]
        self._library.ffi.release(self._memory)  # PyPy allocates slowly unless such memory is released at once
