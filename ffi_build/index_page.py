# SPDX-License-Identifier: Apache-2.0
"""Rewrite the README for a package index, where links to files of the repository do not work."""

from __future__ import annotations

import re

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def address(pyproject: str) -> str | None:
    """Return the repository's address, `Source` in [project.urls] of pyproject.toml's text; None if it is missing."""
    urls = re.search(r"^\[project\.urls\]$(.*?)(?=^\[|\Z)", pyproject, re.MULTILINE | re.DOTALL)
    source = re.search(r'^Source = "([^"]+)"$', urls[1], re.MULTILINE) if urls else None
    return source[1].rstrip("/") if source else None


def index_page(readme: str, source: str | None) -> str:
    """
    Return the text `readme`, with links to files of the repository as absolute links below its address `source`.

    If `source` is None, these links become plain text, and pictures are left out.
    """

    def replaced(match: re.Match[str]) -> str:
        picture, text, link = match.groups()
        if "://" in link or link.startswith("#"):
            return match[0]
        if source is None:
            return "" if picture else text
        return f"{picture}[{text}]({source}/{'raw' if picture else 'blob'}/HEAD/{link})"

    return _LINK.sub(replaced, readme)
