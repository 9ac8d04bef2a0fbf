# SPDX-License-Identifier: Apache-2.0
"""Unchanged clients of `compression.zstd` and `backports.zstd` work with cpkg.zstd under these names."""

from __future__ import annotations

import importlib.util
import os
import sys

import pytest
from processes import run_python, sections

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

CLIENTS = sections(__file__, "zstd_clients.txt")


@pytest.mark.parametrize("client", CLIENTS)
def test_client(client: str) -> None:
    if importlib.util.find_spec(client) is None:
        pytest.skip(f"{client} is not installed (dependency group integration)")
    code = PRELUDE.format(path=sys.path) + CLIENTS[client]
    result = run_python("-I", "-c", code, env=os.environ)
    if result.returncode == 77:
        pytest.skip(result.stdout.strip())
    assert result.returncode == 0, result.stderr
