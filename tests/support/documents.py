# SPDX-License-Identifier: Apache-2.0
"""Run the examples of the documents."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
MODULES = [
    *("cpkg", "cpkg.archive", "cpkg.errors", "cpkg.msgpack", "cpkg.msgpack.exceptions", "cpkg.msgpack.ext"),
    *("cpkg.records", "cpkg.typed", "cpkg.zstandard", "cpkg.zstd"),
]
"""Modules that can always be imported; modules that need another library are read, not imported."""
ARCHIVES = ["cpkg.zstd.tarfile", "cpkg.zstd.zipfile"]
"""Modules with the names of modules in the standard library."""
_FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


def section(page: str, heading: str) -> str:
    """Return the text under a heading of a page, up to the next heading of the same or a higher level."""
    text = (DOCS / page).read_text(encoding="utf-8")
    begin = re.search(rf"^(#+) {re.escape(heading)}\n", text, re.MULTILINE)
    assert begin is not None, f"{page} has no heading {heading!r}"
    rest = text[begin.end() :]
    end = re.search(rf"^#{{1,{len(begin[1])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def blocks(text: str, language: str) -> list[str]:
    """Return the code blocks of a text that are marked with this language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def check_examples(
    page: str, at_least: int, names: dict[str, Any] | None = None, without: str = "", only: str = "", but: str = ""
) -> None:
    """
    Run the examples of a page, at least `at_least` of them, and compare their output.

    `names` are defined for the examples. `without` is a line to omit, because it would define one of these names again.
    `only` is the heading of the only section to run, `but` the heading of a section not to run.
    """
    path = DOCS / page
    text = section(page, only) if only else path.read_text(encoding="utf-8")
    text = text.replace(section(page, but), "") if but else text
    text = text.replace(f">>> {without}\n", "")
    examples = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__", **(names or {})}, page, str(path), 0)
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=_FLAGS, verbose=False).run(examples, out=report.append)
    assert result.failed == 0, "".join(report)
    assert result.attempted >= at_least
