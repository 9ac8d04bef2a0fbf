# SPDX-License-Identifier: Apache-2.0
"""Write tables as Markdown."""

from __future__ import annotations

import textwrap

from bench import model

WIDTH = 120


def wrapped(text: str) -> str:
    """Return a page whose lines of prose have at most 120 columns; tables, code and pictures are unchanged."""
    lines: list[str] = []
    code = False
    for line in text.split("\n"):
        code ^= line.startswith("```")
        if code or line.startswith(("|", "```", "![", "#")):
            lines.append(line)
        else:
            indent = "  " if line.startswith("- ") else ""
            lines += textwrap.wrap(
                line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
            ) or [""]
    return "\n".join(lines)


def markdown_table(table: model.Table) -> str:
    """Return a table in Markdown: bold is the fastest of its line, ~ noisy."""
    lines = ["| " + " | ".join(name or " " for name in table.head) + " |", "|" + " --- |" * len(table.head)]
    lines += ["| " + " | ".join(_markdown_cell(shown) for shown in line) + " |" for line in table.lines]
    caption = f"{table.caption}\n\n" if table.caption else ""
    return caption + "\n".join(lines) + "\n"


def _markdown_cell(shown: model.Shown) -> str:
    text = shown.text.replace("|", "\\|").replace("\n", " ")
    if shown.best:
        text = f"**{text}**"
    return text + (" ~" if shown.noisy else "")
