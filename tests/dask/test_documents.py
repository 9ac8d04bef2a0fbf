# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/dask.md, as they are written."""

from __future__ import annotations

import pytest
from documents import check_examples

pytest.importorskip("distributed")
pytest.importorskip("pandas")


def test_the_examples() -> None:
    check_examples("dask.md", 8)
