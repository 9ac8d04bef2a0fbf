# SPDX-License-Identifier: Apache-2.0
"""The fixture of the pure Zstandard decoder: both forms of its hot loops, whatever interpreter runs the test."""

from __future__ import annotations

from types import ModuleType

import pytest
from zstd_oracle import other_form

import purepy.zstd


@pytest.fixture(params=["usual", "other"])
def codec(request: pytest.FixtureRequest) -> ModuleType:
    """Return the codec with either form of its hot loops."""
    return purepy.zstd if request.param == "usual" else other_form()
