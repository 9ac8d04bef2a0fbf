# SPDX-License-Identifier: Apache-2.0
"""Default limits of loads: the memory of a process for small input that becomes large objects."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from bombs import ITEMS, array, heaviest_below
from processes import MEASURED, run_alone

import cpkg

MIB = 2**20
LIMIT = 64 * MIB
PYPY = sys.implementation.name == "pypy"
# on PyPy, a growing list exists twice for a moment, the second time an eighth larger
OBJECTS = LIMIT * (2.125 if PYPY else 1.75)
# memory of the interpreter and, on PyPy, garbage that was not collected yet
SLACK = (64 if PYPY else 32) * MIB


def decompressing() -> float:
    """Return the memory for decompression as a multiple of the output, from the table in docs/zstd.md."""
    return 4.3 if PYPY and cpkg.backend_info()["zstd"].backend == "pure" else 2.4


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="measures with /proc")
@pytest.mark.parametrize("kind", ITEMS)
def test_memory_is_bounded(msgpack: ModuleType, kind: str, tmp_path: Path) -> None:
    """The limit is the message plus 64 MiB of objects, with slack for differences between interpreters."""
    item = ITEMS[kind]
    count = heaviest_below(item, LIMIT)
    size = len(array(item, count))
    for name, times in (("allowed", count), ("too much", count * 101 // 100 + 1), ("far too much", 3 * count)):
        message = array(item, times)
        (tmp_path / name).write_bytes(cpkg.zstd.compress(message, 1))
    settings = f"FOLDER, SIZE, COUNT, LIMIT = {(str(tmp_path), size, count, LIMIT)!r}\n"
    program = Path(__file__).with_name("bombs_nightly.txt").read_text(encoding="utf-8")
    done = run_alone(msgpack, "codec", settings + program, **MEASURED)
    assert (done.returncode, done.stderr) == (0, "")
    refused, allowed = map(int, done.stdout.split())
    assert refused < decompressing() * min(3 * size, LIMIT) + SLACK
    assert allowed < max(refused, OBJECTS + decompressing() * size + SLACK)
