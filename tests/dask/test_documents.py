# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/dask.md, as they are written."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

pytest.importorskip("distributed")
pytest.importorskip("pandas")

PAGE = Path(__file__).parents[2] / "docs" / "dask.md"


def test_the_examples() -> None:
    outcome = doctest.testfile(str(PAGE), module_relative=False)
    assert outcome.attempted > 8
    assert outcome.failed == 0
