# SPDX-License-Identifier: Apache-2.0
"""A damaged archive loses frames, not everything."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from archives import contents

from cpkg import archive
from purepy.errors import CodecError
from purepy.zstd.seekable.table import read_seek_table

FRAME = 64 << 10


@pytest.fixture
def made(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(40):
        (tree / f"f{number:02}").write_bytes(os.urandom(9000))
    (tree / "g").write_bytes(os.urandom(400_000))
    for number in range(40):
        (tree / f"h{number:02}").write_bytes(os.urandom(9000))
    archive.create(tmp_path / "a.tar.zst", base=tree, frame_size=FRAME)
    return tmp_path / "a.tar.zst"


def damaged(path: Path, at: int) -> bytes:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x55
    return bytes(data)


def test_each_frame_is_lost_by_itself(engine: str, made: Path, tmp_path: Path) -> None:
    """Damage in a header of a frame or in its data; a large file is lost with any of its frames."""
    with made.open("rb") as file:
        table = read_seek_table(file)
    tree = contents(tmp_path / "tree")
    broken = tmp_path / "broken"
    for index in range(len(table) - 2):
        offset, size, *_ = table.frame(index)
        for at in (offset + 1, offset + size // 2):
            broken.write_bytes(damaged(made, at))
            problems: list[archive.Problem] = []
            out = tmp_path / f"out{at}"
            archive.extract(broken, out, recover=True, on_problem=problems.append)
            assert [type(problem.error) for problem in problems] != []
            assert "damaged" in problems[0].message
            found = contents(out)
            assert all(found[name] == tree[name] for name in found)
            assert len(tree) - len(found) <= 8
            assert not [name for name in os.listdir(out) if name.startswith(".cpkg")]


def test_without_it_the_first_damage_is_an_error(engine: str, made: Path, tmp_path: Path) -> None:
    with made.open("rb") as file:
        offset, size, *_ = read_seek_table(file).frame(4)
    (tmp_path / "broken").write_bytes(damaged(made, offset + size // 2))
    problems: list[archive.Problem] = []
    with pytest.raises(CodecError):
        archive.extract(tmp_path / "broken", tmp_path / "out", on_problem=problems.append)
    before = contents(tmp_path / "out")
    assert 20 < len(before) < 40  # all that lies in the frames before it
    with pytest.raises(CodecError):  # nobody listens
        archive.extract(tmp_path / "broken", tmp_path / "out2", recover=True)


def test_of_a_stream_and_of_a_cut_one(engine: str, made: Path, tmp_path: Path) -> None:
    """Without a seek table, frames of which the headers are whole are found; behind a cut there is nothing."""
    with made.open("rb") as file:
        table = read_seek_table(file)
    offset, size, *_ = table.frame(3)
    problems: list[archive.Problem] = []
    archive.extract(
        io.BytesIO(damaged(made, offset + size // 2)), tmp_path / "out", recover=True, on_problem=problems.append
    )
    assert len(contents(tmp_path / "tree")) - len(contents(tmp_path / "out")) <= 8
    assert len(problems) == 1
    problems.clear()
    cut = made.read_bytes()[: table.frame(9)[0] + 100]
    archive.extract(io.BytesIO(cut), tmp_path / "cut", recover=True, on_problem=problems.append)
    assert len(contents(tmp_path / "cut")) > 30
    assert problems


def test_everything_damaged(engine: str, tmp_path: Path) -> None:
    problems: list[archive.Problem] = []
    for data in (b"", b"no archive at all", bytes(3000)):
        problems.clear()
        archive.extract(io.BytesIO(data), tmp_path / "out", recover=True, on_problem=problems.append)
        assert len(problems) == 1
        assert os.listdir(tmp_path / "out") == []
