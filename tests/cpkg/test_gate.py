# SPDX-License-Identifier: Apache-2.0
"""The gate is deterministic: its tests do not wait for a clock, measure memory, or use unseeded random values."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

TESTS = Path(__file__).parents[1]
FORBIDDEN = re.compile(
    r"setitimer|\bTimer\(|signal\.alarm|\bsleep\((?!0\))|(?<!date)time\.time\(|perf_counter|monotonic|process_time|thread_time"
    r"|getrusage|ru_maxrss|VmHWM|tracemalloc|urandom|SystemRandom|random\.Random\(\)|random\.seed\(\)"
)
OTHERS = {"bench", "dask", "engines", "libraries", "support", "training", "upstream"}
"""Folders of other rows, and helpers, some of which are only for nightly tests."""


def test_no_gate_test_depends_on_time_load_or_memory() -> None:
    """Tests that cannot be deterministic are in files named `*_nightly.py`."""
    files = [
        path
        for pattern in ("*/test_*.py", "*/*.txt")  # text files contain programs for child processes
        for path in TESTS.glob(pattern)
        if path.parent.name not in OTHERS
    ]
    found = [
        f"{path.relative_to(TESTS)}:{number}: {line.strip()}"
        for path in files
        if path != Path(__file__) and not path.stem.endswith("_nightly")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if FORBIDDEN.search(line)
    ]
    assert len(files) > 100
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "line", ["time.sleep(0.1)", "await asyncio.sleep(1)", "signal.setitimer(0, 1)", "os.urandom(3)"]
)
def test_such_a_line_is_seen(line: str) -> None:
    assert FORBIDDEN.search(line)
