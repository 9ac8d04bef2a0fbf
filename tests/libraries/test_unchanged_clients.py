# SPDX-License-Identifier: Apache-2.0
"""Unchanged libraries that look for a Zstandard package: after `cpkg.install()` each uses cpkg's."""

from __future__ import annotations

import http.server
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import run_python, sections
from web import serving

from cpkg import zstd

CONTENT = b"a line of text that repeats\n" * 4000


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = CONTENT
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        if "zstd" in self.headers.get("Accept-Encoding", ""):
            # two frames, which RFC 8878 allows for the content coding
            middle = 0 if self.path == "/one" else 5000
            body = b"".join(zstd.compress(part) for part in (CONTENT[:middle], CONTENT[middle:]) if part)
            body = {"/cut": body[:-5], "/garbage": b"no frame at all"}.get(self.path, body)
            self.send_header("Content-Encoding", "zstd")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(_Handler) as address:
        yield f"{address}/"


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
if aiohttp.__version__ < "3.14" and url[-1] == "/":  # earlier ones read only the first frame
    url += "one"
async def get():
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return await response.read(), response.headers["content-encoding"]
content, coding = asyncio.run(get())
""",
}


# For truncated data, and for data that is not a frame. requests and aiohttp accept the former with any codec.
ERRORS = {
    "urllib3": ("DecodeError", "DecodeError"),
    "requests": ("", "ContentDecodingError"),
    "httpx": ("DecodingError", "DecodingError"),
    "aiohttp": ("", "ClientPayloadError"),
}

PROGRAMS = sections(__file__, "unchanged_clients.txt")
LEFT_OUT = (
    dict.fromkeys(("scrapy", "pandas"), "does not install on PyPy 7.3.11: docs/integrations.md has the errors")
    if sys.implementation.name == "pypy"
    else {"distributed": "CPython has rows for it: dask, upstream-distributed"}
)

# replace each name that a library here may look for, so that only cpkg's code can succeed
PRELUDE = """
import cpkg
made = cpkg.install()
assert all(made.values()), made
"""


def run(program: str, folder: Path | None = None) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = run_python("-c", PRELUDE + program, env=environment, cwd=folder)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_reads_responses(url: str, client: str) -> None:
    program = f"""
url = {url!r}
{CLIENTS[client]}
assert coding == "zstd", coding
print(len(content), content == b"a line of text that repeats\\n" * 4000)
"""
    assert run(program).split() == [str(len(CONTENT)), "True"]


@pytest.mark.parametrize(("harm", "which"), [("cut", 0), ("garbage", 1)])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_reports_unreadable_responses(url: str, client: str, harm: str, which: int) -> None:
    program = "".join("    " + line + "\n" for line in CLIENTS[client].splitlines())
    program = f"""
url = {url + harm!r}
try:
{program}
except Exception as exc:
    print(type(exc).__name__)
"""
    assert run(program).strip() == ERRORS[client][which]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_library(tmp_path: Path, name: str) -> None:
    if name in LEFT_OUT:
        pytest.skip(LEFT_OUT[name])
    assert name != "pynvim" or shutil.which("nvim") is not None, "install neovim"
    program, _, words = PROGRAMS[name].partition("# prints: ")
    assert run(program, tmp_path).split() == words.split()
