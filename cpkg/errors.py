# SPDX-License-Identifier: Apache-2.0
"""
The exceptions of every codec, backend and format: one tree, under CodecError.

Drop-ins have them under the names of what they replace, too (`cpkg.msgpack.OutOfData`, `cpkg.zstd.ZstdError`).
"""

from __future__ import annotations

from purepy.errors import ArchiveError as ArchiveError
from purepy.errors import ArchiveLimitError as ArchiveLimitError
from purepy.errors import BufferFull as BufferFull
from purepy.errors import CodecError as CodecError
from purepy.errors import ExtraData as ExtraData
from purepy.errors import FormatError as FormatError
from purepy.errors import LimitError as LimitError
from purepy.errors import OutOfData as OutOfData
from purepy.errors import SeekableFormatError as SeekableFormatError
from purepy.errors import StackError as StackError
from purepy.errors import TruncatedError as TruncatedError
from purepy.errors import UnpackException as UnpackException
from purepy.errors import UnsafeEntryError as UnsafeEntryError
from purepy.errors import ZstdError as ZstdError
from purepy.errors import ZstdLimitError as ZstdLimitError

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
