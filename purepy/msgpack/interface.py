# SPDX-License-Identifier: Apache-2.0
"""The public names of every MessagePack backend: those that all share, and those that each makes for itself."""

from __future__ import annotations

from purepy.msgpack import exceptions
from purepy.msgpack.exceptions import *  # noqa: F403
from purepy.msgpack.ext import ExtType, Raw, Timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

version = (1, 2, 4)
"""The release of msgpack that this replaces."""

__version__ = "1.2.4"

HEAVIEST: Final = 96
"""No message that unpacks weighs more than this per byte (see `weigher`): `81 c0 81 c0 ...`, maps of one pair."""

FUNCTIONS: Final = [
    "Packer",
    "Unpacker",
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
]
"""The names of what differs from backend to backend."""

DOCUMENTATION: Final = {
    "unpackb": """
    Unpack the one object that `packed`, a buffer of one-byte items, holds (replaces `msgpack.unpackb`).

    Options and errors are those of Unpacker, except that the limits of -1 come from the size of the input, and that
    input that ends within the object raises TruncatedError, further bytes ExtraData (with the object in `unpacked`).
    """,
    "unpackb_from": """
    Unpack the object that starts `offset` bytes into a buffer; return it and the offset of its end.

    Bytes behind it are ignored. Options and errors are those of `unpackb`; offsets count from the buffer's start.
    """,
    "unpack": """Unpack the one object that the rest of a stream holds (replaces `msgpack.unpack`). As `unpackb`.""",
}
"""Of functions that more than one backend makes of others, without loading one of them for it."""

__all__ = ["ExtType", "Raw", "Timestamp", "__version__", "version"]
__all__ += exceptions.__all__
