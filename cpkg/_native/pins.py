# SPDX-License-Identifier: Apache-2.0
"""
Keep C objects alive for as long as an object that may be garbage still runs code.

CPython's collector runs the finalizers of all garbage in no particular order, those of `ffi.gc` among them, before it
takes anything apart. So a finalizer that goes on using what it holds, such as a file that closes itself in a cycle,
would find its context freed. What is pinned is no garbage: the collector cannot reach a Pin, and the Pin goes when
its owner is taken apart. PyPy finalizes an owner before what it owns, so nothing is pinned there.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any, Callable

_pinned: dict[int, Any] = {}
_numbers = itertools.count()


class Pin(int):
    """What holds one C object; an int, because the collector knows nothing of those."""

    __slots__ = ()

    def __del__(self, forget: Callable[..., Any] = _pinned.pop) -> None:
        forget(self, None)


def pin(cdata: Any) -> Pin | None:
    """Keep `cdata` alive until the result is dropped, which its owner holds beside it; None where that is no use."""
    if sys.implementation.name != "cpython":
        return None
    held = Pin(next(_numbers))
    _pinned[int(held)] = cdata
    return held
