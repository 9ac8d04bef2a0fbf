# SPDX-License-Identifier: Apache-2.0
"""
The native MessagePack backend on CPython: the compiled module's builtins, and the types that all backends share.

The compiled module takes the exceptions and value types from this namespace, and writes its functions and types
(Packer, Unpacker, packb, ...) into it. A call costs as much as a call of any builtin, because cffi is used only to
install them. Only `find_excess` and `message_starts` use cffi in each call.
"""

from __future__ import annotations

import sys

if sys.implementation.name == "pypy":
    raise ImportError("the native MessagePack packer and unpacker use CPython's C API, which PyPy emulates too slowly")

from cpkg._native import _msgpack_ffi
from purepy.base.lazy import imported
from purepy.msgpack import interface
from purepy.msgpack.interface import *  # noqa: F403

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from cpkg._native.msgpack.starts import message_starts as message_starts
    from purepy.base.types import Named
    from purepy.msgpack import Packer as Packer
    from purepy.msgpack import Unpacker as Unpacker
    from purepy.msgpack import find_excess as find_excess
    from purepy.msgpack import pack as pack
    from purepy.msgpack import pack_into as pack_into
    from purepy.msgpack import packb as packb
    from purepy.msgpack import unpack as unpack
    from purepy.msgpack import unpack_async as unpack_async
    from purepy.msgpack import unpackb as unpackb
    from purepy.msgpack import unpackb_from as unpackb_from

    job_functions: Callable[..., object]
    typed_packb: Callable[..., object]
    TypedTable: Callable[..., object]
    TypedClass: Callable[..., object]

if not TYPE_CHECKING:  # mypy checks a module against a Protocol by the names in its `__all__`
    __all__ = [*interface.__all__, *interface.FUNCTIONS]

BACKEND = "native"
prepare_packb = prepare_unpackb = Rows = read_rows = None

_ffi, _lib = _msgpack_ffi.ffi, _msgpack_ffi.lib
LIBRARY_VERSION: str | None = "msgpack-c " + _ffi.string(_lib.cpkg_msgpack_version()).decode()

if _lib.cpkg_msgpack_install(_ffi.cast("void *", id(sys.modules[__name__]))) != 0:
    raise ImportError(_ffi.string(_lib.cpkg_msgpack_error()).decode(errors="replace"))

dump = pack
dumps = packb
load = unpack
loads = unpackb


def __getattr__(name: str) -> Named:
    """Return `unpack_async`, `find_excess` or `message_starts`, whose modules are imported at the first access."""
    if name == "unpack_async":
        made: object = imported("purepy.msgpack.async_reading").make_unpack_async(Unpacker)
    elif name == "find_excess":
        made = imported("cpkg._native.msgpack.weigher").find_excess
    elif name == "message_starts":
        made = imported("cpkg._native.msgpack.starts").message_starts
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, made)
