# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of record files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _without_waiting_for_disks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing wait for the disk: no test cuts the power."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a test puts its record file."""
    return tmp_path / "file.rec"
