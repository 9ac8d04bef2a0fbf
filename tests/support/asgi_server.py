# SPDX-License-Identifier: Apache-2.0
"""Serve an ASGI application with a real server (uvicorn), and send it requests."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from threads import beside


@contextmanager
def serving_asgi(app: Any, **options: Any) -> Iterator[int]:
    """Serve `app` on a free local port, in a thread; yield the port. `options` are for uvicorn.Config."""
    config = uvicorn.Config(app, port=0, log_level="error", lifespan="off", ws="none", loop="asyncio", **options)
    server = uvicorn.Server(config)
    ready = threading.Event()
    startup = server.startup

    async def tell(*args: Any, **keywords: Any) -> None:
        await startup(*args, **keywords)
        ready.set()

    server.startup = tell  # type: ignore[method-assign]
    with beside(server.run) as errors:
        try:
            assert ready.wait(60)
            yield server.servers[0].sockets[0].getsockname()[1]
        finally:
            server.should_exit = True
    assert errors == []


def ask(
    port: int, path: str, body: bytes | Iterable[bytes] | None = None, **headers: str
) -> tuple[http.client.HTTPResponse, bytes]:
    """Send a request with headers given as keywords (`content_type`); return the response and its raw body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request("GET" if body is None else "POST", path, body, named)
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()
