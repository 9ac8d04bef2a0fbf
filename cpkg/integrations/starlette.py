# SPDX-License-Identifier: Apache-2.0
"""
Answer and read MessagePack in Starlette and FastAPI; `ZstdMiddleware` is that of `cpkg.integrations.asgi`.

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
    raise ImportError("cpkg.integrations.starlette needs starlette: pip install starlette") from exc

import cpkg
from cpkg.integrations import _messages
from cpkg.integrations._content_coding import MAX_REQUEST_SIZE
from cpkg.integrations.asgi import ZstdMiddleware
from purepy.base.errors import CodecError

__all__ = ["MsgpackResponse", "ZstdMiddleware", "read_msgpack"]


class MsgpackResponse(Response):
    """Respond with an object as MessagePack: the types of `cpkg.dumps` (docs/objects.md)."""

    media_type = _messages.MEDIA_TYPE

    def render(self, content: object) -> bytes:
        """Pack the content; TypeError for an object that cannot be packed."""
        return cpkg.dumps(content, compress=False)


async def read_msgpack(request: Request, *, max_size: int = MAX_REQUEST_SIZE, **options: object) -> Any:
    """
    Return the object in a request's body; `options` are those of `cpkg.loads`.

    Raises HTTPException: 415 for another type of body, or one with a coding that no middleware has decoded, 413 for
    one of more than `max_size` bytes (default 16 MiB), 400 for one that is damaged or exceeds a limit of `cpkg.loads`.
    """
    refusal = _messages.reason_to_refuse(*(request.headers.get(f"content-{name}", "") for name in ("type", "encoding")))
    if refusal:
        raise HTTPException(415, refusal)
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > max_size:
            raise HTTPException(413, f"the body exceeds {max_size} bytes")
    try:
        return _messages.unpack(bytes(body), **options)
    except CodecError as exc:
        raise HTTPException(400, f"the body cannot be read as MessagePack: {exc}") from exc
