# SPDX-License-Identifier: Apache-2.0
"""
MessagePack in pure Python: the whole surface of a backend, usable alone.

Its signatures and documentation are those of every backend; `cpkg.msgpack` gives the fastest.
"""

from __future__ import annotations

from purepy.errors import (
    BufferFull,
    CodecError,
    ExtraData,
    FormatError,
    LimitError,
    OutOfData,
    StackError,
    TruncatedError,
    UnpackException,
)
from purepy.msgpack.async_reading import make_unpack_async
from purepy.msgpack.ext import ExtType, Raw, Timestamp
from purepy.msgpack.oneshot import unpack, unpackb, unpackb_from
from purepy.msgpack.packer import Packer, pack, pack_into, packb
from purepy.msgpack.unpacker import Unpacker
from purepy.msgpack.weigher import find_excess  # noqa: F401 - for `cpkg.loads`

BACKEND = "pure"
LIBRARY_VERSION = None

# the release of msgpack that this replaces
version = (1, 2, 4)
__version__ = "1.2.4"

unpack_async = make_unpack_async(Unpacker)

dump = pack
dumps = packb
load = unpack
loads = unpackb

UnpackValueError = ValueError
PackException = Exception
PackValueError = ValueError
PackOverflowError = OverflowError

__all__ = [
    "BufferFull",
    "CodecError",
    "ExtType",
    "ExtraData",
    "FormatError",
    "LimitError",
    "OutOfData",
    "PackException",
    "PackOverflowError",
    "PackValueError",
    "Packer",
    "Raw",
    "StackError",
    "Timestamp",
    "TruncatedError",
    "UnpackException",
    "UnpackValueError",
    "Unpacker",
    "__version__",
    "dump",
    "dumps",
    "load",
    "loads",
    "pack",
    "pack_into",
    "packb",
    "unpack",
    "unpack_async",
    "unpackb",
    "unpackb_from",
    "version",
]
