# SPDX-License-Identifier: Apache-2.0
"""
Read and return MessagePack, and compress bodies with Zstandard, in Django.

    MIDDLEWARE = ["cpkg.integrations.django.ZstdMiddleware", ...]

    from cpkg.integrations.django import MsgpackResponse, read_msgpack

    def view(request):
        order = read_msgpack(request)
        return MsgpackResponse({"accepted": order["id"]})
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, ClassVar

try:
    from django.core.exceptions import BadRequest, RequestDataTooBig
    from django.http import HttpResponse
    from django.utils.deprecation import MiddlewareMixin
except ImportError as exc:
    raise ImportError(f"cpkg.integrations.django needs Django: pip install django ({exc})") from exc

import cpkg
from cpkg import zstd
from cpkg.integrations import _content_coding as coding
from cpkg.integrations import _messages
from cpkg.typed.errors import ValidationError
from purepy.base.errors import CodecError, LimitError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from django.http import HttpRequest
    from typing_extensions import Buffer

__all__ = ["MsgpackResponse", "ZstdMiddleware", "read_msgpack"]


class MsgpackResponse(HttpResponse):
    """Respond with an object as MessagePack; it may contain any type that `cpkg.dumps` packs (docs/objects.md)."""

    def __init__(self, data: object, **options: object) -> None:
        options.setdefault("content_type", _messages.MEDIA_TYPE)
        super().__init__(content=cpkg.dumps(data, compress=False), **options)


def read_msgpack(request: HttpRequest, **options: object) -> Any:
    """
    Return the object in the body of a request; `options` are the options of `cpkg.loads`.

    Unless `max_output_size` is given, a compressed message is refused if its decompressed content is larger than the
    body, as it nearly always is. So clients send `dumps(..., compress=False)`, or use Content-Encoding.

    Raises BadRequest, which Django answers with 400, if the body has another media type, has a content coding that no
    middleware decoded, is damaged, exceeds a limit, or does not match the `type` in the options. Django itself limits
    the size of the body (DATA_UPLOAD_MAX_MEMORY_SIZE).
    """
    refusal = _messages.reason_to_refuse(request.content_type or "", request.META.get("HTTP_CONTENT_ENCODING", ""))
    if refusal:
        raise BadRequest(refusal)
    try:
        return _messages.unpack(request.body, **options)
    except ValidationError as exc:
        raise BadRequest(f"the body is not valid: {exc}") from exc
    except CodecError as exc:
        raise BadRequest(f"the body cannot be read as MessagePack: {exc}") from exc


class ZstdMiddleware(MiddlewareMixin):
    """
    Compress responses if the client accepts zstd, and decompress requests.

    Use it instead of Django's GZipMiddleware, or before it; GZipMiddleware then serves other clients. A subclass may
    set `level` (up to 19, default 3), `minimum_size` (bodies of fewer bytes are not compressed; default 500) and
    `max_request_size` (the limit in bytes for a decompressed request, default 16 MiB; Django also compares its
    DATA_UPLOAD_MAX_MEMORY_SIZE with the decompressed size). A damaged request is answered with 400, a request beyond a
    limit with 413.

    A streaming response is compressed in pieces, and each piece is flushed. Responses with a content coding or
    `Cache-Control: no-transform`, responses of a compressed type, event streams, partial content (206), and responses
    to HEAD are not compressed. A compressed body loses its digests (Content-Digest and similar headers).
    """

    level: ClassVar[int] = coding.LEVEL
    minimum_size: ClassVar[int] = coding.MINIMUM_SIZE
    max_request_size: ClassVar[int] = coding.MAX_REQUEST_SIZE

    def __init__(self, get_response: object) -> None:
        coding.check_level(self.level)
        super().__init__(get_response)

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        """Decompress the body if its coding is zstd, and return None; return a response if the request is refused."""
        if request.META.get("HTTP_CONTENT_ENCODING", "").strip().lower() != coding.CODING:
            return None
        try:
            # one byte more than the largest body shows that the body is too long
            body = request.read(coding.largest_body(self.max_request_size) + 1)
            data = coding.decompress_body(body, self.max_request_size)
        except (LimitError, RequestDataTooBig) as exc:
            return HttpResponse(f"the decompressed body is too large: {exc}", status=413, content_type="text/plain")
        except CodecError as exc:
            refusal = HttpResponse(f"the body cannot be decompressed: {exc}", status=400, content_type="text/plain")
            refusal["Accept-Encoding"] = coding.CODING
            return refusal
        for name in ("Content-Encoding", *coding.DIGESTS):
            request.META.pop("HTTP_" + name.upper().replace("-", "_"), None)
        request.__dict__.pop("headers", None)  # Django creates it again from META
        request.META["CONTENT_LENGTH"] = str(len(data))
        request._stream.close()  # with ASGI, this is a temporary file
        request._stream = io.BytesIO(data)
        request._read_started = False
        return None

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Return the response, with a compressed body if the client accepts zstd and the response may be compressed."""
        if (
            response.status_code in (204, 206, 304)
            or response.has_header("Content-Encoding")
            or not coding.is_worth_compressing(response.get("Content-Type", ""))
            or not coding.may_transform(response.get("Cache-Control", ""))
            or (not response.streaming and len(response.content) < self.minimum_size)
        ):
            return response
        response["Vary"] = coding.with_vary(response.get("Vary", ""))
        if request.method == "HEAD" or not coding.accepts_zstd(request.META.get("HTTP_ACCEPT_ENCODING", "")):
            return response
        if not response.streaming:
            response.content = zstd.compress(response.content, self.level)
            response["Content-Length"] = str(len(response.content))
        else:
            compressor = coding.BodyCompressor(self.level)
            pieces = response.streaming_content
            response.streaming_content = _later(compressor, pieces) if response.is_async else compressor.all_of(pieces)
            del response["Content-Length"]
        for name in coding.DIGESTS:
            del response[name]
        if response.has_header("ETag"):
            response["ETag"] = coding.weakened(response["ETag"])
        response["Content-Encoding"] = coding.CODING
        return response


async def _later(compressor: coding.BodyCompressor, pieces: AsyncIterator[Buffer]) -> AsyncIterator[bytes]:
    """Yield the compressed forms of pieces from an asynchronous iterator, then the end of the frame."""
    async for piece in pieces:
        out = compressor.compress(bytes(piece))
        if out:
            yield out
    yield compressor.finish()
