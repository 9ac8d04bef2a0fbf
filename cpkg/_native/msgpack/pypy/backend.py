# SPDX-License-Identifier: Apache-2.0
"""
The native MessagePack backend on PyPy.

It is the pure codec with C where C is faster: C turns messages into the bytes of `marshal` and back while loops are
cold, reads and writes lists of numbers (`decoder`, `scratch`), finds where a message ends that comes in pieces
(`stream`), and owns the memory that objects are packed into (`pack`). Whatever these do not serve (hooks, seldom used
options, and every error) is the pure codec's, so that the two backends cannot differ.
"""

from __future__ import annotations

from cpkg._native.cffi_modules import cffi_module
from purepy._lazy import lazy_names
from purepy.msgpack import interface
from purepy.msgpack.interface import *  # noqa: F403

BACKEND = "native"
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

__all__ = [*interface.__all__, *interface.FUNCTIONS]
