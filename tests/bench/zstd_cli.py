# SPDX-License-Identifier: Apache-2.0
"""
Compare `cpkg zstd` with the `zstd` tool: python tests/bench/zstd_cli.py [--size MIB] [--rounds N] [--folder DIR]

Both sides take turns in one run, each time in a new process, on files in memory (/dev/shm where there is one). Prints
the best time of each with its processor time, and how many times the tool's it is.
"""

from __future__ import annotations

import argparse
import filecmp
import functools
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from purepy._cores import usable_cores

MIB = 1 << 20


def write_text(path: Path, size: int) -> None:
    """Write text that compresses to about two fifths, without repeating itself within a window."""
    chance = random.Random(1)
    words = [b"%x" % chance.getrandbits(chance.randint(8, 40)) for _ in range(30_000)]
    part = b" ".join(chance.choices(words, k=1_500_000))
    with open(path, "wb") as file:
        left = size
        while left > 0:
            cut = chance.randrange(len(part))
            left -= file.write((part[cut:] + part[:cut])[:left])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=256, help="MiB of text (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each side (%(default)s)")
    parser.add_argument("--folder", default="/dev/shm" if os.path.isdir("/dev/shm") else None)
    options = parser.parse_args()
    tool = shutil.which("zstd")
    if tool is None:
        print("there is no zstd tool to compare with", file=sys.stderr)
        return 1
    sides = {"zstd": [tool], "cpkg zstd": [sys.executable, "-m", "cpkg", "zstd"]}
    # modules are compiled once, as those of an installed package are, not by each process
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        write_text(folder / "text", options.size * MIB)
        small = folder / "small"
        small.write_bytes((folder / "text").read_bytes()[:10_000])
        subprocess.run([tool, "-q", "text", "-o", "one.zst"], cwd=folder, check=True)
        # in frames, as every program writes it that compresses in parallel
        frames = b"".join(
            subprocess.run([tool, "-qc"], input=piece, capture_output=True, check=True).stdout
            for piece in pieces(folder / "text", 8 * MIB)
        )
        (folder / "many.zst").write_bytes(frames)
        cases = [
            ("start: compress 10 kB", ["-qf", "small", "-o", "out.zst"], None),
            ("compress -1", ["-1", "-qf", "text", "-o", "out.zst"], "text"),
            ("compress -3", ["-qf", "text", "-o", "out.zst"], "text"),
            ("compress -3 -T2", ["-T2", "-qf", "text", "-o", "out.zst"], "text"),
            ("decompress, one frame", ["-dqf", "one.zst", "-o", "out"], None),
            ("decompress, frames of 8 MiB", ["-dqf", "many.zst", "-o", "out"], None),
            ("test, one frame", ["-tq", "one.zst"], None),
        ]
        print(f"{options.size} MiB of text, best of {options.rounds}; processor time in brackets, in seconds\n")
        print(f"{'':<30}{'zstd':>16}{'cpkg zstd':>16}{'times':>8}")
        interpreter = best_of(options.rounds, [[sys.executable, "-c", "pass"]], [lambda: None], folder, environment)[0]
        print(f"{'start: the interpreter alone':<30}{'':>16}{told(interpreter):>16}", flush=True)
        for case, arguments, content in cases:
            theirs, ours = best_of(
                options.rounds,
                [[*command, *arguments] for command in sides.values()],
                [functools.partial(check, folder, arguments, content, tool)] * len(sides),
                folder,
                environment,
            )
            bound = ""
            if "frames" in case:  # all that zstd does in one thread, divided among all cores without a rest
                bound = f"  {theirs[1] / usable_cores() / theirs[0]:.2f} if zstd's work were divided among all cores"
            print(f"{case:<30}{told(theirs):>16}{told(ours):>16}{ours[0] / theirs[0]:8.2f}{bound}", flush=True)
    return 0


Times = tuple[float, float]


def told(times: Times) -> str:
    return f"{times[0]:.3f} ({times[1]:.3f})"


def best_of(
    rounds: int, commands: list[list[str]], checks: list[Callable[[], None]], folder: Path, environment: dict[str, str]
) -> list[Times]:
    """Run commands in turn; return the shortest time of each and the processor time of that run."""
    best = [(float("inf"), 0.0)] * len(commands)
    for _ in range(rounds):
        for number, (command, checked) in enumerate(zip(commands, checks)):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            begin = time.perf_counter()
            subprocess.run(command, cwd=folder, env=environment, check=True)
            elapsed = time.perf_counter() - begin
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            best[number] = min(best[number], (elapsed, used))
            checked()
    return best


def pieces(path: Path, size: int) -> list[bytes]:
    """Return the content of a file in pieces."""
    with open(path, "rb") as file:
        return list(iter(lambda: file.read(size), b""))


def check(folder: Path, arguments: list[str], content: str | None, tool: str) -> None:
    """Raise AssertionError if what was written is not what it should be."""
    if content is not None:
        subprocess.run([tool, "-dqf", "out.zst", "-o", "out"], cwd=folder, check=True)
    if content is not None or arguments[0] == "-dqf":
        assert filecmp.cmp(folder / "out", folder / "text", shallow=False)


if __name__ == "__main__":
    sys.exit(main())
