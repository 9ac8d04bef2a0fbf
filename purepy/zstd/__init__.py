# SPDX-License-Identifier: Apache-2.0
"""
Zstandard (RFC 8878) in pure Python, for JITs and interpreters: a backend with the names of `compression.zstd` and more.
"""

from __future__ import annotations

import sys

from purepy.base.lazy import grouped_names, imported
from purepy.zstd.names import group_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from purepy.zstd.decoder.decompressor import ZstdDecompressor as ZstdDecompressor
    from purepy.zstd.encoder.compressor import ZstdCompressor as ZstdCompressor
    from purepy.zstd.made_names import *  # noqa: F403

BACKEND = "pure"
IS_WRAPPED = False
"""Whether the backend calls a libzstd through cffi. If so, `codec.library` makes the calls."""
RELEASES_GIL = False
"""Whether the codec releases the GIL, so that Python threads compress in parallel."""
HAS_LONG_MATCHES = False
"""Whether the codec supports long-distance matching."""
HAS_ARCHIVES = False
"""Whether the backend, if it is built for Linux, has C code for archives."""
LIBRARY_VERSION = None
compressing_queue = decompressing_queue = _job_calls = None
"""Parts in C, which only the `native` backend has (see `cpkg/_backend_protocols.py`); here they are None."""

zstd_version_info = (1, 5, 7)
"""The version of libzstd whose interface, limits and error codes this backend follows; it does not use the library."""
zstd_version = ".".join(map(str, zstd_version_info))

_BACKEND = sys.modules[__name__]
_TYPES = {
    "ZstdCompressor": "purepy.zstd.encoder.compressor",
    "ZstdDecompressor": "purepy.zstd.decoder.decompressor",
}


def _group(name: str) -> Mapping[str, object]:
    if name in _TYPES:
        return {name: getattr(imported(_TYPES[name]), name)}
    return group_of(name, _BACKEND, imported("purepy.zstd.functions").Functions)


__getattr__ = grouped_names(__name__, _group)
