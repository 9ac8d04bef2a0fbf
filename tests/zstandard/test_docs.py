# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/zstandard.md, on every backend."""

from __future__ import annotations

import doctest
from pathlib import Path
from types import SimpleNamespace

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "zstandard.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")
def test_examples(zstandard: SimpleNamespace) -> None:
    """Each example gives what the page shows."""
    text = PAGE.read_text(encoding="utf-8").replace(">>> import cpkg.zstandard as zstandard\n", "")
    examples = doctest.DocTestParser().get_doctest(text, {"zstandard": zstandard}, PAGE.name, str(PAGE), 0)
    assert len(examples.examples) > 15
    report: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(examples, out=report.append)
    assert result.failed == 0, "".join(report)
