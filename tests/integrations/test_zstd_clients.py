# SPDX-License-Identifier: Apache-2.0
"""Unchanged clients of `compression.zstd` and `backports.zstd` work with cpkg.zstd under these names."""

from __future__ import annotations

import importlib.util
import os
import sys
import textwrap

import pytest
from processes import run_python

# a client chooses the module when it is imported
PRELUDE = """
import sys
sys.path[:0] = {path!r}
import cpkg
from cpkg import zstd
assert all(cpkg.install("compression.zstd", "backports.zstd", force=True).values())
data = b"line of data\\n" * 50_000

def check_cut(name, opened):
    with open(name, "r+b") as file:
        file.truncate(file.seek(0, 2) - 1)
    try:
        with opened(name) as file:
            file.read()
    except EOFError:
        return
    raise AssertionError("a cut file was taken for whole")

"""

CLIENTS = {
    "urllib3": """
        import io
        import urllib3
        from urllib3 import response
        assert response.HAS_ZSTD
        body = zstd.compress(data[:100_000]) + zstd.compress(data[100_000:])
        def answer(content):
            return urllib3.HTTPResponse(io.BytesIO(content), headers={"content-encoding": "zstd"},
                                        preload_content=False)
        assert answer(body).read() == data
        assert b"".join(answer(body).stream(1000)) == data
        assert answer(body).read(77) == data[:77]
        for bad in (body[:-5], b"no frame at all"):
            try:
                answer(bad).read()
            except urllib3.exceptions.DecodeError:
                pass
            else:
                raise AssertionError("bad data was taken")
        assert "zstd" in urllib3.util.request.ACCEPT_ENCODING
    """,
    "fsspec": """
        import fsspec, os, tempfile
        if "zstd" not in fsspec.available_compressions():
            print("this version of fsspec (for Python 3.9) knows neither module")
            raise SystemExit(77)
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "data.zst")
            with fsspec.open(name, "wb", compression="infer") as file:
                file.write(data)
            assert type(file).__module__.startswith(("fsspec", "cpkg", "purepy"))
            assert zstd.decompress(open(name, "rb").read()) == data
            with fsspec.open(name, "rt", compression="infer") as file:
                assert sum(1 for _ in file) == 50_000
            with fsspec.open(name, "rb", compression="zstd") as file:
                file.read(5)
                file.seek(100)
                assert file.read() == data[100:]
            check_cut(name, lambda cut: fsspec.open(cut, "rb", compression="infer"))
    """,
    "smart_open": """
        import smart_open, os, tempfile
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "data.zst")
            with smart_open.open(name, "wb") as file:
                file.write(data)
            assert zstd.decompress(open(name, "rb").read()) == data
            with smart_open.open(name, "rt") as file:
                assert sum(1 for _ in file) == 50_000
            with smart_open.open(name, "rb") as file:
                assert file.read() == data
            check_cut(name, lambda cut: smart_open.open(cut, "rb"))
    """,
}


@pytest.mark.parametrize("client", CLIENTS)
def test_client(client: str) -> None:
    if importlib.util.find_spec(client) is None:
        pytest.skip(f"{client} is not installed (dependency group integration)")
    code = PRELUDE.format(path=sys.path) + textwrap.dedent(CLIENTS[client])
    result = run_python("-I", "-c", code, env=os.environ)
    if result.returncode == 77:
        pytest.skip(result.stdout.strip())
    assert result.returncode == 0, result.stderr
