# SPDX-License-Identifier: Apache-2.0
"""Django: the middleware, the response and the parser, through its own test client and in real servers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from asgi_server import ask, serving_asgi
from django.core.asgi import get_asgi_application
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, StreamingHttpResponse
from django.test import AsyncClient, Client, override_settings
from django.urls import path
from web import running

import cpkg
from cpkg import zstd
from cpkg.integrations.django import MsgpackResponse, ZstdMiddleware, read_msgpack

TEXT = b"a line of text that repeats\n" * 400


class Limited(ZstdMiddleware):
    max_request_size = 100_000


HEADERS = {"ETag": '"abc"', "Vary": "Cookie", "Content-Digest": "sha-256=:YQ==:"}


def text(request: Any) -> HttpResponse:
    return HttpResponse(TEXT, content_type="text/plain", headers=HEADERS)


def pieces(request: Any) -> StreamingHttpResponse:
    return StreamingHttpResponse(iter([b"first ", b"", b"second"]), content_type="text/plain")


def later(request: Any) -> StreamingHttpResponse:
    async def make() -> AsyncIterator[bytes]:
        yield b"first "
        yield b"second"

    return StreamingHttpResponse(make(), content_type="text/plain")


def image(request: Any) -> HttpResponse:
    return HttpResponse(TEXT, content_type="image/png")


def kept(request: Any) -> HttpResponse:
    return HttpResponse(TEXT, content_type="text/plain", headers={"Cache-Control": "No-Transform"})


def echo(request: Any) -> HttpResponse:
    return HttpResponse(request.body, content_type=request.headers.get("Content-Encoding", "none/none"))


def form(request: Any) -> HttpResponse:
    return HttpResponse(request.POST["name"])


def order(request: Any) -> HttpResponse:
    return MsgpackResponse({"got": read_msgpack(request)})


urlpatterns = [path(view.__name__, view) for view in (text, pieces, later, image, kept, echo, form, order)]


@pytest.fixture(autouse=True)
def configured() -> Iterator[None]:
    with override_settings(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], MIDDLEWARE=[f"{__name__}.Limited"]):
        yield


@pytest.fixture
def client() -> Client:
    return Client(raise_request_exception=False)


def test_a_response_is_compressed_where_it_is_accepted(client: Client) -> None:
    response = client.get("/text", headers={"accept-encoding": "br, zstd"})
    assert response["Content-Encoding"] == "zstd"
    assert response["Vary"] == "Cookie, Accept-Encoding"
    assert response["ETag"] == 'W/"abc"'
    assert "Content-Digest" not in response
    assert response["Content-Length"] == str(len(response.content))
    assert zstd.decompress(response.content) == TEXT


def test_a_response_is_left_alone_where_it_is_not(client: Client) -> None:
    response = client.get("/text")
    assert response.content == TEXT
    assert response["Vary"] == "Cookie, Accept-Encoding"
    assert "Content-Encoding" not in response
    assert response["Content-Digest"] == HEADERS["Content-Digest"]
    for name in ("/image", "/kept"):
        assert "Content-Encoding" not in client.get(name, headers={"accept-encoding": "zstd"})


def test_a_stream_is_compressed_in_pieces(client: Client) -> None:
    response = client.get("/pieces", headers={"accept-encoding": "zstd"})
    stream = list(response.streaming_content)
    assert len(stream) == 3
    decompressor = zstd.ZstdDecompressor()
    assert [decompressor.decompress(piece) for piece in stream] == [b"first ", b"second", b""]
    assert decompressor.eof


def test_a_stream_of_an_asynchronous_view_is_compressed() -> None:
    import asyncio

    async def run() -> bytes:
        response = await AsyncClient().get("/later", headers={"accept-encoding": "zstd"})
        return b"".join([piece async for piece in response.streaming_content])

    assert zstd.decompress(asyncio.run(run())) == b"first second"


def test_a_compressed_request_is_read(client: Client) -> None:
    kind = "application/octet-stream"
    response = client.post("/echo", zstd.compress(TEXT), content_type=kind, headers={"content-encoding": "zstd"})
    assert response.content == TEXT
    assert response["Content-Type"] == "none/none"
    kind = "application/x-www-form-urlencoded"
    response = client.post(
        "/form", zstd.compress(b"name=Oslo"), content_type=kind, headers={"content-encoding": "zstd"}
    )
    assert response.content == b"Oslo"


@pytest.mark.parametrize(
    ("body", "status"),
    [(zstd.compress(bytes(100_001)), 413), (zstd.compress(bytes(10**8)), 413), (b"no frame", 400), (b"", 400)],
)
def test_a_request_that_cannot_be_read_is_refused(client: Client, body: bytes, status: int) -> None:
    response = client.post("/echo", body, content_type="text/plain", headers={"content-encoding": "zstd"})
    assert response.status_code == status


def test_messages(client: Client) -> None:
    data = {"id": 5, "data": b"\0\1"}
    response = client.post("/order", cpkg.dumps(data, compress=False), content_type="application/vnd.msgpack")
    assert response["Content-Type"] == "application/vnd.msgpack"
    assert cpkg.loads(response.content) == {"got": data}


@pytest.mark.parametrize(
    ("body", "kind"), [(b"\x80", "application/json"), (b"\x81", "application/msgpack"), (b"", "application/msgpack")]
)
def test_a_body_that_is_no_message_is_refused(client: Client, body: bytes, kind: str) -> None:
    assert client.post("/order", body, content_type=kind).status_code == 400


def test_a_message_with_a_coding_that_nothing_decoded_is_refused(client: Client) -> None:
    kind, headers = "application/msgpack", {"content-encoding": "br"}
    assert client.post("/order", cpkg.packb(5), content_type=kind, headers=headers).status_code == 400


class _Quiet(WSGIRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def serving_wsgi(app: Any) -> Iterator[int]:
    """Serve with Django's own server; give the port."""
    with ThreadedWSGIServer(("127.0.0.1", 0), _Quiet) as server:
        server.set_app(app)
        with running(server):
            yield server.server_port


@contextmanager
def serving(kind: str) -> Iterator[int]:
    """Serve the views above by one of the interfaces; give the port."""
    with serving_wsgi(get_wsgi_application()) if kind == "wsgi" else serving_asgi(get_asgi_application()) as port:
        yield port


# each interface has its own kind of iterator for a stream
@pytest.mark.parametrize(("kind", "stream"), [("wsgi", "/pieces"), ("asgi", "/later")])
def test_in_a_real_server(kind: str, stream: str) -> None:
    with serving(kind) as port:
        check_server(port, stream)


def check_server(port: int, stream: str) -> None:
    response, body = ask(port, "/text", accept_encoding="zstd")
    assert response.getheader("content-encoding") == "zstd"
    assert response.getheader("content-length") == str(len(body))
    assert zstd.decompress(body) == TEXT
    response, body = ask(port, stream, accept_encoding="zstd")
    assert response.getheader("content-encoding") == "zstd"
    assert zstd.decompress(body) == b"first second"
    kind = "application/vnd.msgpack"
    message = zstd.compress(cpkg.packb({"id": 5}))
    response, body = ask(port, "/order", message, content_type=kind, content_encoding="zstd")
    assert response.getheader("content-type") == kind
    assert cpkg.loads(body) == {"got": {"id": 5}}
    for bad, status in ((zstd.compress(bytes(10**8)), 413), (message[:-1], 400), (b"no frame", 400)):
        assert ask(port, "/order", bad, content_type=kind, content_encoding="zstd")[0].status == status
