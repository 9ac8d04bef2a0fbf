# SPDX-License-Identifier: Apache-2.0
"""The command line as a process: signals at any time, and the memory that packing takes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from processes import MEASURED, run_python

import cpkg


@pytest.mark.once
def test_a_signal_at_any_time_leaves_a_whole_file_or_none(environment: dict[str, str], tmp_path: Path) -> None:
    source, out = tmp_path / "source.jsonl", tmp_path / "out" / "x"
    rows = [{"id": number, "text": f"row {number * 7919 % 1000}".ljust(50)} for number in range(60_000)]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out.parent.mkdir()
    expected = cpkg.dumps(rows)
    for delay in (0.3, 0.6, 0.8, 1.0, 1.2, 2.5):
        process = subprocess.Popen(
            [sys.executable, "-I", "-m", "cpkg", "pack", source, "-o", out], stderr=subprocess.DEVNULL, env=environment
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=delay)
        process.send_signal(signal.SIGINT)  # no effect if the process has ended
        process.wait(timeout=60)
        assert set(os.listdir(out.parent)) <= {"x"}
        if out.exists():
            assert out.read_bytes() == expected
            out.unlink()


PACKING = """
import sys
from cpkg.__main__ import main
sys.argv[1:1] = ["pack"]
assert main() == 0
# not ru_maxrss, which begins with the memory of the parent
print(*[line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")])
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="measures with /proc")
@pytest.mark.skipif(sys.implementation.name == "pypy", reason="PyPy's collector comes by when the pieces are many")
def test_memory_of_packing_lines(environment: dict[str, str], tmp_path: Path) -> None:
    """The same work on a tenth of the input measures the memory of the interpreter, which is subtracted."""
    peaks = []
    for rows in (6_000, 60_000):
        path = tmp_path / f"{rows}.json"
        path.write_text("\n".join(json.dumps({"id": row, "text": "x" * 400}) for row in range(rows)))
        done = run_python("-c", PACKING, str(path), "-o", str(tmp_path / "x"), env={**environment, **MEASURED})
        assert done.returncode == 0, done.stderr
        peaks.append(int(done.stdout) * 1024)
    # The message, nearly as long as the text, is in memory in pieces and as a whole. Bytes, text and objects together
    # would take four times as much.
    assert peaks[1] - peaks[0] < 2.5 * path.stat().st_size
    assert len(cpkg.load(tmp_path / "x")) == 60_000
