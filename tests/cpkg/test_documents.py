# SPDX-License-Identifier: Apache-2.0
"""Pages, headings, paths, functions and commands named in the documents exist; lines of prose are short."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]
PAGES = ("docs/architecture.md", "docs/performance.md", "docs/notebook/benchmarking.md", "CONTRIBUTING.md", "README.md")
# all pages for readers, including the reports of benchmarks
ALL = sorted(str(path.relative_to(ROOT)) for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
WIDTH = 120
ROW_WIDTH = 200
ROOTS = ("cpkg/", "docs/", "ffi_build/", "purepy/", "tests/", ".ci/", ".github/")
AT_ROOT = re.compile(r"(README|CONTRIBUTING|CHANGELOG|SECURITY)\.md|setup\.py|tox\.ini|pyproject\.toml")


def prose(text: str) -> str:
    """Return the text without code blocks."""
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def quoted(text: str) -> list[str]:
    """Return the texts in backticks, without code blocks."""
    return re.findall(r"`([^`\n]+)`", prose(text))


def paths(text: str) -> list[str]:
    """Return the texts in backticks that look like paths of the tree; a star matches several files."""
    return [part for part in quoted(text) if " " not in part and (part.startswith(ROOTS) or AT_ROOT.fullmatch(part))]


def file_names(text: str) -> list[str]:
    """Return the texts in backticks that look like source files, possibly only the end of a path."""
    return [part for part in quoted(text) if re.fullmatch(r"[\w./*-]+\.(c|h|py|pyi)", part)]


def pytest_arguments(text: str) -> list[str]:
    """Return the paths in pytest commands, in backticks or in code blocks."""
    words = " ".join(re.findall(r"pytest ([^`\n]*)", text)).split()
    return [word.partition("::")[0] for word in words if word.startswith("tests/")]


def folders(text: str) -> list[Path]:
    """Return the root, and the folders of the tree that a text names in backticks."""
    return [ROOT, *(ROOT / part for part in quoted(text) if part.endswith("/") and (ROOT / part).is_dir())]


def passages(text: str) -> Iterator[tuple[str, list[Path]]]:
    """
    Yield the rows, items and paragraphs of a page, each with the folders in which it may name files.

    These are the root and the folders named in the passage itself, in the first row of its table, and in the heading
    above. A row with an empty first cell, and a nested item, also have the folders of the row or item above.
    """
    heading: list[Path] = []
    table: list[Path] = []
    above: list[Path] = []
    for passage in re.split(r"\n(?=\s*(?:[-|#\n]|\d\.))", prose(text)):
        line = passage.strip()
        named = folders(passage)
        if line.startswith("#"):
            heading = named
        if not line.startswith("|"):
            table = []
        elif not table:
            table = named
        above = above + named if re.match(r"\| \||\n? +(-|\d\.) ", passage) else named
        yield passage, [*above, *table, *heading]


def wrong_paths(text: str) -> list[str]:
    """Return the paths and file names that do not lead to a file or folder."""
    return [
        name
        for passage, bases in passages(text)
        for name in {*paths(passage), *file_names(passage)}
        if not any(list(base.glob(name.rstrip("/"))) for base in bases)
    ]


@pytest.mark.parametrize("page", PAGES)
def test_every_path_and_file_exists(page: str) -> None:
    text = read(page)
    assert wrong_paths(text) == []
    assert [path for path in pytest_arguments(text) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", sorted({*ALL} - {*PAGES}))
def test_every_path_of_the_source_exists(page: str) -> None:
    """Other pages also name files outside the tree (`sitecustomize.py`); some files with a stub come from the build."""
    found = [path.rstrip("/") for path in paths(read(page))]
    assert [path for path in found if not list(ROOT.glob(path)) and not list(ROOT.glob(f"{path}i"))] == []


def test_rows_of_the_architecture_are_short() -> None:
    text = read("docs/architecture.md")
    assert [line for line in text.splitlines() if len(line) > ROW_WIDTH] == []
    # a name that is split over two lines would not be recognised
    assert [line for line in text.splitlines() if line.count("`") % 2] == []


def anchors(text: str) -> set[str]:
    """Return the anchors of headings of this page, as forges and the site generator create them."""
    found = re.findall(r"^#+ (.*)$", prose(text), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in found]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in plain}


def dead_links(text: str, folder: Path) -> list[str]:
    """Return the links of a page to missing files or headings."""
    dead = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(text)):
        name, _, anchor = link.partition("#")
        path = folder / name
        if "://" in link:
            continue
        there = not name or path.exists()
        if not there or (anchor and anchor not in anchors(path.read_text(encoding="utf-8") if name else text)):
            dead.append(link)
    return dead


@pytest.mark.parametrize("page", ALL)
def test_every_link_leads_somewhere(page: str) -> None:
    assert dead_links(read(page), (ROOT / page).parent) == []


@pytest.mark.parametrize("page", ALL)
def test_no_line_of_prose_is_long(page: str) -> None:
    """Tables have a line per row, and a word or address may be longer than a line."""
    lines = prose(read(page)).splitlines()
    long = [line for line in lines if len(line) > WIDTH and " " in line.strip()]
    assert [line for line in long if not line.lstrip().startswith(("|", "!["))] == []


def files_of(place: str, bases: list[Path]) -> list[Path]:
    """Return the file that a passage names, or the source files of the folder."""
    path = next((base / place for base in bases if (base / place).exists()), ROOT / place)
    return [path] if path.is_file() else sorted(path.rglob("*.[ch]")) + sorted(path.rglob("*.py"))


def missing_names(text: str) -> tuple[int, list[tuple[str, str]]]:
    """
    Return the number of phrases "`name` in `file`" or "`method` of `Class` in `file`", and those whose file (or folder)
    lacks a name.
    """
    count = 0
    missing = []
    for passage, bases in passages(text):
        line = " ".join(passage.split())
        for names, place in re.findall(r"((?:`[\w.]+`(?:, | and | \(?of ))*`[\w.]+`) in `([\w/.]+)`", line):
            source = "".join(file.read_text(encoding="utf-8") for file in files_of(place, bases))
            missing += [
                (name, place)
                for name in re.findall(r"`([\w.]+)`", names)
                if not file_names(f"`{name}`") and not re.search(rf"\b{name.rpartition('.')[2]}\b", source)
            ]
            count += 1
    return count, missing


def test_every_function_is_in_its_file() -> None:
    count, missing = missing_names(read("docs/architecture.md"))
    assert missing == []
    assert count > 90


def test_every_name_is_somewhere() -> None:
    """A name in backticks in the architecture page exists in the sources, or is the end of a test name."""
    text = read("docs/architecture.md")
    files = [path for folder in ("cpkg", "ffi_build", "purepy", "tests") for path in (ROOT / folder).rglob("*")]
    sources = [path.read_text(encoding="utf-8") for path in files if path.suffix in (".py", ".pyi", ".c", ".h")]
    known = set(re.findall(r"\w+", "\n".join(sources)))
    found = {name for part in quoted(text) if re.fullmatch(r"[A-Za-z_][\w.]*", part) for name in part.split(".")}
    endings = [path.stem for path in files if path.stem.startswith("test_")]
    assert sorted(name for name in found - known if not any(stem.endswith(name) for stem in endings)) == []
    assert len(found) > 200


def test_missing_parts_are_found() -> None:
    """The helpers find paths, commands and folders; otherwise the tests above could not fail."""
    text = "see `cpkg/nowhere.py` and `tox.ini`, `pytest tests/nothing.py -x`\n```\npytest tests/a\n```\n"
    assert paths(text) == ["cpkg/nowhere.py", "tox.ini"]
    assert file_names(text) == ["cpkg/nowhere.py"]
    assert pytest_arguments(text) == ["tests/nothing.py", "tests/a"]
    rows = "## `cpkg/`\n\n| in `purepy/base/` | b |\n| --- | --- |\n| `cpkg/cli/` | `run.py` `errors.py` `no.py` |\n"
    rows += "| | `__main__.py` `shell.py` |\n| `purepy/tar/` | `shell.py` |\n\n"
    rows += "`codec.py`\n- `purepy/zstd/`\n  - `names.py`\n- `names.py`\n"
    assert wrong_paths(rows) == ["no.py", "shell.py", "codec.py", "names.py"]
    text = "`is_nowhere` in `purepy/base/`: `nobody`,\n`nohow` (of\n`lock` in `system.py`)"
    found = ("is_nowhere", "purepy/base/"), ("nobody", "system.py"), ("nohow", "system.py")
    assert missing_names(text) == (2, [*found])
    links = "# One `word`: two\n[a](#one-word-two) [b](#three) [c](README.md) [d](nowhere.md) [e](README.md#nowhere)"
    assert dead_links(links, ROOT) == ["#three", "nowhere.md", "README.md#nowhere"]
