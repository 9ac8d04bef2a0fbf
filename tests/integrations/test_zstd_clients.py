# SPDX-License-Identifier: Apache-2.0
"""Unchanged clients of `compression.zstd` and `backports.zstd` work with cpkg.zstd under these names."""

from __future__ import annotations

import importlib.util
import os
import sys

import pytest
from processes import run_python, sections

CLIENTS = sections(__file__, "zstd_clients.txt")
PRELUDE = f"import sys; sys.path[:0] = {sys.path!r}\n{CLIENTS.pop('prelude')}"


@pytest.mark.parametrize("client", CLIENTS)
def test_client(client: str) -> None:
    if importlib.util.find_spec(client) is None:
        pytest.skip(f"{client} is not installed (dependency group integration)")
    result = run_python("-I", "-c", PRELUDE + CLIENTS[client], env=os.environ)
    if result.returncode == 77:
        pytest.skip(result.stdout.strip())
    assert result.returncode == 0, result.stderr
