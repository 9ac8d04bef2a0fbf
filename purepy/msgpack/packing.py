# SPDX-License-Identifier: Apache-2.0
"""
Implement `packb`, `pack` and `pack_into` for every backend with an Encoder.

The functions that users call have the docstrings and take the options as keywords. They call the functions of this
module with a named tuple of the options' values.
"""

from __future__ import annotations

from purepy.base.lazy import imported
from purepy.msgpack.options import as_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from purepy.base.types import Buffer, OptionValues
    from purepy.msgpack.encoder import Encoder


def check_buf_size(size: int) -> None:
    """Raise OverflowError for a size that is negative or above 2**63 - 1, and TypeError unless it is an int."""
    if as_size("buf_size", size) < 0:
        raise OverflowError("can't convert negative value to size_t")


def packb_with(o: object, options: OptionValues, encoder_type: type[Encoder]) -> Any:
    """
    Return `o` packed as by `packb`, given a named tuple of its options and a class of encoders; None without autoreset.
    """
    check_buf_size(options.buf_size)
    packed = encoder_type(options).encode(o)
    return packed if options.autoreset else None


def pack_with(o: object, stream: object, options: OptionValues, encoder_type: type[Encoder]) -> None:
    """Pack `o` and write it to a stream, as `pack` does, given a named tuple of its options and a class of encoders."""
    imported("purepy.base.writing").write_all(stream, packb_with(o, options, encoder_type))


def pack_into_with(o: object, buffer: Buffer, offset: int, options: OptionValues, encoder_type: type[Encoder]) -> int:
    """Pack `o` into a buffer, as `pack_into` does, given a named tuple of its options; return the offset after it."""
    check_buf_size(options.buf_size)
    offset = as_size("offset", offset)
    # Views are released at once: on PyPy 8 an open view prevents resizing the buffer until the next garbage collection.
    with imported("purepy.base.buffers").memory_of(buffer) as view:
        if view.readonly:
            raise TypeError("pack_into needs a writable buffer")
        if not view.c_contiguous:
            raise BufferError("pack_into needs a contiguous buffer")
        size = view.nbytes
    if not 0 <= offset <= size:
        raise ValueError(f"offset {offset} is outside the buffer of {size} bytes")
    packed = encoder_type(options).encode(o)
    with memoryview(buffer) as view:
        room = view.nbytes - offset
        if len(packed) > room:
            raise ValueError(f"the packed object needs {len(packed)} bytes, the buffer has {room} from offset {offset}")
        with view.cast("B") as out:
            out[offset : offset + len(packed)] = packed
    return offset + len(packed)
