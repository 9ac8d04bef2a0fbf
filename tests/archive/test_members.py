# SPDX-License-Identifier: Apache-2.0
"""One member of an archive is found without reading the others, by the list of members and the seek table."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from archives import contents, extracted, make_files, make_sparse, make_tree, packed, rewritten, table_of
from fuzz_archives import with_table

from cpkg import archive, zstd
from cpkg.archive import _indexed_frames
from purepy.tar import members

FRAME = 64 << 10


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an archive of thirty frames, next to its tree: a large file, and directories of small files."""
    folder = tmp_path_factory.mktemp("members")
    small = {f"d{number // 10}/deep/f{number % 10}": 10_000 for number in range(100)}
    tree = make_files(folder / "tree", {"a large one": 700_000, **small})
    archive.create(folder / "a.tar.zst", base=tree, frame_size=FRAME)
    return folder / "a.tar.zst"


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which the position of each frame that is read is appended."""
    found: list[int] = []
    inflate = _indexed_frames.IndexedFrames.inflate

    def noted(self: Any, stored: Any, *rest: Any) -> Any:
        found.append(stored.offset)
        return inflate(self, stored, *rest)

    monkeypatch.setattr(_indexed_frames.IndexedFrames, "inflate", noted)
    return found


@pytest.mark.parametrize("by_url", [False, True])
def test_one_member_is_in_one_frame(engine: str, by_url: bool, made: Path, loaded: list[int], tmp_path: Path) -> None:
    out = tmp_path / "out"
    url = f"local://{made}"
    if by_url:
        pytest.importorskip("fsspec")
    summary = archive.extract(url if by_url else made, out, include="./d7/deep/f3")
    assert summary.entries == 1
    assert (out / "d7/deep/f3").read_bytes() == (made.parent / "tree/d7/deep/f3").read_bytes()
    assert 2 <= len(loaded) <= 3  # its frame, the last frame, and rarely one with a name of the same number
    loaded.clear()
    (entry,) = archive.entries(made, include="./d7/deep/f3")
    assert entry in list(archive.entries(made))  # including the position


def test_a_directory_and_a_pattern(engine: str, made: Path, loaded: list[int], tmp_path: Path) -> None:
    for number, include in enumerate((["./d4", "./d5/deep/"], "./d4/d*", "./d4/deep/f?")):
        loaded.clear()
        out = tmp_path / f"out{number}"
        archive.extract(made, out, include=include)
        wanted = ("d4", "d5") if number == 0 else ("d4",)
        trees = contents(out), contents(made.parent / "tree")
        ours, theirs = ({name: value for name, value in tree.items() if name[-2] == "f"} for tree in trees)
        assert ours == {name: value for name, value in theirs.items() if name.startswith(wanted)}
        assert len(loaded) < 10
    loaded.clear()
    archive.extract(made, tmp_path / "all", include="*f1")
    assert len(loaded) > 20
    assert len([name for name in contents(tmp_path / "all") if name.endswith("f1")]) == 10


def test_a_large_member_and_what_lies_beside_it(engine: str, made: Path, loaded: list[int], tmp_path: Path) -> None:
    archive.extract(made, tmp_path / "out", include="./a large one")
    assert (tmp_path / "out/a large one").read_bytes() == (made.parent / "tree/a large one").read_bytes()
    assert 11 <= len(loaded) <= 13
    loaded.clear()
    # its frames are skipped, except for a few that were read in advance
    assert [entry.name for entry in archive.entries(made, include="./d0", threads=1)][:2] == ["./d0", "./d0/deep"]
    assert len(loaded) < 8
    loaded.clear()
    names = [entry.name for entry in archive.entries(made, threads=1)]
    assert len(names) == 122
    assert len(loaded) < len(table_of(made)) - 5


def test_sparse_members(engine: str, tmp_path: Path, loaded: list[int]) -> None:
    """A sparse file may end in the middle of a frame, followed by other entries."""
    tree = make_files(tmp_path / "tree", dict.fromkeys("bcd", 30000))
    make_sparse(tree / "a", 20, 1 << 20, 5019)
    archive.create(tmp_path / "a.tar.zst", base=tree, frame_size=FRAME, sparse=True)
    for name in "abcd":
        archive.extract(tmp_path / "a.tar.zst", tmp_path / name, include=f"./{name}")
        assert (tmp_path / name / name).read_bytes() == (tree / name).read_bytes()


def test_missing_paths_are_reported(engine: str, made: Path, tmp_path: Path) -> None:
    include = ["./d1/deep/f1", "nothing", "./d1", "./d1/deep/f1/x"]
    for source in (made, made.read_bytes()):  # all frames of a stream are read
        found = extracted(source, tmp_path / "out", include=include)
        assert [(problem.name, problem.error) for problem in found] == [("nothing", None), ("./d1/deep/f1/x", None)]
    with pytest.warns(archive.ArchiveWarning, match="nothing: not found in the archive"):
        archive.extract(made, tmp_path / "out", include="nothing")


def test_other_archives_are_read_whole(engine: str, tmp_path: Path, loaded: list[int]) -> None:
    """Archives without a list, with only a seek table, and with frames too large for it are read completely."""
    content = [(name, name.encode() * 1000) for name in "abc"]
    (tmp_path / "plain").write_bytes(packed(*content))
    archive.extract(tmp_path / "plain", tmp_path / "out", include="b")
    assert os.listdir(tmp_path / "out") == ["b"]
    stream = zstd.decompress(packed(*content))
    pieces = [stream[at : at + 1000] for at in range(0, len(stream), 1000)]
    (tmp_path / "seekable").write_bytes(with_table(pieces))
    assert loaded == []
    archive.extract(tmp_path / "seekable", tmp_path / "out2", include="b")
    assert os.listdir(tmp_path / "out2") == ["b"]
    assert loaded
    assert [entry.name for entry in archive.entries(tmp_path / "seekable")] == ["a", "b", "c"]


def test_a_damaged_list_is_not_used(engine: str, made: Path, loaded: list[int], tmp_path: Path) -> None:
    data = made.read_bytes()
    for change in (
        lambda frame: frame[:-1] + bytes([frame[-1] ^ 1]),
        lambda frame: frame[:40] + bytes([frame[40] ^ 1]) + frame[41:],
        lambda frame: b"\x5c\x2a\x4d\x18\x04\0\0\0abcd",
        lambda frame: frame[:8] + b"othertar" + frame[16:-4] + crc32(b"othertar" + frame[16:-4]).to_bytes(4, "little"),
        lambda frame: members.Members().to_bytes(),
    ):
        loaded.clear()
        changed = rewritten(made, change)
        assert changed.read_bytes() != data
        archive.extract(changed, tmp_path / "out", include="./d7/deep/f3")
        assert (tmp_path / "out/d7/deep/f3").read_bytes() == (made.parent / "tree/d7/deep/f3").read_bytes()
        assert len(loaded) > 20
        assert archive.verify(changed).entries == 122


def test_the_list_costs_little(engine: str, tmp_path: Path) -> None:
    archive.create(tmp_path / "a", base=make_tree(tmp_path / "tree"))
    table = table_of(tmp_path / "a")
    _, size, _, content, _ = table.frame(len(table) - 1)
    assert content == 0
    assert size < 24 + 4 * 3 + 2 * 40
