# SPDX-License-Identifier: Apache-2.0
"""Read the JSON files of a run, merge the passes of each cell, and decide which figures are reliable.

The figure of a pass is the lower quartile of its rounds: a quarter of the rounds ran undisturbed, and garbage
collection, which is part of the work, is included. A cell's value is the best of its passes, which drops times when the
machine was busy. A cell is noisy if no second pass comes near the best: figures that cannot be repeated are marked.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

# The second best pass may be this much slower than the best before a cell counts as noisy.
NOISE_LIMIT = 0.10
# The control beside a cell may be this many times slower than the run's own before the machine counts as busy.
BUSY_LIMIT = 1.3
# The noise limit for figures of whole processes, which vary more than loops do.
NOISE_LIMITS = {"Ready at once": 0.25, "Peak memory": 0.25, "File input and output": 0.15}
GROUPS = (
    "MessagePack",
    "MessagePack streaming",
    "Zstandard one-shot",
    "Zstandard with a dictionary",
    "File input and output",
    "Typed",
    "Value types",
    "Arrays",
    "Signer: serializers",
    "Signer: compressors",
    "Signer: instance",
    "Ready at once",
    "Ready at once: dumps and loads",
    "Peak memory",
)
# blake2signer's page flags a row whose best time is less than 60 standard deviations
RULE_60 = 60


class Key(NamedTuple):
    """The subject of a cell; the row (interpreter and backend) is not part of it."""

    group: str
    case: str
    operation: str
    library: str


OF_ANOTHER_FORMAT = ("json", "orjson")
"""Shown beside cpkg's figures, but never an alternative to cpkg."""


@dataclass
class Cell:
    """One figure. value: seconds, or bytes if `unit` is bytes. noise: how far the second best pass is from the best.

    control: seconds of the control beside the best pass. busy: whether that is far from the control of the whole run.
    info: everything the benchmark recorded. limit: whether it is a limit, not an alternative. copy: whether the work
    is one copy of memory in every library: no codec is at work, and no mean includes it.
    """

    key: Key
    value: float
    noise: float
    passes: int
    control: dict[str, float]
    info: dict[str, Any]
    rule60: bool | None = None
    unit: str = "seconds"
    ours: bool = False
    limit: bool = False
    copy: bool = False
    busy: bool = False

    @property
    def noisy(self) -> bool:
        """Whether the figure could not be repeated, or was only ever measured while the machine was busy."""
        return self.busy or self.noise > NOISE_LIMITS.get(self.key.group, NOISE_LIMIT)

    @property
    def throughput(self) -> float | None:
        """Bytes per second of the uncompressed (packed) side, if the case has a size."""
        size = self.info.get("size")
        return size / self.value if size and self.unit == "seconds" and self.value else None


@dataclass
class Row:
    """One JSON file: an interpreter with a backend. control: the time of the control on an idle machine."""

    name: str
    path: Path
    matrix: dict[str, Any]
    cells: dict[Key, Cell] = field(default_factory=dict)
    missing: dict[Key, str] = field(default_factory=dict)
    control: dict[str, float] = field(default_factory=dict)

    @property
    def interpreter(self) -> str:
        """The interpreter with its version."""
        return str(self.matrix["machine"]["interpreter"])

    @property
    def backend(self) -> str:
        """The backend part of the row's name."""
        return self.name.rsplit("-", 1)[-1]

    @property
    def quick(self) -> bool:
        """Whether it is the quick tenth."""
        return bool(self.matrix["settings"]["quick"])

    def groups(self) -> list[str]:
        """The groups in the order of the report."""
        found = dict.fromkeys(key.group for key in [*self.cells, *self.missing])
        return sorted(found, key=lambda group: GROUPS.index(group) if group in GROUPS else len(GROUPS))

    def libraries(self, group: str) -> list[str]:
        """The libraries of a group, cpkg's first, limits last."""
        keys = [key for key in [*self.cells, *self.missing] if key.group == group]
        names = list(dict.fromkeys(key.library for key in keys))
        ours = {key.library for key, cell in self.cells.items() if key.group == group and cell.ours}
        limits = {key.library for key, cell in self.cells.items() if key.group == group and cell.limit}
        return sorted(names, key=lambda name: (name not in ours, name in limits))

    def comparisons(self, group: str) -> Iterator[Comparison]:
        """Return every case and operation of a group with all of its cells."""
        keys = [key for key in [*self.cells, *self.missing] if key.group == group]
        for case, operation in dict.fromkeys((key.case, key.operation) for key in keys):
            work = (group, case, operation)
            cells = {key.library: cell for key, cell in self.cells.items() if key[:3] == work}
            missing = {key.library: reason for key, reason in self.missing.items() if key[:3] == work}
            yield Comparison(group, case, operation, cells, missing)


@dataclass
class Comparison:
    """One line of a table: the same work with every library."""

    group: str
    case: str
    operation: str
    cells: dict[str, Cell]
    missing: dict[str, str]

    @property
    def ours(self) -> Cell | None:
        """cpkg's figure."""
        return next((cell for cell in self.cells.values() if cell.ours), None)

    @property
    def copy(self) -> bool:
        """Whether the work is one copy of memory."""
        return any(cell.copy for cell in self.cells.values())

    @property
    def alternatives(self) -> list[Cell]:
        """The libraries of the same format that could replace cpkg."""
        wanted = self.ours.info.get("format") if self.ours is not None else None
        if wanted is None:  # a group whose figures do not name their formats
            return [cell for cell in self._others if cell.key.library not in OF_ANOTHER_FORMAT]
        return [cell for cell in self._others if cell.info.get("format") == wanted]

    @property
    def _others(self) -> list[Cell]:
        # a limit cannot be used, and a plain file is not compressed
        return [c for c in self.cells.values() if not c.ours and not c.limit and c.key.library != "plain"]

    @property
    def best_alternative(self) -> Cell | None:
        """The fastest of the alternatives."""
        return min(self.alternatives, key=lambda cell: cell.value, default=None)

    @property
    def fastest(self) -> Cell | None:
        """The fastest of all except limits, in any format."""
        cells = [*self._others, *([self.ours] if self.ours else [])]
        return min(cells, key=lambda cell: cell.value, default=None)

    @property
    def faster_other(self) -> Cell | None:
        """The fastest of all, unless that is cpkg."""
        return None if self.fastest is None or self.fastest.ours else self.fastest

    @property
    def gain(self) -> float | None:
        """How many times faster cpkg is than the best alternative (below 1: slower)."""
        ours, other = self.ours, self.best_alternative
        return other.value / ours.value if ours and other and ours.value and other.value else None

    @property
    def noisy(self) -> bool:
        """Whether the two figures that decide the comparison can be repeated."""
        return any(cell.noisy for cell in (self.ours, self.best_alternative) if cell is not None)


def _measured(benchmark: dict[str, Any]) -> float:
    info = benchmark["extra_info"]
    return float(info["value"]) if "value" in info else benchmark["stats"]["q1"] / info["inner"]


def _merge(key: Key, entries: list[dict[str, Any]]) -> Cell:
    """Create one cell from its passes."""
    entries = sorted(entries, key=_measured)
    best = entries[0]
    value = _measured(best)
    if len(entries) > 1:
        noise = _measured(entries[1]) / value - 1 if value else 0.0
    else:
        stats = best["stats"]
        # with one pass of one round, nothing shows how reliable it is
        noise = stats["iqr"] / stats["median"] if stats["rounds"] > 1 and stats["median"] else 1.0
    rule60 = None
    if best["extra_info"].get("rule60"):
        stddev = best["stats"]["stddev"]
        rule60 = stddev == 0 or best["stats"]["min"] / stddev > RULE_60
    info = best["extra_info"]
    flags = {name: bool(info.get(name)) for name in ("ours", "limit", "copy")}
    unit = info.get("unit", "seconds")
    return Cell(key, value, noise, len(entries), info["control"], info, rule60, unit, **flags)


class NotResults(Exception):
    """A file is not a result of the matrix."""


def read_row(path: Path) -> Row:
    """Read one JSON file; raises NotResults if it is not a result of the matrix."""
    try:
        return row_of(json.loads(path.read_text()), path)
    except (ValueError, KeyError, TypeError) as error:
        raise NotResults(f"{path}: not a result of the benchmark matrix ({type(error).__name__}: {error})") from error


def key_of(benchmark: dict[str, Any]) -> Key:
    """Return which cell a benchmark measured."""
    info = benchmark["extra_info"]
    return Key(info["group"], info["case"], info["operation"], info["library"])


def row_of(data: dict[str, Any], path: Path) -> Row:
    """Create a row from the content of a JSON file."""
    matrix = data["matrix"]
    row = Row(matrix["row"], path, matrix)
    passes: dict[Key, list[dict[str, Any]]] = {}
    for benchmark in data["benchmarks"]:
        passes.setdefault(key_of(benchmark), []).append(benchmark)
    for key, entries in passes.items():
        row.cells[key] = _merge(key, entries)
    _judge_control(row)
    for entry in matrix["not_run"]:
        key = Key(entry["group"], entry["case"], entry["operation"], entry["library"])
        if key not in row.cells:
            row.missing[key] = entry["reason"]
    return row


def lower_quartile(values: Iterable[float]) -> float:
    """Return the lower quartile of the values; the least value if there are fewer than four."""
    ordered = sorted(values)
    return ordered[len(ordered) // 4]


def _judge_control(row: Row) -> None:
    """Use the lower quartile of all controls as the run's, and mark the cells that were measured far from it."""
    for part in {part for cell in row.cells.values() for part in cell.control}:
        row.control[part] = lower_quartile(cell.control[part] for cell in row.cells.values() if part in cell.control)
    for cell in row.cells.values():
        cell.busy = cell.unit == "seconds" and cell.control.get("loop", 0) > BUSY_LIMIT * row.control["loop"]


def folder_of_results(folder: Path) -> Path:
    """Return the folder, or its folder for the quick tenth if there is nothing else."""
    quick = folder / "quick"
    return quick if not any(folder.glob("*.json")) and any(quick.glob("*.json")) else folder


def read_folder(folder: Path) -> list[Row]:
    """Read every JSON file of a folder, in the order of interpreters and backends; raises NotResults if it has none."""
    files = sorted(folder.glob("*.json")) if folder.is_dir() else []
    if not files:
        raise NotResults(f"{folder}: no results here; `tox run -e bench-quick` or `tox run -m bench` writes them")
    rows = [read_row(path) for path in files]
    doubled = {row.name for row in rows if [other.name for other in rows].count(row.name) > 1}
    if doubled:
        raise NotResults(f"{folder}: two files for {', '.join(sorted(doubled))}; a row is measured in one run")
    return sorted(rows, key=_order)


def best_measured(rows: Iterable[Row]) -> list[Row]:
    """Leave out an interpreter's quick rows if it has a full one: a few cases cannot be compared with all of them."""
    rows = list(rows)
    whole = {row.interpreter for row in rows if not row.quick}
    return [row for row in rows if row.interpreter not in whole or not row.quick]


def _order(row: Row) -> tuple[Any, ...]:
    interpreter, _, backend = row.name.rpartition("-")
    pypy = interpreter.startswith("pypy")
    numbers = tuple(int(part) for part in interpreter.replace("pypy", "").split(".") if part.isdigit())
    backends = ("auto", "native", "wheel", "dlopen", "pure")
    return pypy, numbers, backends.index(backend) if backend in backends else len(backends), row.name


def geometric_mean(values: Iterable[float]) -> float | None:
    """Return the mean of ratios."""
    logs = [math.log(value) for value in values if value > 0]
    return math.exp(sum(logs) / len(logs)) if logs else None


def control_ratio(new: Row, old: Row) -> float:
    """Return how many times slower the machine itself was for `new` than for `old`, by both parts of the control."""
    return geometric_mean(new.control[part] / old.control[part] for part in new.control if part in old.control) or 1.0
