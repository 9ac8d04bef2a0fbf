# SPDX-License-Identifier: Apache-2.0
"""No space left: a full disk, an exhausted quota, a limit on the size of files."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from archives import contents, created, files_up_to, header_of, make_files, member
from archives import extracted as problems_of
from processes import needs

from cpkg import archive, zstd

pytestmark = pytest.mark.once
LARGE = 3 << 20


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """Yield a file system of 1 MiB."""
    small = tmp_path / "small"
    small.mkdir()
    if os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("needs root to mount a small file system")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", small], check=False).returncode:
        pytest.skip("cannot mount")
    yield small
    subprocess.run(["umount", small], check=True)


def made(path: Path, uid: int, frame_size: int) -> Path:
    """Create an archive with two files that do not fit, between small ones; their data looks like entries."""
    inner = header_of("evil", b"from inside of the data")
    data = (inner * (LARGE // len(inner) + 1))[:LARGE]
    files = ("d/first", b"1" * 50_000), ("d/next", b"2" * 200_000), ("last", b"3" * 200_000)
    first, following, last = (header_of(*file) for file in files)
    large, other = (header_of(member(name, uid=uid), data) for name in ("large", "d/large"))
    content = first + large + following + other + last + bytes(1024)
    frames = (content[at : at + frame_size] for at in range(0, len(content), frame_size))
    path.write_bytes(b"".join(map(zstd.compress, frames)))
    return path


def check(out: Path, problems: list[tuple[str, str]], why: str) -> None:
    """Check the extracted files and the problems of such an archive."""
    found = {name: value[3][0] for name, value in contents(out).items() if value[3]}
    assert found == {"d/first": b"1" * 50_000, "d/next": b"2" * 200_000, "last": b"3" * 200_000}
    assert sorted(problems) == [("d/large", why), ("large", why)]


def extracted(source: Any, out: Path, threads: int) -> list[tuple[str, str]]:
    """Extract an archive; return names and errors of the problems."""
    problems = problems_of(source, out, threads=threads)
    errors = [problem.error for problem in problems]
    assert all(isinstance(error, OSError) and str(error.filename).startswith(str(out)) for error in errors)
    return [(problem.name, errno.errorcode[error.errno]) for problem, error in zip(problems, errors)]  # type: ignore[union-attr]


WAYS = [(0, 1 << 30, 1), (0, 300_000, 1), (0, 300_000, 2), (3_000_000, 300_000, 1)]
every = pytest.mark.parametrize(("uid", "frame_size", "threads"), WAYS)


@every
def test_a_full_disk_in_the_middle_of_a_file(
    engine: str, uid: int, frame_size: int, threads: int, small: Path, tmp_path: Path
) -> None:
    """A file that does not fit is a Problem and leaves nothing; later files are extracted."""
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


@needs("cc")
@pytest.mark.skipif(sys.platform != "linux", reason="the library is for Linux")
def test_a_quota(engine: str, run_preloaded: Any, tmp_path: Path) -> None:
    """
    With an exhausted quota, the system writes fewer bytes than requested, then none.

    A library that is loaded before the C library simulates this, because few kernels that run tests support quotas. The
    full disk is real: the small tmpfs above.
    """
    tree = make_files(tmp_path / "tree", {"noise": 2 << 20})
    calls = [
        (made(tmp_path / f"{number}.tzst", uid, frame_size), tmp_path / f"{number}", threads)
        for number, (uid, frame_size, threads) in enumerate(WAYS)
    ]
    arguments = [argument for call in calls for argument in call]
    output = run_preloaded("quota", "without room", tree, *arguments, cwd=tmp_path, LARGEST_FILE=f"{1 << 20}")
    for (_, out, _), line in zip(calls, output.splitlines()):
        *problems, created = map(tuple, json.loads(line))
        check(out, problems, "EDQUOT")
        assert created == ("create", "EDQUOT")
    assert len(output.splitlines()) == len(calls)


def test_complete_files_on_a_full_disk(engine: str, small: Path, tmp_path: Path) -> None:
    """Without `on_problem`, the first file that does not fit is an error; an archive on a full disk leaves nothing."""
    tree = make_files(tmp_path / "tree", {f"{number}": 300_000 for number in range(5)})
    made = created(base=tree)
    with pytest.raises(OSError) as caught:
        archive.extract(io.BytesIO(made), small / "out")
    assert caught.value.errno == errno.ENOSPC
    assert os.fsdecode(caught.value.filename).startswith(str(small))
    for name, value in contents(small / "out").items():
        assert value[3][0] == (tree / name).read_bytes()
    with pytest.raises(OSError) as caught:
        archive.create(small / "b.tar.zst", base=tree)
    assert caught.value.errno == errno.ENOSPC
    assert os.listdir(small) == ["out"]
