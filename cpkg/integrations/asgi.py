# SPDX-License-Identifier: Apache-2.0
"""
Compress responses, and decompress requests, with Zstandard in any ASGI application (Starlette, FastAPI, Quart, ...).

    from cpkg.integrations.asgi import ZstdMiddleware

    app = ZstdMiddleware(app)                          # any ASGI application
    app = Starlette(middleware=[Middleware(ZstdMiddleware, level=5)])
    app.add_middleware(ZstdMiddleware)                 # FastAPI

Use it instead of a GZip middleware, or around one, which then serves the clients that do not accept zstd.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, MutableMapping
from typing import Any, Callable

from cpkg import zstd
from cpkg.integrations import _content_coding as coding
from purepy.base.errors import CodecError, LimitError

__all__ = ["ZstdMiddleware"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class ZstdMiddleware:
    """
    Serve an ASGI application, with bodies compressed with Zstandard if the client accepts it.

    level: the Zstandard level, up to 19 (default 3). Higher levels raise ValueError, because clients may refuse their
    windows (RFC 9659).
    minimum_size: a complete body of fewer bytes is not compressed (default 500).
    max_request_size: the limit in bytes for a decompressed request (default 16 MiB). A compressed request is read
    completely before the application is called. The answer to a request beyond the limit is 413, to a damaged request
    400. If the client disconnects before the end of the body, the application receives only the disconnect.

    A body that comes in pieces is compressed in pieces. Each piece is flushed, so that the client can read it at once.
    Bodies with a content coding or `Cache-Control: no-transform`, bodies of a compressed type (image, video, zip, ...),
    event streams, partial content (206), and responses to HEAD are not compressed. A compressed body loses its digests
    (Content-Digest and similar headers).
    """

    def __init__(
        self,
        app: App,
        *,
        level: int = coding.LEVEL,
        minimum_size: int = coding.MINIMUM_SIZE,
        max_request_size: int = coding.MAX_REQUEST_SIZE,
    ) -> None:
        self.app = app
        self.level = coding.check_level(level)
        self.minimum_size = minimum_size
        self.max_request_size = max_request_size

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request; other connections, such as WebSocket, are left to the application unchanged."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if _header(scope["headers"], b"content-encoding").lower() == coding.CODING:
            try:
                scope, receive = await self._decompressed(scope, receive)
            except LimitError as exc:
                await _refuse(send, 413, f"the decompressed body is too large: {exc}")
                return
            except CodecError as exc:
                await _refuse(send, 400, f"the body cannot be decompressed: {exc}")
                return
        accepted = coding.accepts_zstd(_header(scope["headers"], b"accept-encoding"))
        if scope["method"] == "HEAD":
            await self.app(scope, receive, send)
        else:
            await self.app(scope, receive, _Response(self, send, accepted).send)

    async def _decompressed(self, scope: Scope, receive: Receive) -> tuple[Scope, Receive]:
        """
        Read and decompress the body; return the scope and `receive` function that pass the body to the application.

        If the client disconnects before the end of the body, the application gets the disconnect instead.

        Raises LimitError for a body that is too large, and ZstdError for a damaged or incomplete body.
        """
        pieces = []
        size = 0
        message: Message = {"more_body": True}
        while message.get("more_body", False) and size <= coding.largest_body(self.max_request_size):
            message = await receive()
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
        headers = list(scope["headers"])
        _drop(headers, "Content-Encoding", *coding.DIGESTS)
        if message["type"] == "http.request":
            body = coding.decompress_body(b"".join(pieces), self.max_request_size)
            _set(headers, b"content-length", str(len(body)))
            message = {"type": "http.request", "body": body, "more_body": False}
        is_given = False

        async def receive_first() -> Message:
            nonlocal is_given
            if is_given:
                return await receive()
            is_given = True
            return message

        return {**scope, "headers": headers}, receive_first


class _Response:
    """Holds back the start of a response until its first piece shows whether to compress it."""

    def __init__(self, middleware: ZstdMiddleware, send: Send, accepted: bool) -> None:
        self._middleware = middleware
        self._send = send
        self._accepted = accepted
        self._start: Message | None = None
        self._compressor: coding.BodyCompressor | None = None

    async def send(self, message: Message) -> None:
        """Send a message of the application; hold back the start message until `_begin` decides about compression."""
        if message["type"] == "http.response.start":
            self._start = message
            return
        if self._start is not None:
            start, self._start = self._start, None
            if message["type"] == "http.response.body":
                message = self._begin(start, message)
            await self._send(start)
        elif self._compressor is not None and message["type"] == "http.response.body":
            piece = bytes(message.get("body", b""))
            is_last = not message.get("more_body", False)
            body = self._compressor.finish(piece) if is_last else self._compressor.compress(piece)
            if not body and not is_last:
                return
            message = {**message, "body": body}
        await self._send(message)

    def _begin(self, start: Message, message: Message) -> Message:
        """Decide whether to compress, set the headers in `start`, and return the first body message to send."""
        headers: list[tuple[bytes, bytes]] = list(start.get("headers", ()))
        if not coding.is_worth_compressing(_header(headers, b"content-type")) or not coding.may_transform(
            _header(headers, b"cache-control")
        ):
            return message
        body = bytes(message.get("body", b""))
        is_whole = not message.get("more_body", False)
        can_be = (
            start["status"] not in (204, 206, 304)
            and not _header(headers, b"content-encoding")
            and (len(body) >= self._middleware.minimum_size or not is_whole)
        )
        if can_be:
            _set(headers, b"vary", coding.with_vary(_header(headers, b"vary")))
        if can_be and self._accepted:
            etag = _header(headers, b"etag")
            if etag:
                _set(headers, b"etag", coding.weakened(etag))
            _set(headers, b"content-encoding", coding.CODING)
            _drop(headers, "Content-Length", *coding.DIGESTS)
            if is_whole:
                body = zstd.compress(body, self._middleware.level)
                _set(headers, b"content-length", str(len(body)))
            else:
                self._compressor = coding.BodyCompressor(self._middleware.level)
                body = self._compressor.compress(body)
            message = {**message, "body": body}
        start["headers"] = headers
        return message


def _header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str:
    """Return all values of a header, joined by commas; "" if it is missing."""
    values: list[bytes] = [value for key, value in headers if key.lower() == name]
    return b", ".join(values).decode("latin-1")


def _drop(headers: list[tuple[bytes, bytes]], *names: str) -> None:
    dropped = {name.lower().encode() for name in names}
    headers[:] = [(name, value) for name, value in headers if name.lower() not in dropped]


def _set(headers: list[tuple[bytes, bytes]], name: bytes, value: str) -> None:
    _drop(headers, name.decode())
    headers.append((name, value.encode("latin-1")))


async def _refuse(send: Send, status: int, reason: str) -> None:
    """Send a response with this status and the reason as text; a 400 also names the coding zstd in Accept-Encoding."""
    text = reason.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(text)).encode())]
    if status == 400:
        headers.append((b"accept-encoding", coding.CODING.encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})
