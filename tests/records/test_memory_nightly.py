# SPDX-License-Identifier: Apache-2.0
"""The memory for writing and reading record files."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from processes import run_python


def test_memory_stays_flat(tmp_path: Path) -> None:
    """Writing and reading six times as much takes no more memory."""
    pytest.importorskip("resource")
    code = f"""
import resource, sys
sys.path[:0] = {sys.path!r}
from cpkg import records
def rows(count):
    for number in range(count):
        yield {{"number": number, "text": "x" * 200, "more": [number] * 10}}
def run(count):
    with records.open(sys.argv[1], "wb", frame_size=1 << 16) as writer:
        writer.extend(rows(count))
    with records.open(sys.argv[1]) as reader:
        assert sum(1 for row in reader) == count
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = run(10_000)
print(run(60_000) - before)
"""
    done = run_python("-I", "-c", code, str(tmp_path / "file.rec"), env=os.environ)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 12_000  # KiB, where the records take 15 MB
