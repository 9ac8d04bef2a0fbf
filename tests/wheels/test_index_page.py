# SPDX-License-Identifier: Apache-2.0
"""The page on a package index has no dead links, and the citation file is current."""

from __future__ import annotations

import re
from pathlib import Path

from cpkg._version import VERSION
from ffi_build.index_page import address, index_page

ROOT = Path(__file__).parents[2]
README = "see [a\nb](docs/a.md#b), [c](#c), [d](https://d.example)\n![e](docs/e.svg)\n"


def test_links_lead_to_the_repository() -> None:
    assert index_page(README, "https://forge.example/x") == (
        "see [a\nb](https://forge.example/x/blob/HEAD/docs/a.md#b), [c](#c), [d](https://d.example)\n"
        "![e](https://forge.example/x/raw/HEAD/docs/e.svg)\n"
    )


def test_without_an_address_they_are_text() -> None:
    assert index_page(README, None) == "see a\nb, [c](#c), [d](https://d.example)\n\n"
    shown = index_page((ROOT / "README.md").read_text(encoding="utf-8"), None)
    assert [link for link in re.findall(r"\]\(([^)]+)\)", shown) if "://" not in link] == []


def test_the_address_is_that_of_the_project() -> None:
    urls = '[project]\nSource = "no"\n[project.urls]\nHomepage = "h"\nSource = "https://forge.example/x/"\n[tool.a]\n'
    assert address(urls) == "https://forge.example/x"
    assert address("[project]\n[tool.a]\nSource = 'no'\n") is None


def test_the_citation_has_the_version() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", text, re.MULTILINE)[1] == VERSION  # type: ignore[index]
