# SPDX-License-Identifier: Apache-2.0
"""
The bytes of callers' buffers, for everything that reads them; memory for C to work on is cpkg/_native/buffers.py's.

All raise TypeError for an object that is not a buffer and BufferError for one that is not contiguous.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Buffer


def memory_of(data: Buffer) -> memoryview:
    """Return a view of a buffer; the TypeError for another object has the text that C's builtins give it."""
    try:
        return memoryview(data)
    except TypeError:
        if hasattr(type(data), "__buffer__"):
            raise  # from there
        raise TypeError(f"a bytes-like object is required, not {type(data).__name__!r}") from None


def contiguous(data: Buffer) -> memoryview:
    """Return a view of a C-contiguous buffer, of items as the buffer has them."""
    view = memory_of(data)
    if not view.c_contiguous:
        raise BufferError("memoryview: underlying buffer is not C-contiguous")
    return view


def view_of(data: Buffer) -> bytes | memoryview:
    """Return the bytes of a C-contiguous buffer, without a copy: bytes as they are, or a view of unsigned bytes."""
    if type(data) is bytes:
        return data
    view = contiguous(data)
    if view.nbytes == 0:  # cast() refuses a zero in the shape
        return b""
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")


def as_bytes(data: Buffer) -> bytes:
    """Copy the bytes of a C-contiguous buffer; bytes come back as they are."""
    if type(data) is bytes:
        return data
    with contiguous(data) as view:  # PyPy 8 would keep the buffer locked until its collector comes by
        return view.tobytes()
