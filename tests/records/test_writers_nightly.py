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
from processes import run_python
from seeds import SEED

from cpkg import records

WRITER = f"""
import sys, random
sys.path[:0] = {sys.path!r}
from cpkg import records
path, seed, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
chance = random.Random(seed)
out = sys.stdout
for _ in range(10**9):
    with records.open(path, "ab", frame_size=chance.choice([200, 2000, 20000]), threads=threads) as writer:
        number = len(writer)
        print("open", number, flush=True)
        for _ in range(chance.randrange(1, 400)):
            writer.append({{"number": number, "text": "t" * chance.randrange(200)}})
            number += 1
            if chance.random() < 0.1:
                writer.flush()
                print("flushed", number, flush=True)
    print("flushed", number, flush=True)
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_killed_at_random_moments(path: Path, threads: int) -> None:
    """The next writer continues in the file of a killed writer."""
    chance = random.Random(SEED)
    safe = 0
    for turn in range(200):
        arguments = [sys.executable, "-I", "-c", WRITER, str(path), str(SEED + turn), str(threads)]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as child:
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
