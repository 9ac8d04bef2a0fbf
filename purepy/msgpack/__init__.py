# SPDX-License-Identifier: Apache-2.0
"""
MessagePack in pure Python: the whole surface of a backend, usable alone.

Its signatures and documentation are those of every backend; `cpkg.msgpack` gives the fastest.
"""

from __future__ import annotations

from purepy.msgpack import interface
from purepy.msgpack.async_reading import make_unpack_async
from purepy.msgpack.interface import *  # noqa: F403
from purepy.msgpack.oneshot import unpack, unpackb, unpackb_from  # noqa: F401 - in FUNCTIONS
from purepy.msgpack.packer import Packer, pack, pack_into, packb  # noqa: F401 - in FUNCTIONS
from purepy.msgpack.unpacker import Unpacker
from purepy.msgpack.weigher import find_excess  # noqa: F401 - for `cpkg.loads`

BACKEND = "pure"
LIBRARY_VERSION = None

unpack_async = make_unpack_async(Unpacker)

dump = pack
dumps = packb
load = unpack
loads = unpackb

__all__ = [*interface.__all__, *interface.FUNCTIONS]
