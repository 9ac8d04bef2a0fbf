# SPDX-License-Identifier: Apache-2.0
"""Create result files with known figures, for the tests of the tools that read them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.cells import OURS
from bench.measure import Figures, kept
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
    times = {OURS: 1.0, **ratios}
    processes = [
        {name: [seconds * ratio * (1 if name == OURS else part)] * 3 for name, ratio in times.items()}
        for part in spread
    ]
    return Figures(group, case, operation, processes=processes, **more)


def row(cells: Sequence[Figures], name: str = "3.11-wheel", interpreter: str = "CPython 3.11.7") -> Row:
    """Return a row with these cells."""
    return Row(name, matrix(name, interpreter), [Cell(figures) for figures in cells])


def matrix(name: str, interpreter: str) -> dict[str, Any]:
    """Return what a file says on its row."""
    machine = {"interpreter": interpreter, "cpu": "a processor", "cpus": 2, "memory": 8 << 30, "date": "2024-02-29"}
    if interpreter.startswith("PyPy"):
        machine["nursery"] = 4 << 20
    ours = {"name": OURS, "codecs": ["zstd"], "version": "1", "build": "native"}
    lacking = {"name": "zstandard", "codecs": ["zstd"], "error": "ImportError: <not> for this one"}
    settings = {"quick": False}
    errors = {"lz4": "no compiler"}
    return {"row": name, "machine": machine, "settings": settings, "peers": [ours, lacking], "install_errors": errors}


def write(
    folder: Path, cells: Sequence[Figures], name: str = "3.11-wheel", interpreter: str = "CPython 3.11.7"
) -> Path:
    """Write one row's file and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    benchmarks = [{"extra_info": kept(figures)} for figures in cells]
    path.write_text(json.dumps({"matrix": matrix(name, interpreter), "benchmarks": benchmarks}))
    return path


def rich(factor: float = 1.0) -> list[Figures]:
    """Return cells of several groups; all others take `factor` times as long as they would."""
    found = []
    others = {"msgpack": 2.5, "ormsgpack": 1.5, "msgspec": 0.9, "json": 0.5}
    formats = {OURS: "msgpack", "json": "json", "msgpack": "msgpack", "ormsgpack": "msgpack", "msgspec": "msgpack"}
    for operation in ("pack", "unpack"):
        ratios = {name: ratio * factor for name, ratio in others.items()}
        found.append(cell("MessagePack", "regular", operation, ratios, 1.23e-7, formats=formats))
        found.append(cell("MessagePack", "bin", operation, {"msgpack": 800.0}, 4e-4, formats=formats, copy=True))
        ratios = {"msgspec": 1.4 * factor, "cattrs": 12 * factor}
        coded = "decode" if operation == "unpack" else "encode"
        missing = {"pydantic": "ImportError: <no> | wheel"}
        found.append(cell("Typed", "users", coded, ratios, 4.5e-5, missing=missing, values=100))
    for operation in ("compress", "decompress"):
        for size, text, zstandard in ((1 << 10, "1KiB", 1.2), (1 << 20, "1MiB", 0.95)):
            ratios = {"zstandard": zstandard * factor, "backports.zstd": 0.8 * factor, "libzstd itself": 0.98}
            more = {"limits": ["libzstd itself"], "size": size}
            found.append(cell("Zstandard one-shot", f"{text} level 3", operation, ratios, size * 4.12e-9, **more))
    found.append(cell("Peak memory", "pack", "peak", {"msgpack": 2 * factor}, 5e6, unit="bytes"))
    found.append(Figures("Arrays", "floats", "pack", missing={OURS: "ImportError: no numpy"}))
    return found
