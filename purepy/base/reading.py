# SPDX-License-Identifier: Apache-2.0
"""Reading from callers' files: one rule for files that return less than requested, or nothing at the moment."""

from __future__ import annotations

import errno

TYPE_CHECKING = False
if TYPE_CHECKING:
    from purepy.base.types import Readable


def no_data() -> BlockingIOError:
    """Return the error for a non-blocking file that has no data at the moment, which is not the end of the file."""
    return BlockingIOError(errno.EAGAIN, "the source has no data at the moment; a non-blocking file cannot be a source")


def read_some(file: Readable, size: int) -> bytes:
    """Return the result of `file.read(size)`, b"" at the end; raises BlockingIOError if there is no data yet."""
    data = file.read(size)
    if data is None:
        raise no_data()
    return data


def read_full(file: Readable, size: int, enough: int | None = None) -> bytes:
    """
    Return the next `size` bytes of a file; fewer at its end, or once at least `enough` bytes are read.

    Raises BlockingIOError if a non-blocking file has no data at the moment; bytes read before that are lost.
    """
    pieces: list[bytes] = []
    done = 0
    while done < (size if enough is None else enough):
        piece = read_some(file, size - done)
        if not piece:
            break
        pieces.append(piece)
        done += len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
