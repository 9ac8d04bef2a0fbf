# SPDX-License-Identifier: Apache-2.0
"""Helpers shared by the modules of this package: pieces of buffers, errors, argument checks."""

from __future__ import annotations

from collections.abc import Iterator
from operator import index
from typing import TYPE_CHECKING, Union

from purepy.base.buffers import view_of
from purepy.base.cores import usable_cores
from purepy.base.errors import ZstdError
from purepy.base.reading import no_data

if TYPE_CHECKING:
    from purepy.base.types import Readable

Bytes = Union[bytes, memoryview]

PIECE_SIZE = 1 << 20
"""The default size in bytes of the pieces into which larger buffers are cut, to hold little output at a time."""


def pieces_of(data: Bytes, size: int = PIECE_SIZE) -> Iterator[Bytes]:
    """Yield `data` itself if it has at most `size` bytes (perhaps 0), otherwise views of at most `size` bytes."""
    if len(data) <= size:
        yield data
        return
    view = memoryview(data)
    for start in range(0, len(view), size):
        yield view[start : start + size]


def read_chunk(source: Readable, size: int) -> Bytes:
    """Return up to `size` bytes of a file, b"" at its end; raises BlockingIOError if its read() returns None."""
    data = source.read(size)
    if type(data) is bytes:
        return data
    if data is None:
        raise no_data()
    return view_of(data)


def rename(exc: ZstdError, what: str, start: int = 0) -> ZstdError:
    """
    Return an error like `exc`, with `what` before its text, as in python-zstandard, and without its advice.

    `start` is the position in the input, in bytes, from which the offset of `exc` counts.
    """
    text = f"{what}: {exc.name or exc}"
    if exc.detail:
        text = f"{text}: {exc.detail}"
    error = type(exc)(text)
    error.code, error.name, error.detail = exc.code, exc.name, exc.detail
    error.offset = None if exc.offset is None else start + exc.offset
    return error


def threads_wanted(threads: int) -> int:
    """
    Return `threads`, or the number of processors that this process may use if `threads` is below 0.

    Raises OverflowError if `threads` is not a signed 32-bit integer.
    """
    threads = index(threads)
    if not -(2**31) <= threads < 2**31:
        raise OverflowError("signed integer is greater than maximum")
    return usable_cores() if threads < 0 else threads


def check_copy(ifh: object, ofh: object, read_size: int, write_size: int) -> None:
    """Raise ValueError unless `ifh` has read(), `ofh` has write(), and both sizes are positive."""
    if not hasattr(ifh, "read"):
        raise ValueError(f"first argument must have a read() method; found {type(ifh).__name__}")
    if not hasattr(ofh, "write"):
        raise ValueError(f"second argument must have a write() method; found {type(ofh).__name__}")
    require_positive(read_size, "read_size")
    require_positive(write_size, "write_size")


def require_positive(value: int, name: str) -> None:
    """Raise ValueError if `value`, the size called `name`, is not positive; also raises the errors of `as_size`."""
    if (type(value) is not int or value < 1 or value >> 63) and as_size(value) < 1:
        raise ValueError(f"{name} must be positive, not {value}")


def as_size(value: int) -> int:
    """Return `value` as an int; raises TypeError if it is not an integer, OverflowError if it exceeds 64 bits."""
    value = index(value)
    if not -(2**63) <= value < 2**63:
        raise OverflowError("cannot fit 'int' into an index-sized integer")
    return value
