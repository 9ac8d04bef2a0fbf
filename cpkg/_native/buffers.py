# SPDX-License-Identifier: Apache-2.0
"""
Give C the memory of Python's buffers: the one place that knows the rules of `ffi.from_buffer`.

What goes wrong elsewhere: `from_buffer` of a non-contiguous view reads a copy on PyPy 7.3.11; `len()` counts items,
not bytes; an exported bytearray may be resized on PyPy 7.3.11, which leaves C with a stale pointer, and stays locked
after the call on PyPy 8. So every buffer passes through here, and the cdata that comes back has to be held for as
long as C uses the memory.
"""

from __future__ import annotations

import sys

from purepy.base.buffers import as_bytes, memory_of, view_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Buffer, TypeAlias

    from cpkg._native.cffi_types import Allocator, CData

Bytes: TypeAlias = "bytes | memoryview"


DIRECT = sys.implementation.name == "cpython"
"""
Whether C may work on the memory of a writable buffer itself. On PyPy 7.3.11 that memory may move meanwhile; on PyPy 8
the buffer would stay locked after the call, until the collector comes by.
"""


def readable(data: Buffer) -> Bytes:
    """
    Return the bytes of a C-contiguous buffer, without a copy where that is safe: bytes, or a view of unsigned bytes.

    Raises TypeError for an object that is not a buffer and BufferError for one that is not contiguous.
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
    Return a view of unsigned bytes onto a writable C-contiguous buffer.

    Raises TypeError for an object that is not a buffer or is read-only and BufferError for one that is not contiguous.
    """
    view = memory_of(buffer)
    if view.readonly:
        raise TypeError(f"a writable bytes-like object is required, not '{type(buffer).__name__}'")
    if not view.c_contiguous:
        raise BufferError("memoryview: underlying buffer is not C-contiguous")
    if view.format != "B" or view.ndim != 1:
        view = view.cast("B") if view.nbytes else memoryview(bytearray())
    return view


class OutputBuffer:
    """
    A writable buffer for one call into C: `with OutputBuffer(library, view) as target`.

    `target.view` is what to write into and `target.address` its memory for C. Where C may not work on the buffer
    itself, that is memory of our own, of which the first `target.written` bytes are copied over if the block ends
    without an error; a view that is `owned` is released then.
    """

    def __init__(self, library: Allocator, view: memoryview, *, owned: bool = False) -> None:
        self.written = 0
        self._owned = owned
        self._library = library
        self._final = view
        if DIRECT:
            self.view = view
        else:
            self._memory = library.new_nonzero("char[]", max(len(view), 1))
            self.view = memoryview(library.ffi.buffer(self._memory, len(view)))

    @property
    def address(self) -> CData:
        """The memory as cdata, to be held while C writes to it."""
        return self._library.ffi.from_buffer(self.view, require_writable=True)

    def __enter__(self) -> OutputBuffer:
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        if self.view is self._final:
            return
        if kind is None:
            self._final[: self.written] = self.view[: self.written]
        self._library.ffi.release(self._memory)  # on PyPy memory that is not given back at once is slow to get
        if self._owned:
            self._final.release()
