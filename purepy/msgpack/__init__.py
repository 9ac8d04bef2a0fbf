# SPDX-License-Identifier: Apache-2.0
"""
MessagePack in pure Python: the whole surface of a backend, usable alone.

Its signatures and documentation are those of every backend; `cpkg.msgpack` gives the fastest.
"""

from __future__ import annotations

from purepy.base.lazy import lazy_names
from purepy.msgpack import interface
from purepy.msgpack.interface import *  # noqa: F403

BACKEND = "pure"
LIBRARY_VERSION = None
job_functions = typed_packb = TypedTable = TypedClass = Rows = read_rows = message_starts = None
"""What C has of a backend (`cpkg/_backend_protocols.py`)."""

__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(
            ("Packer", "dump", "dumps", "pack", "pack_into", "packb", "prepare_packb"), "purepy.msgpack.packer"
        ),
        **dict.fromkeys(
            ("load", "loads", "unpack", "unpackb", "unpackb_from", "prepare_unpackb"), "purepy.msgpack.oneshot"
        ),
        **dict.fromkeys(("Unpacker", "unpack_async"), "purepy.msgpack.unpacker"),
        "find_excess": "purepy.msgpack.weigher",  # for `cpkg.loads`
    },
)

__all__ = [*interface.__all__, *interface.FUNCTIONS]
