# SPDX-License-Identifier: Apache-2.0
"""Functions that write or read whole files, interrupted at any line: files are complete or unchanged."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from extent import IS_PURE_CODEC
from interrupts import Outcome, at_every_line
from record_files import file_of

import cpkg
from cpkg import records, zstd
from cpkg._backend import choose

OBJECT = {"number": list(range(2000)), "text": "text " * 2000}
ROWS = [{"number": number, "text": "x" * 50} for number in range(200)]
SOURCE = file_of(*((b"".join(map(cpkg.packb, ROWS[at : at + 50])), 50) for at in range(0, 200, 50)))

CALLS: dict[str, Callable[[Path], Any]] = {
    "dump": lambda folder: cpkg.dump(OBJECT, folder / "out"),
    "load": lambda folder: cpkg.load(folder / "packed"),
    "join": lambda folder: records.join([folder / "rows"] * 2, folder / "out", overwrite=True),
    "repair": lambda folder: records.repair(folder / "torn").records,
    "copy_stream": lambda folder: zstd.copy_stream(io.BytesIO(choose("zstd").module.compress(SOURCE)), io.BytesIO()),
    "verify a frame": lambda folder: zstd.verify(folder / "packed"),
}
EVERY = 40 if IS_PURE_CODEC else 8


@pytest.mark.once
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a file that was not closed yet
@pytest.mark.parametrize("call", CALLS)
def test_the_exception_comes_out(call: str, tmp_path: Path) -> None:
    cpkg.dump(OBJECT, tmp_path / "packed")
    (tmp_path / "rows").write_bytes(SOURCE)
    kept = {"packed", "rows", "torn", "out"}

    def make() -> Path:
        (tmp_path / "torn").write_bytes(SOURCE[:-30])
        (tmp_path / "out").write_bytes(b"old")
        return tmp_path

    def check(folder: Path, outcome: Outcome) -> None:
        assert outcome.error is None or outcome.is_interrupted, outcome.error
        assert set(os.listdir(folder)) == kept
        new = (folder / "out").read_bytes()
        if new != b"old":
            assert cpkg.load(folder / "out") == OBJECT if call == "dump" else len(records.open(folder / "out")) == 400

    at_every_line(make, CALLS[call], check, times=1, every=EVERY)
