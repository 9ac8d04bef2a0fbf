# SPDX-License-Identifier: Apache-2.0
"""The examples of libraries whose own registries take a codec, run as they are written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from documents import DOCS


@pytest.mark.parametrize(("library", "section"), [("joblib", "joblib"), ("numcodecs", "numcodecs and Zarr")])
def test_an_example(library: str, section: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(library, reason="not on PyPy", exc_type=ImportError)
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "integrations.md").read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    (example,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    exec(example, {})
