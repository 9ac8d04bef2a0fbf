# SPDX-License-Identifier: Apache-2.0
"""Create result files with known figures, for the tests of the tools that read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

IDLE = {"loop": 1e-3, "copy": 3e-4}


def benchmark(
    group: str,
    case: str,
    operation: str,
    library: str,
    passes: list[float],
    control: dict[str, float] | None = None,
    **info: Any,
) -> list[dict[str, Any]]:
    """Return the entries of one cell: one per pass, each with its median in seconds."""
    named = {"group": group, "case": case, "operation": operation, "library": library, "inner": 1}
    named.update({"ours": library.startswith("cpkg"), "control": control or IDLE, **info})
    spread = {"stddev": info.get("stddev", 0.0), "iqr": 0.0, "rounds": 5}
    return [
        {
            "stats": {"median": value, "q1": value, "min": value, **spread},
            "extra_info": {"pass": number, **named},
        }
        for number, value in enumerate(passes)
    ]


def write(folder: Path, row: str, interpreter: str, benchmarks: list[dict[str, Any]], *not_run: dict[str, Any]) -> Path:
    """Write one row's file and return its path."""
    machine = {"interpreter": interpreter, "cpu": "a processor", "cpus": 2, "memory": 8 << 30, "date": "2024-02-29"}
    here = {"name": "cpkg", "codecs": ["zstd"], "ours": True, "version": "1", "build": "native", "backend": "native"}
    lacking = {"name": "zstandard", "codecs": ["zstd"], "ours": False, "error": "ImportError: <not> for this one"}
    matrix = {
        "row": row,
        "machine": machine,
        "settings": {"passes": 2, "seconds": 0.1, "quick": False},
        "peers": [here, lacking],
        "install_errors": {"lz4": "no compiler"},
        "not_run": list(not_run),
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{row}.json"
    path.write_text(json.dumps({"matrix": matrix, "benchmarks": benchmarks}))
    return path


def rich_row(factor: float = 1.0, control: dict[str, float] | None = None) -> list[dict[str, Any]]:
    """Return a row with entries in every group; cpkg takes `factor` times as long as it should."""
    found: list[dict[str, Any]] = []
    sizes = {"1KiB": 1 << 10, "16KiB": 1 << 14, "1MiB": 1 << 20, "128MiB": 1 << 27}
    for operation in ("compress", "decompress"):
        for name, size in sizes.items():
            for library, speed in (("cpkg", 4e8 / factor), ("zstd", 3e8), ("zlib", 3e7), ("libzstd itself", 4.2e8)):
                times = [size / speed, size / speed * 1.02]
                limit = {"limit": True} if library.startswith("libzstd") else {}
                found += benchmark(
                    "Zstandard one-shot", f"{name} level 3", operation, library, times, control, size=size, **limit
                )
    for operation in ("pack", "unpack"):
        for case, value in (("small", 1e-7), ("generated", 0.2)):
            found += benchmark("MessagePack", case, operation, "cpkg", [value * factor, value * factor], control)
            found += benchmark("MessagePack", case, operation, "msgpack", [value * 2, value * 2.5], control)
        course = [[1, 1e-3], [2, 5e-4], [10, 1e-4], [100, 1e-6]]
        for library in ("cpkg", "msgpack"):
            warm = f"{operation}, warmed up"
            found += benchmark("Ready at once", "MessagePack regular", warm, library, [1e-6], control, course=course)
    for scale, suffix in ((1, ""), (4, " x4")):
        case = f"read_allAtOnce_binaryMode (large.bin{suffix})"
        for library, value in (("cpkg.zstd", 0.01), ("plain", 0.001), ("gzip", 0.05)):
            growth = scale * scale if library == "gzip" else scale
            found += benchmark("File input and output", case, "read", library, [value * growth] * 2, control)
    found += benchmark("Peak memory", "pack", "peak", "cpkg", [0.1], control, unit="bytes", value=5_000_000)
    found += benchmark("Peak memory", "pack", "peak", "msgpack", [0.1], control, unit="bytes", value=9_000_000)
    found += benchmark("Signer: serializers", "small", "loads", "cpkg", [1e-5] * 2, control, rule60=True, stddev=1e-6)
    found += benchmark("Signer: serializers", "small", "loads", "JSON", [1e-5] * 2, control, rule60=True, stddev=1e-8)
    return found
