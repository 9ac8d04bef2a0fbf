# SPDX-License-Identifier: Apache-2.0
"""Files accessed by descriptor: several threads read and write a file at once, each at its own positions."""

from __future__ import annotations

import errno
import io
import os
import stat
from contextlib import suppress

from purepy.base import system
from purepy.base.uninterrupted import call_and_keep, drop_finalizer, pop_and_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO, Callable

    from purepy.base.types import Bytes, File

IS_POSSIBLE = hasattr(os, "pread") and hasattr(os, "pwrite")
_FILES = (io.FileIO, io.BufferedReader, io.BufferedWriter, io.BufferedRandom)
_PLAIN_FILES = frozenset((*_FILES, io.BytesIO))


def is_plain_file(file: object) -> bool:
    """Return whether a file has a type of the io module whose methods keep no reference to the buffers passed."""
    return type(file) in _PLAIN_FILES


def place_of(file: BinaryIO, *, is_written: bool) -> tuple[int, int] | None:
    """
    Flush a file and return its descriptor and position; None if it cannot be accessed through the descriptor.

    The object must have a type of the io module and access a regular file, and the system must have pread and pwrite.
    If `is_written`, the file must not extend beyond the position, so that it can be truncated after a failure, and the
    descriptor must not append.
    """
    if not IS_POSSIBLE or type(file) not in _FILES:
        return None
    file.flush()  # a source may have unwritten data as well
    descriptor = file.fileno()
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        return None
    position = file.tell()
    if is_written and (status.st_size > position or system.appends(descriptor)):
        return None
    return descriptor, position


class _Closed:
    """The class that a Descriptor gets when it is closed; it has no finalizer."""

    __slots__ = ("_numbers",)
    _numbers: list[int]

    @property
    def is_closed(self) -> bool:
        """
        Whether this object no longer holds the descriptor.

        The descriptor was closed, even if closing it failed, or it belongs to the file that `file` returned.
        """
        return not self._numbers

    @property
    def number(self) -> int:
        """The descriptor; raises ValueError once it is closed, or belongs to the file that `file` returned."""
        try:
            return self._numbers[0]
        except IndexError:
            raise ValueError(
                "I/O operation on a closed descriptor, or on one that now belongs to the file that file() returned"
            ) from None

    def close(self) -> None:
        """Do nothing."""


class Descriptor(_Closed):
    """
    A descriptor that `by(*arguments)` opens; it is closed by `close` or with the last reference to this object.

    Without `by` the argument is a descriptor, which is duplicated, for jobs that may outlive the call that started
    them. No signal handler runs between opening the descriptor and recording it, nor between forgetting it and closing
    it.
    """

    __slots__ = ()

    def __init__(self, *arguments: object, by: Callable[..., int] = os.dup) -> None:
        self._numbers: list[int] = []
        call_and_keep(self._numbers, by, *arguments)

    def file(self, mode: str, buffering: int) -> File:
        """Return a file for the descriptor; from now on the file, not this object, closes the descriptor."""
        return pop_and_call(self._numbers, open, mode, buffering)

    def close(self) -> None:
        """Close the descriptor."""
        with suppress(AttributeError, IndexError):  # it was never opened, or is closed
            pop_and_call(self._numbers, os.close)
        drop_finalizer(self, _Closed)

    def __del__(self) -> None:
        self.close()


def write_at(descriptor: int, data: Bytes, position: int) -> None:
    """Write all of a buffer's bytes at a position in a file."""
    done = system.pwrite(descriptor, data, position)
    if done != len(data):
        _write_rest(data, done, lambda rest, done: system.pwrite(descriptor, rest, position + done))


def write_next(descriptor: int, data: Bytes) -> None:
    """Write all of a buffer's bytes at a descriptor's current position."""
    done = os.write(descriptor, data)
    if done != len(data):
        _write_rest(data, done, lambda rest, _: os.write(descriptor, rest))


def _write_rest(data: Bytes, done: int, some: Callable[[memoryview, int], int]) -> None:
    """Write the bytes after the first `done`; `some(view, done)` writes some of them and returns how many."""
    while done < len(data):
        with memoryview(data)[done:] as rest:
            more = some(rest, done)
        if not more:
            raise OSError(errno.EIO, f"write() took {done} of {len(data)} bytes")
        done += more


def bytes_at(descriptor: int, size: int, position: int) -> bytes:
    """Return `size` bytes from a position in a file, fewer only at its end."""
    found = system.pread(descriptor, size, position)
    if len(found) == size or not found:
        return found
    pieces, done = [found], len(found)
    while done < size and (found := system.pread(descriptor, size - done, position + done)):
        pieces.append(found)
        done += len(found)
    return b"".join(pieces)


def read_at(descriptor: int, memory: memoryview, position: int) -> int:
    """Fill a view of bytes from a position in a file, up to the file's end; return the number of bytes read."""
    filled = 0
    while filled < len(memory):
        with memory[filled:] as rest:
            if hasattr(os, "preadv"):
                taken = os.preadv(descriptor, [rest], position + filled)
            else:
                data = system.pread(descriptor, len(rest), position + filled)
                taken = len(data)
                rest[:taken] = data
        if not taken:
            break
        filled += taken
    return filled
