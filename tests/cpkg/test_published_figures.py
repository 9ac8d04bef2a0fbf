# SPDX-License-Identifier: Apache-2.0
"""All claims in README and docs about speed compared with other libraries agree with docs/benchmarks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from bench import headline, picture
from documents import DOCS

README = Path(__file__).parents[2] / "README.md"
QUESTIONS = DOCS / "start" / "questions.md"
PUBLISHED = DOCS / "benchmarks"

CLAIMS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("claims.json").read_text(encoding="utf-8"))
"""What the page of questions claims: a text, and the bounds of the published means of some operations and columns."""


def text_of(path: Path) -> str:
    """Return the text of a page in one line."""
    return " ".join(path.read_text(encoding="utf-8").split())


def tables(text: str) -> list[list[list[str]]]:
    """Return the tables of a page as cells, without the lines below their heads."""
    found = [table.splitlines() for table in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)]
    return [[[cell.strip() for cell in line[1:-1].split("|")] for line in (head, *rest)] for head, _, *rest in found]


def block(path: Path) -> str:
    """Return what a page has between the markers."""
    return path.read_text(encoding="utf-8").split(headline.BEGIN)[1].split(headline.END)[0]


def glance() -> tuple[list[str], dict[tuple[str, str], list[str]]]:
    """Return the interpreters of the published means, and the means by group and operation."""
    text = (PUBLISHED / "README.md").read_text(encoding="utf-8").split("## At a glance")[1]
    (head, *lines), *_ = tables(text)
    found, group = {}, ""
    for line in lines:
        group = line[0] or group
        found[group, line[1]] = line[2:]
    return head[2:], found


def test_the_readme_has_the_table_and_the_pictures_of_the_results() -> None:
    assert block(README).replace("](docs/benchmarks/", "](") == block(PUBLISHED / "README.md")
    ((head, *lines),) = tables(block(README))
    assert head[:2] == ["for", "library"]
    assert {use.title for use in headline.USES} == {line[0] for line in lines if line[0]}


def test_the_pictures_are_of_the_published_pages() -> None:
    """A bar has the figure of the page of its interpreter."""
    pages = [path for path in PUBLISHED.glob("*.md") if path.name != "README.md"]
    assert {path.stem for path in pages} == {path.stem for path in PUBLISHED.glob("*.svg")}
    compared = 0
    for path in pages:
        text = path.read_text(encoding="utf-8")
        titles = [
            found.text for found in ElementTree.parse(path.with_suffix(".svg")).iter() if found.tag.endswith("title")
        ]
        for panel in picture.PANELS:
            section = text.partition(f"## {panel.group}\n")[2].partition("\n## ")[0]
            head, *lines = tables(section)[0]
            for line in lines:
                if line[0] == panel.case and line[1] in panel.operations:
                    figures = {name: figure.strip("*") for name, figure in zip(head[3:], line[3:]) if figure != "–"}
                    for peer in panel.peers:
                        for library in [name for name in peer.split("|") if name in figures][:1]:
                            assert f"{library}, {line[1]}: {figures[library]}" in titles
                            compared += 1
    assert compared > 10 * len(pages)


@pytest.mark.parametrize("claim", CLAIMS, ids=[claim["text"] for claim in CLAIMS])
def test_what_the_questions_claim(claim: dict[str, Any]) -> None:
    assert claim["text"] in text_of(QUESTIONS)
    columns, lines = glance()
    shown = [
        cell
        for (group, operation), cells in lines.items()
        for column, cell in zip(columns, cells)
        if group == claim["group"] and re.fullmatch(claim.get("operations", ".*"), operation)
        if cell and column.startswith(claim.get("columns", ""))
    ]
    assert shown
    for cell in shown:
        mean = float(cell.split()[0].replace(",", ""))
        assert claim.get("least", 0) <= mean <= claim.get("most", float("inf")), cell


def test_no_other_figure_is_claimed() -> None:
    """The page of questions has no ratio, which would have to be written again after each run."""
    page = QUESTIONS.read_text(encoding="utf-8").split("## Which module?")[0]
    assert re.findall(r"(?<![\w.])\d\.\d+(?!\w|\.\d)", re.sub(r"zstandard` \d\.\d+|\b3\.1\d", "", page)) == []


def test_the_claims_on_memory_are_listed() -> None:
    text = (PUBLISHED / "README.md").read_text(encoding="utf-8").split("## Where something else is faster")[1]
    lines = [line for line in tables(text)[0] if line[0] == "Peak memory" and line[1].startswith("compress")]
    assert "zstandard needs less there" in text_of(QUESTIONS)
    assert any("zstandard" in cell for line in lines for cell in line[2:])
