# SPDX-License-Identifier: Apache-2.0
"""No call keeps a caller's buffer locked; on PyPy 8, an unreleased view would lock it until the next collection."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Callable

import pytest

CALLS: dict[str, Callable[[ModuleType, bytearray], Any]] = {
    "pack_into": lambda m, b: m.pack_into([1], b),
    "unpackb": lambda m, b: m.unpackb(b),
    "unpackb with a hook": lambda m, b: m.unpackb(b, list_hook=tuple),
    "unpackb_from": lambda m, b: m.unpackb_from(b),
    "feed": lambda m, b: m.Unpacker().feed(b),
    "packb": lambda m, b: m.packb([b]),
    "Packer": lambda m, b: m.Packer(buffer=b).pack(1),
    "getbuffer": lambda m, b: m.Packer(buffer=b).getbuffer().release(),
}


@pytest.mark.parametrize("call", list(CALLS))
def test_the_buffer_can_be_resized_afterwards(msgpack: ModuleType, call: str) -> None:
    """A bytearray can be resized as soon as the call that took it has returned."""
    buffer = bytearray(msgpack.packb([1, 2, 3] * 200))
    CALLS[call](msgpack, buffer)
    buffer.append(1)
    buffer.clear()
    assert buffer == b""
