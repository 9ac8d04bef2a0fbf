# SPDX-License-Identifier: Apache-2.0
"""All claims in README and docs about speed compared with other libraries agree with docs/benchmarks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench import readme_table
from documents import DOCS

README = Path(__file__).parents[2] / "README.md"
QUESTIONS = DOCS / "start" / "questions.md"
SVG = "{http://www.w3.org/2000/svg}"
CPYTHON, PYPY7, PYPY8 = ("3.11-wheel", "3.14-wheel", "3.15-wheel"), ("pypy3.9-wheel",), ("pypy3.11-wheel",)

CLAIMS = json.loads(Path(__file__).with_name("claims.json").read_text(encoding="utf-8"))
"""Claims of the page of questions: a text with two figures, and the group, operations and columns of the figures."""


def tables(page: str) -> list[list[list[str]]]:
    """Return the tables of a Markdown page, as cells."""
    found: list[list[list[str]]] = [[]]
    for line in page.splitlines():
        if line.startswith("|"):
            found[-1].append([cell.strip() for cell in line.strip("|").split("|")])
        elif found[-1]:
            found.append([])
    return [table for table in found if table]


def text_of(path: Path) -> str:
    """Return the text of a page in one line."""
    return " ".join(path.read_text(encoding="utf-8").split())


def drawn() -> dict[str, dict[str, readme_table.Lead]]:
    """Return the bars of the published plot, by line and interpreter."""
    found: dict[str, dict[str, readme_table.Lead]] = {}
    label = ""
    for element in ElementTree.parse(DOCS / "benchmarks" / "overview.svg").iter():
        if element.tag == f"{SVG}text" and element.get("text-anchor") == "end":
            label = element.text or ""
        elif element.tag == f"{SVG}title":
            interpreter, _, text = (element.text or "").partition(": ")
            gain = float(text.partition("×")[0])
            found.setdefault(label, {})[interpreter] = readme_table.Lead(gain, text, False, "native")
    return found


def glance(group: str, operations: tuple[str, ...], columns: tuple[str, ...]) -> list[float]:
    """Return the published means of some operations in some rows."""
    table = tables((DOCS / "benchmarks" / "README.md").read_text(encoding="utf-8"))[0]
    places = [table[0].index(name) for name in columns]
    lines = [line for line in table if line[0] == group and line[1] in operations]
    return [float(line[place].split()[0]) for line in lines for place in places if line[place]]


def test_the_readme_has_the_figures_of_the_picture() -> None:
    section = text_of(README).split(readme_table.BEGIN)[1].split(readme_table.END)[0]
    lines = readme_table.takeaways(drawn())
    assert section.strip() == " ".join(lines)
    assert len(lines) == len(readme_table.SUBJECTS)


def test_the_readme_has_the_time_of_calls_on_pypy() -> None:
    said = re.search(r"takes (\S+) µs in the 100th call of a process and (\S+) µs once warm", text_of(README))
    assert said is not None
    (table,) = (
        table
        for table in tables((DOCS / "benchmarks" / "group-ready-at-once.md").read_text(encoding="utf-8"))
        if table[0][:2] == ["case", "operation"]
    )
    cells = {line[1]: line[table[0].index(*PYPY7)] for line in table if line[0] == "MessagePack small"}
    shown = [cells["pack, 100th call"], cells["pack, warmed up"]]
    numbers = [float(cell.split()[0]) / (1000 if cell.split()[1] == "ns" else 1) for cell in shown]
    assert [float(figure) for figure in said.groups()] == [round(number, 1) for number in numbers]


def test_the_picture_has_the_means_of_the_table() -> None:
    """The plot and the table come from the same run."""
    for label, group, operation, cases in readme_table.LINES:
        if cases is None:
            means = glance(group, (operation,), (*CPYTHON, *PYPY7, *PYPY8))
            assert [lead.gain for lead in drawn()[label].values()] == means


@pytest.mark.parametrize(("text", "group", "operations", "columns"), CLAIMS, ids=[each[0] for each in CLAIMS])
def test_what_the_questions_claim(text: str, group: str, operations: tuple[str, ...], columns: tuple[str, ...]) -> None:
    """The page has the smallest and largest published mean, with its number of digits."""
    said = re.search(text, QUESTIONS.read_text(encoding="utf-8").replace("\n  ", " "))
    assert said is not None
    means = glance(group, operations, columns)
    for figure, mean in zip(said.groups(), (min(means), max(means))):
        digits = len(figure.partition(".")[2])
        assert abs(float(figure) - mean) <= 0.5 / 10**digits + 1e-9, (figure, mean)


def test_how_many_cases_are_ahead() -> None:
    text = r"Of (\d+) cases of\n  compressing, ours was ahead in (\d+) on CPython 3.11 and in (\d+) on 3.14"
    said = re.search(text, QUESTIONS.read_text(encoding="utf-8"))
    assert said is not None
    table = tables((DOCS / "benchmarks" / "README.md").read_text(encoding="utf-8"))[0]
    line = next(line for line in table if line[:2] == ["Zstandard one-shot", "compress"])
    for name, ahead in (("3.11-wheel", said[2]), ("3.14-wheel", said[3])):
        assert f"({ahead}/{said[1]})" in line[table[0].index(name)]


def test_how_long_importing_takes() -> None:
    said = re.search(r"`cpkg.zstd` takes (\d+) to (\d+) times as long", QUESTIONS.read_text(encoding="utf-8"))
    assert said is not None
    means = glance("Ready at once", ("compress, import", "decompress, import"), (*CPYTHON, *PYPY7, *PYPY8))
    assert [int(figure) for figure in said.groups()] == [round(1 / max(means)), round(1 / min(means))]


def test_no_other_figure_is_claimed() -> None:
    """The page has no other ratio than the ones tested above."""
    page = QUESTIONS.read_text(encoding="utf-8").split("## Which module?")[0].replace("\n  ", " ")
    claimed = [figure for text, *_ in CLAIMS for found in [re.search(text, page)] if found for figure in found.groups()]
    figures = re.findall(r"(?<![\w.])\d\.\d+(?!\w|\.\d)", re.sub(r"zstandard` \d\.\d+|\b3\.1\d", "", page))
    listed = (DOCS / "benchmarks" / "group-peak-memory.md").read_text(encoding="utf-8")
    assert "zstandard needs 0.60 of ours" in listed
    assert sorted(figures) == sorted(["0.60", *(figure for figure in claimed if "." in figure)])
