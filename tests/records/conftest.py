# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of record files."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a test puts its record file."""
    return tmp_path / "file.rec"
