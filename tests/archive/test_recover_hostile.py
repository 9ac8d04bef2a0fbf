# SPDX-License-Identifier: Apache-2.0
"""A damaged archive loses frames, not everything."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any, NoReturn

import pytest
from archives import contents, extracted, make_files, table_of

from cpkg import archive
from purepy.base.errors import CodecError, ZstdError

FRAME = 64 << 10


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Return an archive of a file in several frames, between small files."""
    small = {f"{letter}{number:02}": 9000 for letter in "fh" for number in range(20)}
    tree = make_files(tmp_path / "tree", {"g": 200_000, **small})
    archive.create(tmp_path / "a.tar.zst", base=tree, frame_size=FRAME)
    return tmp_path / "a.tar.zst"


def damaged(path: Path, at: int) -> bytes:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x55
    return bytes(data)


def test_each_frame_is_lost_separately(engine: str, made: Path, tmp_path: Path) -> None:
    """Damage in the header or data of a frame loses its files; a large file is lost with any of its frames."""
    table = table_of(made)
    tree = contents(tmp_path / "tree")
    broken = tmp_path / "broken"
    for index in range(len(table) - 2):
        offset, size, *_ = table.frame(index)
        for at in (offset + 1, offset + size // 2):
            broken.write_bytes(damaged(made, at))
            out = tmp_path / f"out{at}"
            problems = extracted(broken, out, recover=True)
            assert "damaged" in problems[0].message
            found = contents(out)
            assert all(found[name] == tree[name] for name in found)
            assert len(tree) - len(found) <= 8
            assert not [name for name in os.listdir(out) if name.startswith(".cpkg")]


def test_without_it_the_first_damage_is_an_error(engine: str, made: Path, tmp_path: Path) -> None:
    offset, size, *_ = table_of(made).frame(2)
    (tmp_path / "broken").write_bytes(damaged(made, offset + size // 2))
    with pytest.raises(CodecError):
        extracted(tmp_path / "broken", tmp_path / "out")
    assert 10 < len(contents(tmp_path / "out")) < 20  # all files in the frames before the damage
    with pytest.raises(CodecError):  # without on_problem
        archive.extract(tmp_path / "broken", tmp_path / "out2", recover=True)


def test_of_a_stream_and_of_a_cut_one(engine: str, made: Path, tmp_path: Path) -> None:
    """Without a seek table, frames with intact headers are found; after truncation, nothing is found."""
    table = table_of(made)
    offset, size, *_ = table.frame(3)
    assert len(extracted(damaged(made, offset + size // 2), tmp_path / "out", recover=True)) == 1
    assert len(contents(tmp_path / "tree")) - len(contents(tmp_path / "out")) <= 8
    cut = made.read_bytes()[: table.frame(5)[0] + 100]
    assert extracted(cut, tmp_path / "cut", recover=True)
    assert len(contents(tmp_path / "cut")) > 15


def test_everything_damaged(engine: str, tmp_path: Path) -> None:
    for data in (b"", b"no archive at all", bytes(3000)):
        assert len(extracted(data, tmp_path / "out", recover=True)) == 1
        assert os.listdir(tmp_path / "out") == []


@pytest.mark.parametrize("name", ["on_entry", "select", "progress", "on_problem", "read"])
def test_errors_of_the_caller_are_no_damage(engine: str, made: Path, tmp_path: Path, name: str) -> None:
    error = ZstdError("of the caller's own")
    found: list[object] = []

    def fail(*_: object) -> NoReturn:
        found.append(_)
        raise error

    class Source(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return fail() if name == "read" and self.tell() else super().read(size and min(size, 5000))

    data = made.read_bytes()
    source = Source(damaged(made, len(data) // 2) if name == "on_problem" else data)
    calls: Any = {"on_problem": found.append, **({} if name == "read" else {name: fail})}
    with pytest.raises(ZstdError) as caught:
        archive.extract(source, tmp_path / "out", recover=True, threads=1, **calls)
    assert caught.value is error
    assert len(found) == 1
