# SPDX-License-Identifier: Apache-2.0
"""What the tests of record files share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a test puts its record file."""
    return tmp_path / "file.rec"
