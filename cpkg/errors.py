# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F403, F405
"""
The exceptions of all codecs, backends and formats: one tree, under CodecError.

The drop-ins also have the exceptions of the original packages (`cpkg.msgpack.OutOfData`, `cpkg.zstd.ZstdError`).
"""

from __future__ import annotations

from purepy.base.errors import *
from purepy.base.lazy import public_dir

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
__dir__ = public_dir(__name__)
