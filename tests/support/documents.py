# SPDX-License-Identifier: Apache-2.0
"""The examples of the documents, run as they are written."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
_FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


def check_examples(page: str, at_least: int, names: dict[str, Any] | None = None, without: str = "") -> None:
    """
    Run the examples of a page, at least so many, and compare what they show.

    `names` are what they find; `without` is a line of theirs that stands for one of those names.
    """
    path = DOCS / page
    text = path.read_text(encoding="utf-8").replace(f">>> {without}\n", "")
    examples = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__", **(names or {})}, page, str(path), 0)
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=_FLAGS, verbose=False).run(examples, out=report.append)
    assert result.failed == 0, "".join(report)
    assert result.attempted >= at_least
