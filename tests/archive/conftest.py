# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of archives."""

from __future__ import annotations

import pytest
from archives import ENGINES


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test with each engine that there is: the work done in C, and in Python."""
    monkeypatch.setenv("CPKG_ARCHIVE_BACKEND", request.param)
    return str(request.param)
