# SPDX-License-Identifier: Apache-2.0
"""If an allocation fails in C, the result is right or a MemoryError, and no memory is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from extent import IS_FULL
from processes import run_python

PROGRAM = Path(__file__).with_name("failing_allocations.txt")


@pytest.mark.skipif(not IS_FULL, reason="one version of CPython is enough: all run the same source")
def test_a_failing_allocation_is_a_memory_error_and_leaves_nothing_behind(msgpack):
    pytest.importorskip("_testcapi", reason="not every Python has it")
    if msgpack.TypedTable is None:
        pytest.skip("only the native backend has types in C")
    run = run_python(str(PROGRAM), env={**os.environ, "CPKG_MSGPACK_BACKEND": msgpack.BACKEND})
    assert run.returncode == 0, run.stderr
    counts = {line.split()[0]: int(line.split()[1]) for line in run.stdout.splitlines()}
    assert min(counts.values()) > 5, counts
    names = ["table", "class", "decode", "each", "arrays", "refuse", "values", "hook", "encode", "loads", "dumps"]
    assert list(counts) == names
