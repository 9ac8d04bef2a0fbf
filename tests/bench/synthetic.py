# SPDX-License-Identifier: Apache-2.0
"""Create result files with known figures, for the tests of the tools that read them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.cells import OURS
from bench.measure import Figures
from bench.results import Cell, Row

PROCESSES = (0.99, 1.0, 1.0, 1.01)
"""The ratio of each process to the cell's."""


def cell(
    group: str,
    case: str,
    operation: str,
    ratios: Mapping[str, float],
    seconds: float = 1e-6,
    spread: Sequence[float] = PROCESSES,
    **more: Any,
) -> Figures:
    """Return a cell in which cpkg takes these seconds, and others so many times as long, in each of four processes."""
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
    """Return cells of several groups; all others take `factor` times as long as they would."""
    found = []
    others = {"msgpack": 2.5, "ormsgpack": 1.5, "msgspec": 0.9, "json": 0.5}
    formats = {OURS: "msgpack", "json": "json", "msgpack": "msgpack", "ormsgpack": "msgpack", "msgspec": "msgpack"}
    for operation, coded in (("pack", "encode"), ("unpack", "decode")):
        ratios = {name: ratio * factor for name, ratio in others.items()}
        found.append(cell("MessagePack", "regular", operation, ratios, 1.23e-7, formats=formats))
        found.append(cell("MessagePack", "bin", operation, {"msgpack": 800.0}, 4e-4, formats=formats, copy=True))
        ratios, missing = {"msgspec": 1.4 * factor, "cattrs": 12 * factor}, {"pydantic": "ImportError: <no> | wheel"}
        found.append(cell("Typed", "users", coded, ratios, 4.5e-5, missing=missing, values=100))
    for operation in ("compress", "decompress"):
        for size, text, zstandard in ((1 << 10, "1KiB", 1.2), (1 << 20, "1MiB", 0.95)):
            ratios = {"zstandard": zstandard * factor, "backports.zstd": 0.8 * factor, "libzstd itself": 0.98}
            more = {"limits": ["libzstd itself"], "size": size}
            found.append(cell("Zstandard one-shot", f"{text} level 3", operation, ratios, size * 4.12e-9, **more))
    found.append(cell("Peak memory", "pack", "peak", {"msgpack": 2 * factor}, 5e6, unit="bytes"))
    found.append(Figures("Arrays", "floats", "pack", missing={OURS: "ImportError: no numpy"}))
    return found
