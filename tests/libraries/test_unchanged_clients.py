# SPDX-License-Identifier: Apache-2.0
"""
Clients that look for a Zstandard package, unchanged: after `cpkg.install()` each reads what a server compresses.

Each runs in a process of its own, as most look for the package once, at their import.
"""

from __future__ import annotations

import http.server
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
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
    "httpx": """
import httpx
response = httpx.get(url)
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


CPYTHON_ONLY = pytest.mark.skipif(
    sys.implementation.name == "pypy", reason="does not install on PyPy 7.3.11: docs/integrations.md has the errors"
)

# each name that a library here may look for is ours, so that what works works with ours
PRELUDE = """
import cpkg
made = cpkg.install()
assert all(made.values()), made
"""


def run(program: str) -> str:
    result = run_python("-c", PRELUDE + program, env=os.environ)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_reads_what_it_asked_for(url: str, client: str) -> None:
    program = f"""
url = {url!r}
{CLIENTS[client]}
assert coding == "zstd", coding
print(len(content), content == b"a line of text that repeats\\n" * 4000)
"""
    assert run(program).split() == [str(len(CONTENT)), "True"]


@CPYTHON_ONLY
def test_scrapy_decompresses_responses() -> None:
    program = """
from cpkg import zstd
from scrapy.downloadermiddlewares.httpcompression import ACCEPTED_ENCODINGS, HttpCompressionMiddleware
from scrapy.http import Request, Response
from scrapy.utils.test import get_crawler
assert b"zstd" in ACCEPTED_ENCODINGS
request = Request("http://example.org")
response = Response(request.url, body=zstd.compress(b"text" * 100), headers={"Content-Encoding": "zstd"})
middleware = HttpCompressionMiddleware.from_crawler(get_crawler())
print(middleware.process_response(request, response).body == b"text" * 100)
"""
    assert run(program).split() == ["True"]


def test_smart_open_and_fsspec_find_files(tmp_path: Path) -> None:
    path = tmp_path / "text.zst"
    program = f"""
import fsspec, smart_open
with smart_open.open({os.fspath(path)!r}, "wt") as file:
    file.write("one\\ntwo\\n")
with fsspec.open({os.fspath(path)!r}, "rt", compression="infer") as file:
    print(file.read().split())
"""
    assert run(program).strip() == "['one', 'two']"
    assert zstd.decompress(path.read_bytes()) == b"one\ntwo\n"


@CPYTHON_ONLY
def test_pandas_reads_and_writes_files(tmp_path: Path) -> None:
    path = tmp_path / "table.csv.zst"
    program = f"""
import pandas
table = pandas.DataFrame({{"a": range(1000)}})
table.to_csv({os.fspath(path)!r}, index=False)
print(pandas.read_csv({os.fspath(path)!r}).equals(table))
"""
    assert run(program).split() == ["True"]
    assert zstd.decompress(path.read_bytes()).startswith(b"a\n0\n1\n")


def test_pynvim_talks_to_neovim() -> None:
    assert shutil.which("nvim") is not None, "install neovim"
    program = """
import pynvim
nvim = pynvim.attach("child", argv=["nvim", "--clean", "--embed", "--headless", "-n"])
nvim.current.buffer[:] = ["one", "zwei \u00e4"]
print(nvim.eval("line('$')"), list(nvim.current.buffer) == ["one", "zwei \u00e4"], nvim.eval("1.5 + 1"))
nvim.close()
"""
    assert run(program).split() == ["2", "True", "2.5"]
