# SPDX-License-Identifier: Apache-2.0
"""The ASGI middleware and Starlette's response and parser, in a real server with a real client."""

from __future__ import annotations

import asyncio
import http.client
import os
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from asgi_server import ask, serving_asgi
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

import cpkg
from cpkg import zstd
from cpkg.integrations.starlette import MsgpackResponse, ZstdMiddleware, read_msgpack
from purepy.zstd.format.rules import frame_window

TEXT = "a line of text that repeats\n" * 400
LARGE = 10_000_000
LIMIT = 100_000
# a few bytes, but the receiver of a stream must keep 16 MiB for them
_compressor = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 24})
LARGE_WINDOW = _compressor.compress(b"x") + _compressor.flush()
SENT = threading.Event()


async def text(request: Request) -> Response:
    return PlainTextResponse(TEXT, headers={"etag": '"abc"', "vary": "Cookie", "content-digest": "sha-256=:YQ==:"})


async def kept(request: Request) -> Response:
    return PlainTextResponse(TEXT, headers={"cache-control": "private, No-Transform"})


async def small(request: Request) -> Response:
    return PlainTextResponse("small")


async def image(request: Request) -> Response:
    return Response(bytes(5000), media_type="image/png")


async def pieces(request: Request) -> Response:
    async def make() -> AsyncIterator[bytes]:
        yield b"first "
        await to_thread(SENT.wait, 30)  # until the client has read that
        yield b""
        yield b"second"

    return StreamingResponse(make(), media_type="text/plain")


async def to_thread(function: Any, *args: Any) -> Any:
    import anyio.to_thread

    return await anyio.to_thread.run_sync(function, *args)


async def large(request: Request) -> Response:
    return Response(bytes(LARGE), media_type="application/octet-stream")


async def large_pieces(request: Request) -> Response:
    return StreamingResponse(iter([bytes(LARGE // 4)] * 4), media_type="application/octet-stream")


async def echo(request: Request) -> Response:
    return PlainTextResponse(await request.body())


async def order(request: Request) -> Response:
    return MsgpackResponse({"got": await read_msgpack(request)})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Give the port of a server that runs the application in a thread."""
    routes = [
        Route(f"/{endpoint.__name__}", endpoint, methods=["GET", "POST"])
        for endpoint in (text, small, image, kept, pieces, large, large_pieces, echo, order)
    ]
    app = Starlette(routes=routes, middleware=[Middleware(ZstdMiddleware, max_request_size=LIMIT, level=19)])
    with serving_asgi(app) as port:
        yield port


def test_a_response_is_compressed_where_it_is_accepted(port: int) -> None:
    response, body = ask(port, "/text", accept_encoding="gzip, zstd;q=0.5")
    assert response.getheader("content-encoding") == "zstd"
    assert response.getheader("vary") == "Cookie, Accept-Encoding"
    assert response.getheader("etag") == 'W/"abc"'
    assert response.getheader("content-length") == str(len(body))
    assert response.getheader("content-digest") is None
    assert len(body) < 200
    assert zstd.decompress(body) == TEXT.encode()


@pytest.mark.parametrize(
    "accepted", ["", "gzip", "*;q=0", *(f"zstd;q={weight}" for weight in ("0", "none", "nan", "-1", "2"))]
)
def test_a_response_is_left_alone_where_it_is_not(port: int, accepted: str) -> None:
    response, body = ask(port, "/text", accept_encoding=accepted)
    assert response.getheader("content-encoding") is None
    assert response.getheader("vary") == "Cookie, Accept-Encoding"
    assert response.getheader("etag") == '"abc"'
    assert response.getheader("content-digest") == "sha-256=:YQ==:"
    assert body == TEXT.encode()


@pytest.mark.parametrize("path", ["/small", "/image", "/kept"])
def test_what_is_small_or_compressed_is_left_alone(port: int, path: str) -> None:
    assert ask(port, path, accept_encoding="zstd")[0].getheader("content-encoding") is None


def test_pieces_can_be_read_when_they_are_sent(port: int) -> None:
    SENT.clear()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/pieces", headers={"accept-encoding": "zstd"})
    response = connection.getresponse()
    assert response.getheader("content-encoding") == "zstd"
    decompressor = zstd.ZstdDecompressor()
    assert decompressor.decompress(response.read1(1000)) == b"first "
    SENT.set()
    assert decompressor.decompress(response.read()) == b"second"
    assert decompressor.eof
    connection.close()


def test_a_compressed_request_is_read(port: int) -> None:
    data = b"x" * LIMIT
    _, body = ask(port, "/echo", zstd.compress(data[:50_000]) + zstd.compress(data[50_000:]), content_encoding="zstd")
    assert body == data


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (zstd.compress(bytes(LIMIT + 1)), 413),
        (zstd.compress(bytes(200_000_000)), 413),
        (LARGE_WINDOW, 400),
        (zstd.compress(bytes(5000), options={zstd.CompressionParameter.window_log: 10})[:-1], 400),
        (b"no frame", 400),
        (b"", 400),
        (bytes(300_000), 413),
    ],
)
def test_a_request_that_cannot_be_read_is_refused(port: int, body: bytes, status: int) -> None:
    assert ask(port, "/echo", body, content_encoding="zstd")[0].status == status


def test_a_request_without_a_length_is_read_no_further_than_its_limit() -> None:
    piece = os.urandom(LIMIT // 10)
    received = 0
    sent: list[Any] = []

    async def receive() -> Any:
        nonlocal received
        received += 1
        return {"type": "http.request", "body": piece, "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-encoding", b"zstd"), (b"transfer-encoding", b"chunked")]
    app = ZstdMiddleware(None, max_request_size=LIMIT)  # type: ignore[arg-type]
    asyncio.run(app({"type": "http", "method": "POST", "headers": headers}, receive, send))
    assert sent[0]["status"] == 413
    assert received <= 12


def test_messages(port: int) -> None:
    data = {"id": 5, "data": b"\0\1"}
    response, body = ask(port, "/order", cpkg.dumps(data, compress=False), content_type="application/msgpack")
    assert response.getheader("content-type") == "application/vnd.msgpack"
    assert cpkg.loads(body) == {"got": data}


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"\x80", "application/json", 415),
        (b"\x81", "application/vnd.msgpack", 400),
        (b"", "application/vnd.msgpack", 400),
        (cpkg.dumps([0] * 100_000, compress=True), "application/vnd.msgpack", 400),
        (b"\xdd\xff\xff\xff\xff", "application/vnd.msgpack", 400),
    ],
)
def test_a_body_that_is_no_message_is_refused(port: int, body: bytes, kind: str, status: int) -> None:
    assert ask(port, "/order", body, content_type=kind)[0].status == status


@pytest.mark.parametrize("coding", ["br", "gzip, zstd", "zstd, zstd"])
def test_a_message_with_a_coding_that_nothing_decoded_is_refused(port: int, coding: str) -> None:
    kind = "application/vnd.msgpack"
    response, body = ask(port, "/order", cpkg.packb({"id": 5}), content_type=kind, content_encoding=coding)
    assert response.status == 415
    assert coding.encode() in body


def test_levels_that_need_a_large_window_are_refused() -> None:
    with pytest.raises(ValueError, match="level must be"):
        ZstdMiddleware(None, level=20)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["/large", "/large_pieces"])
def test_windows_are_those_that_clients_must_accept(port: int, path: str) -> None:
    _, body = ask(port, path, accept_encoding="zstd")
    assert frame_window(body, 0, LARGE) == 2**23
    options = {zstd.DecompressionParameter.window_log_max: 23}
    assert zstd.ZstdDecompressor(options=options).decompress(body) == bytes(LARGE)


def test_fastapi() -> None:
    """Its own responses, made of what an endpoint returns, and the same parser and middleware."""
    app = FastAPI(default_response_class=MsgpackResponse)
    app.add_middleware(ZstdMiddleware)

    @app.post("/orders")
    async def orders(request: Request) -> Any:
        return {"got": await read_msgpack(request), "text": "text" * 1000}

    with serving_asgi(app) as port:
        kind = "application/vnd.msgpack"
        message = zstd.compress(cpkg.packb({"id": 5}))
        response, body = ask(
            port, "/orders", message, content_type=kind, content_encoding="zstd", accept_encoding="zstd"
        )
        assert response.getheader("content-type") == kind
        assert response.getheader("content-encoding") == "zstd"
        assert cpkg.unpackb(zstd.decompress(body)) == {"got": {"id": 5}, "text": "text" * 1000}
        assert ask(port, "/orders", b"\x81", content_type=kind)[0].status == 400
