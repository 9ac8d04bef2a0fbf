# SPDX-License-Identifier: Apache-2.0
"""
Measure archives against tar piped into zstd, and zstd into tar.

    python tests/bench/archives.py [CASE ...] [--rounds N] [--engines native,pure] [--folder DIR]

Cases: small (20,000 files of 2 to 8 KiB), large (one file of 1 GiB), many (300,000 files of 200 bytes), tree (a tree of
one's own: --tree DIR), alternating and window (two traps: reads and writes that take turns, and a window of 512 MiB),
calls (the system calls alone of extracting small files, made by Python).
Without a case: small and large. Both sides alternate within a round, and what they extract is compared. Beside the
medians stand the processor seconds, the largest resident set of the processes (of ours with the interpreter), and what
of it came with the work; ratios are ours to theirs, so that less than 1 is faster. Everything lies in --folder, by
default /dev/shm; give a folder on a disk and --cold, as root, for a cold cache.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import random
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEVEL = 3
# where nobody may write compiled modules, each start would compile ours once more
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
CASES = ("small", "large", "many", "tree", "alternating", "window", "calls")


def corpus(size: int) -> bytes:
    """Return Python sources and machine code of this interpreter's installation, cut to a size."""
    folder = Path(os.__file__).parent
    data = bytearray()
    for path in sorted([*folder.rglob("*.py"), *folder.rglob("*.so")]):
        if len(data) >= size:
            break
        data += path.read_bytes()
    return bytes(data[:size])


def make_small(root: Path, count: int, low: int, high: int, per_folder: int) -> None:
    """Make many small files, of slices of sources."""
    choose = random.Random(1)
    blob = corpus(16 << 20)
    for number in range(count):
        folder = root / f"folder{number // per_folder:04}"
        if number % per_folder == 0:
            folder.mkdir(parents=True)
        size = choose.randint(low, high)
        start = choose.randrange(len(blob) - size)
        (folder / f"module_{number:06}.py").write_bytes(blob[start : start + size])


def make_large(root: Path, size: int) -> None:
    """Make one file of a mixed corpus, in which no two pieces of 64 MiB are alike."""
    root.mkdir()
    blob = corpus(64 << 20)
    choose = random.Random(2)
    with (root / "large").open("wb") as file:
        while file.tell() < size:
            start = choose.randrange(len(blob) // 2)
            piece = blob[start : start + (4 << 20)]
            file.write(piece[: size - file.tell()])


class Side:
    """The figures of one way: elapsed and processor seconds per round, and memory."""

    def __init__(self) -> None:
        self.elapsed: list[float] = []
        self.processor: list[float] = []
        self.memory = 0
        self.base = 0

    def note(self, code: str, argument: str, environment: dict[str, str]) -> None:
        """Run code in a process of its own, which prints what its work took, with the package that is installed."""
        done = subprocess.run(
            [sys.executable, "-I", "-c", code, argument],
            cwd=ROOT,
            env={**ENVIRONMENT, **environment},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        elapsed, processor, memory, base = done.stdout.split()[-4:]
        self.elapsed.append(float(elapsed))
        self.processor.append(float(processor))
        self.memory = max(self.memory, int(memory))
        self.base = max(self.base, int(base))


_THEIRS = """
import resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run(["sh", "-c", sys.argv[1]], check=True)
elapsed = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(elapsed, used.ru_utime + used.ru_stime, used.ru_maxrss, 0)
"""
# without the start of the interpreter, which is no part of the work
_OURS = """
import sys, time
from cpkg import archive
def peak():  # getrusage counts the process that started this one, too
    with open("/proc/self/status") as status:
        return next(line.split()[1] for line in status if line.startswith("VmHWM"))
base = peak()
start, processor = time.perf_counter(), time.process_time()
exec(sys.argv[1])
elapsed, processor = time.perf_counter() - start, time.process_time() - processor
print(elapsed, processor, peak(), base)
"""


def same(left: Path, right: Path) -> bool:
    """Say whether two trees hold the same files."""
    for directory, _, files in os.walk(left):
        other = right / Path(directory).relative_to(left)
        _, wrong, missing = filecmp.cmpfiles(directory, other, files, shallow=False)
        if wrong or missing:
            return False
    return True


def run(side: Side, who: str, command: str, options: argparse.Namespace) -> None:
    """Measure a command of the shell for `tar`, or else Python code, with that engine of ours."""
    if options.cold:
        subprocess.run("sync; echo 3 > /proc/sys/vm/drop_caches", shell=True, check=True)
    if who == "tar":
        side.note(_THEIRS, command, {})
    else:
        side.note(_OURS, command, {"CPKG_ARCHIVE_BACKEND": who} if who in ("native", "pure") else {})


def table(sides: dict[tuple[str, str], Side]) -> None:
    """Print the figures of sides by what they do and who does it, and ratios to the first that does the same."""
    width = max(len(text) for key in sides for text in key)
    print(f"  {'':{2 * width + 1}} {'seconds':>9} {'ratio':>6} {'cpu s':>8} {'ratio':>6} {'MiB':>6} {'work':>6}")
    first: dict[str, tuple[float, float]] = {}
    for (what, who), side in sides.items():
        elapsed, processor = statistics.median(side.elapsed), statistics.median(side.processor)
        reference = first.setdefault(what, (elapsed, processor))
        print(
            f"  {what:{width}} {who:{width}} {elapsed:9.3f} {elapsed / reference[0]:6.2f} {processor:8.3f} "
            f"{processor / reference[1]:6.2f} {side.memory / 1024:6.0f} {(side.memory - side.base) / 1024:6.0f}"
        )


def cleared(out: Path) -> Path:
    """Return a folder, made anew."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    return out


def compare(name: str, tree: Path, folder: Path, options: argparse.Namespace) -> None:
    """Measure creating and extracting one tree, by theirs and by each engine of ours."""
    theirs_file, out = folder / "theirs.tar.zst", folder / "out"
    engines = options.engines.split(",")
    sides = {(what, who): Side() for what in ("create", "extract") for who in ("tar", *engines)}
    for engine in engines:  # so that compiled modules are there, as in any installation
        tiny = f"archive.create('{folder}/tiny', '{Path(__file__).name}', base='{Path(__file__).parent}')"
        for call in (tiny, f"archive.extract('{folder}/tiny', '{cleared(out)}')"):
            run(Side(), engine, call, options)
    for round_number in range(options.rounds):
        zstd = f"zstd -{LEVEL} -T0 -q -f -o '{theirs_file}'"
        run(sides["create", "tar"], "tar", f"tar -cf - --format={options.format} -C '{tree}' . | {zstd}", options)
        for engine in engines:
            call = f"archive.create('{folder / engine}.tar.zst', base='{tree}', level={LEVEL})"
            run(sides["create", engine], engine, call, options)
        extract = f"zstd -dcq '{theirs_file}' | tar -xf - -C '{cleared(out)}'"
        run(sides["extract", "tar"], "tar", extract, options)
        for engine in engines:
            call = f"archive.extract('{folder / engine}.tar.zst', '{cleared(out)}', max_size=-1)"
            run(sides["extract", engine], engine, call, options)
            if round_number == 0 and not same(tree, out):
                raise SystemExit(f"{name}: {engine} has extracted something else")
    shutil.rmtree(out, ignore_errors=True)
    sizes = {engine: (folder / f"{engine}.tar.zst").stat().st_size for engine in engines}
    listed = ", ".join(f"{engine} {size:,}" for engine, size in sizes.items())
    print(f"{name}: tar and zstd {theirs_file.stat().st_size:,} bytes, {listed}")
    table(sides)


_ALTERNATING = """
from cpkg import zstd
with zstd.open('{source}') as source, open('{out}/plain.tar', 'wb') as target:
    while piece := source.read(32 << 10):
        target.write(piece)
"""


def trap_alternating(folder: Path, options: argparse.Namespace) -> None:
    """Decompress one file by reads and writes that take turns on one thread, and extract it by theirs and ours."""
    tree, source, out = large_tree(folder), folder / "theirs.tar.zst", folder / "out"
    subprocess.run(f"tar -cf - -C '{tree}' . | zstd -{LEVEL} -T0 -q -f -o '{source}'", shell=True, check=True)
    sides = {("extract", who): Side() for who in ("tar", "in turns", "native")}
    for _ in range(options.rounds):
        run(sides["extract", "tar"], "tar", f"zstd -dcq '{source}' | tar -xf - -C '{cleared(out)}'", options)
        run(sides["extract", "in turns"], "in turns", _ALTERNATING.format(source=source, out=cleared(out)), options)
        call = f"archive.extract('{source}', '{cleared(out)}', max_size=-1)"
        run(sides["extract", "native"], "native", call, options)
    shutil.rmtree(out)
    print("alternating: one file of 1 GiB in one frame, reads of 32 KiB and writes in turns")
    table(sides)


def trap_window(folder: Path, options: argparse.Namespace) -> None:
    """Extract a file whose frame has a window of 512 MiB, beside one of 2 MiB; each byte is to cost the same."""
    from cpkg import archive
    from purepy.errors import ZstdLimitError

    tree, out = large_tree(folder), folder / "out"
    sides = {(f"{1 << log >> 20} MiB", who): Side() for log in (21, 29) for who in ("tar", "native")}
    for log in (21, 29):
        made = folder / f"window{log}.tar.zst"
        command = f"tar -cf - -C '{tree}' . | zstd -1 -q -f --zstd=wlog={log} -o '{made}'"
        subprocess.run(["sh", "-c", command], check=True)
        try:
            archive.verify(made, max_size=-1)
            refused = "read by default"
        except ZstdLimitError:
            refused = "refused by default"
        print(f"window of {1 << log >> 20} MiB: {refused}")
    for _ in range(options.rounds):
        for what, who in sides:
            made = folder / f"window{29 if what.startswith('512') else 21}.tar.zst"
            if who == "tar":
                call = f"zstd -dcq --long=30 '{made}' | tar -xf - -C '{cleared(out)}'"
            else:
                call = f"archive.extract('{made}', '{cleared(out)}', window_log_max=30, max_size=-1)"
            run(sides[what, who], who, call, options)
    shutil.rmtree(out)
    table(sides)


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


def bound_of_calls(folder: Path, options: argparse.Namespace) -> None:
    """Extract small files by theirs and in Python, and make as many by a loop of the system calls that this takes."""
    tree, source, out = folder / "small", folder / "theirs.tar.zst", folder / "out"
    if not tree.exists():
        make_small(tree, 20_000, 2048, 8192, 100)
    subprocess.run(f"tar -cf - -C '{tree}' . | zstd -{LEVEL} -T0 -q -f -o '{source}'", shell=True, check=True)
    sides = {("extract", who): Side() for who in ("tar", "calls", "pure")}
    for _ in range(options.rounds):
        run(sides["extract", "tar"], "tar", f"zstd -dcq '{source}' | tar -xf - -C '{cleared(out)}'", options)
        run(sides["extract", "calls"], "calls", _BARE.format(out=cleared(out)), options)
        run(sides["extract", "pure"], "pure", f"archive.extract('{source}', '{cleared(out)}', max_size=-1)", options)
    shutil.rmtree(out)
    print("calls: the system calls of 20,000 small files, made by Python's os alone")
    table(sides)


def large_tree(folder: Path) -> Path:
    """Return the tree of one large file, made if it is missing."""
    tree = folder / "large"
    if not tree.exists():
        make_large(tree, 1 << 30)
    return tree


def main() -> None:
    """Run the cases that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engines", default="native,pure")
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm"))
    parser.add_argument("--tree", type=Path, help="the tree of the case tree")
    parser.add_argument("--format", default="gnu", help="of tar's side; posix has times to the nanosecond, as ours")
    parser.add_argument("--cold", action="store_true", help="drop the system's caches before each run (needs root)")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    folder = options.folder / f"cpkg-bench-archives-{os.getpid()}"
    folder.mkdir()
    made: dict[str, Callable[[Path], None]] = {
        "small": lambda root: make_small(root, 20_000, 2048, 8192, 100),
        "many": lambda root: make_small(root, 300_000, 200, 200, 30),
        "large": lambda root: make_large(root, 1 << 30),
    }
    try:
        for case in options.cases or ["small", "large"]:
            if case == "alternating":
                trap_alternating(folder, options)
            elif case == "window":
                trap_window(folder, options)
            elif case == "calls":
                bound_of_calls(folder, options)
            elif case == "tree":
                if options.tree is None:
                    parser.error("the case tree needs --tree DIR")
                compare(str(options.tree), options.tree.resolve(), folder, options)
            else:
                if not (folder / case).exists():
                    made[case](folder / case)
                compare(case, folder / case, folder, options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
