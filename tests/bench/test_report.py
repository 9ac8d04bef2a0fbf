# SPDX-License-Identifier: Apache-2.0
"""The report, written and then opened in a real browser by its own environment: `tox run -e bench-browser`.

Nothing here skips: without matplotlib, Selenium or Chromium the tests fail, since an unchecked page must
not pass as a checked one.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from browser import headless_chromium

from bench import synthetic
from bench.results import read_folder

pytestmark = pytest.mark.nightly

REASON = "<no> & wheel"
WIDTHS = (1400, 800)


def rewrite(results: Path, page: Path | None, folder: Path | None, *rows: str, factor: float = 1.0) -> list[Path]:
    """Write the report, after results of these rows on CPython."""
    from bench import report

    for row in rows:
        synthetic.write(results, row, f"CPython {row.partition('-')[0]}.1", synthetic.rich_row(factor))
    return report.write(results, page, folder)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of two rows with entries in every group."""
    folder = tmp_path_factory.mktemp("report")
    missing = {"group": "MessagePack", "case": "small", "operation": "pack", "library": "orjson", "reason": REASON}
    results = folder / "results"
    synthetic.write(results, "3.11-native", "CPython 3.11.7", synthetic.rich_row(), missing)
    synthetic.write(results, "pypy3.9-native", "PyPy 7.3.11 (3.9.16)", synthetic.rich_row(3.0))
    rewrite(results, folder / "report.html", folder / "markdown")
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with headless_chromium() as opened:
        yield opened


@pytest.fixture(params=WIDTHS)
def page(request: pytest.FixtureRequest, browser: Any, written: Path) -> Any:
    """The page, opened at one width."""
    browser.set_window_size(request.param, 900)
    browser.get((written / "report.html").as_uri())
    return browser


def test_the_tables_are_there(page: Any) -> None:
    headings = [element.text for element in page.find_elements("tag name", "h2")]
    for title in (
        "At a glance",
        "What to use",
        "How far from the goals and the limits",
        "What got slower",
        "MessagePack",
        "File input and output",
        "Plots",
        "Versions and builds",
        "Machine",
    ):
        assert title in headings
    tables = page.find_elements("css selector", "table")
    assert len(tables) > 10
    assert all(table.find_elements("css selector", "tbody tr") for table in tables)
    glance = page.find_element("css selector", "#glance + .scroll table")
    assert "3.11-native" in glance.text
    assert "2.00 (2/2)" in glance.text


def test_verdicts_have_their_colours(page: Any) -> None:
    good = page.find_element("css selector", "#glance + .scroll td.good")
    bad = page.find_element("css selector", "#glance + .scroll td.bad")
    assert good.value_of_css_property("background-color") != bad.value_of_css_property("background-color")
    assert page.find_elements("css selector", "td.best")


def test_the_plots_are_drawn(page: Any) -> None:
    figures = page.find_elements("css selector", "figure:not(#first-screen) svg")
    assert len(figures) == 1  # warm-up, for the row on PyPy
    for drawn in figures:
        assert drawn.size["width"] > 300
        assert drawn.size["height"] > 100
        assert len(drawn.find_elements("css selector", "path")) > 20


def test_the_first_screen_has_a_bar_per_group(page: Any) -> None:
    """Bars for warm and cold calls, by interpreter, come first, with the number of noisy figures."""
    drawn = page.find_element("css selector", "#first-screen svg")
    assert drawn.location["y"] + drawn.size["height"] < 900
    for name in ("CPython 3.11.7", "PyPy 7.3.11 (3.9.16)", "figures noisy", "pack", "compress", "read files", "2.00"):
        assert name in drawn.text, name
    bars = drawn.find_elements("css selector", "rect")
    assert {bar.get_attribute("class") for bar in bars} == {"warm good", "warm bad"}


def test_every_part_is_a_link_away(page: Any) -> None:
    targets = [link.get_attribute("href").partition("#")[2] for link in page.find_elements("css selector", "nav a")]
    titles = [heading.get_attribute("id") for heading in page.find_elements("css selector", "h2")]
    assert targets == titles


def test_headings_are_not_broken_within_words(page: Any) -> None:
    wrapping = page.execute_script(
        "return [...document.querySelectorAll('th')].map(e => getComputedStyle(e).overflowWrap)"
    )
    assert set(wrapping) == {"normal"}


def test_nothing_overflows(page: Any) -> None:
    for summary in page.find_elements("css selector", "details:not([open]) > summary"):
        summary.click()
    # the page itself never scrolls sideways; a wide table does so in its own box
    widest = page.execute_script("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert widest[0] <= widest[1]
    overflowing = page.execute_script(
        "return [...document.querySelectorAll('td, th, li, p, summary, figcaption, pre')]"
        ".filter(e => e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1)"
        ".filter(e => getComputedStyle(e).display !== 'inline')"
        ".map(e => e.outerHTML.slice(0, 120))"
    )
    assert overflowing == []
    outside = page.execute_script(
        "return [...document.querySelectorAll('figure svg')].filter("
        "e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).length"
    )
    assert outside == 0


def test_the_page_needs_no_other_files(page: Any, written: Path) -> None:
    loaded = page.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
    assert loaded == []
    assert [entry for entry in page.get_log("browser") if entry["level"] == "SEVERE"] == []
    text = (written / "report.html").read_text()
    assert not re.search(r"""(?:src|href)=["'](?!#)""", re.sub(r"<svg.*?</svg>", "", text, flags=re.S))


def test_reasons_are_escaped_and_shown(page: Any) -> None:
    cell = next(c for c in page.find_elements("css selector", "td") if c.get_attribute("title") == REASON)
    assert cell.get_attribute("textContent") == "n/a"  # in a part that is closed


def test_the_markdown_is_complete(written: Path) -> None:
    folder = written / "markdown"
    overview = (folder / "README.md").read_text()
    for name in re.findall(r"\]\(((?!\.\./)[^)]+)\)", overview):
        assert (folder / name).is_file(), name
    rows = {"README.md", "3.11-native.md", "pypy3.9-native.md"}
    assert rows < {path.name for path in folder.glob("*.md")}
    assert {"group-messagepack.md", "group-file-input-and-output.md"} < {path.name for path in folder.glob("*.md")}
    assert {path.name for path in folder.glob("*.svg")} == {"overview.svg", "first_screen.svg"}
    for path in folder.glob("*.md"):
        lines = path.read_text().splitlines()
        for before, line in zip(lines, lines[1:]):
            if before.startswith("|") and line.startswith("|"):
                assert before.replace("\\|", "").count("|") == line.replace("\\|", "").count("|"), (
                    f"{path.name}: {line}"
                )


def test_the_picture_is_small_and_matches_the_table(written: Path) -> None:
    """Every figure of the README's table is a bar with its text, and the file stays small enough to load at once."""
    from bench import picture, readme_table

    rows = read_folder(written / "results")
    drawn = (written / "markdown" / picture.NAME).read_text()
    root = ElementTree.fromstring(drawn)
    titles = [found.text for found in root.iter("{http://www.w3.org/2000/svg}title")]
    leads = readme_table.leads(rows)
    assert titles == [f"{name}: {lead.text}" for line in leads.values() for name, lead in line.items()]
    assert len(titles) > 4
    assert len(drawn) < 16_000


def test_the_same_results_give_the_same_files(written: Path, tmp_path: Path) -> None:
    again = rewrite(written / "results", tmp_path / "report.html", tmp_path / "markdown")
    for path in again:
        assert path.read_bytes() == (written / path.relative_to(tmp_path)).read_bytes()


def test_slower_cases_are_reported(written: Path, tmp_path: Path) -> None:
    from bench import report

    results = tmp_path / "results"
    rewrite(results, None, tmp_path / "alone", "3.11-native", factor=1.5)
    assert report.NOTHING_OLDER in (tmp_path / "alone" / "README.md").read_text()
    # rows that only the older results have are not reported, and older results beside the results are found by default
    shutil.copytree(written / "results", results / "old")
    rewrite(results, None, tmp_path / "beside")
    text = (tmp_path / "beside" / "README.md").read_text()
    assert "MessagePack, small, pack (cpkg) => 1.500 times slower" in text
    assert re.search(r"3\.11-native: of \d+ figures that 2024-02-29 has as well, [1-9]\d* slower, 0 faster", text)
    assert "pypy3.9" not in text.split("## What got slower")[1].split("##")[0]


def test_a_quick_run_has_no_empty_part(tmp_path: Path) -> None:
    """A quick run has too few points for a plot."""
    path = synthetic.write(tmp_path / "results", "3.11-native", "CPython 3.11.7", synthetic.rich_row())
    path.write_text(path.read_text().replace('"quick": false', '"quick": true'))
    rewrite(tmp_path / "results", tmp_path / "report.html", None)
    page = (tmp_path / "report.html").read_text()
    assert "figures noisy, the quick tenth" in page
    assert "plots" not in page


def test_pages_of_missing_rows_are_removed(written: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    rewrite(results, None, tmp_path / "markdown", "3.11-native", "3.12-native")
    (results / "3.12-native.json").unlink()
    rewrite(results, None, tmp_path / "markdown")
    assert not list((tmp_path / "markdown").glob("*3.12*"))


def test_the_lines_of_the_readme_are_between_its_markers(written: Path, tmp_path: Path) -> None:
    from bench import readme_table

    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{readme_table.BEGIN}\nSTALE\n{readme_table.END}\nafter\n")
    assert readme_table.update(written / "results", readme)
    text = readme.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "- **MessagePack**: 2.00 to " in text
    assert "STALE" not in text
    assert not readme_table.update(written / "results", readme)
    readme.write_text("no markers")
    with pytest.raises(ValueError, match="markers"):
        readme_table.update(written / "results", readme)
