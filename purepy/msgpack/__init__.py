# SPDX-License-Identifier: Apache-2.0
"""
MessagePack in pure Python: a backend that works without cpkg, except for the option `type`.

All backends have the signatures and documentation of this module. `cpkg.msgpack` selects the fastest backend.
"""

from __future__ import annotations

from purepy.base.lazy import lazy_names
from purepy.msgpack import interface
from purepy.msgpack.interface import *  # noqa: F403

BACKEND = "pure"
LIBRARY_VERSION = None
job_functions = typed_packb = TypedTable = TypedClass = Rows = read_rows = message_starts = None
"""None for the parts of a backend that need compiled code (see `cpkg/_backend_protocols.py`)."""

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
