# SPDX-License-Identifier: Apache-2.0
"""The exceptions of MessagePack (replaces `msgpack.exceptions`)."""

from __future__ import annotations

from purepy.msgpack.exceptions import (
    BufferFull,
    CodecError,
    ExtraData,
    FormatError,
    LimitError,
    OutOfData,
    PackException,
    PackOverflowError,
    PackValueError,
    StackError,
    TruncatedError,
    UnpackException,
    UnpackValueError,
)

__all__ = [
    "BufferFull",
    "CodecError",
    "ExtraData",
    "FormatError",
    "LimitError",
    "OutOfData",
    "PackException",
    "PackOverflowError",
    "PackValueError",
    "StackError",
    "TruncatedError",
    "UnpackException",
    "UnpackValueError",
]
