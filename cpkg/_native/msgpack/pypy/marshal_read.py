# SPDX-License-Identifier: Apache-2.0
"""Unpack through the interpreter's own `marshal` (see the module `marshal` in this package)."""

from __future__ import annotations

from marshal import loads

from cpkg._native._msgpack_ffi import ffi, lib
from cpkg._native.msgpack.pypy.checks import DEFAULT
from cpkg._native.msgpack.pypy.marshal import BYTE, CALL, READING, REFUSED, owned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cpkg._native.msgpack.pypy.checks import Limits

LARGEST: Final = 4 << 20
"""The most bytes that marshal reads. The decoder reads longer data in less memory, and the JIT compiles its loops."""

_buffer = ffi.buffer
_read = lib.cpkg_to_marshal_run


class _Reader:
    """The state of C while it unpacks, and the limits that C checks."""

    __slots__ = ("handle", "limits", "output", "window")

    def __init__(self) -> None:
        self.handle = owned(lib.cpkg_to_marshal_new(), lib.cpkg_to_marshal_free)
        self.output = lib.cpkg_to_marshal_output(self.handle)
        # the memory that is kept between calls: loads() ignores the bytes after the object
        self.window = _buffer(self.output.bytes, self.output.used)
        self.limits: Limits | None = None


# Unused readers. A call takes one and puts it back, so that threads never share one: list.pop is atomic.
_readers: Final = [_Reader()]


def read(data: bytes, start: int, limits: Limits) -> tuple[object, int] | None:
    """
    Return the object that begins at offset `start` and the offset of its end, or None if the decoder must read it.

    Arrays become lists. The decoder must read messages with errors, extension values, deep nesting or long arrays of
    numbers. If more than LARGEST bytes of data follow `start`, it must also read them, and marshal is not used again.
    `limits` has the order of `checks.DEFAULT`. Subtracts the rent of the call, in nanoseconds, from `READING.left`.
    """
    size = len(data)
    if size - start > LARGEST:
        READING.left = 0
        return None
    READING.left -= CALL + BYTE * (size - start)
    try:
        reader = _readers.pop()
    except IndexError:
        reader = _Reader()
    if reader.limits is not limits and reader.limits != limits:
        lib.cpkg_to_marshal_configure(reader.handle, *limits)
        reader.limits = limits
    end: int = _read(reader.handle, data, size, start)
    obj = None
    if end:
        try:
            if end > 0:
                obj = loads(reader.window)
            else:
                end = -end
                output = reader.output
                obj = loads(_buffer(output.bytes, output.used))
                lib.cpkg_marshal_trim(output)
        except (ValueError, RecursionError):
            end = 0  # the stack was already nearly full
    else:
        READING.left -= REFUSED
    if not _readers:
        _readers.append(reader)
    return (obj, end) if end else None


def _is_understood() -> bool:
    """Return whether this interpreter's marshal reads what C writes for all types that it supports. Warms up `read`."""
    message = (
        b"\x81\xa1a\x9d\xc0\xc2\xc3\xff\xce\x80\x00\x00\x00\xd3\x80\x00\x00\x00\x00\x00\x00\x00"
        b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff\xcb\x3f\xe0\x00\x00\x00\x00\x00\x00\xa1a\xa2\xc3\xa9\xc4\x01b\x80\x90"
    )
    found = read(message, 0, DEFAULT)
    expected: object = {"a": [None, False, True, -1, 2**31, -(2**63), 2**64 - 1, 0.5, "a", "\xe9", b"b", {}, []]}
    return found is not None and repr(found[0]) == repr(expected) and found[1] == len(message)


if not _is_understood():
    READING.left = 0
