# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of record files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _without_waiting_for_disks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable fsync, because no test simulates a power failure."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of the record file of a test."""
    return tmp_path / "file.rec"
