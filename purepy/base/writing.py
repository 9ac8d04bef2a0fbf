# SPDX-License-Identifier: Apache-2.0
"""
Writing to callers' files: one rule for the result of write(), and the writing of text.

If write() returns a number, it has taken so many bytes, and another call writes the rest. None from a raw file
(io.RawIOBase) means that the file would block and has taken nothing. Any other None, and any other result that is not a
number, means that all bytes were taken, because many write() methods return nothing. The `characters_written` of a
BlockingIOError counts the bytes taken before the error. If write() takes no bytes, an error is raised, because a loop
of such calls would never end.
"""

from __future__ import annotations

import codecs
import errno
import io

from purepy.base.pypy import JIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from purepy.base.types import Bytes, Writable


def write_some(file: Writable, data: Bytes) -> int:
    """
    Write `data`, non-empty bytes or a view of bytes, to a file; return how many bytes were taken, at least one.

    If the file would block, raises BlockingIOError with `characters_written` 0, as io.BufferedWriter does. Raises
    OSError if write() takes nothing.
    """
    try:
        returned = file.write(data)
    except BlockingIOError as exc:
        taken = _written_before(exc)
        if taken <= 0:
            exc.characters_written = 0
            raise
        return taken
    return taken_by(file, returned, len(data))


def _written_before(error: BlockingIOError) -> int:
    """Return how many bytes were written before an error; 0 if the error has no such number."""
    found: int = getattr(error, "characters_written", 0)  # the attribute is missing unless it was set
    return found


def taken_by(file: object, returned: object, size: int) -> int:
    """
    Return how many of `size` bytes write() took, given its result; a result that is not a number means all of them.

    Raises OSError if it took no bytes, and BlockingIOError if a raw file returned None.
    """
    if returned is None:
        if isinstance(file, io.RawIOBase):
            raise BlockingIOError(errno.EAGAIN, "write could not complete without blocking", 0)
        return size
    if type(returned) is bool or not isinstance(returned, int) or returned >= size:
        return size
    if returned <= 0:
        raise OSError(errno.EIO, f"write() took {returned} of {size} bytes")
    return returned


def write_all(file: Writable, data: Bytes) -> None:
    """
    Write all of `data`, bytes or a view of bytes, to a file.

    Raises BlockingIOError if the file would block, with the bytes taken before in `characters_written`, and OSError if
    write() takes nothing.
    """
    try:
        returned = file.write(data)
    except BlockingIOError as exc:
        exc.characters_written = _written_before(exc)
        raise
    write_rest(file, data, returned)


def write_rest(file: Writable, data: Bytes, returned: object) -> None:
    """Write the rest of `data` after a first call of write(), which returned `returned`; raises as `write_all` does."""
    size = len(data)
    if not size:
        return
    done = taken_by(file, returned, size)
    if done == size:
        return
    view = memoryview(data)
    while done < size:
        try:
            done += write_some(file, view[done:])
        except BlockingIOError as exc:
            exc.characters_written += done
            raise


class MarkedText(io.TextIOWrapper):
    """
    A text file that writes a byte order mark before the first text.

    The caller sets `mark`, the bytes of the mark, after creation. CPython's io.TextIOWrapper omits the mark of UTF-16
    and UTF-32 if the file cannot seek.
    """

    mark = b""

    def write(self, text: str, /) -> int:
        """Write a str and return its length."""
        mark, self.mark = self.mark, b""
        if mark:
            self.buffer.write(mark)
        return super().write(text)


def missing_mark(encoding: str | None) -> bytes:
    """Return the mark for a MarkedText over a file that cannot seek; b"" on PyPy and if the encoding needs no mark."""
    if JIT or encoding is None:
        return b""
    return {"utf-16": codecs.BOM_UTF16, "utf-32": codecs.BOM_UTF32}.get(codecs.lookup(encoding).name, b"")


def check_text_arguments(encoding: str | None, errors: str | None, newline: str | None) -> None:
    """Raise the error of io.TextIOWrapper for wrong arguments: call this before opening a file, which truncates it."""
    # without an encoding, pass utf-8: under -X warn_default_encoding Python would warn here, and again for the file
    io.TextIOWrapper(io.BytesIO(), "utf-8" if encoding is None else encoding, errors, newline)
