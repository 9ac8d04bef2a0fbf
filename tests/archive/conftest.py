# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of archives."""

from __future__ import annotations

from pathlib import Path

import pytest
from archives import ENGINES, make_tree


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test with each engine that there is: the work done in C, and in Python."""
    monkeypatch.setenv("CPKG_ARCHIVE_BACKEND", request.param)
    return str(request.param)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Give a tree with a little of everything that needs no rights."""
    return make_tree(tmp_path / "tree")
