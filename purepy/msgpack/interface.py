# SPDX-License-Identifier: Apache-2.0
"""The public names of every MessagePack backend: the shared objects, and the names that each backend defines."""

from __future__ import annotations

from purepy.msgpack import exceptions
from purepy.msgpack.exceptions import *  # noqa: F403
from purepy.msgpack.ext import ExtType, Raw, Timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from purepy.base.types import Named

version = (1, 2, 4)
"""The release of `msgpack` that this package replaces."""

__version__ = "1.2.4"

HEAVIEST: Final = 96
"""The largest weight per byte of a valid message (see `weigher`): `81 c0 81 c0 ...`, nested maps of one pair."""

METERED_PAIRS: Final = 8
METERED_NUMBERS: Final = 512
"""`key_meter` checks keys only in maps of at least so many pairs; METERED_NUMBERS is for keys of NUMBER_TYPES."""

NUMBER_TYPES: Final = (int, float, bool, type(None))
"""Types of keys that can always be hashed and that compare fast."""

typed: object = None
"""The module with the functions for `type=`; `cpkg` sets it."""


def typed_functions() -> Named:
    """Return the module with the functions for `type=`; raise TypeError without `cpkg`."""
    if typed is None:
        raise TypeError("purepy.msgpack does not support type=: use cpkg.msgpack")
    return typed


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
"""The names that each backend defines."""

__all__ = ["ExtType", "Raw", "Timestamp", "__version__", "version"]
__all__ += exceptions.__all__
