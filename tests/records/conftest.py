# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of record files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cpkg import _backend
from cpkg.records import reader


@pytest.fixture(autouse=True)
def _without_waiting_for_disks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable fsync, because no test simulates a power failure."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of the record file of a test."""
    return tmp_path / "file.rec"


@pytest.fixture(params=["C", "Python", "Python without the GIL"])
def threads_of(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Choose the kind of threads. Without the GIL, readers use Python threads, which also unpack."""
    monkeypatch.setattr(reader, "python_runs_in_parallel", lambda: request.param == "Python without the GIL")
    module = _backend.choose("zstd").module
    if request.param == "Python":
        monkeypatch.setattr(module, "compressing_queue", None)
        monkeypatch.setattr(module, "decompressing_queue", None)
    elif module.compressing_queue is None:
        pytest.skip("this backend of Zstandard has no threads of C")
    return request.param
