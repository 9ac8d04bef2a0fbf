# SPDX-License-Identifier: Apache-2.0
"""Run the examples for Dask in docs/records.md."""

from __future__ import annotations

import pytest
from documents import check_examples

pytest.importorskip("distributed")
pytest.importorskip("pandas")


def test_the_examples() -> None:
    check_examples("records.md", 8, only="Dask")
