# SPDX-License-Identifier: Apache-2.0
"""The examples for libraries that have their own codec registries, run unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents import blocks, section


@pytest.mark.parametrize(("library", "heading"), [("joblib", "joblib"), ("numcodecs", "numcodecs and Zarr")])
def test_an_example(library: str, heading: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(library, reason="not on PyPy", exc_type=ImportError)
    monkeypatch.chdir(tmp_path)
    (example,) = blocks(section("integrations.md", heading), "python")
    exec(example, {})
