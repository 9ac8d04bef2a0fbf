# SPDX-License-Identifier: Apache-2.0
"""The public names of every MessagePack backend: those that all share, and those that each makes for itself."""

from __future__ import annotations

from purepy.msgpack import exceptions
from purepy.msgpack.exceptions import *  # noqa: F403
from purepy.msgpack.ext import ExtType, Raw, Timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from purepy.base.types import Named

version = (1, 2, 4)
"""The release of msgpack that this replaces."""

__version__ = "1.2.4"

HEAVIEST: Final = 96
"""No message that unpacks weighs more than this per byte (see `weigher`): `81 c0 81 c0 ...`, maps of one pair."""

METERED_PAIRS: Final = 8
METERED_NUMBERS: Final = 512
"""In maps of fewer pairs, or numbers, it takes little time that keys may collide (see `key_meter`)."""

NUMBER_TYPES: Final = (int, float, bool, type(None))
"""Types of keys whose hash never fails and that are compared fast."""

typed: object = None
"""What has the functions that serve `type=`; `cpkg` sets it."""


def typed_functions() -> Named:
    """Return what serves `type=`; TypeError where there is no `cpkg`."""
    if typed is None:
        raise TypeError("type= is for cpkg.msgpack: purepy alone has no typed messages")
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
"""The names of what differs from backend to backend."""

__all__ = ["ExtType", "Raw", "Timestamp", "__version__", "version"]
__all__ += exceptions.__all__
