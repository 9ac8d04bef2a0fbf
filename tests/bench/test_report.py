# SPDX-License-Identifier: Apache-2.0
"""The code that reads results: rows and means, the report with its pictures, the comparison over time, publishing."""

from __future__ import annotations

import fcntl
import re
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from bench import cells, headline, machine, measure, picture, report, results, synthetic
from bench.results import NotResults, mean
from bench.turns import Ratio

SVG = "{http://www.w3.org/2000/svg}"
CASE = ("MessagePack", "regular", "pack")
ROWS = (("3.11-wheel", "CPython 3.11.7"), ("pypy3.9-wheel", "PyPy 7.3.11 (3.9.16)"))
PROMISES = cells.read_data("report_lines")
"""The content of the report: lines in their order, texts that it has, and texts that it must not have."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of CPython and PyPy."""
    folder = tmp_path_factory.mktemp("report")
    for factor, row in zip((1.0, 3.0), ROWS):
        synthetic.write(folder / "results", synthetic.rich(factor), *row)
    report.write(folder / "results", folder / "docs")
    return folder


def cell(ratios: dict[str, float], *given: Any, **more: Any) -> results.Cell:
    return results.Cell(synthetic.cell(*CASE, ratios, *given, **more))


def test_a_ratio_is_of_the_processes_that_measured_both() -> None:
    figures = synthetic.cell(*CASE, {"msgpack": 2.0, "ormsgpack": 1.5})
    figures.processes += [{"cpkg": [1.0], "msgpack": [2.0]}, {"msgpack": [9.0]}, {"cpkg": [1.0], "msgpack": [0.0]}]
    found = results.Cell(figures)
    assert found.ratios["msgpack"].value == pytest.approx(2.0, rel=1e-3)
    assert found.best == "ormsgpack"
    assert found.lead == found.ratios["ormsgpack"]


@pytest.mark.parametrize(
    ("ratio", "more", "behind"),
    [
        (0.5, {}, True),
        (0.999, {}, False),
        (1.001, {}, False),
        (2.0, {}, False),
        (0.5, {"limits": ["msgpack"]}, False),
        (0.5, {"formats": {"cpkg": "msgpack", "msgpack": "json"}}, False),
    ],
)
def test_only_a_whole_interval_of_an_alternative_is_behind(ratio: float, more: dict[str, Any], behind: bool) -> None:
    found = cell({"msgpack": ratio}, **more)
    assert found.ratios["msgpack"].value == pytest.approx(ratio, rel=1e-3)
    assert (found.best, found.behind) == (None if more else "msgpack", behind)


def test_a_mean_has_a_narrower_interval_than_its_ratios() -> None:
    found = mean([Ratio(2.0, 1.8, 2.2), Ratio(8.0, 7.2, 8.8)])
    assert found is not None
    assert (found.value, found.high) == (pytest.approx(4.0), pytest.approx(4.0 * 1.1 ** (1 / 2**0.5)))
    assert mean([]) is None


@pytest.mark.parametrize("text", ["", "{}", "[]", "not JSON", '{"benchmarks": [{}], "matrix": {}}'])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(NotResults, match=r"x\.json"):
        results.read_folder(tmp_path)


def test_folders_without_results_and_doubled_rows_are_refused(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(NotResults, match="no results"):
            results.read_folder(folder)
    (tmp_path / "again.json").write_text(synthetic.write(tmp_path, synthetic.rich()).read_text())
    with pytest.raises(NotResults, match=r"two files for 3\.11-wheel"):
        results.read_folder(tmp_path)


def test_rows_come_in_the_order_of_interpreters(tmp_path: Path) -> None:
    names = ["3.9-wheel", "3.14-wheel", "3.14t-wheel", "pypy3.9-wheel", "pypy3.11-wheel", "3.14-native", "3.14-pure"]
    for name in reversed(names):
        synthetic.write(tmp_path, [], name)
    assert [row.name for row in results.read_folder(tmp_path)] == names
    assert [row.name for row in results.read_folder(tmp_path, "pypy*-wheel")] == names[3:5]
    with pytest.raises(NotResults, match=r"no row \*-dlopen"):
        results.read_folder(tmp_path, "*-dlopen")


def test_the_quick_tenth_is_found(tmp_path: Path) -> None:
    (tmp_path / "quick").mkdir()
    (tmp_path / "quick" / "bench-quick.json").touch()
    assert results.folder_of_results(tmp_path) == tmp_path / "quick"
    (tmp_path / "3.11-native-bench.json").touch()
    assert results.folder_of_results(tmp_path) == tmp_path


@pytest.mark.parametrize(("show", "given", "text"), cells.read_data("figures"))
def test_figures_are_readable(show: str, given: Any, text: str) -> None:
    ways = {
        "interval": lambda: results.with_interval(Ratio(*given)),
        "figure": lambda: results.figure(cell({}, 1e-3, **given)),
        "label": lambda: synthetic.row([], *given).label,
    }
    assert ways.get(show, lambda: getattr(results, show)(given))() == text


@pytest.mark.parametrize("promise", PROMISES, ids=[promise["promise"] for promise in PROMISES])
def test_what_the_report_promises(written: Path, promise: dict[str, Any]) -> None:
    text = (written / "docs" / promise["page"]).read_text(encoding="utf-8").replace("\u00a0", " ")
    lines, at = text.splitlines(), 0
    for line in promise.get("lines", []):
        at = lines.index(line, at)
    whole = " ".join(text.split())
    assert [text for text in promise.get("texts", []) if text not in whole] == []
    assert [text for text in promise.get("absent", []) if text in whole] == []


def test_the_range_of_a_named_library_is_over_interpreters() -> None:
    rows = [synthetic.row(synthetic.rich(factor), f"3.1{n}-wheel") for n, factor in enumerate((1.0, 4.0, 2.0))]
    assert "| msgpack **2.50 to 10.0**; ormsgpack" in headline.block(rows).replace("\u00a0", " ")


def test_links_and_tables_are_whole(written: Path) -> None:
    pages = {path.name: path.read_text() for path in (written / "docs").glob("*.md")}
    assert pages.keys() == {"README.md", "3.11-wheel.md", "pypy3.9-wheel.md"}
    for name, text in pages.items():
        for link in re.findall(r"\]\(((?!\.\./)[^)]+)\)", text):
            assert (written / "docs" / link).is_file(), (name, link)
        for table in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
            assert len({len(re.split(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1, (name, table)
        assert all(len(line) <= results.WIDTH or line.startswith(("|", "![")) for line in text.splitlines())


def test_pictures_have_a_bar_for_each_named_library(written: Path) -> None:
    root = ElementTree.parse(written / "docs" / "3.11-wheel.svg").getroot()
    texts = {element.text for element in root.iter(f"{SVG}text")}
    bars = [element.get("class") for element in root.iter(f"{SVG}path") if element.get("class") != "l"]
    assert bars.count("c") == 2 * len(picture.PANELS)
    assert bars.count("f") == 2 + 4 + 2, "msgspec, backports.zstd and, for 1 MiB, zstandard are faster"
    assert {"CPython 3.11", "msgpack", "2.5×", "123 ns", "4.32 ms", "cattrs", "12×", "context kept"} <= texts
    assert {"backports.zstd", "not here"} <= texts
    assert "compression.zstd" not in texts


def test_nothing_in_a_picture_overlaps_or_is_cut(written: Path) -> None:
    """The test assumes that the letters of a line are on average 0.56 times as wide as the size of the type."""
    for path in (written / "docs").glob("*.svg"):
        root = ElementTree.parse(path).getroot()
        columns = [picture.LABEL, picture.LABEL + picture.COLUMN, picture.WIDTH]
        for text in root.iter(f"{SVG}text"):
            x, wide = float(text.get("x") or 0), 0.56 * len(text.text or "") * (12 if text.get("class") == "s" else 14)
            if text.get("text-anchor") == "end":
                assert text.get("textLength") is not None or wide <= x, text.text
            elif x > 0:
                assert x + wide <= next(end for end in columns if end > x) + 2, (text.text, x)
            else:
                assert wide <= picture.WIDTH, text.text


def test_results_without_headline_cells_have_a_report(tmp_path: Path) -> None:
    synthetic.write(tmp_path / "results", [synthetic.cell("Records", "a", "write", {})])
    report.write(tmp_path / "results", tmp_path / "docs")
    text = (tmp_path / "docs" / "README.md").read_text()
    assert "In no case of these results." in text
    assert (tmp_path / "docs" / "3.11-wheel.svg").read_text().count("not measured") == 2 * len(picture.PANELS)


def test_the_same_results_give_the_same_files_and_stale_ones_go(written: Path, tmp_path: Path) -> None:
    stale = tmp_path / "3.12-wheel.svg"
    stale.touch()
    for path in report.write(written / "results", tmp_path):
        assert path.read_bytes() == (written / "docs" / path.name).read_bytes()
    assert not stale.exists()


def test_marked_pages_get_the_pictures_and_the_table(written: Path, tmp_path: Path) -> None:
    rows, page = results.read_folder(written / "results"), tmp_path / "README.md"
    page.write_text(f"before\n{headline.BEGIN}\nSTALE\n{headline.END}\nafter\n")
    assert headline.update(rows, page, "docs/benchmarks/")
    before, text, after = re.split(rf"{headline.BEGIN}|{headline.END}", page.read_text())
    assert (before, after) == ("before\n", "\nafter\n")
    assert "](docs/benchmarks/3.11-wheel.svg) ![PyPy 7.3 (3.9)" in text
    assert "STALE" not in text
    assert not headline.update(rows, page, "docs/benchmarks/")
    page.write_text("no markers")
    with pytest.raises(ValueError, match="markers"):
        headline.update(rows, page, "")


def test_what_is_named_exists() -> None:
    """The matrix has all cells that the pictures, the README's table and the reasons name."""
    found = cells.groups()
    subjects = {(name, str(case), work) for name, of in found.items() for case in of.cases for work in of.of(case)}
    pictured = {(panel.group, panel.case, work) for panel in picture.PANELS for work in panel.operations}
    assert pictured <= subjects
    for use in headline.USES:
        assert any(group == use.group and re.fullmatch(use.operations, work) for group, _, work in subjects), use
    for reason in report.REASONS:
        patterns = [reason.get(name, ".*") for name in ("group", "case", "operation")]
        assert any(all(map(re.fullmatch, patterns, subject)) for subject in subjects), reason


def test_rows_that_are_measured_two_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    commands: dict[str, list[str]] = {}

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        row = command[command.index("-e") + 1]
        commands[row] = command
        if row != "pypy3.9-wheel-bench":
            (tmp_path / f"{row}.json").touch()
        return subprocess.CompletedProcess(command, row == "pypy3.9-wheel-bench")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(machine, "describe", lambda: {"revision": "abc123"})
    assert measure.publish(["3.11", "pypy3.9", "3.14"], tmp_path, "wheel", minutes=5, only=None) == 1
    assert capsys.readouterr().err == "pypy3.9-wheel: not complete; the same command continues where it ended\n"
    assert sorted(commands) == ["3.11-wheel-bench", "3.14-wheel-bench", "pypy3.9-wheel-bench"]
    keep = str(tmp_path / "kept" / "3.11-wheel-abc123.jsonl")
    assert commands["3.11-wheel-bench"][-5:] == ["--", "--bench-keep", keep, "--bench-minutes", "5"]
    assert all("--skip-missing-interpreters=false" in command for command in commands.values())
    assert measure.publish(["3.11"], tmp_path, "wheel", minutes=None, only=None) == 0


def test_cells_that_use_several_cores_are_measured_alone(tmp_path: Path) -> None:
    lock = tmp_path / "cores.lock"
    with measure._cores(lock, alone=False), lock.open() as other:
        fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with measure._cores(lock, alone=True), lock.open() as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
