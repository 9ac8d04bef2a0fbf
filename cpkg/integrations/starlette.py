# SPDX-License-Identifier: Apache-2.0
"""
Read and return MessagePack in Starlette and FastAPI; `ZstdMiddleware` comes from `cpkg.integrations.asgi`.

    from cpkg.integrations.starlette import MsgpackResponse, read_msgpack

    async def endpoint(request):
        order = await read_msgpack(request)
        return MsgpackResponse({"accepted": order["id"]})
"""

from __future__ import annotations

from typing import Any

try:
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response
except ImportError as exc:
    raise ImportError(f"cpkg.integrations.starlette needs starlette: pip install starlette ({exc})") from exc

import cpkg
from cpkg.integrations import _messages
from cpkg.integrations._content_coding import MAX_REQUEST_SIZE
from cpkg.integrations.asgi import ZstdMiddleware
from cpkg.typed.errors import ValidationError
from purepy.base.errors import CodecError

__all__ = ["InvalidBody", "MsgpackResponse", "ZstdMiddleware", "read_msgpack"]


class InvalidBody(HTTPException):
    """
    The body of a request is MessagePack, but does not match the requested type; the answer is 422.

    `errors` has a dict for each error, as in FastAPI: `loc` is "body" and the path to the value, `msg` the message.
    """

    def __init__(self, error: ValidationError) -> None:
        super().__init__(422, f"the body is not valid: {error}")
        self.errors = _messages.errors_of(error)


class MsgpackResponse(Response):
    """Respond with an object as MessagePack; it may contain any type that `cpkg.dumps` packs (docs/objects.md)."""

    media_type = _messages.MEDIA_TYPE

    def render(self, content: object) -> bytes:
        """Pack the content; raises TypeError for an object that cannot be packed."""
        return cpkg.dumps(content, compress=False)


async def read_msgpack(request: Request, *, max_size: int = MAX_REQUEST_SIZE, **options: object) -> Any:
    """
    Return the object in the body of a request; `options` are the options of `cpkg.loads`.

    Unless `max_output_size` is given, a compressed message is refused if its decompressed content is larger than the
    body, as it nearly always is. So clients send `dumps(..., compress=False)`, or use Content-Encoding.

    Raises HTTPException: 415 if the body has another media type or a content coding that no middleware decoded, 413 if
    it has more than `max_size` bytes (default 16 MiB), 400 if it is damaged or exceeds a limit of `cpkg.loads`, and
    InvalidBody (422) if it does not match the `type` in the options.
    """
    refusal = _messages.reason_to_refuse(*(request.headers.get(f"content-{name}", "") for name in ("type", "encoding")))
    if refusal:
        raise HTTPException(415, refusal)
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > max_size:
            raise HTTPException(
                413,
                f"expected a body of at most {max_size} bytes: send a smaller body, or raise max_size",
            )
    try:
        return _messages.unpack(bytes(body), **options)
    except ValidationError as exc:
        raise InvalidBody(exc) from exc
    except CodecError as exc:
        raise HTTPException(400, f"the body cannot be read as MessagePack: {exc}") from exc
