# SPDX-License-Identifier: Apache-2.0
"""Write tables and paragraphs as Markdown."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

WIDTH = 120
_UNIT = re.compile(r"(\d) (±|(?:[nµm]?s|[KMG]?i?B)\b)")


def wrapped(text: str) -> str:
    """Return a page whose lines of prose have at most 120 columns; tables, code and pictures are unchanged."""
    lines: list[str] = []
    code = False
    for line in text.split("\n"):
        code ^= line.startswith("```")
        if code or line.startswith(("|", "```", "![", "#", "<!--")):
            lines.append(line)
        else:
            indent = "  " if line.startswith("- ") else ""
            lines += textwrap.wrap(
                line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
            ) or [""]
    return "\n".join(lines)


def plain(text: str) -> str:
    """Return a text whose characters Markdown and HTML do not interpret."""
    return re.sub(r"([<*_`\[\]])", r"\\\1", text)


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown. A line never breaks between a number and its unit or interval."""
    rows = [head, ["---"] * len(head), *lines]
    cleaned = (
        [_UNIT.sub("\\1\u00a0\\2", text.replace("|", "\\|").replace("\n", " ")) or " " for text in row] for row in rows
    )
    return "".join(f"| {' | '.join(row)} |\n" for row in cleaned)
