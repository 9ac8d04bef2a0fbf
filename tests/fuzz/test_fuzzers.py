# SPDX-License-Identifier: Apache-2.0
"""Run the fuzzers of codecs for some rounds; nightly runs each for minutes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

import fuzz_zstd_backends
import pytest
from backends import available
from processes import run_python
from seeds import SEED
from zstd_oracle import FORMS, in_form


def call_in_any_order(module: ModuleType, seed: int, folder: Path) -> None:
    program = str(Path(__file__).with_name("fuzz_lifetimes.py"))
    environment = {"PYTHONMALLOC": "debug", "PYTHONPATH": os.pathsep.join(sys.path), **os.environ}
    # the fuzzer also opens invented names for writing
    result = run_python(program, module.__name__, str(seed), "400", env=environment, timeout=300, cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "done" in result.stdout


@pytest.mark.parametrize("seed", [SEED, SEED + 1])
def test_lifetimes_of_zstd(zstd: ModuleType, seed: int, tmp_path: Path) -> None:
    call_in_any_order(zstd, seed, tmp_path)


@pytest.mark.parametrize("seed", [SEED, SEED + 1])
def test_lifetimes_of_msgpack(msgpack: ModuleType, seed: int, tmp_path: Path) -> None:
    call_in_any_order(msgpack, seed, tmp_path)


@pytest.mark.once
@pytest.mark.parametrize("form", FORMS)
def test_all_zstd_backends_agree(form: str) -> None:
    """Libzstd, and the pure codec in each of its forms; a failure prints its input."""
    backends = {**available("zstd"), "pure": in_form(form)}
    results = fuzz_zstd_backends.run(list(backends.values()), SEED, rounds=15)
    assert min(results["bytes"], results["ZstdError"], results["decoded"]) > 0
    assert results["refused"] > 10
