# SPDX-License-Identifier: Apache-2.0
"""The exceptions of MessagePack, under all the names in `msgpack.exceptions`."""

from __future__ import annotations

from purepy.base.errors import (
    BufferFull,
    CodecError,
    ExtraData,
    FormatError,
    LimitError,
    OutOfData,
    StackError,
    TruncatedError,
    UnpackException,
)

UnpackValueError = ValueError
PackException = Exception
PackValueError = ValueError
PackOverflowError = OverflowError

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
