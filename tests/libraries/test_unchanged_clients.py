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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import run_python
from web import serving

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
if aiohttp.__version__ < "3.14" and url[-1] == "/":  # earlier ones read the first frame alone
    url += "one"
async def get():
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return await response.read(), response.headers["content-encoding"]
content, coding = asyncio.run(get())
""",
}


# For data that is cut, and for no frame at all. requests and aiohttp take the former for whole, whosever codec.
ERRORS = {
    "urllib3": ("DecodeError", "DecodeError"),
    "requests": ("", "ContentDecodingError"),
    "httpx": ("DecodingError", "DecodingError"),
    "aiohttp": ("", "ClientPayloadError"),
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


@pytest.mark.parametrize(("harm", "which"), [("cut", 0), ("garbage", 1)])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_says_what_it_cannot_read(url: str, client: str, harm: str, which: int) -> None:
    program = "".join("    " + line + "\n" for line in CLIENTS[client].splitlines())
    program = f"""
url = {url + harm!r}
try:
{program}
except Exception as exc:
    print(type(exc).__name__)
"""
    assert run(program).strip() == ERRORS[client][which]


def test_an_aiohttp_server_reads_compressed_requests() -> None:
    program = """
import asyncio, aiohttp
from aiohttp import web
from cpkg import zstd

async def echo(request):
    return web.Response(body=await request.read())

async def main():
    app = web.Application()
    app.router.add_post("/", echo)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    whole = zstd.compress(b"text" * 100)
    async with aiohttp.ClientSession() as session:
        for body in (whole, whole[:-1], zstd.compress(bytes(10**8)), b"no frame at all"):
            async with session.post(url, data=body, headers={"Content-Encoding": "zstd"}) as response:
                print(response.status, await response.read() == b"text" * 100)
    await runner.cleanup()

asyncio.run(main())
"""
    whole, cut, bomb, damage = run(program).splitlines()
    assert (whole, cut) == ("200 True", "200 False")  # it takes what ends early for whole, whosever codec
    assert bomb in ("413 False", "500 False")  # the latter before 3.14
    assert damage == "500 False"


@CPYTHON_ONLY
def test_scrapy_decompresses_responses() -> None:
    program = """
from cpkg import zstd
from scrapy.downloadermiddlewares.httpcompression import ACCEPTED_ENCODINGS, HttpCompressionMiddleware
from scrapy.http import Request, Response
from scrapy.utils.test import get_crawler
assert b"zstd" in ACCEPTED_ENCODINGS
request = Request("http://example.org")
crawler = get_crawler(settings_dict={"DOWNLOAD_MAXSIZE": 1_000_000})
middleware = HttpCompressionMiddleware.from_crawler(crawler)
whole = zstd.compress(b"text" * 100)
for body in (whole, zstd.compress(bytes(10**8)), b"no frame at all", whole[:-1]):
    response = Response(request.url, body=body, headers={"Content-Encoding": "zstd"})
    try:
        print(middleware.process_response(request, response).body == b"text" * 100)
    except Exception as exc:
        print(type(exc).__name__)
"""
    # it takes what ends early for whole, whosever codec
    assert run(program).split() == ["True", "IgnoreRequest", "ZstdError", "False"]


def test_smart_open_and_fsspec_find_files(tmp_path: Path) -> None:
    path = tmp_path / "text.zst"
    program = f"""
import fsspec, smart_open
with smart_open.open({os.fspath(path)!r}, "wt") as file:
    file.write("one\\ntwo\\n")
with fsspec.open({os.fspath(path)!r}, "rt", compression="infer") as file:
    print(*file.read().split())
cut = {os.fspath(tmp_path / "cut.zst")!r}
with open(cut, "wb") as file, open({os.fspath(path)!r}, "rb") as whole:
    file.write(whole.read()[:-1])
for library in (smart_open, fsspec):
    try:
        with library.open(cut, "rb", compression="infer_from_extension" if library is smart_open else "infer") as file:
            file.read()
    except Exception as exc:
        print(type(exc).__name__)
"""
    assert run(program).split() == ["one", "two", "EOFError", "EOFError"]
    assert zstd.decompress(path.read_bytes()) == b"one\ntwo\n"


@CPYTHON_ONLY
def test_pandas_reads_and_writes_files(tmp_path: Path) -> None:
    path = tmp_path / "table.csv.zst"
    program = f"""
import pandas
table = pandas.DataFrame({{"a": range(1000)}})
table.to_csv({os.fspath(path)!r}, index=False)
print(pandas.read_csv({os.fspath(path)!r}).equals(table))
cut = {os.fspath(tmp_path / "cut.csv.zst")!r}
with open(cut, "wb") as file, open({os.fspath(path)!r}, "rb") as whole:
    file.write(whole.read()[:-1])
try:
    pandas.read_csv(cut)
except Exception as exc:
    print(type(exc).__name__)
"""
    assert run(program).split() == ["True", "ZstdError"]
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


def test_kafka_python_writes_and_reads_batches_of_records() -> None:
    program = """
from cpkg import zstd
from kafka.codec import has_zstd, zstd_decode, zstd_encode
from kafka.record import MemoryRecords, MemoryRecordsBuilder
assert has_zstd()
builder = MemoryRecordsBuilder(magic=2, compression_type=4, batch_size=100_000)
for number in range(1000):
    builder.append(timestamp=number, key=b"%d" % number, value=b"a value that repeats")
builder.close()
buffer = builder.buffer()
assert b"\\x28\\xb5\\x2f\\xfd" in bytes(buffer) and len(buffer) < 10_000
batch = MemoryRecords(buffer).next_batch()
records = [(record.key, record.value) for record in batch]
assert records == [(b"%d" % number, b"a value that repeats") for number in range(1000)]
assert zstd.decompress(zstd_encode(b"text" * 100)) == zstd_decode(zstd.compress(b"text" * 100))
try:
    zstd_decode(zstd.compress(b"text" * 100)[:-1])
except Exception as exc:
    print(type(exc).__name__)
"""
    assert run(program).split() == ["ZstdError"]


def test_pymongo_compresses_messages() -> None:
    """A client against a server of a few lines, which compresses as the wire protocol says."""
    program = f"""
import sys
sys.path[:0] = {sys.path!r}
import pymongo
from bson import SON
from mongo_server import serving_mongo
from pymongo.server_api import ServerApi
with serving_mongo() as server:
    address = f"mongodb://127.0.0.1:{{server.port}}/?compressors=zstd&directConnection=true"
    with pymongo.MongoClient(address, server_api=ServerApi("1"), serverSelectionTimeoutMS=60_000) as client:
        answer = client.test.command(SON([("echo", "text" * 1000)]))
        assert answer["echo"] == "text" * 1000
        for harm in ("cut", "more", "large"):
            try:
                client.test.command(SON([("echo", harm)]))
            except Exception as exc:
                print(type(exc).__name__)
    assert server.compressed >= 4
"""
    assert run(program).split() == ["ProtocolError"] * 3


@pytest.mark.skipif(sys.implementation.name != "pypy", reason="CPython has rows for it: dask, upstream-distributed")
def test_dask_distributed_sends_messages(tmp_path: Path) -> None:
    program = f"""
scratch = {os.fspath(tmp_path)!r}
import cpkg.msgpack, cpkg.zstd, dask
dask.config.set(distributed__comm__compression="zstd")  # read at the import
import distributed, msgpack
from distributed.protocol.compression import maybe_compress
assert distributed.protocol.core.msgpack is msgpack and msgpack.packb is cpkg.msgpack.packb
name, frame = maybe_compress(b"text" * 10_000)
assert name == "zstd" and cpkg.zstd.decompress(frame) == b"text" * 10_000
options = dict(n_workers=2, processes=False, protocol="tcp", dashboard_address=None, local_directory=scratch)
with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
    print(sum(client.gather(client.map(len, [b"text" * number for number in range(100)]))))
    print(client.submit(len, client.scatter(b"text" * 1_000_000)).result(60))
"""
    assert run(program).split() == ["19800", "4000000"]
