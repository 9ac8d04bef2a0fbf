# SPDX-License-Identifier: Apache-2.0
"""The fixture of the pure Zstandard decoder: the forms of its hot loops."""

from __future__ import annotations

from types import ModuleType

import pytest
from zstd_oracle import FORMS, in_form


@pytest.fixture(params=FORMS)
def codec(request: pytest.FixtureRequest) -> ModuleType:
    """Return the codec with each form of its hot loops that is tried here."""
    return in_form(request.param)
