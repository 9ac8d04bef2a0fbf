# SPDX-License-Identifier: Apache-2.0
"""
The exceptions of every codec, backend and format: one tree, under CodecError.

Drop-ins have them under the names of what they replace, too (`cpkg.msgpack.OutOfData`, `cpkg.zstd.ZstdError`).
"""

from __future__ import annotations

from purepy.base.errors import ArchiveError as ArchiveError
from purepy.base.errors import ArchiveLimitError as ArchiveLimitError
from purepy.base.errors import BufferFull as BufferFull
from purepy.base.errors import CodecError as CodecError
from purepy.base.errors import ExtraData as ExtraData
from purepy.base.errors import FormatError as FormatError
from purepy.base.errors import LimitError as LimitError
from purepy.base.errors import OutOfData as OutOfData
from purepy.base.errors import SeekableFormatError as SeekableFormatError
from purepy.base.errors import StackError as StackError
from purepy.base.errors import TruncatedError as TruncatedError
from purepy.base.errors import UnpackException as UnpackException
from purepy.base.errors import UnsafeEntryError as UnsafeEntryError
from purepy.base.errors import ZstdError as ZstdError
from purepy.base.errors import ZstdLimitError as ZstdLimitError

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
