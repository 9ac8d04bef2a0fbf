# SPDX-License-Identifier: Apache-2.0
"""
Compare `cpkg zstd` with the `zstd` tool: python tests/bench/zstd_cli.py [--size MIB] [--rounds N] [--folder DIR]

Both sides take turns in one run, each time in a new process, on files in memory (/dev/shm where there is one). Prints
the best time of each with its processor time, and cpkg's time as a multiple of the tool's.
"""

from __future__ import annotations

import filecmp
import functools
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import turns

from purepy.base.cores import usable_cores


def write_text(path: Path, size: int) -> None:
    """Write text that compresses to about two fifths and does not repeat itself within a window."""
    chance = random.Random(1)
    words = [b"%x" % chance.getrandbits(chance.randint(8, 40)) for _ in range(30_000)]
    part = b" ".join(chance.choices(words, k=1_500_000))
    with open(path, "wb") as file:
        left = size
        while left > 0:
            cut = chance.randrange(len(part))
            left -= file.write((part[cut:] + part[:cut])[:left])


def main() -> int:
    options = turns.options(__doc__, rounds=3, size=256, files=True).parse_args()
    tool = shutil.which("zstd")
    if tool is None:
        print("there is no zstd tool to compare with", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        write_text(folder / "text", options.size << 20)
        with open(folder / "text", "rb") as text:
            (folder / "small").write_bytes(text.read(10_000))
            text.seek(0)
            with open(folder / "many.zst", "wb") as many:  # as programs write it that compress in parallel
                while piece := text.read(8 << 20):
                    many.write(subprocess.run([tool, "-qc"], input=piece, stdout=subprocess.PIPE, check=True).stdout)
        subprocess.run([tool, "-q", "text", "-o", "one.zst"], cwd=folder, check=True)
        print(f"{options.size} MiB of text, best of {options.rounds}; processor time in brackets, in seconds\n")
        turns.row("", f"{'zstd':>16}", f"{'cpkg zstd':>16}", "times")
        start = functools.partial(run, [sys.executable, "-c", "pass"], folder)
        (interpreter,) = turns.least(turns.in_turns({"start": start}, options.rounds)).values()
        turns.row("start: the interpreter alone", " " * 16, f"{shown(interpreter):>16}")
        for case, words in (
            ("start: compress 10 kB", "-qf small -o out.zst"),
            ("compress -1", "-1 -qf text -o out.zst"),
            ("compress -3", "-qf text -o out.zst"),
            ("compress -3 -T2", "-T2 -qf text -o out.zst"),
            ("decompress, one frame", "-dqf one.zst -o out"),
            ("decompress, frames of 8 MiB", "-dqf many.zst -o out"),
            ("test, one frame", "-tq one.zst"),
        ):
            back = [tool, "-dqf", "out.zst", "-o", "out"] if " text " in words else None
            works = {
                side: functools.partial(run, [*command, *words.split()], folder, back)
                for side, command in (("theirs", [tool]), ("ours", [sys.executable, "-m", "cpkg", "zstd"]))
            }
            theirs, ours = turns.least(turns.in_turns(works, options.rounds)).values()
            bound = ""
            if "frames" in case:  # the work that zstd does in one thread, divided evenly among all cores
                bound = f"  {theirs[1] / usable_cores() / theirs[0]:.2f} if zstd's work were divided among all cores"
            turns.row(case, f"{shown(theirs):>16}", f"{shown(ours):>16}", ours[0] / theirs[0], bound)
    return 0


def shown(times: list[float]) -> str:
    return f"{times[0]:.3f} ({times[1]:.3f})"


def run(command: list[str], folder: Path, back: list[str] | None = None) -> list[float]:
    """Run a command; return its time and its processor time. `back` decompresses its output, which is checked."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    subprocess.run(command, cwd=folder, env=turns.compiled(), check=True)
    elapsed = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if back is not None:
        subprocess.run(back, cwd=folder, check=True)
    if back is not None or "-dqf" in command:
        assert filecmp.cmp(folder / "out", folder / "text", shallow=False)
    return [elapsed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime]


if __name__ == "__main__":
    sys.exit(main())
