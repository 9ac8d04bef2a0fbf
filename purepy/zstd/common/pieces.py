# SPDX-License-Identifier: Apache-2.0
"""Buffers cut into pieces for C to read."""

from __future__ import annotations

from purepy._buffers import as_bytes, view_of
from purepy._jit import JIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def sliceable(data: Any) -> Any:
    """Return the bytes of a C-contiguous buffer as what gives slices for C to read, copied only where need be."""
    # on PyPy C gets at the bytes of a slice of a view only by a copy of them one by one
    return as_bytes(data) if JIT else memoryview(view_of(data))


def content_of(pieces: Iterator[Any], write_size: int) -> Iterator[bytes]:
    """Yield buffers as bytes of at most `write_size`."""
    for piece in pieces:
        if type(piece) is bytes and len(piece) <= write_size:
            yield piece
            continue
        view = sliceable(piece)
        for start in range(0, len(view), write_size):
            yield bytes(view[start : start + write_size])
