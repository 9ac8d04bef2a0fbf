# SPDX-License-Identifier: Apache-2.0
"""
Measure archives against tar piped into zstd, and zstd into tar.

    python tests/bench/archives.py [CASE ...] [--rounds N] [--engines native,pure] [--folder DIR]

Cases: small (20,000 files of 2 to 8 KiB), large (one file of 1 GiB), many (300,000 files of 200 bytes), tree (an
existing tree: --tree DIR), alternating and window (two traps: alternating reads and writes, and a window of
512 MiB), calls (only the system calls of extracting small files, made by Python).
Without a case: small and large. Both sides alternate within a round, and the extracted files are compared. Besides the
medians the script prints the processor seconds, the largest resident set of the processes (for cpkg with the
interpreter), and how much of it the work added; ratios are cpkg's to the tools', so that less than 1 is faster.
All files are in --folder, by default /dev/shm; give a folder on a disk and --cold, as root, for a cold cache.
"""

from __future__ import annotations

import argparse
import filecmp
import functools
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import payloads
import turns

ROOT = Path(__file__).resolve().parents[2]
CASES = ("small", "large", "many", "tree", "alternating", "window", "calls")
ENGINES = ("native", "pure")


def make_small(root: Path, count: int = 20_000, low: int = 2048, high: int = 8192, per_folder: int = 100) -> None:
    """Create many small files from slices of sources."""
    choose = random.Random(1)
    blob = payloads.corpus(32 << 20)[: 16 << 20]
    for number in range(count):
        folder = root / f"folder{number // per_folder:04}"
        if number % per_folder == 0:
            folder.mkdir(parents=True)
        size = choose.randint(low, high)
        start = choose.randrange(len(blob) - size)
        (folder / f"module_{number:06}.py").write_bytes(blob[start : start + size])


def make_large(root: Path, size: int = 1 << 30) -> None:
    """Create one file of a mixed corpus, in which no two pieces of 64 MiB are alike."""
    root.mkdir()
    blob = payloads.corpus(64 << 20)
    choose = random.Random(2)
    with (root / "large").open("wb") as file:
        while file.tell() < size:
            start = choose.randrange(len(blob) - (4 << 20))
            file.write(blob[start : start + min(4 << 20, size - file.tell())])


MAKERS = {
    "small": make_small,
    "many": functools.partial(make_small, count=300_000, low=200, high=200, per_folder=30),
    "large": make_large,
}

_THEIRS = """
import resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run(["sh", "-c", sys.argv[1]], check=True)
elapsed = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(elapsed, used.ru_utime + used.ru_stime, used.ru_maxrss, 0)
"""
# without the start of the interpreter, which is not part of the work
_OURS = """
import sys, time
from cpkg import archive
def peak():  # getrusage also counts the process that started this one
    with open("/proc/self/status") as status:
        return next(line.split()[1] for line in status if line.startswith("VmHWM"))
base = peak()
start, processor = time.perf_counter(), time.process_time()
exec(sys.argv[1])
elapsed, processor = time.perf_counter() - start, time.process_time() - processor
print(elapsed, processor, peak(), base)
"""
_ALTERNATING = """
from cpkg import zstd
with zstd.open('{source}') as source, open('{out}/plain.tar', 'wb') as target:
    while piece := source.read(32 << 10):
        target.write(piece)
"""
_BARE = """
import os
data = bytes(5 << 10)
flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
for folder in range(200):
    os.mkdir('{out}/folder%d' % folder)
    directory = os.open('{out}/folder%d' % folder, os.O_RDONLY)
    for number in range(100):
        file = os.open(b'temporary', flags, 0o644, dir_fd=directory)
        os.write(file, data)
        os.utime(file, ns=(1234567890123456789, 1234567890123456789))
        os.close(file)
        os.rename(b'temporary', b'module_%d.py' % number, src_dir_fd=directory, dst_dir_fd=directory)
    os.close(directory)
"""


def same(left: Path, right: Path) -> bool:
    """Return whether two trees contain the same files."""
    for directory, _, files in os.walk(left):
        other = right / Path(directory).relative_to(left)
        _, wrong, missing = filecmp.cmpfiles(directory, other, files, shallow=False)
        if wrong or missing:
            return False
    return True


class Case:
    """One tree: shell commands for `tar`, and Python code for the other sides, in turns."""

    def __init__(self, tree: Path, options: argparse.Namespace) -> None:
        self.tree, self.options, self.folder = tree, options, options.place
        self.out, self.theirs = self.folder / "out", self.folder / "theirs.tar.zst"

    def packing(self, how: str = "-3 -T0") -> str:
        """Return the command with which tar and zstd write the tree to `theirs`."""
        return f"tar -cf - --format={self.options.format} -C '{self.tree}' . | zstd {how} -q -f -o '{self.theirs}'"

    def unpacking(self, source: Path, how: str = "") -> str:
        """Return the command with which zstd and tar extract a file."""
        return f"zstd -dcq {how} '{source}' | tar -xf - -C '{self.out}'"

    def extracting(self, source: Path, how: str = "") -> str:
        """Return the call with which cpkg extracts a file."""
        return f"archive.extract('{source}', '{self.out}', max_size=-1{how})"

    def run(self, who: str, command: str) -> list[float]:
        """Return the seconds, the processor's seconds, the memory, and the part of it that existed before the work."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        if self.options.cold:
            subprocess.run("sync; echo 3 > /proc/sys/vm/drop_caches", shell=True, check=True)
        engine = {"CPKG_ARCHIVE_BACKEND": who} if who in ENGINES else {}
        done = subprocess.run(  # with the package that is installed
            [sys.executable, "-I", "-c", _THEIRS if who == "tar" else _OURS, command],
            cwd=ROOT,
            env={**turns.compiled(), **engine},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        return list(map(float, done.stdout.split()[-4:]))

    def show(self, commands: dict[tuple[str, str], str], checked: bool = False) -> None:
        """Measure by operation and side; print medians, and ratios to the first side of the same operation."""
        for (what, who), command in commands.items() if checked else ():
            if what == "create" or who != "tar":
                self.run(who, command)  # from now on compiled modules exist, as in any installation
            if what == "extract" and who != "tar" and not same(self.tree, self.out):
                raise SystemExit(f"{who} has extracted different files")
        works = {key: functools.partial(self.run, key[1], command) for key, command in commands.items()}
        turns.row("", *("seconds", "ratio", "processor", "ratio", "MiB", "work"))
        first: dict[str, tuple[float, float]] = {}
        for (what, who), runs in turns.in_turns(works, self.options.rounds).items():
            elapsed, processor = (statistics.median(run[column] for run in runs) for column in (0, 1))
            memory, base = (max(run[column] for run in runs) / 1024 for column in (2, 3))
            reference = first.setdefault(what, (elapsed, processor))
            ratios = (elapsed / reference[0], processor / reference[1])
            figures = (elapsed, ratios[0], processor, ratios[1], round(memory), round(memory - base))
            turns.row(f"{what} {who}", *figures, digits=3)

    def compare(self) -> None:
        """Create and extract the tree, with the tools and with each engine of cpkg."""
        engines = self.options.engines.split(",")
        files = {engine: self.folder / f"{engine}.tar.zst" for engine in engines}
        commands = {("create", "tar"): self.packing()}
        for who, file in files.items():
            commands["create", who] = f"archive.create('{file}', base='{self.tree}', level=3)"
        commands["extract", "tar"] = self.unpacking(self.theirs)
        commands.update({("extract", who): self.extracting(file) for who, file in files.items()})
        self.show(commands, checked=True)
        sizes = {"tar and zstd": self.theirs, **files}
        print(*(f"{who} {file.stat().st_size:,} bytes" for who, file in sizes.items()), sep=", ")

    def beside(self, who: str, code: str, engine: str) -> None:
        """Extract with the tools and with cpkg, and run other code."""
        subprocess.run(self.packing(), shell=True, check=True)
        code = code.format(source=self.theirs, out=self.out)
        extracting = self.extracting(self.theirs)
        sides = {"tar": self.unpacking(self.theirs), who: code, engine: extracting}
        self.show({("extract", side): command for side, command in sides.items()})

    def window(self) -> None:
        """Extract a file whose frame has a window of 512 MiB, and one of 2 MiB; each byte should cost the same."""
        from cpkg import archive
        from purepy.base.errors import ZstdLimitError

        commands = {}
        for log in (21, 29):
            subprocess.run(self.packing(f"-1 --zstd=wlog={log}"), shell=True, check=True)
            made = self.theirs.rename(self.folder / f"window{log}.tar.zst")
            refused = "read by default"
            try:
                archive.verify(made, max_size=-1)
            except ZstdLimitError:
                refused = "refused by default"
            name = f"{1 << log >> 20} MiB"
            print(f"window of {name}: {refused}")
            commands[name, "tar"] = self.unpacking(made, "--long=30")
            commands[name, "native"] = self.extracting(made, ", window_log_max=30")
        self.show(commands)


def main() -> None:
    """Run the cases that the command line names."""
    parser = turns.options(__doc__, rounds=5, files=True)
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--tree", type=Path, help="the tree of the case tree")
    parser.add_argument("--format", default="gnu", help="for tar; posix stores times to the nanosecond, as cpkg does")
    parser.add_argument("--cold", action="store_true", help="drop the system's caches before each run (needs root)")
    options = parser.parse_args()
    if "tree" in options.cases and options.tree is None:
        parser.error("the case tree needs --tree DIR")
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="cpkg-bench-archives-") as place:
        options.place = Path(place)
        for name in options.cases or ["small", "large"]:
            contents = {"calls": "small", "alternating": "large", "window": "large"}.get(name, name)
            tree = options.tree.resolve() if name == "tree" else options.place / contents
            if not tree.exists():
                MAKERS[contents](tree)
            print(f"{name}: {tree}")
            case = Case(tree, options)
            if name == "alternating":  # reads of 32 KiB and writes, of one frame
                case.beside("in turns", _ALTERNATING, "native")
            elif name == "calls":  # the system calls of 20,000 small files, made by Python's os only
                case.beside("calls", _BARE, "pure")
            elif name == "window":
                case.window()
            else:
                case.compare()


if __name__ == "__main__":
    main()
