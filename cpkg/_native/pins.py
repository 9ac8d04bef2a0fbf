# SPDX-License-Identifier: Apache-2.0
"""
Keep C objects alive for as long as an object that may be garbage still runs code.

CPython's collector runs the finalizers of all garbage in no particular order, those of `ffi.gc` among them, before it
takes anything apart. So a finalizer that goes on using what it holds, such as a file that closes itself in a cycle,
would find its context freed. What is pinned is no garbage: the collector cannot reach a Pin, and the Pin goes when
its owner is taken apart. PyPy finalizes an owner before what it owns, so nothing is pinned there.
"""

from __future__ import annotations

import gc
import itertools
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

_IS_NEEDED = sys.implementation.name == "cpython"

_pinned: dict[int, Any] = {}
_numbers = itertools.count()


class Pin(int):
    """Holder of one C object; an int, because the collector knows nothing of those."""

    __slots__ = ()

    def __del__(self, forget: Callable[..., Any] = _pinned.pop) -> None:
        forget(self, None)


def pin(thing: Any) -> Pin | None:
    """Keep a C object alive until the result is dropped, which its owner holds beside it; None where that is no use."""
    if not _IS_NEEDED:
        return None
    held = Pin(next(_numbers))
    _pinned[int(held)] = thing
    return held


def pin_for_good(thing: Any) -> None:
    """Keep an object for as long as the process lives: what is needed to free what is pinned."""
    if _IS_NEEDED:
        _pinned[next(_numbers)] = thing


if _IS_NEEDED:
    # For the interpreter's last collection all modules are garbage, and so would be this table, and what is pinned in
    # it finalized with the rest, in any order. What the collector itself refers to never is. It calls the method
    # before and after each collection; with what it calls it with that finds nothing and does nothing. When the
    # collector itself ends, the table lives on, since it holds itself: whoever still holds a Pin may drop it.
    gc.callbacks.append(_pinned.get)  # type: ignore[arg-type]
    pin_for_good(_pinned)
    pin_for_good(Pin)
