# SPDX-License-Identifier: Apache-2.0
"""
The native MessagePack backend: the compiled module's builtins, and the types that all backends share.

On CPython the compiled module writes its functions and types (Packer, Unpacker, packb, ...) into this namespace,
after it took from it the exceptions and value types that they use. Calling them costs what any builtin costs; cffi is
crossed once, here.
"""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

if platform.python_implementation() == "PyPy":
    raise ImportError("the native MessagePack packer and unpacker use CPython's C API, which PyPy emulates too slowly")

from cpkg._native import _msgpack_ffi
from cpkg._native.msgpack.weigher import find_excess  # noqa: F401 - for `loads`
from purepy._writing import write_rest  # noqa: F401 - the builtins take it from here
from purepy.msgpack import interface
from purepy.msgpack.async_reading import make_unpack_async
from purepy.msgpack.conversions import NOT_CONVERTED, convert  # noqa: F401 - the builtins take them from here
from purepy.msgpack.ext import ExtType
from purepy.msgpack.interface import *  # noqa: F403

if TYPE_CHECKING:
    import inspect

    from purepy.msgpack import Unpacker, pack, packb, unpack, unpackb

__all__ = [*interface.__all__, *interface.FUNCTIONS]

BACKEND = "native"


def signature_of(text: str) -> inspect.Signature:
    """Return the signature that `text` spells: the builtins keep theirs as text, with ExtType as a default."""
    import inspect  # slow to import, and seldom asked for

    namespace: dict[str, Any] = {"ExtType": ExtType}
    exec(f"def function{text}: ...", namespace)
    return inspect.signature(namespace["function"])


class _SignatureOfClass:
    """The `__signature__` of one class, made when it is asked for; a subclass has its own."""

    def __init__(self, owner: type, text: str) -> None:
        self._owner = owner
        self._text = text

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        if owner is not self._owner:
            raise AttributeError("__signature__")
        return signature_of(self._text)


_ffi, _lib = _msgpack_ffi.ffi, _msgpack_ffi.lib
LIBRARY_VERSION: str | None = "msgpack-c " + _ffi.string(_lib.cpkg_msgpack_version()).decode()

if _lib.cpkg_msgpack_install(_ffi.cast("void *", id(globals()))) != 0:
    raise ImportError(_ffi.string(_lib.cpkg_msgpack_error()).decode(errors="replace"))

for _name in ("Packer", "Unpacker"):
    _class = globals()[_name]
    _text = getattr(_lib, f"cpkg_msgpack_{_name.lower()}_signature")()
    _class.__signature__ = _SignatureOfClass(_class, _ffi.string(_text).decode())

unpack_async = make_unpack_async(Unpacker)

dump = pack
dumps = packb
load = unpack
loads = unpackb
