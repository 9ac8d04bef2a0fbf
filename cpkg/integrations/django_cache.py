# SPDX-License-Identifier: Apache-2.0
"""
Keep objects as MessagePack, compressed with Zstandard, in Django's cache.

Django's own Redis backend (entries are compressed where that makes them smaller):

    CACHES = {"default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": "redis://127.0.0.1:6379",
        "OPTIONS": {"serializer": "cpkg.integrations.django_cache.MsgpackSerializer"},
    }}

django-redis:

    "OPTIONS": {
        "SERIALIZER": "cpkg.integrations.django_cache.MsgpackSerializer",
        "COMPRESSOR": "cpkg.integrations.django_cache.ZstdCompressor",
    }

Nothing in an entry can make code run when it is read, as it can with pickle, Django's default.
"""

from __future__ import annotations

import re
import zlib
from typing import Any, ClassVar, Literal

import cpkg
from cpkg import zstd
from cpkg.integrations._messages import MAX_SIZE
from purepy.base.errors import CodecError, LimitError, ZstdError
from purepy.zstd.format.rules import is_frame

__all__ = ["EntryError", "MsgpackSerializer", "ZstdCompressor"]

_DIGITS = re.compile(rb"-?[0-9]{1,4300}")
"""An int as `dumps` writes it; Python reads no more digits."""


class EntryError(CodecError, ValueError):
    """An entry of the cache is damaged, or was written by another serializer."""


class MsgpackSerializer:
    """
    Serialize with `cpkg.dumps`, for Django's Redis cache and for django-redis.

    Entries that django-redis wrote with its own MSGPackSerializer are read. Ints are kept as digits, so that Redis
    itself can increment them. A subclass may set `max_output_size`, the limit in bytes of a decompressed entry
    (default 64 MiB).

    Raises TypeError for an object that cannot be packed, EntryError for an entry that is damaged or was written by
    another serializer, LimitError for one that exceeds a limit.
    """

    max_output_size: ClassVar[int] = MAX_SIZE

    def __init__(self, options: dict[str, object] | None = None) -> None:
        # with django-redis a compressor may come after this one, and compressing twice gains nothing
        self._compress: Literal["auto", False] = False if options and options.get("COMPRESSOR") else "auto"

    def dumps(self, obj: object) -> bytes:
        """Pack an object; an int, or what packs as one of a digit's code, becomes its decimal digits."""
        if isinstance(obj, int) and not isinstance(obj, bool):
            return str(int(obj)).encode()
        data = cpkg.dumps(obj, compress=self._compress)
        # what is no int and packs as one of 48 to 57 (of numpy, say) would be taken for a digit
        return str(data[0]).encode() if _DIGITS.fullmatch(data) else data

    def loads(self, data: Any) -> Any:
        """Unpack what `dumps` returned, or what Redis made of it."""
        if _DIGITS.fullmatch(data):
            return int(data)
        try:
            return cpkg.loads(data, max_output_size=self.max_output_size)
        except LimitError:
            raise
        except CodecError as exc:
            raise EntryError(
                f"the entry cannot be read as MessagePack: {exc} (If another serializer wrote it, such as pickle, "
                "Django's default: clear the cache, or set another KEY_PREFIX.)"
            ) from exc


class ZstdCompressor:
    """
    Compress with Zstandard, for django-redis.

    Entries of its ZlibCompressor are read. A subclass may set `level` (default 3), `minimum_size` (bytes below which
    a value is kept as it is, default 128) and `limit`, the largest decompressed size in bytes (default 64 MiB).
    """

    level: ClassVar[int] = zstd.COMPRESSION_LEVEL_DEFAULT
    minimum_size: ClassVar[int] = 128
    limit: ClassVar[int] = MAX_SIZE

    def __init__(self, options: dict[str, object] | None = None) -> None:
        pass

    def compress(self, value: bytes) -> bytes:
        """Return one frame, or the value itself if that is no larger."""
        if len(value) < self.minimum_size:
            return value
        frame = zstd.compress(value, self.level)
        return frame if len(frame) < len(value) else value

    def decompress(self, value: bytes) -> bytes:
        """
        Return the value of an entry.

        Raises LimitError beyond `limit`, and django-redis's CompressorError for an entry that is not compressed, or
        damaged: it then goes to the serializer as it is.
        """
        from django_redis.exceptions import CompressorError

        try:
            if is_frame(value):
                return zstd.decompress(value, max_output_size=self.limit)
            return self._inflate(value)
        except LimitError:
            raise
        except (ZstdError, zlib.error) as exc:
            raise CompressorError(str(exc)) from exc

    def _inflate(self, value: bytes) -> bytes:
        stream = zlib.decompressobj()
        data = stream.decompress(value, self.limit + 1)
        if len(data) > self.limit:
            raise LimitError(f"a cached value exceeds {self.limit} bytes when it is decompressed")
        if not stream.eof:
            raise zlib.error("the value is cut short")
        return data
