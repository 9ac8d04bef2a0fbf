# SPDX-License-Identifier: Apache-2.0
"""
Store objects in Django's cache as MessagePack, compressed with Zstandard.

Django's own Redis backend (entries are compressed if that makes them smaller):

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

Reading an entry never runs code, unlike with pickle, which is Django's default.
"""

from __future__ import annotations

import re
import zlib
from http.cookies import CookieError
from typing import Any, ClassVar, Final, Literal

import cpkg
from cpkg import msgpack, zstd
from cpkg.integrations._messages import MAX_SIZE
from purepy.base.errors import CodecError, LimitError, ZstdError
from purepy.zstd.format.rules import is_frame

__all__ = ["EntryError", "MsgpackSerializer", "ZstdCompressor"]

_DIGITS = re.compile(rb"-?[0-9]{1,4300}")
"""An int as `dumps` writes it; Python reads at most 4300 digits."""
_RESPONSE: Final = ord("H")
"""The extension type of a response."""


class EntryError(CodecError, ValueError):
    """An entry of the cache is damaged, or was written by another serializer."""


class MsgpackSerializer:
    """
    Serialize with `cpkg.dumps`, for Django's Redis cache and for django-redis.

    Tuples and sets come back as lists, and Enum members as their values. Responses that `cache_page` stores come
    back as HttpResponse with their status, headers, cookies and content.

    The serializer can read entries that django-redis wrote with its own MSGPackSerializer. Ints are stored as digits,
    so that Redis can increment them. A subclass may set `max_output_size`, the limit in bytes for a decompressed entry
    (default 64 MiB).

    Raises TypeError for an object that cannot be packed, EntryError for an entry that is damaged or was written by
    another serializer, LimitError for an entry beyond a limit.
    """

    max_output_size: ClassVar[int] = MAX_SIZE

    def __init__(self, options: dict[str, object] | None = None) -> None:
        # with django-redis, a compressor may follow, and compressing twice is useless
        self._compress: Literal["auto", False] = False if options and options.get("COMPRESSOR") else "auto"

    def dumps(self, obj: object) -> bytes:
        """Pack an object; an int (not bool), or another object packed as an int 48 to 57, becomes decimal digits."""
        if isinstance(obj, int) and not isinstance(obj, bool):
            return str(int(obj)).encode()
        try:
            data = cpkg.dumps(obj, compress=self._compress)
        except TypeError:
            form = _response_form(obj)
            if form is None:
                raise
            data = cpkg.dumps(form, compress=self._compress)
        # another object that packs as an int from 48 to 57 (of numpy, for example) would look like a digit
        return str(data[0]).encode() if _DIGITS.fullmatch(data) else data

    def loads(self, data: Any) -> Any:
        """Unpack an entry of `dumps` or of django-redis' MSGPackSerializer, or an int that Redis incremented."""
        if _DIGITS.fullmatch(data):
            return int(data)
        try:
            value = cpkg.loads(data, max_output_size=self.max_output_size)
            return _response(value.data) if type(value) is msgpack.ExtType and value.code == _RESPONSE else value
        except (LimitError, EntryError):
            raise
        except CodecError as exc:
            raise EntryError(
                f"the entry cannot be read as MessagePack: {exc} (If another serializer wrote it, such as pickle, "
                "Django's default: clear the cache, or set another KEY_PREFIX.)"
            ) from exc


def _response_form(obj: Any) -> msgpack.ExtType | None:
    """Return an ExtType that holds an HttpResponse, which `cache_page` stores; None for any other object."""
    from django.http import HttpResponse

    if not isinstance(obj, HttpResponse):
        return None
    cookies = [morsel.OutputString() for morsel in obj.cookies.values()]
    parts = [obj.status_code, obj.reason_phrase, dict(obj.items()), cookies, obj.content]
    return msgpack.ExtType(_RESPONSE, msgpack.packb(parts))


def _response(data: bytes) -> object:
    """Return the response in the data of an ExtType of `_response_form`; raises EntryError for any other data."""
    from django.http import HttpResponse

    try:
        status, reason, headers, cookies, content = msgpack.unpackb(data)
        response = HttpResponse(content, status=status, reason=reason, headers=headers)
        for cookie in cookies:
            response.cookies.load(cookie)
    except (CodecError, CookieError, OverflowError, ValueError, TypeError, LookupError, AttributeError) as exc:
        raise EntryError(f"the entry does not contain a stored response: {exc}") from exc
    return response


class ZstdCompressor:
    """
    Compress with Zstandard, for django-redis.

    It can also read entries of ZlibCompressor. A subclass may set `level` (default 3), `minimum_size` (values of fewer
    bytes are not compressed; default 128) and `limit`, the largest decompressed size in bytes (default 64 MiB).
    """

    level: ClassVar[int] = zstd.COMPRESSION_LEVEL_DEFAULT
    minimum_size: ClassVar[int] = 128
    limit: ClassVar[int] = MAX_SIZE

    def __init__(self, options: dict[str, object] | None = None) -> None:
        pass

    def compress(self, value: bytes) -> bytes:
        """
        Return one frame, or the value itself if it has fewer than `minimum_size` bytes or the frame is not smaller.
        """
        if len(value) < self.minimum_size:
            return value
        frame = zstd.compress(value, self.level)
        return frame if len(frame) < len(value) else value

    def decompress(self, value: bytes) -> bytes:
        """
        Return the value of an entry.

        Raises LimitError beyond `limit` and for a window of more than 128 MiB, and CompressorError of django-redis for
        an entry that is damaged or not compressed, which django-redis then passes to the serializer unchanged.
        """
        from django_redis.exceptions import CompressorError

        try:
            if is_frame(value):
                return zstd.decompress(value, max_output_size=self.limit)
            return self._inflate(value)
        except LimitError as exc:  # an error with a code is about the window's limit, which is fixed
            larger = "" if getattr(exc, "code", None) else ", or set a larger `limit` in a subclass of ZstdCompressor"
            exc.advice = f"delete the entry{larger}"
            raise
        except (ZstdError, zlib.error) as exc:
            raise CompressorError(str(exc)) from exc

    def _inflate(self, value: bytes) -> bytes:
        stream = zlib.decompressobj()
        data = stream.decompress(value, self.limit + 1)
        if len(data) > self.limit:
            raise LimitError(f"decompressed data is larger than limit ({self.limit} bytes)")
        if not stream.eof:
            raise zlib.error("expected a complete zlib stream, found a truncated one: delete the entry")
        return data
