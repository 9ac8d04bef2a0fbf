# SPDX-License-Identifier: Apache-2.0
"""Write tables as Markdown."""

from __future__ import annotations

from bench import model


def markdown_table(table: model.Table) -> str:
    """Give a table in Markdown: bold is the fastest of its line, ~ noisy."""
    lines = ["| " + " | ".join(name or " " for name in table.head) + " |", "|" + " --- |" * len(table.head)]
    lines += ["| " + " | ".join(_markdown_cell(shown) for shown in line) + " |" for line in table.lines]
    caption = f"{table.caption}\n\n" if table.caption else ""
    return caption + "\n".join(lines) + "\n"


def _markdown_cell(shown: model.Shown) -> str:
    text = shown.text.replace("|", "\\|").replace("\n", " ")
    if shown.best:
        text = f"**{text}**"
    return text + (" ~" if shown.noisy else "")
