# SPDX-License-Identifier: Apache-2.0
"""The middleware, responses and parsers for Starlette, FastAPI and Django, in real servers with a real client."""

from __future__ import annotations

import asyncio
import http.client
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from asgi_server import ask, serving_asgi
from django.core.asgi import get_asgi_application
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, StreamingHttpResponse
from django.test import Client, override_settings
from django.urls import path
from seeds import noise
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from web import running

import cpkg
from cpkg import zstd
from cpkg.integrations import _messages, django, starlette
from cpkg.integrations._content_coding import largest_body
from purepy.base.errors import LimitError
from purepy.zstd.format.rules import frame_window

TEXT = b"a line of text that repeats\n" * 400
LARGE = 10_000_000
LIMIT = 100_000
KIND = "application/vnd.msgpack"
# a few bytes, but a receiver that streams them must reserve 16 MiB
_compressor = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 24})
LARGE_WINDOW = _compressor.compress(b"x") + _compressor.flush()
# whole frames as long as the longest body that is read: another frame after them must not be cut off
_first = zstd.compress(b"x") + bytes.fromhex("502a4d18")
_padding = largest_body(LIMIT) - len(_first) - 4
WHOLE_FRAMES = _first + _padding.to_bytes(4, "little") + bytes(_padding)
PAGES: dict[str, tuple[bytes, str, dict[str, str]]] = {
    "text": (TEXT, "text/plain", {"etag": '"abc"', "vary": "Cookie", "content-digest": "sha-256=:YQ==:"}),
    "small": (b"small", "text/plain", {}),
    "image": (bytes(5000), "image/png", {}),
    "kept": (TEXT, "text/plain", {"cache-control": "private, No-Transform"}),
    "large": (bytes(LARGE), "application/octet-stream", {}),
}
SENT = threading.Event()


def pieces_of(name: str) -> Iterator[bytes]:
    if name == "large_pieces":
        yield from [bytes(LARGE // 4)] * 4
        return
    yield b"first "
    assert SENT.wait(60)  # until the client has read that
    yield b""
    yield b"second"


async def pieces_in_a_thread(name: str) -> AsyncIterator[bytes]:
    pieces = pieces_of(name)
    while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
        yield piece


class StarletteApp:
    """The pages, and endpoints that read request bodies."""

    def __init__(self) -> None:
        streams = ("pieces", "large_pieces")
        routes = [
            *(Route(f"/{name}", self.page) for name in PAGES),
            *(Route(f"/{name}", self.stream) for name in streams),
            *(Route(f"/{each.__name__}", each, methods=["POST"]) for each in (self.echo, self.order, self.typed_order)),
        ]
        middleware = Middleware(starlette.ZstdMiddleware, max_request_size=LIMIT, level=19)
        self.app = Starlette(routes=routes, middleware=[middleware])

    async def page(self, request: Request) -> Response:
        content, kind, headers = PAGES[request.url.path[1:]]
        return Response(content, headers=headers, media_type=kind)

    async def stream(self, request: Request) -> Response:
        return StreamingResponse(pieces_in_a_thread(request.url.path[1:]), media_type="text/plain")

    async def echo(self, request: Request) -> Response:
        return Response(await request.body(), media_type=request.headers.get("content-encoding", "none/none"))

    async def order(self, request: Request) -> Response:
        return starlette.MsgpackResponse({"got": await starlette.read_msgpack(request)})

    async def typed_order(self, request: Request) -> Response:
        return starlette.MsgpackResponse(await starlette.read_msgpack(request, type=dict[str, int], all_errors=True))


class Limited(django.ZstdMiddleware):
    max_request_size = LIMIT
    level = 19


def page(request: Any) -> HttpResponse:
    content, kind, headers = PAGES[request.path[1:]]
    return HttpResponse(content, content_type=kind, headers=headers)


def stream(request: Any) -> StreamingHttpResponse:
    # each interface has its own kind of iterator
    make = pieces_in_a_thread if hasattr(request, "scope") else pieces_of
    return StreamingHttpResponse(make(request.path[1:]), content_type="text/plain")


def echo(request: Any) -> HttpResponse:
    return HttpResponse(request.body, content_type=request.headers.get("Content-Encoding", "none/none"))


def form(request: Any) -> HttpResponse:
    return HttpResponse(request.POST["name"])


def order(request: Any) -> HttpResponse:
    return django.MsgpackResponse({"got": django.read_msgpack(request)})


def typed_order(request: Any) -> HttpResponse:
    return django.MsgpackResponse(django.read_msgpack(request, type=dict[str, int], all_errors=True))


urlpatterns = [
    *(path(name, page) for name in PAGES),
    *(path(name, stream) for name in ("pieces", "large_pieces")),
    *(path(view.__name__, view) for view in (echo, form, order, typed_order)),
]


@contextmanager
def serving_wsgi(app: Any) -> Iterator[int]:
    """Serve with Django's own server; return the port."""
    quiet = type("Quiet", (WSGIRequestHandler,), {"log_message": lambda *_: None})
    with ThreadedWSGIServer(("127.0.0.1", 0), quiet) as server:
        server.set_app(app)
        with running(server):
            yield server.server_port


class Server(NamedTuple):
    """A server of the pages: its port, and its statuses for an unreadable body and for a body of another type."""

    port: int
    unsupported: int
    invalid: int


@pytest.fixture(scope="module", params=["starlette", "django-asgi", "django-wsgi"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    if request.param == "starlette":
        with serving_asgi(StarletteApp().app) as port:
            yield Server(port, 415, 422)
        return
    with override_settings(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], MIDDLEWARE=[f"{__name__}.Limited"]):
        is_asgi = request.param == "django-asgi"
        with serving_asgi(get_asgi_application()) if is_asgi else serving_wsgi(get_wsgi_application()) as port:
            yield Server(port, 400, 400)


def test_a_response_is_compressed_if_the_client_accepts_zstd(server: Server) -> None:
    response, body = ask(server.port, "/text", accept_encoding="gzip, zstd;q=0.5")
    names = ("content-encoding", "vary", "etag", "content-length", "content-digest")
    expected = ["zstd", "Cookie, Accept-Encoding", 'W/"abc"', str(len(body)), None]
    assert [response.getheader(name) for name in names] == expected
    assert len(body) < 200
    assert zstd.decompress(body) == TEXT


@pytest.mark.parametrize(
    "accepted", ["", "gzip", "*;q=0", *(f"zstd;q={weight}" for weight in ("0", "none", "nan", "-1", "2"))]
)
def test_a_response_is_unchanged_if_the_client_does_not_accept_zstd(server: Server, accepted: str) -> None:
    response, body = ask(server.port, "/text", accept_encoding=accepted)
    names = ("content-encoding", "vary", "etag", "content-digest")
    expected = [None, "Cookie, Accept-Encoding", '"abc"', "sha-256=:YQ==:"]
    assert [response.getheader(name) for name in names] == expected
    assert body == TEXT


@pytest.mark.parametrize("path", ["/small", "/image", "/kept"])
def test_a_small_or_compressed_response_is_unchanged(server: Server, path: str) -> None:
    assert ask(server.port, path, accept_encoding="zstd")[0].getheader("content-encoding") is None


def test_pieces_can_be_read_when_they_are_sent(server: Server) -> None:
    SENT.clear()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", "/pieces", headers={"accept-encoding": "zstd"})
    response = connection.getresponse()
    assert response.getheader("content-encoding") == "zstd"
    decompressor = zstd.ZstdDecompressor()
    assert decompressor.decompress(response.read1(1000)) == b"first "
    SENT.set()
    assert decompressor.decompress(response.read()) == b"second"
    assert decompressor.eof
    connection.close()


def test_a_compressed_request_is_read(server: Server) -> None:
    """The application sees no content coding."""
    data = b"x" * LIMIT
    frames = zstd.compress(data[:50_000]) + zstd.compress(data[50_000:])
    response, body = ask(server.port, "/echo", frames, content_encoding="zstd")
    assert body == data
    assert response.getheader("content-type") == "none/none"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (zstd.compress(bytes(LIMIT + 1)), 413),
        (zstd.compress(bytes(200_000_000)), 413),
        (bytes(300_000), 413),
        (WHOLE_FRAMES + zstd.compress(b"more"), 413),
        (LARGE_WINDOW, 400),
        (zstd.compress(bytes(5000), options={zstd.CompressionParameter.window_log: 10})[:-1], 400),
        (b"no frame", 400),
        (b"", 400),
    ],
)
def test_a_request_that_cannot_be_read_is_refused(server: Server, body: bytes, status: int) -> None:
    assert ask(server.port, "/echo", body, content_encoding="zstd")[0].status == status


def test_a_message_that_is_larger_decompressed_than_the_body() -> None:
    body = cpkg.dumps("x" * 1000)
    with pytest.raises(LimitError, match=r"send dumps\(\.\.\., compress=False\), or .* Content-Encoding"):
        _messages.unpack(body)
    assert _messages.unpack(body, max_output_size=2000) == "x" * 1000


def test_messages(server: Server) -> None:
    data = {"id": 5, "data": b"\0\1"}
    message = cpkg.dumps(data, compress=False)
    for body, headers in ((message, {}), (zstd.compress(message), {"content_encoding": "zstd"})):
        response, body = ask(server.port, "/order", body, content_type="application/msgpack", **headers)
        assert response.getheader("content-type") == KIND
        assert cpkg.loads(body) == {"got": data}


@pytest.mark.parametrize(
    "body", [b"\x81", b"", cpkg.dumps([0] * 100_000, compress=True), b"\xdd\xff\xff\xff\xff"], ids=len
)
def test_a_body_that_is_not_a_message_is_refused(server: Server, body: bytes) -> None:
    assert ask(server.port, "/order", body, content_type=KIND)[0].status == 400


def test_a_message_with_values_of_other_types_is_invalid(server: Server) -> None:
    assert cpkg.loads(ask(server.port, "/typed_order", cpkg.packb({"id": 5}), content_type=KIND)[1]) == {"id": 5}
    response, body = ask(server.port, "/typed_order", cpkg.packb({"id": "x", "n": None}), content_type=KIND)
    assert response.status == server.invalid
    if server.invalid == 422:  # Django shows the text of other statuses only in debug mode
        errors = ["$.id: expected int, found str (at byte 4)", "$.n: expected int, found None (at byte 8)"]
        assert body.decode() == "the body is not valid: " + "\n".join(errors)


def test_a_message_of_another_type_is_refused(server: Server) -> None:
    assert ask(server.port, "/order", b"\x80", content_type="application/json")[0].status == server.unsupported


@pytest.mark.parametrize("coding", ["br", "gzip, zstd", "zstd, zstd"])
def test_a_message_with_an_undecoded_coding_is_refused(server: Server, coding: str) -> None:
    response, body = ask(server.port, "/order", cpkg.packb({"id": 5}), content_type=KIND, content_encoding=coding)
    assert response.status == server.unsupported
    assert coding.encode() in body or server.unsupported == 400  # Django's page of an error has no details


@pytest.mark.parametrize("path", ["/large", "/large_pieces"])
def test_windows_fit_what_clients_must_accept(server: Server, path: str) -> None:
    _, body = ask(server.port, path, accept_encoding="zstd")
    assert frame_window(body, 0, LARGE) == 2**23
    options = {zstd.DecompressionParameter.window_log_max: 23}
    assert zstd.ZstdDecompressor(options=options).decompress(body) == bytes(LARGE)


@override_settings(ROOT_URLCONF=__name__, MIDDLEWARE=[f"{__name__}.Limited"])
def test_django_reads_forms_and_streams_in_pieces() -> None:
    client = Client(raise_request_exception=False)
    kind = "application/x-www-form-urlencoded"
    body = zstd.compress(b"name=Oslo")
    assert client.post("/form", body, content_type=kind, headers={"content-encoding": "zstd"}).content == b"Oslo"
    SENT.set()
    stream = list(client.get("/pieces", headers={"accept-encoding": "zstd"}).streaming_content)
    decompressor = zstd.ZstdDecompressor()
    assert [decompressor.decompress(piece) for piece in stream] == [b"first ", b"second", b""]


def test_a_request_without_a_length_is_read_only_up_to_its_limit() -> None:
    piece = noise(LIMIT // 10)
    received = 0
    sent: list[Any] = []

    async def receive() -> Any:
        nonlocal received
        received += 1
        return {"type": "http.request", "body": piece, "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-encoding", b"zstd"), (b"transfer-encoding", b"chunked")]
    app = starlette.ZstdMiddleware(None, max_request_size=LIMIT)  # type: ignore[arg-type]
    asyncio.run(app({"type": "http", "method": "POST", "headers": headers}, receive, send))
    assert sent[0]["status"] == 413
    assert received <= 12


def test_a_client_that_disconnects_is_not_answered() -> None:
    """The application receives the disconnect, as without the middleware; a part of a body would be refused."""
    messages = [{"type": "http.request", "body": b"\x28", "more_body": True}, {"type": "http.disconnect"}]
    received: list[Any] = []

    async def receive() -> Any:
        return messages.pop(0)

    async def receiver(scope: Any, receive: Any, send: Any) -> None:
        received.extend((scope["headers"], await receive()))

    headers = [(b"content-encoding", b"zstd"), (b"content-length", b"20")]
    app = starlette.ZstdMiddleware(receiver)
    asyncio.run(app({"type": "http", "method": "POST", "headers": headers}, receive, None))  # type: ignore[arg-type]
    assert received == [[(b"content-length", b"20")], {"type": "http.disconnect"}]


def test_levels_that_need_a_large_window_are_refused() -> None:
    with pytest.raises(ValueError, match="level must be"):
        starlette.ZstdMiddleware(None, level=20)  # type: ignore[arg-type]
