# SPDX-License-Identifier: Apache-2.0
"""Unchanged libraries that look for a Zstandard package: after `cpkg.install()` each uses cpkg's."""

from __future__ import annotations

import http.server
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent

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


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(_Handler) as address:
        yield f"{address}/"


CLIENTS = sections(__file__, "http_clients.txt")


# requests and aiohttp accept truncated data with any codec
ERRORS = {
    "urllib3": {"cut": "DecodeError\n", "garbage": "DecodeError\n"},
    "requests": {"cut": "zstd ", "garbage": "ContentDecodingError\n"},
    "httpx": {"cut": "DecodingError\n", "garbage": "DecodingError\n"},
    "aiohttp": {"cut": "zstd ", "garbage": "ClientPayloadError\n"},
}

PROGRAMS = sections(__file__, "unchanged_clients.txt")
LEFT_OUT = (
    dict.fromkeys(("scrapy", "pandas"), "does not install on PyPy 7.3.11: docs/integrations.md has the errors")
    if sys.implementation.name == "pypy"
    else {"distributed": "CPython has rows for it: dask, upstream-distributed"}
)

# replace each name that a library here may look for, so that only cpkg's code can succeed
PRELUDE = "import cpkg\nmade = cpkg.install()\nassert all(made.values()), made\n"


def run(program: str, folder: Path | None = None) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = run_python("-c", PRELUDE + program, env=environment, cwd=folder)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("harm", ["", "cut", "garbage"])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_reads_responses_or_reports_errors(url: str, client: str, harm: str) -> None:
    program = f"url = {url + harm!r}\ntry:\n{indent(CLIENTS[client], '    ')}\nexcept Exception as exc:\n"
    program += "    print(type(exc).__name__)\nelse:\n    print(coding, len(content), content[-28:])"
    told = run(program)
    if harm:
        assert told.startswith(ERRORS[client][harm])
    else:
        assert told == f"zstd {len(CONTENT)} {CONTENT[-28:]}\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_library(tmp_path: Path, name: str) -> None:
    if name in LEFT_OUT:
        pytest.skip(LEFT_OUT[name])
    assert name != "pynvim" or shutil.which("nvim") is not None, "install neovim"
    program, _, words = PROGRAMS[name].partition("# prints: ")
    assert run(program, tmp_path).split() == words.split()
