# SPDX-License-Identifier: Apache-2.0
"""Servers for one test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseServer
from typing import Callable

from threads import beside


@contextmanager
def serving(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve on a free local port; yield the address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        with running(server):
            yield f"http://127.0.0.1:{server.server_port}"


@contextmanager
def running(server: BaseServer) -> Iterator[None]:
    """Run a server in a thread during the block."""
    with beside(lambda: server.serve_forever(poll_interval=0.01)) as errors:
        try:
            yield
        finally:
            server.shutdown()
    assert errors == []
