# SPDX-License-Identifier: Apache-2.0
"""
How much a write() took: one rule for everything here that writes to the caller's files. And how text is written there.

A number says how many bytes were taken, so that a raw file is given the rest again. None says from a raw file
(io.RawIOBase) that it would block, so that nothing was taken; from any other object, many of which return nothing,
that all was, and so does a result that is no number. The `characters_written` of BlockingIOError is what was
taken before. A write() that takes nothing ends in an error: a loop would go on for ever.
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
    Write `data`, bytes or a view of bytes and not empty, to a file; return how many were taken, at least one.

    Raises what io.BufferedWriter does, BlockingIOError with `characters_written` 0, if the file would block.
    """
    try:
        returned = file.write(data)
    except BlockingIOError as exc:
        taken: int = getattr(exc, "characters_written", 0)  # not there unless it was set
        if taken <= 0:
            exc.characters_written = 0
            raise
        return taken
    return taken_by(file, returned, len(data))


def taken_by(file: object, returned: object, size: int) -> int:
    """Return how much of `size` bytes a file's write() took, by what that has returned; raises as `write_some`."""
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

    Raises BlockingIOError with the `characters_written` before the file would have blocked, and OSError if write()
    takes nothing.
    """
    write_rest(file, data, file.write(data))


def write_rest(file: Writable, data: Bytes, returned: object) -> None:
    """Write the rest for `write_all` after a first call of write(), which returned `returned`."""
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
    A text file that writes a byte order mark, `mark`, in front of the first text.

    io.TextIOWrapper of CPython leaves the mark of UTF-16 and UTF-32 out where a file cannot seek.
    """

    mark = b""

    def write(self, text: str, /) -> int:
        """Write a str and return its length."""
        mark, self.mark = self.mark, b""
        if mark:
            self.buffer.write(mark)
        return super().write(text)


def missing_mark(encoding: str | None) -> bytes:
    """Return the mark for a MarkedText over a file that cannot seek; b"" for encodings that need no such file."""
    if JIT or encoding is None:
        return b""
    return {"utf-16": codecs.BOM_UTF16, "utf-32": codecs.BOM_UTF32}.get(codecs.lookup(encoding).name, b"")


def check_text_arguments(encoding: str | None, errors: str | None, newline: str | None) -> None:
    """Raise what io.TextIOWrapper would of its arguments: for those that open a file, which would be cut by then."""
    # not without an encoding, about which the interpreter may be asked to warn: it would do so twice
    io.TextIOWrapper(io.BytesIO(), "utf-8" if encoding is None else encoding, errors, newline)
