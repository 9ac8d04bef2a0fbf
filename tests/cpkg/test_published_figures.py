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
"""What the page of questions claims: a text, and bounds: of the means of some operations and interpreters (`columns`),
or of the ratios of cases in which another library is faster (`slower`)."""


def tables(text: str) -> list[list[list[str]]]:
    """Return the tables of a page as cells, without the lines below their heads."""
    text = text.replace("\u00a0", " ")  # between a number and its unit
    found = [table.splitlines() for table in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)]
    return [[[cell.strip() for cell in line[1:-1].split("|")] for line in (head, *rest)] for head, _, *rest in found]


def block(path: Path) -> str:
    """Return what a page has between the markers."""
    return path.read_text(encoding="utf-8").split(headline.BEGIN)[1].split(headline.END)[0]


def means(group: str, operations: str, columns: str) -> list[float]:
    """Return the published means of some operations on some interpreters."""
    (head, *lines), *_ = tables((PUBLISHED / "README.md").read_text(encoding="utf-8").split("## At a glance")[1])
    found, current = [], ""
    for line in lines:
        current = line[0] or current
        if current == group and re.fullmatch(operations, line[1]):
            cells = [cell for name, cell in zip(head, line) if cell and re.match(columns, name)]
            found += [float(cell.split()[0].replace(",", "")) for cell in cells]
    return found


def slower(group: str, cases: str, library: str) -> list[float]:
    """Return the published ratios of cases in which a library is faster."""
    text = (PUBLISHED / "README.md").read_text(encoding="utf-8").split("## Where something else is faster")[1]
    _, *lines = tables(text)[0]
    shown = [cell for line in lines if line[0] == group and re.fullmatch(cases, line[1]) for cell in line[2:-1]]
    found = [re.fullmatch(rf"{library} ([\d.]+)\b.*", cell) for cell in shown]
    return [float(match[1]) for match in found if match]


def test_the_readme_has_the_table_and_the_pictures_of_the_results() -> None:
    assert block(README).replace("](docs/benchmarks/", "](") == block(PUBLISHED / "README.md")
    ((head, *lines),) = tables(block(README))
    assert [cell.split()[0] for cell in head if cell] == ["CPython", "PyPy"]
    assert [use.title for use in headline.USES] == [line[0] for line in lines]


def test_the_pictures_are_of_the_published_pages() -> None:
    """A bar has the figure of the page of its interpreter."""
    pages = [path for path in PUBLISHED.glob("*.md") if path.name != "README.md"]
    assert {path.stem for path in pages} == {path.stem for path in PUBLISHED.glob("*.svg")}
    compared = 0
    for path in pages:
        text = path.read_text(encoding="utf-8")
        parts = ElementTree.parse(path.with_suffix(".svg")).iter()
        titles = [part.text for part in parts if part.tag.endswith("title")]
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
    assert claim["text"] in " ".join(QUESTIONS.read_text(encoding="utf-8").split())
    if "slower" in claim:
        found = slower(claim["group"], claim["slower"], claim.get("library", ".*"))
    else:
        found = means(claim["group"], claim.get("operations", ".*"), claim.get("columns", "CPython|PyPy"))
    assert found
    assert claim.get("least", 0) <= min(found)
    assert max(found) <= claim.get("most", float("inf"))


def test_no_other_figure_is_claimed() -> None:
    """The page of questions has no ratio, which would have to be written again after each run."""
    page = QUESTIONS.read_text(encoding="utf-8").split("## Which module?")[0]
    assert re.findall(r"(?<![\w.])\d\.\d+(?!\w|\.\d)", re.sub(r"zstandard` \d\.\d+|\b3\.1\d", "", page)) == []
