# SPDX-License-Identifier: Apache-2.0
"""Create result files with known figures, for the tests of the tools that read them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.cells import OURS, read_data
from bench.measure import Figures
from bench.results import Cell, Row


def cell(
    group: str,
    case: str,
    operation: str,
    ratios: Mapping[str, float],
    seconds: float = 1e-6,
    spread: Sequence[float] = (0.99, 1.0, 1.0, 1.01),
    **more: Any,
) -> Figures:
    """Return a cell with given ratios of other libraries. spread: a factor for the ratios in each process."""
    processes = [
        {OURS: [seconds] * 3, **{name: [seconds * ratio * part] * 3 for name, ratio in ratios.items()}}
        for part in spread
    ]
    return Figures(group, case, operation, processes=processes, **more)


def row(cells: Sequence[Figures], name: str = "3.11-wheel", interpreter: str = "CPython 3.11.7") -> Row:
    """Return a row with these cells."""
    machine = {"interpreter": interpreter, "cpu": "a processor", "cpus": 2, "memory": 8 << 30, "date": "2024-02-29"}
    matrix = {
        "row": name,
        "machine": {**machine, **({"nursery": 4 << 20} if interpreter.startswith("PyPy") else {})},
        "settings": {"quick": False},
        "peers": [
            {"name": OURS, "codecs": ["zstd"], "version": "1", "build": "native"},
            {"name": "zstandard", "codecs": ["zstd"], "error": "ImportError: <not> for this one"},
        ],
        "install_errors": {"lz4": "no compiler"},
    }
    return Row(name, matrix, [*map(Cell, cells)])


def write(folder: Path, cells: Sequence[Figures], *of: str) -> Path:
    """Write the file of one row, whose name and interpreter are as in `row`; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    made = row(cells, *of)
    path = folder / f"{made.name}.json"
    benchmarks = [{"extra_info": asdict(figures)} for figures in cells]
    path.write_text(json.dumps({"matrix": made.matrix, "benchmarks": benchmarks}))
    return path


def rich(factor: float = 1.0) -> list[Figures]:
    """Return the cells of data/rich.json, from several groups, with other libraries' times multiplied by `factor`."""
    cells = read_data("rich")
    for entry in cells:
        entry["ratios"] = {name: ratio * factor for name, ratio in entry["ratios"].items()}
    return [cell(**entry) for entry in cells]
