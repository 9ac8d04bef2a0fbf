# SPDX-License-Identifier: Apache-2.0
"""
Keep C objects alive while finalizers of the objects that own them may still use them.

CPython's collector runs the finalizers of all garbage, including those of `ffi.gc`, in no particular order, before it
clears any object. So the finalizer of an owner, such as a file in a reference cycle, which closes itself, could find
its libzstd context already freed. A pinned object is not garbage, because a table in this module refers to it until the
owner of the pin is cleared. A C function then removes the object from the table, because a signal handler could raise
in a Python function, where nothing would catch the exception. PyPy finalizes an owner before the objects that it owns,
so nothing is pinned there.
"""

from __future__ import annotations

import gc
import sys
from _weakref import ref

_IS_NEEDED = sys.implementation.name == "cpython"

_pinned: dict[object, object] = {}


def pin(thing: object) -> object:
    """Return a pin, which keeps `thing` alive for as long as the pin itself exists; return None except on CPython."""
    if not _IS_NEEDED:
        return None
    held = _new(_type)  # a separate object that supports weak references and is invisible to the collector
    _pinned[ref(held, _pinned.pop)] = thing
    return held


def pin_for_good(thing: object) -> None:
    """
    On CPython, keep an object alive until the process ends; do nothing elsewhere.

    Used, among others, for the libraries whose functions free the pinned objects.
    """
    if _IS_NEEDED:
        _pinned[len(_pinned), id(thing)] = thing


if _IS_NEEDED:
    from _cffi_backend import FFI

    _new, _type = FFI().new, FFI().typeof("char *")
    # In the interpreter's last collection all modules are garbage. This table would be as well, and the objects pinned
    # in it would be finalized with the rest, in any order. Objects that the collector itself refers to are never
    # garbage, so the table's `get` is registered as a callback of the collector. The collector calls `get` before and
    # after each collection, with arguments that are not keys of the table, so the call has no effect. After the
    # collector has ended, the table's reference to itself keeps it alive, so that remaining pins can still be dropped.
    gc.callbacks.append(_pinned.get)
    pin_for_good(_pinned)
    pin_for_good(_new)
