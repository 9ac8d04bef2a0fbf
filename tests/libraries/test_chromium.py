# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium as the client: it requests zstd itself, over TLS and from this machine."""

from __future__ import annotations

import json
import os
import queue
import random
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from asgi_server import serving_asgi
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from cpkg import zstd
from cpkg.integrations.starlette import MsgpackResponse, ZstdMiddleware, read_msgpack

# the second half repeats the first, but only a window of more than 4 MiB (8 MiB, the largest for clients) reaches it
HALF = random.Random(1).randbytes(4_500_000)
LARGE = HALF * 2
LINE = b"a line of text that repeats\n"

# its script fetches the other paths and posts the results, or the error
PAGE = Path(__file__).with_name("chromium.html").read_text(encoding="utf-8") + f"<p>{LINE.decode()}</p>" * 100


class Site:
    """An application that records the browser's requests and its page's reports."""

    def __init__(self) -> None:
        self.accepted: set[str] = set()
        self.reports: queue.Queue[Any] = queue.Queue()
        endpoints = (self.page, self.large, self.pieces, self.message, self.window, self.report)
        routes = [Route(f"/{endpoint.__name__}", endpoint, methods=["GET", "POST"]) for endpoint in endpoints]
        self.app = Starlette(routes=routes, middleware=[Middleware(ZstdMiddleware, level=19)])

    async def page(self, request: Request) -> Response:
        self.accepted.add(request.headers["accept-encoding"])
        return HTMLResponse(PAGE)

    async def large(self, request: Request) -> Response:
        return Response(LARGE, media_type="application/octet-stream")

    async def pieces(self, request: Request) -> Response:
        async def make() -> AsyncIterator[bytes]:
            for _ in range(1000):
                yield LINE

        return StreamingResponse(make(), media_type="text/plain")

    async def message(self, request: Request) -> Response:
        return MsgpackResponse({"got": await read_msgpack(request), "text": "text" * 1000})

    async def window(self, request: Request) -> Response:
        """Send a frame that needs 16 MiB, which the middleware never does."""
        parameter = zstd.CompressionParameter
        compressor = zstd.ZstdCompressor(options={parameter.window_log: 24})
        body = compressor.compress(LINE) + compressor.flush()
        return Response(body, media_type="text/plain", headers={"content-encoding": "zstd"})

    async def report(self, request: Request) -> Response:
        self.reports.put(json.loads(await request.body()))
        return PlainTextResponse("thank you")


@contextmanager
def browsing(address: str, folder: Path) -> Iterator[None]:
    """Open a page in Chromium."""
    chromium = shutil.which("chromium")
    assert chromium is not None, "install chromium"
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--ignore-certificate-errors"]
    command = [chromium, *options, "--remote-debugging-port=0", f"--user-data-dir={folder}", address]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True) as process:
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Create a certificate for this machine; return it as options for uvicorn."""
    folder = tmp_path_factory.mktemp("certificate")
    paths = {"ssl_keyfile": str(folder / "key"), "ssl_certfile": str(folder / "certificate")}
    made = ["-keyout", paths["ssl_keyfile"], "-out", paths["ssl_certfile"], "-subj", "/CN=localhost", "-nodes"]
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    subprocess.run(["openssl", "req", "-x509", *curve, *made], check=True, capture_output=True)
    return paths


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_browser_reads_responses(scheme: str, certificate: dict[str, str], tmp_path: Path) -> None:
    site = Site()
    options = certificate if scheme == "https" else {}
    with serving_asgi(site.app, **options) as port, browsing(f"{scheme}://localhost:{port}/page", tmp_path):
        report = site.reports.get(timeout=120)
    assert site.accepted == {"gzip, deflate, br, zstd"}
    assert report["page"]["decodedBodySize"] == len(PAGE)
    assert report["page"]["encodedBodySize"] < len(PAGE) // 2
    large = report["large"]
    assert (large["coding"], large["size"], large["isHalved"]) == ("zstd", len(LARGE), True)
    assert large["start"] == list(LARGE[:28])
    assert report["pieces"] == {"coding": "zstd", "size": 28_000, "isHalved": True, "start": list(LINE)}
    assert bytes(report["message"]["start"]).startswith(b"\x82\xa3got\x81\xa2id\x05")
    assert report["message"]["coding"] == "zstd"
    # the reason for the limit on windows: a browser refuses larger ones
    assert report["window"] == {"error": "TypeError"}


def test_the_largest_window_is_used() -> None:
    """The response above is as intended: larger than one window, and compressed with the whole window."""
    frame = zstd.compress(LARGE, 19)
    assert len(frame) < len(HALF) * 1.01
    assert zstd.get_frame_info(frame).decompressed_size > 2**23
