# SPDX-License-Identifier: Apache-2.0
"""No space left: a limit on the size of files, which fails as a full disk or an exhausted quota does."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path

import pytest
from archives import contents, created, extracted, files_up_to, header_of, make_files, member

from cpkg import archive, zstd

pytestmark = pytest.mark.once
LARGE = 3 << 20


@pytest.mark.parametrize(
    ("uid", "frame_size", "threads"), [(0, 1 << 30, 1), (0, 300_000, 1), (0, 300_000, 2), (3_000_000, 300_000, 1)]
)
@pytest.mark.parametrize("is_path", [True, False])
def test_a_file_that_does_not_fit_is_a_problem_and_leaves_nothing(
    engine: str, is_path: bool, uid: int, frame_size: int, threads: int, tmp_path: Path
) -> None:
    """Of two such files with small ones around them; their data looks like entries."""
    out, path = tmp_path / "out", tmp_path / "a.tzst"
    inner = header_of("evil", b"from inside of the data")
    data = (inner * (LARGE // len(inner) + 1))[:LARGE]
    small = {"d/first": b"1" * 50_000, "d/next": b"2" * 200_000, "last": b"3" * 200_000}
    first, following, last = (header_of(*file) for file in small.items())
    large, other = (header_of(member(name, uid=uid), data) for name in ("large", "d/large"))
    content = first + large + following + other + last + bytes(1024)
    frames = (content[at : at + frame_size] for at in range(0, len(content), frame_size))
    path.write_bytes(b"".join(map(zstd.compress, frames)))
    with files_up_to(1 << 20):
        problems = extracted(path if is_path else path.read_bytes(), out, threads=threads)
    assert sorted(problem.name for problem in problems) == ["d/large", "large"]
    for error in [problem.error for problem in problems]:
        assert isinstance(error, OSError)
        assert error.errno == errno.EFBIG
        assert str(error.filename).startswith(str(out))
    assert {name: value[3][0] for name, value in contents(out).items() if value[3]} == small


def test_without_a_listener_it_is_an_error_and_an_archive_leaves_nothing(engine: str, tmp_path: Path) -> None:
    tree = make_files(tmp_path / "tree", {"0": 300_000, "large": 2 << 20})
    made, out = created(base=tree), tmp_path / "out"
    with files_up_to(1 << 20):
        with pytest.raises(OSError, match=rf"\[Errno {errno.EFBIG}\]") as caught:
            archive.extract(io.BytesIO(made), out)
        assert os.fsdecode(caught.value.filename).startswith(str(out))
        with pytest.raises(OSError, match=rf"\[Errno {errno.EFBIG}\]"):
            archive.create(tmp_path / "b.tar.zst", base=tree)
    assert contents(out).keys() <= {"0"}
    assert sorted(os.listdir(tmp_path)) == ["out", "tree"]
