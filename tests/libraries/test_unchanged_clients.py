# SPDX-License-Identifier: Apache-2.0
"""
Clients that look for a Zstandard package, unchanged: after `cpkg.install()` each reads what a server compresses.

Each runs in a process of its own, as most look for the package once, at their import.
"""

from __future__ import annotations

import http.server
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from processes import run_python

from cpkg import zstd

CONTENT = b"a line of text that repeats\n" * 4000


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = CONTENT
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        if "zstd" in self.headers.get("Accept-Encoding", ""):
            # two frames, as RFC 8878 allows for the coding
            middle = 0 if self.path == "/one" else 5000
            body = b"".join(zstd.compress(part) for part in (CONTENT[:middle], CONTENT[middle:]) if part)
            self.send_header("Content-Encoding", "zstd")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


CLIENTS = {
    "urllib3": """
import urllib3
response = urllib3.request("GET", url, headers=urllib3.util.make_headers(accept_encoding=True))
content, coding = response.data, response.headers["content-encoding"]
""",
    "requests": """
import requests
response = requests.get(url)
content, coding = response.content, response.headers["content-encoding"]
""",
    "aiohttp": """
import aiohttp, asyncio
if aiohttp.__version__ < "3.14":  # earlier ones read the first frame alone
    url += "one"
async def get():
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return await response.read(), response.headers["content-encoding"]
content, coding = asyncio.run(get())
""",
}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_reads_what_it_asked_for(url: str, client: str) -> None:
    program = f"""
import cpkg, sys
cpkg.install()
url = {url!r}
{CLIENTS[client]}
assert coding == "zstd", coding
print(len(content), content == b"a line of text that repeats\\n" * 4000)
"""
    result = run_python("-c", program, env=os.environ)
    assert result.stdout.split() == [str(len(CONTENT)), "True"], result.stderr
