# SPDX-License-Identifier: Apache-2.0
"""The memory that archives take, without the memory of the interpreter and of zstd contexts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from archives import make_files
from processes import run_python
from seeds import noise

from cpkg import _backend

BUDGETS = {"path": 64 << 20, "stream": 96 << 20}
CONTEXTS = 2 * 5 << 20
"""A context of level 3 for 8 MiB of content takes 4.5 MiB."""
BUDGET_PYPY = 144 << 20
"""With the Python engine on PyPy, garbage of frames stays in memory until the next collection."""
COLLECTING = {"PYPY_GC_MAJOR_COLLECT": "1.1"}
"""Collect when the heap has grown by a tenth; PyPy's 82 % would measure the collector, 104 to 175 MiB in 12 runs."""
MARGIN = 8 << 20
"""For freed memory that allocators keep."""
WORK = """
import sys
from cpkg import archive
tiny, tree, out, source = sys.argv[1:]
def work(base, name):
    archive.create(out + name + ".tar.zst", base=base, threads=2)
    with open(out + name + ".tar.zst", "rb") as file:
        archive.extract(file if source == "stream" else file.name, out + name + ".out", threads=2)
def peak():
    with open("/proc/self/status") as status:  # getrusage also counts the process that started this one
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))
work(tiny, "tiny")
before = peak()
work(tree, "tree")
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from Linux")
@pytest.mark.skipif(_backend.choose("zstd").module.BACKEND == "pure", reason="it takes minutes in Python")
@pytest.mark.parametrize(("shape", "source"), [("one file", "path"), ("many files", "path"), ("one file", "stream")])
def test_the_peak(engine: str, shape: str, source: str, tmp_path: Path) -> None:
    """A process that has archived something small does not grow by more than the budget for 80 MiB."""
    tiny, tree = make_files(tmp_path / "tiny", {"file": b"tiny"}), tmp_path / "tree"
    tree.mkdir()
    data = noise((1 << 20) + 80 * 16)
    with (tree / "large").open("wb") as file:
        for number in range(80 if shape == "one file" else 0):
            file.write(data[number : 1 << 20])
            file.write(bytes(number))
    if shape == "many files":
        make_files(tree, {f"{number}": data[number : number + (64 << 10)] for number in range(80 * 16)})
    # in a folder without the sources, so that the installed package is tested
    environment = {**os.environ, **COLLECTING}
    done = run_python("-c", WORK, f"{tiny}", f"{tree}", f"{tmp_path}/", source, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    leaves_garbage = engine == "pure" and sys.implementation.name == "pypy"
    assert int(done.stdout) < (BUDGET_PYPY if leaves_garbage else BUDGETS[source] + CONTEXTS + MARGIN)
