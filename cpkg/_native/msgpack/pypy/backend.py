# SPDX-License-Identifier: Apache-2.0
"""
The native MessagePack backend on PyPy.

The backend is the pure codec, with C where C is faster. C converts messages to the bytes of `marshal` and back until
compiled loops pay off (`marshal`), reads and writes lists of numbers (`decoder`, `scratch`), finds the end of a message
that arrives in pieces (`stream`), and arranges maps by columns (`rows`). Objects are packed into C memory (`pack`). The
pure codec handles hooks, rare options and errors in messages, so that the two backends do not differ there.
"""

from __future__ import annotations

from cpkg._native.cffi_modules import cffi_module
from purepy.base.lazy import lazy_names
from purepy.msgpack import interface
from purepy.msgpack.interface import *  # noqa: F403

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cpkg._native.msgpack.pypy.functions_pack import pack as pack
    from cpkg._native.msgpack.pypy.functions_pack import pack_into as pack_into
    from cpkg._native.msgpack.pypy.functions_pack import packb as packb
    from cpkg._native.msgpack.pypy.functions_pack import prepare_packb as prepare_packb
    from cpkg._native.msgpack.pypy.functions_unpack import prepare_unpackb as prepare_unpackb
    from cpkg._native.msgpack.pypy.functions_unpack import unpack as unpack
    from cpkg._native.msgpack.pypy.functions_unpack import unpackb as unpackb
    from cpkg._native.msgpack.pypy.functions_unpack import unpackb_from as unpackb_from
    from cpkg._native.msgpack.pypy.packer import Packer as Packer
    from cpkg._native.msgpack.pypy.rows import Rows as Rows
    from cpkg._native.msgpack.pypy.rows import read_rows as read_rows
    from cpkg._native.msgpack.pypy.stream import Unpacker as Unpacker
    from cpkg._native.msgpack.pypy.stream import unpack_async as unpack_async
    from cpkg._native.msgpack.starts import message_starts as message_starts
    from cpkg._native.msgpack.weigher import find_excess as find_excess

BACKEND = "native"
job_functions = typed_packb = TypedTable = TypedClass = None
_module = cffi_module("_msgpack_ffi")
LIBRARY_VERSION: str | None = "msgpack-c " + _module.ffi.string(_module.lib.cpkg_msgpack_version()).decode()

_HERE = "cpkg._native.msgpack.pypy"
__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(("dump", "dumps", "pack", "pack_into", "packb", "prepare_packb"), f"{_HERE}.functions_pack"),
        "Packer": f"{_HERE}.packer",
        **dict.fromkeys(
            ("load", "loads", "unpack", "unpackb", "unpackb_from", "prepare_unpackb"), f"{_HERE}.functions_unpack"
        ),
        **dict.fromkeys(("Unpacker", "unpack_async"), f"{_HERE}.stream"),
        "find_excess": "cpkg._native.msgpack.weigher",  # for `loads`
        **dict.fromkeys(("Rows", "read_rows"), f"{_HERE}.rows"),  # for record files
        "message_starts": "cpkg._native.msgpack.starts",
    },
)

if not TYPE_CHECKING:  # mypy checks a module against a Protocol by the names in its `__all__`
    __all__ = [*interface.__all__, *interface.FUNCTIONS]
