# SPDX-License-Identifier: Apache-2.0
"""
Keep C objects alive for as long as an object that may be garbage still runs code.

CPython's collector runs the finalizers of all garbage in no particular order, those of `ffi.gc` among them, before it
takes anything apart. So a finalizer that goes on using what it holds, such as a file that closes itself in a cycle,
would find its context freed. What is pinned is no garbage: the collector does not know of a pin, which goes when its
owner is taken apart. What forgets it then is a function of C: a signal's handler could raise in one of Python, where
nobody catches that. PyPy finalizes an owner before what it owns, so nothing is pinned there.
"""

from __future__ import annotations

import gc
import sys
from _weakref import ref

_IS_NEEDED = sys.implementation.name == "cpython"

_pinned: dict[object, object] = {}


def pin(thing: object) -> object:
    """Keep a C object alive until the result is dropped, which its owner holds beside it; None where that is no use."""
    if not _IS_NEEDED:
        return None
    held = _new(_type)  # an object of its own, that can be referred to weakly and is not the collector's
    _pinned[ref(held, _pinned.pop)] = thing
    return held


def pin_for_good(thing: object) -> None:
    """Keep an object for as long as the process lives: the libraries that free pinned objects."""
    if _IS_NEEDED:
        _pinned[len(_pinned), id(thing)] = thing


if _IS_NEEDED:
    from _cffi_backend import FFI

    _new, _type = FFI().new, FFI().typeof("char *")
    # For the interpreter's last collection all modules are garbage, and so would be this table, and what is pinned in
    # it finalized with the rest, in any order. What the collector itself refers to never is. It calls the method
    # before and after each collection; with what it calls it with that finds nothing and does nothing. When the
    # collector itself ends, the table lives on, since it holds itself: whoever still holds a pin may drop it.
    gc.callbacks.append(_pinned.get)
    pin_for_good(_pinned)
    pin_for_good(_new)
