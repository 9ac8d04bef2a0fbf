# SPDX-License-Identifier: Apache-2.0
"""The fixture `zstandard`: the names of cpkg.zstandard for each backend that loads."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import cpkg.zstandard
from cpkg.zstandard.backend_names import names_over


@pytest.fixture
def zstandard(zstd: Any) -> SimpleNamespace:
    """The module that `import cpkg.zstandard` returns if the backend `zstd` is chosen."""
    return SimpleNamespace(**{**vars(cpkg.zstandard), **names_over(zstd)}, codec=zstd)
