# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F403, F405
"""
The exceptions of every codec, backend and format: one tree, under CodecError.

Drop-ins have them under the names of what they replace, too (`cpkg.msgpack.OutOfData`, `cpkg.zstd.ZstdError`).
"""

from __future__ import annotations

from purepy.base.errors import *

__all__ = [
    "ArchiveError",
    "ArchiveLimitError",
    "BufferFull",
    "CodecError",
    "ExtraData",
    "FormatError",
    "LimitError",
    "OutOfData",
    "SeekableFormatError",
    "StackError",
    "TruncatedError",
    "UnpackException",
    "UnsafeEntryError",
    "ZstdError",
    "ZstdLimitError",
]
