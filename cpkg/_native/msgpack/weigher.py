# SPDX-License-Identifier: Apache-2.0
"""Compute in C the memory that the objects of a message will take: see `purepy.msgpack.weigher`."""

from __future__ import annotations

from cpkg._native._msgpack_ffi import ffi, lib
from cpkg._native.buffers import readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from typing_extensions import Buffer

_LARGEST: Final = 2**62
_NO_MEMORY: Final = -(2**63)


def find_excess(data: Buffer, limit: int, max_depth: int) -> int:
    """
    Return the offset of the first value that makes the message weigh more than `limit`.

    If no value does, return ~left, a negative number, where `left` is the unused part of the limit. Weighs only the
    values before a place where the data is cut or wrong, or nests deeper than `max_depth`. Raises MemoryError if C has
    no memory for the computation.
    """
    held = readable(data)
    memory = held if type(held) is bytes else ffi.from_buffer(held)
    found: int = lib.cpkg_weigh(memory, len(held), min(limit, _LARGEST), min(max_depth, _LARGEST))
    if found == _NO_MEMORY:
        raise MemoryError("not enough memory to estimate the memory that the objects of a message take")
    return found
