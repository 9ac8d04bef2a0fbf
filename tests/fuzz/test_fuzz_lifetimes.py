# SPDX-License-Identifier: Apache-2.0
"""A short run of the lifetime fuzzer over the types of each backend, with Python's memory checks."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest
from processes import run_python
from seeds import SEED


def run(module: ModuleType, seed: int, folder: Path) -> None:
    program = str(Path(__file__).with_name("fuzz_lifetimes.py"))
    environment = {"PYTHONMALLOC": "debug", "PYTHONPATH": os.pathsep.join(sys.path), **os.environ}
    # the fuzzer also opens invented names for writing
    result = run_python(program, module.__name__, str(seed), "400", env=environment, timeout=300, cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "done" in result.stdout


@pytest.mark.parametrize("seed", [SEED, SEED + 1])
def test_zstd(zstd: ModuleType, seed: int, tmp_path: Path) -> None:
    run(zstd, seed, tmp_path)


@pytest.mark.parametrize("seed", [SEED, SEED + 1])
def test_msgpack(msgpack: ModuleType, seed: int, tmp_path: Path) -> None:
    run(msgpack, seed, tmp_path)
