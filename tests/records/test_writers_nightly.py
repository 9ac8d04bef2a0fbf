# SPDX-License-Identifier: Apache-2.0
"""Writers that are killed at random moments lose no flushed record; writing and reading take little memory."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import run_python, sections
from seeds import SEED

from cpkg import records

PROGRAMS = sections(__file__, "programs_nightly.txt")
PRELUDE = f"import sys; sys.path[:0] = {sys.path!r}\n"
WRITER, MEMORY = PRELUDE + PROGRAMS["a writer"], PRELUDE + PROGRAMS["memory"]


@pytest.mark.parametrize("threads", [1, 2])
def test_killed_at_random_moments(path: Path, threads: int) -> None:
    """The next writer continues in the file of a killed writer."""
    chance = random.Random(SEED)
    safe = 0
    for turn in range(200):
        arguments = ["-I", "-c", WRITER, str(path), str(SEED + turn), str(threads)]
        with subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            begun = child.stdout.readline()
            assert begun.startswith("open")
            assert int(begun.split()[1]) >= safe
            time.sleep(chance.random() ** 2 * 0.12)
            child.send_signal(signal.SIGKILL)
            output = child.stdout.read().splitlines()
        safe = max([safe, *(int(line.split()[1]) for line in output if line.startswith("flushed"))])
        with records.open(path, threads=1) as reader:
            found = [row["number"] for row in reader]
        assert found == list(range(len(found))), f"turn {turn}, seed {SEED}"
        assert len(found) >= safe, f"turn {turn}, seed {SEED}"
        report = records.verify(path, threads=1)
        assert not report.damage
        assert not report.problems
        if turn % 3 == 0:
            total = records.inspect(path).records
            records.repair(path, threads=1)
            assert records.verify(path, threads=1).ok
            assert records.inspect(path).records == total


def test_memory_stays_flat(tmp_path: Path) -> None:
    """Writing and reading six times as much takes no more memory."""
    pytest.importorskip("resource")
    done = run_python("-I", "-c", MEMORY, str(tmp_path / "file.rec"), env=os.environ)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 12_000  # KiB, where the records take 15 MB
