# SPDX-License-Identifier: Apache-2.0
"""
Access to the bytes of callers' buffers, for every module that reads them. (For memory passed to C, see
cpkg/_native/buffers.py.)

Functions that return bytes or a view raise TypeError for an object that is not a buffer, and all but `memory_of` raise
BufferError for a buffer that is not C-contiguous.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Buffer


def memory_of(data: Buffer) -> memoryview:
    """Return a view of a buffer; for other objects raise TypeError with the text that C's builtins use."""
    try:
        return memoryview(data)
    except TypeError:
        if hasattr(type(data), "__buffer__"):
            raise  # the object's own __buffer__ raised this error
        raise TypeError(f"a bytes-like object is required, not {type(data).__name__!r}") from None


def not_contiguous(data: Buffer, instead: str = "bytes(data)") -> BufferError:
    """Return the error for a buffer that is not C-contiguous; its text advises to pass the expression `instead`."""
    return BufferError(f"expected a C-contiguous buffer, found a strided {type(data).__name__}: pass {instead}")


def check_writable(view: memoryview, buffer: Buffer) -> None:
    """Check the view of a buffer for output: raise TypeError if it is read-only, BufferError if not C-contiguous."""
    if view.readonly:
        raise TypeError(f"a writable bytes-like object is required, not {type(buffer).__name__!r}")
    if not view.c_contiguous:
        raise not_contiguous(buffer, "a bytearray")


def contiguous(data: Buffer) -> memoryview:
    """Return a view of a C-contiguous buffer; the view keeps the buffer's item format."""
    view = memory_of(data)
    if not view.c_contiguous:
        raise not_contiguous(data)
    return view


def view_of(data: Buffer) -> bytes | memoryview:
    """Return the bytes of a C-contiguous buffer without a copy: bytes unchanged, or a view of unsigned bytes."""
    if type(data) is bytes:
        return data
    view = contiguous(data)
    if view.nbytes == 0:  # cast() refuses a shape that contains zero
        return b""
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")


def as_bytes(data: Buffer) -> bytes:
    """Return a copy of the bytes of a C-contiguous buffer; an object of type bytes is returned itself."""
    if type(data) is bytes:
        return data
    with contiguous(data) as view:  # otherwise PyPy 8 keeps the buffer locked until its collector runs
        return view.tobytes()
