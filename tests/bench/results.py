# SPDX-License-Identifier: Apache-2.0
"""Read the JSON files of a run: a row for each interpreter with a backend, and its cells with their ratios."""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

from bench import turns
from bench.cells import OURS
from bench.groups import ORDER
from bench.measure import Figures
from bench.turns import Ratio

WIDTH = 120
_UNIT = re.compile(r"(\d) (±|(?:[nµm]?s|[KMG]?i?B)\b)")
BACKENDS = ("wheel", "auto", "native", "dlopen", "pure")


class NotResults(Exception):
    """A file or folder has no results of the matrix."""


class Cell:
    """One cell. ratios: the ratio of every other measured library. best: the fastest alternative, or None."""

    def __init__(self, figures: Figures) -> None:
        self.figures = figures
        # no ratio can be computed if a process needed no memory
        whole = [{n: rounds for n, rounds in one.items() if min(rounds) > 0} for one in self.figures.processes]
        names = dict.fromkeys(name for one in whole if OURS in one for name in one if name != OURS)
        self.ratios = {name: turns.ratio(whole, OURS, name) for name in names}
        known = [name for name in self.figures.alternatives if name in self.ratios]
        self.best = min(known, key=lambda name: self.ratios[name].value, default=None)

    def named(self, names: str) -> str | None:
        """Return the first of the libraries `one|another` that was measured here, or None."""
        return next((name for name in names.split("|") if name in self.ratios), None)

    @property
    def subject(self) -> tuple[str, str, str]:
        """The group, the case and the operation."""
        return self.figures.group, self.figures.case, self.figures.operation

    @property
    def lead(self) -> Ratio | None:
        """The ratio of the fastest alternative; None without an alternative, or if the cell only copies memory."""
        return None if self.best is None or self.figures.copy else self.ratios[self.best]

    @property
    def behind(self) -> bool:
        """Whether an alternative is shown to be faster."""
        return self.lead is not None and self.lead.high < 1

    @property
    def value(self) -> float | None:
        """The figure of cpkg, in seconds of a call or in bytes; None if it has no figure."""
        known = any(one.get(OURS) for one in self.figures.processes)
        return turns.seconds(self.figures.processes, OURS) if known else None


@dataclass
class Row:
    """One JSON file: an interpreter with a backend."""

    name: str
    matrix: dict[str, Any]
    cells: list[Cell]

    @property
    def interpreter(self) -> str:
        """The interpreter with its version."""
        return str(self.matrix["machine"]["interpreter"])

    @property
    def implementation(self) -> str:
        """CPython or PyPy."""
        return self.interpreter.split()[0]

    @property
    def label(self) -> str:
        """The interpreter in short, and the backend unless the row measured a wheel: `CPython 3.14`, `PyPy 8.0 (3.11)`.

        PyPy's own version comes first, and the version of the language follows in parentheses.
        """
        short = re.sub(r"(\d+\.\d+)[.\d]*", r"\1", self.interpreter).replace(" free-threaded", "t")
        backend = self.name.rsplit("-", 1)[-1]
        return short if backend == "wheel" else f"{short}, {backend}"

    @property
    def nursery(self) -> str:
        """The nursery of PyPy in words, empty for CPython."""
        found = self.matrix["machine"].get("nursery")
        return f"nursery of {size(found)}" if found else ""

    def groups(self) -> dict[str, list[Cell]]:
        """The cells by group, in the order of the report."""
        found: dict[str, list[Cell]] = {name: [] for name in ORDER}
        for cell in self.cells:
            found.setdefault(cell.figures.group, []).append(cell)
        return {name: cells for name, cells in found.items() if cells}

    def some(self, group: str, operations: str = ".*") -> Iterator[Cell]:
        """Yield the cells of a group whose operation matches a pattern, without copies of memory."""
        for cell in self.cells:
            of = cell.figures
            if of.group == group and re.fullmatch(operations, of.operation) and not of.copy:
                yield cell

    def order(self) -> tuple[Any, ...]:
        """Return the place of the row in the report."""
        interpreter, _, backend = self.name.rpartition("-")
        number = tuple(int(part) for part in re.findall(r"\d+", interpreter))
        place = BACKENDS.index(backend) if backend in BACKENDS else len(BACKENDS)
        return place, interpreter.startswith("pypy"), number, self.name


def read_row(path: Path) -> Row:
    """Read one JSON file; raises NotResults if it is not a result of the matrix."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        cells = [Cell(Figures(**benchmark["extra_info"])) for benchmark in data["benchmarks"]]
        data["matrix"]["machine"]["interpreter"], data["matrix"]["peers"]  # what every result has
        return Row(data["matrix"]["row"], data["matrix"], cells)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NotResults(f"{path}: not a result of the benchmark matrix ({type(error).__name__}: {error})") from error


def read_folder(folder: Path, rows: str = "*") -> list[Row]:
    """Read the rows of a folder whose names match a pattern, in the order of backends and interpreters.

    Raises NotResults if there is none.
    """
    files = sorted(folder.glob("*.json")) if folder.is_dir() else []
    if not files:
        raise NotResults(f"{folder}: no results here; `tox run -e bench-quick` or `tox run -m bench` writes them")
    found = [row for row in map(read_row, files) if fnmatch(row.name, rows)]
    if not found:
        raise NotResults(f"{folder}: no row {rows}")
    counted = Counter(row.name for row in found)
    if doubled := counted - Counter({*counted}):
        raise NotResults(f"{folder}: two files for {', '.join(sorted(doubled))}; a row is measured in one run")
    return sorted(found, key=Row.order)


def folder_of_results(folder: Path) -> Path:
    """Return the folder, or the folder `quick` in it if only that has results."""
    quick = folder / "quick"
    return quick if not any(folder.glob("*.json")) and any(quick.glob("*.json")) else folder


def mean(ratios: Iterable[Ratio]) -> Ratio | None:
    """Return the geometric mean of ratios, with a 95 % interval computed from theirs; None without ratios."""
    found = list(ratios)
    if not found:
        return None
    middle = sum(math.log(one.value) for one in found) / len(found)
    half = math.sqrt(sum(math.log(one.high / one.value) ** 2 for one in found)) / len(found)
    return Ratio(math.exp(middle), math.exp(middle - half), math.exp(middle + half))


def number(value: float) -> str:
    """Show a number with three significant digits, below 1 with two decimals or digits: `0.051`, `1.45`, `254`."""
    if value < 1:
        return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def with_interval(ratio: Ratio) -> str:
    """Show a ratio with the half width of its interval, rounded up: `1.45 ±2%`; a wide interval by its ends."""
    if ratio.half <= math.log(1.5):
        return f"{number(ratio.value)} ±{math.ceil(100 * math.expm1(ratio.half) - 1e-9)}%"
    if math.isinf(ratio.half):
        return f"{number(ratio.value)}, measured once"
    return f"{number(ratio.value)} ({number(ratio.low)} to {number(ratio.high)})"


def _three(value: float, units: Sequence[tuple[float, str]]) -> str:
    """Show a value with three digits in the first unit in which it is at least 1, else in the last."""
    factor, unit = next((each for each in units if value >= each[0] * 0.9995), units[-1])
    shown = value / factor
    return f"{shown:.3g} {unit}" if shown < 999.5 else f"{shown:,.0f} {unit}"


seconds = partial(_three, units=((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")))
size = partial(_three, units=((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")))
_speed = partial(_three, units=((1e9, "GB/s"), (1e6, "MB/s")))


def figure(cell: Cell) -> str:
    """Show cpkg's own figure of a cell: its time, with the throughput or the time of a value if the cell has one."""
    value, of = cell.value, cell.figures
    if value is None:
        return ""
    if of.unit == "bytes":
        return size(value)
    if of.values is not None and of.values > 1:
        return f"{seconds(value)} ({seconds(value / of.values)} each)"
    if of.size is not None and of.size >= 1024:
        return f"{seconds(value)} ({_speed(of.size / value)})"
    return seconds(value)


def wrapped(text: str) -> str:
    """Return a page whose lines of prose have at most 120 columns; tables, code and pictures are unchanged."""
    lines: list[str] = []
    code = False
    for line in text.split("\n"):
        code ^= line.startswith("```")
        if code or line.startswith(("|", "```", "![", "#", "<!--")):
            lines.append(line)
        else:
            indent = "  " if line.startswith("- ") else ""
            lines += textwrap.wrap(
                line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
            ) or [""]
    return "\n".join(lines)


def plain(text: str) -> str:
    """Return a text whose characters Markdown and HTML do not interpret."""
    return re.sub(r"([<*_`\[\]])", r"\\\1", text)


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown. A line never breaks between a number and its unit or interval."""
    rows = [head, ["---"] * len(head), *lines]
    cleaned = (
        [_UNIT.sub("\\1\u00a0\\2", text.replace("|", "\\|").replace("\n", " ")) or " " for text in row] for row in rows
    )
    return "".join(f"| {' | '.join(row)} |\n" for row in cleaned)
