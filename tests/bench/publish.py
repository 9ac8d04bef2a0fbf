# SPDX-License-Identifier: Apache-2.0
"""Measure the rows of some interpreters, one after the other; a later call continues where this one ended."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench import machine

INTERPRETERS = ("3.11", "3.14", "3.15", "pypy3.9", "pypy3.11")
"""The published interpreters."""


def publish(interpreters: list[str], folder: Path, build: str, minutes: float | None, only: str | None) -> int:
    """Measure a row of each interpreter; return the exit code: 1 if a row is incomplete, by time or by a failure.

    build: `wheel` for the wheel in dist/, or another backend of the rows for benchmarks. minutes: for each row.
    only: a part of the cells.
    """
    revision = machine.describe()["revision"]  # figures of several commits are not mixed
    for interpreter in interpreters or INTERPRETERS:
        name = f"{interpreter}-{build}"
        path = folder / f"{name}-bench.json"
        options = ["--bench-keep", str((folder / "kept" / f"{name}-{revision}.jsonl").resolve())]
        options += [] if minutes is None else ["--bench-minutes", str(minutes)]
        options += [] if only is None else ["-k", only]
        # do not let a row that cannot be measured here pass with figures of another day
        path.unlink(missing_ok=True)
        tox = [sys.executable, "-m", "tox", "run", "--skip-missing-interpreters=false", "-e", f"{name}-bench"]
        if subprocess.run([*tox, "--", *options], check=False).returncode or not path.exists():
            print(f"{name}: not complete; the same command continues where it ended", file=sys.stderr)
            return 1
    return 0
