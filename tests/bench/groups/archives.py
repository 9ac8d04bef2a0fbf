# SPDX-License-Identifier: Apache-2.0
"""Archives beside `tar | zstd` and beside Python's tarfile over Zstandard, in a file system in memory."""

from __future__ import annotations

import functools
import random
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from bench import fresh
from bench.cells import OURS, Answer, Case, Group, read_data

TOOLS, TARFILE = "tar | zstd", "tarfile"
OPERATIONS = ("create", "extract")
SLOW_SAMPLES = 3
"""The number of samples of tarfile, which takes long."""

# files: the number of files. sizes: the least and the largest size of a file, in bytes
CASES = [
    Case("200 small files", small=True, files=200, sizes=(2 << 10, 8 << 10)),
    Case("20,000 small files", quick=True, files=20_000, sizes=(2 << 10, 8 << 10)),
    Case("one file of 256 MiB", files=1, sizes=(256 << 20, 256 << 20)),
    Case("300,000 files of 200 bytes", slow=True, files=300_000, sizes=(200, 200)),
]

WAYS = read_data("archives")
"""The code of each library: a Python program for a fresh process, or a shell command."""
# prints the seconds of the work, without the start of the interpreter
_TIMED = "import sys, time\n{imports}\nstart = time.perf_counter()\n{work}\nprint(time.perf_counter() - start)"


folder = functools.cache(fresh.folder)
"""Return the folder of all trees and archives."""


@functools.lru_cache(maxsize=1)
def tree(case: Case) -> Path:
    """Write the files of a case, which are slices of source code, a hundred in a folder."""
    from bench import payloads

    shutil.rmtree(folder() / "tree", ignore_errors=True)
    draw = random.Random(1)
    blob = payloads.corpus(32 << 20)[: 16 << 20]
    for number in range(case.files):
        place = folder() / "tree" / f"folder{number // 100:04}"
        place.mkdir(parents=True, exist_ok=True)
        left = draw.randint(*case.sizes)
        with (place / f"module_{number:06}.py").open("wb") as file:
            while left:
                start = draw.randrange(len(blob) - min(left, 4 << 20))
                left -= file.write(blob[start : start + min(left, 4 << 20)])
    return folder() / "tree"


def run(library: str, operation: str, archive: Path, place: Path) -> Answer:
    """Create the archive from the tree at `place`, or extract the archive there; return the seconds, or the error."""
    if library == TOOLS:
        if not (shutil.which("tar") and shutil.which("zstd")):
            return "tar or zstd is not installed"
        start = time.perf_counter()
        subprocess.run(["sh", "-c", WAYS[TOOLS][operation], archive, place], check=True)
        return time.perf_counter() - start
    program = _TIMED.format(imports="\n".join(WAYS[library]["imports"]), work=WAYS[library][operation])
    answer = fresh.program(library, program, archive, place)
    return answer if isinstance(answer, str) else float(answer.printed)


@functools.lru_cache(maxsize=8)
def sample(case: Case, number: int) -> Mapping[str, Mapping[str, Answer]]:
    """Create and extract once with each library, in random order."""
    found: dict[str, dict[str, Answer]] = {operation: {} for operation in OPERATIONS}
    for library in fresh.in_turns([OURS, TOOLS, *([TARFILE] if number < SLOW_SAMPLES else [])], number):
        archive, out = folder() / "archive.tar.zst", folder() / "out"
        out.mkdir()
        for operation, place in zip(OPERATIONS, (tree(case), out)):
            found[operation][library] = answer = run(library, operation, archive, place)
            if isinstance(answer, str):
                found[OPERATIONS[1]][library] = answer
                break
        else:
            assert number or not subprocess.run(["diff", "-rq", tree(case), out], check=False).returncode, library
        shutil.rmtree(out)
        archive.unlink(missing_ok=True)
    return found


GROUPS = [Group("Archives", CASES, OPERATIONS, sample=sample, alone=True)]
