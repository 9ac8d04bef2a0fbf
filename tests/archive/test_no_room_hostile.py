# SPDX-License-Identifier: Apache-2.0
"""Where no room is left: a full disk, a quota that is used up, a limit on the size of files."""

from __future__ import annotations

import errno
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from archives import contents, files_up_to, header_of, member

from cpkg import archive, zstd

pytestmark = pytest.mark.once
END = bytes(1024)
LARGE = 3 << 20
WORK = """
import errno, sys
from cpkg import archive
source, out, tree, threads = sys.argv[1:]
def show(problem):
    print(problem.name, errno.errorcode[problem.error.errno])
archive.extract(source, out, threads=int(threads), on_problem=show)
try:
    archive.create(out + "/b.tar.zst", base=tree, threads=int(threads))
except OSError as exc:
    print("create", errno.errorcode[exc.errno])
"""


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """Give a file system of 1 MiB."""
    small = tmp_path / "small"
    small.mkdir()
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small file system")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", small], check=False).returncode:
        pytest.skip("cannot mount")
    yield small
    subprocess.run(["umount", small], check=True)


def made(path: Path, uid: int, frame_size: int) -> Path:
    """Make an archive of two files too large for the place between small ones; their data look like entries."""
    inner = header_of(member("evil"), b"from inside of the data")
    data = (inner * (LARGE // len(inner) + 1))[:LARGE]
    content = b"".join(
        (
            header_of(member("d/first"), b"1" * 50_000),
            header_of(member("large", uid=uid), data),
            header_of(member("d/next"), b"2" * 200_000),
            header_of(member("d/large", uid=uid), data),
            header_of(member("last"), b"3" * 200_000),
            END,
        )
    )
    frames = (content[at : at + frame_size] for at in range(0, len(content), frame_size))
    path.write_bytes(b"".join(map(zstd.compress, frames)))
    return path


def check(out: Path, problems: list[tuple[str, str]], why: str) -> None:
    """Hold what was extracted of such an archive, and the problems, against what is right."""
    found = {name: value[3][0] for name, value in contents(out).items() if value[3]}
    assert found == {"d/first": b"1" * 50_000, "d/next": b"2" * 200_000, "last": b"3" * 200_000}
    assert sorted(problems) == [("d/large", why), ("large", why)]


def extracted(source: Any, out: Path, threads: int) -> list[tuple[str, str]]:
    """Extract an archive; return names and errors of the problems."""
    problems: list[archive.Problem] = []
    archive.extract(source, out, threads=threads, on_problem=problems.append)
    errors = [problem.error for problem in problems]
    assert all(isinstance(error, OSError) and str(error.filename).startswith(str(out)) for error in errors)
    return [(problem.name, errno.errorcode[error.errno]) for problem, error in zip(problems, errors)]  # type: ignore[union-attr]


every = pytest.mark.parametrize(
    ("uid", "frame_size", "threads"), [(0, 1 << 30, 1), (0, 300_000, 1), (0, 300_000, 2), (3_000_000, 300_000, 1)]
)


@every
def test_a_full_disk_in_the_middle_of_a_file(
    engine: str, uid: int, frame_size: int, threads: int, small: Path, tmp_path: Path
) -> None:
    """What does not fit is a Problem, leaves nothing and takes no room; what follows is extracted."""
    source = made(tmp_path / "a.tzst", uid, frame_size)
    check(small / "out", extracted(source, small / "out", threads), "ENOSPC")
    shutil.rmtree(small / "out")
    with source.open("rb") as file:
        check(small / "out", extracted(file, small / "out", threads), "ENOSPC")


@every
def test_a_limit_on_the_size_of_files(engine: str, uid: int, frame_size: int, threads: int, tmp_path: Path) -> None:
    source = made(tmp_path / "a.tzst", uid, frame_size)
    with files_up_to(1 << 20):
        problems = extracted(source, tmp_path / "out", threads)
    check(tmp_path / "out", problems, "EFBIG")


@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("cc"), reason="compiles what stands for a quota")
@every
def test_a_quota(engine: str, uid: int, frame_size: int, threads: int, tmp_path: Path) -> None:
    """
    The system's answer where a quota is used up: less is written than was to be, then nothing.

    It does not come from a quota of a file system, for which few kernels that run tests are built, but from a library
    that is loaded in front of the C library. A full disk is a real one: the small tmpfs above.
    """
    source = made(tmp_path / "a.tzst", uid, frame_size)
    library = tmp_path / "quota.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", library, Path(__file__).parents[1] / "support" / "quota.c", "-ldl"], check=True
    )
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "noise").write_bytes(random.Random(1).randbytes(2 << 20))
    preloaded = " ".join(filter(None, (os.environ.get("LD_PRELOAD"), f"{library}")))
    environment = {**os.environ, "LD_PRELOAD": preloaded, "LARGEST_FILE": f"{1 << 20}"}
    command = [sys.executable, "-c", WORK, source, tmp_path / "out", tmp_path / "tree", f"{threads}"]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True, cwd=tmp_path)
    *problems, created = [tuple(line.split()) for line in done.stdout.splitlines()]
    check(tmp_path / "out", problems, "EDQUOT")  # type: ignore[arg-type]
    assert created == ("create", "EDQUOT")


def test_what_is_whole_on_a_full_disk(engine: str, small: Path, tmp_path: Path) -> None:
    """Without `on_problem` the first file that does not fit ends it; an archive that does not fit leaves nothing."""
    (tmp_path / "tree").mkdir()
    for number in range(5):
        (tmp_path / "tree" / f"{number}").write_bytes(random.Random(number).randbytes(300_000))
    archive.create(tmp_path / "a.tar.zst", base=tmp_path / "tree")
    with pytest.raises(OSError) as caught:
        archive.extract(tmp_path / "a.tar.zst", small / "out")
    assert caught.value.errno == errno.ENOSPC
    assert os.fsdecode(caught.value.filename).startswith(str(small))
    for name, value in contents(small / "out").items():
        assert value[3][0] == (tmp_path / "tree" / name).read_bytes()
    with pytest.raises(OSError) as caught:
        archive.create(small / "b.tar.zst", base=tmp_path / "tree")
    assert caught.value.errno == errno.ENOSPC
    assert os.listdir(small) == ["out"]
