# SPDX-License-Identifier: Apache-2.0
"""Functions of the caller: select, on_entry, on_problem and progress; and archives by URL."""

from __future__ import annotations

import functools
import http.server
import io
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest
from archives import contents, created, extracted, make_files, make_sparse, member, packed
from web import serving

from cpkg import archive
from purepy.base.errors import ArchiveError


def test_select_and_callbacks(engine: str, tree: Path) -> None:
    seen, asked, steps = [], [], []

    def select(entry: archive.Entry) -> archive.Entry | None:
        asked.append(entry.name)
        entry.uname = "somebody"
        return None if entry.name.endswith("secret") else entry

    functions = {"on_entry": seen.append, "progress": lambda *sizes: steps.append(sizes)}
    made = created("sub", base=tree, select=select, **functions)
    names = [entry.name for entry in seen]
    assert [name for name in asked if name != "sub/secret"] == names
    assert len(asked) == len(names) + 1
    assert "sub/deep/er/file" in names
    assert steps == sorted(steps)
    assert {entry.uname for entry in archive.entries(io.BytesIO(made))} == {"somebody"}


def test_each_entry_is_reported(engine: str, tree: Path, tmp_path: Path) -> None:
    """Callbacks get archived and extracted entries as they are in the archive, including large and unusual files."""
    os.mkfifo(tree / "fifo")
    make_sparse(tree / "a", 3, 1 << 20, 5019)
    told: list[archive.Entry] = []
    made = tmp_path / "a.tar.zst"
    summary = archive.create(made, base=tree, on_entry=told.append, frame_size=64 << 10, sparse=True)
    stored = list(archive.entries(made))
    assert [entry.replace(position=None) for entry in stored] == told
    assert len(told) == summary.entries
    told.clear()
    summary = archive.extract(made, tmp_path / "out", on_entry=told.append, filter="tar")
    assert sorted(told, key=lambda entry: entry.position or 0) == stored
    assert len(told) == summary.entries
    told.clear()
    archive.extract(made, tmp_path / "some", include="./sub", exclude="[p-s]*et", on_entry=told.append)
    wanted = [entry for entry in stored if entry.name.startswith("./sub") and "secret" not in entry.name]
    assert sorted(told, key=lambda entry: entry.position or 0) == wanted


def test_failed_entries_are_not_reported(engine: str, tree: Path, tmp_path: Path) -> None:
    """After truncation, only the entries that were extracted before are reported."""
    made = created(base=tree, frame_size=64 << 10)
    taken = ("./noise", "./text", "./sub/program")  # one of them fills several frames
    for name in taken:
        (tmp_path / "out" / name / "in the way").mkdir(parents=True)
    told: list[str] = []
    problems = extracted(made, tmp_path / "out", on_entry=lambda entry: told.append(entry.name))
    assert {problem.name.replace("./", "") for problem in problems} >= {name[2:] for name in taken}
    assert not set(told) & set(taken)
    assert "./sub/café" in told
    first = packed(("a", b"a"), ("b", b"b"), end=False)
    for name in ("on_entry", "select"):
        told.clear()
        with pytest.raises(ArchiveError, match="truncated"):
            archive.extract(io.BytesIO(first), tmp_path / name, **{name: lambda it: told.append(it.name) or it})
        assert told == ["a", "b"]
    assert sorted(contents(tmp_path / "select")) == ["a", "b"]


def test_what_select_changes_and_returns(engine: str, tmp_path: Path) -> None:
    made = packed(*((f"d/{name}", name.encode()) for name in "abcx"), ("d/a", b"again"))

    def change(entry: archive.Entry) -> archive.Entry | None:
        if entry.name == "d/x":
            return None
        if entry.name == "d/b":
            entry.name = "renamed"
            entry.mode = 0o600
        return entry if entry.name != "d/c" else entry.replace(name="moved/copied")

    archive.extract(io.BytesIO(made), tmp_path / "out", select=change)
    found = {name: value[3][0] for name, value in contents(tmp_path / "out").items() if value[3]}
    assert found == {"d/a": b"again", "renamed": b"b", "moved/copied": b"c"}
    # Windows keeps only one bit of a mode: whether the owner may write
    assert (tmp_path / "out" / "renamed").stat().st_mode & 0o777 == (0o666 if os.name == "nt" else 0o600)
    with pytest.raises(ValueError, match="size"):
        archive.extract(io.BytesIO(made), tmp_path / "x", select=lambda entry: archive.Entry("another"))
    with pytest.raises(TypeError, match="must return an Entry or None"):
        archive.extract(io.BytesIO(made), tmp_path / "x", select=lambda entry: True)


@pytest.mark.parametrize("name", ["select", "on_entry", "progress"])
def test_an_error_of_the_caller_is_not_one_of_the_file(engine: str, name: str, tree: Path, tmp_path: Path) -> None:
    error = OSError(5, "of the function")

    def refuse(*_: object) -> archive.Entry:
        raise error

    problems: list[archive.Problem] = []
    given: dict[str, Any] = {name: refuse, "on_problem": problems.append}
    for call in (
        lambda: archive.create(io.BytesIO(), base=tree, **given),
        lambda: archive.extract(io.BytesIO(packed(("a", b"a"))), tmp_path, **given),
    ):
        with pytest.raises(OSError, match="of the function") as caught:
            call()
        assert caught.value is error
    assert not problems


def test_an_error_names_one_path(engine: str, tmp_path: Path) -> None:
    """System calls with two names leave both on their errors."""
    (tmp_path / "a" / "full").mkdir(parents=True)
    name = "n" * 300  # too long
    for made, path in (
        (packed(("a", b"data")), tmp_path / "a"),
        (packed(("file", b""), member(name, tarfile.LNKTYPE, linkname="file")), tmp_path / name),
    ):
        with pytest.raises(OSError) as caught:
            archive.extract(io.BytesIO(made), tmp_path)
        assert str(caught.value).endswith(f": {str(path)!r}")


def test_by_http(engine: str, tree: Path, tmp_path: Path) -> None:
    """A server without range requests sends the archive as a stream, even a long one."""
    pytest.importorskip("fsspec")
    pytest.importorskip("aiohttp")
    make_files(tree, {"long": 12 << 20})
    folder = tmp_path / "served"
    folder.mkdir()
    archive.create(folder / "a.tar.zst", base=tree)
    with serving(functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))) as address:
        archive.extract(f"{address}/a.tar.zst", tmp_path / "out")
        assert contents(tmp_path / "out") == contents(tree)
        archive.extract(f"{address}/a.tar.zst", tmp_path / "some", include="./sub/deep")
        assert sorted(contents(tmp_path / "some")) == ["sub", "sub/deep", "sub/deep/er", "sub/deep/er/file"]
        with pytest.raises(FileNotFoundError):
            archive.extract(f"{address}/missing", tmp_path / "none")
        with pytest.raises(OSError, match="read-only"):
            archive.create(f"{address}/new.tar.zst", base=tree)
