# SPDX-License-Identifier: Apache-2.0
"""Trees that change, are deep or have odd names; callers that interrupt or change entries to impossible ones."""

from __future__ import annotations

import contextlib
import io
import os
import platform
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from archives import ENGINES, change_after_the_walk, contents, created, make_files, member, packed, uncompressed
from extent import IS_PURE_CODEC
from interrupts import Outcome, at_every_line, by_timer, storms
from processes import needs, run_python, sections

from cpkg import archive
from cpkg.archive import _create
from cpkg.archive._settings import pattern_list
from purepy.base.errors import ZstdError
from purepy.tar.patterns import matcher


def test_a_name_counts_once_its_data_is_in(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the first of three names of a file vanishes, its data is stored under another name, and it is not counted."""
    tree = make_files(tmp_path / "tree", {"a": b"data" * 1000})
    os.link(tree / "a", tree / "b")
    os.link(tree / "a", tree / "c")
    change_after_the_walk(monkeypatch, "a", (tree / "a").unlink)
    target, seen, problems = io.BytesIO(), [], []
    summary = archive.create(target, base=tree, on_entry=lambda it: seen.append(it.name), on_problem=problems.append)
    assert sorted(seen) == [".", "./b", "./c"]
    assert (summary.entries, summary.problems, len(problems)) == (3, problems, 1)
    archive.extract(io.BytesIO(target.getvalue()), tmp_path / "out")
    for name in os.listdir(tree):
        assert (tmp_path / "out" / name).read_bytes() == b"data" * 1000


def test_a_file_that_shrinks_is_one_problem(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is one problem, however many frames the file fills."""
    (tmp_path / "large").write_bytes(bytes(300_000))
    frames = _create.mapped

    def first_plan(make: Any, plans: Any, *arguments: Any) -> Any:
        begun = [next(plans)]
        os.truncate(tmp_path / "large", 10_000)
        return frames(make, (plan for part in (begun, plans) for plan in part), *arguments)

    monkeypatch.setattr(_create, "mapped", first_plan)
    problems: list[archive.Problem] = []
    made = created("large", base=tmp_path, on_problem=problems.append, frame_size=64 << 10)
    (problem,) = problems
    assert "shrank by" in problem.message
    assert [entry.size for entry in archive.entries(io.BytesIO(made))] == [300_000]


def test_a_symbolic_link_with_two_names_is_stored_once(engine: str, tmp_path: Path) -> None:
    (tmp_path / "tree" / "sub").mkdir(parents=True)
    os.symlink("a", tmp_path / "tree" / "x")
    subprocess.run(["ln", "-P", tmp_path / "tree" / "x", tmp_path / "tree" / "y"], check=True)  # PyPy's os.link cannot
    archive.create(tmp_path / "a.tar.zst", base=tmp_path / "tree")
    types = {entry.name: entry.type for entry in archive.entries(tmp_path / "a.tar.zst")}
    assert types == {".": "directory", "./sub": "directory", "./x": "symlink", "./y": "hardlink"}
    archive.extract(tmp_path / "a.tar.zst", tmp_path / "out")
    assert contents(tmp_path / "out") == contents(tmp_path / "tree")


@pytest.mark.parametrize("arguments", [{"base": "a\0b"}, {"files_from": ["a\0b"]}, {"files_from": [""]}, {}])
def test_paths_that_cannot_be(engine: str, arguments: dict[str, Any]) -> None:
    """With a NUL, an empty path or no paths at all, nothing is archived by mistake."""
    with pytest.raises(ValueError, match="path"):
        archive.create(io.BytesIO(), **arguments)


@pytest.mark.parametrize(
    "name", ["q.tar", "q.tar.gz", b"q.TGZ", Path("q.tar.xz"), "memory://q.tar.bz2", "q.zip"], ids=str
)
def test_names_of_other_formats_are_refused(name: Any) -> None:
    """Other programs would read such a file as the format of its name."""
    with pytest.raises(ValueError, match=r"q\.\S+: create writes Zstandard archives: name it \S*q\.tar\.zst$"):
        archive.create(name, base=".")


def test_an_empty_list_of_paths_is_an_empty_archive(engine: str) -> None:
    target = io.BytesIO()
    assert archive.create(target, files_from=[]).entries == 0
    assert list(archive.entries(io.BytesIO(target.getvalue()))) == []


CHANGES: dict[str, tuple[Any, ...]] = {
    "size": (10, -1),
    "type": ("nonsense", "directory"),
    "sparse": ([(0, 5)],),
    "name": ("", "a\0b", "a/", b"bytes"),
    "mode": (-1, 1 << 40),
    "uid": (-5,),
    "gid": (1 << 70,),
    "mtime_ns": (1 << 90, 1.5),
    "uname": ("a\0b",),
    "linkname": (None,),
    "xattrs": ({"user.x": "text"},),
}


@pytest.mark.parametrize(("attribute", "value"), [(key, value) for key, values in CHANGES.items() for value in values])
def test_changes_that_select_cannot_make(attribute: str, value: Any, tmp_path: Path) -> None:
    tree = make_files(tmp_path / "tree", {"b": b"b" * 3000})

    def select(entry: archive.Entry) -> archive.Entry:
        if entry.type == "file":
            setattr(entry, attribute, value)
        return entry

    told = f"select returned an invalid {attribute} for 'b': expected .*, found "
    with pytest.raises((ValueError, TypeError), match=told):
        archive.create(io.BytesIO(), "b", base=tree, select=select)
    made = io.BytesIO(packed(("b", b"b" * 3000)))
    with pytest.raises((ValueError, TypeError), match=told):
        archive.extract(made, tmp_path / "out", select=select, filter="fully_trusted")


def test_a_long_name_is_matched_in_linear_time(engine: str, tmp_path: Path) -> None:
    """With half a million components and many stars, a matcher that tries all positions of all stars would not end."""
    info = member("a/" * 400_000 + "z")
    made = packed((info, b""), format=tarfile.PAX_FORMAT)
    for pattern in ("*.pyc", "*a*a*a*a*.x", "a*b?", "[b-z]/*q"):
        assert len(list(archive.entries(io.BytesIO(made), exclude=pattern))) == 1
    assert matcher(["*a*z"], anchored=False)(info.name)  # type: ignore[misc]
    with pytest.raises(ValueError, match="NUL"):
        pattern_list("a\0b")


@needs("cc")
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the library is for glibc")
def test_a_group_with_many_members_keeps_its_name(engine: str, run_preloaded: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    number = os.stat(tmp_path / "file").st_gid
    (tmp_path / "group").write_text(f"crowd:x:{number}:" + ",".join(f"member{index}" for index in range(5000)) + "\n")
    output = run_preloaded("groups", "names of groups", tmp_path, cwd=tmp_path, GROUP_FILE=f"{tmp_path / 'group'}")
    assert output == "crowd\n"


@needs("cc")
@pytest.mark.skipif("native" not in ENGINES or platform.libc_ver()[0] != "glibc", reason="only C reads runs of files")
@pytest.mark.parametrize("change", ["shrinks", "grows", "vanishes", "link", "fifo", "directory"])
def test_a_file_that_changes_while_c_reads_a_run(change: str, run_preloaded: Any, tmp_path: Path) -> None:
    """C stops before the file, and Python archives the file as it is by then."""
    tree = make_files(tmp_path / "tree", {"a": b"a" * 50_000, "file": b"f" * 100_000, "z": b"z"})
    made = tmp_path / "a.tar.zst"
    variables = {"CHANGED": "file", "CHANGE": change, "CPKG_ARCHIVE_BACKEND": "native"}
    output = run_preloaded("changing", "problems of a tree", made, tree, cwd=tmp_path, **variables)
    assert output == ("./file: file removed before we read it\n" if change == "vanishes" else "\n")
    archive.extract(made, tmp_path / "out", filter="fully_trusted")
    assert contents(tmp_path / "out") == contents(tree)
    assert sorted(os.listdir(tree)) == (["a", "z"] if change == "vanishes" else ["a", "file", "z"])


@pytest.mark.parametrize("depth", ["120", pytest.param("1200", marks=pytest.mark.nightly)])
def test_a_deep_tree_with_few_descriptors(engine: str, depth: str, tmp_path: Path) -> None:
    """The tree is deeper than there are descriptors, with files after the directories; few threads start."""
    done = run_python(
        "-c", sections(__file__, "programs.txt")["a deep tree"], "deep", depth, env=os.environ, cwd=tmp_path
    )
    subprocess.run(["rm", "-r", tmp_path / "deep"], check=True)  # too deep for shutil
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("is_moved", [True, False])
def test_a_directory_that_is_moved_or_replaced_meanwhile(
    engine: str, is_moved: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of each such directory is an error; nothing is read from where `..` leads, or from the other one."""
    tree, elsewhere = tmp_path / "tree", tmp_path / "elsewhere"
    # deep, so that the directories above are closed
    make_files(tree, {"a/b/c/1/2/3/4/5/6/7/file": b"", "a/b/z": b"inside"} | ({} if is_moved else {"a/b/c/z": b"in"}))
    make_files(elsewhere, {"z": b"outside"} | ({} if is_moved else {"c/z": b"outside"}))

    def move() -> None:
        if (tmp_path / "b").exists():
            return
        if is_moved:
            os.rename(tree / "a" / "b" / "c", elsewhere / "c")
        os.rename(tree / "a" / "b", tmp_path / "b")
        if not is_moved:
            os.rename(elsewhere, tree / "a" / "b")

    change_after_the_walk(monkeypatch, "file", move)
    problems: list[archive.Problem] = []
    made = created(base=tree, sort=True, on_problem=problems.append)
    assert [problem.name for problem in problems] == ([] if is_moved else ["./a/b/c/z"]) + ["./a/b/z"]
    assert b"outside" not in uncompressed(made)


@pytest.mark.once
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("by", ["lines", *storms("signal", "two signals")])
def test_an_interrupt(engine: str, by: str, threads: int, tmp_path: Path) -> None:
    """The target has a truncated archive, or a whole one if the last byte was written, and no thread continues."""
    small = {f"{folder}/{number}": 30_000 for folder in ("a", "b", "c/d") for number in range(3)}
    tree = make_files(tmp_path / "tree", {"large": 200_000, **small})

    def act(target: io.BytesIO) -> archive.Summary:
        return archive.create(target, base=tree, threads=threads, frame_size=64 << 10)

    def check(target: io.BytesIO, outcome: Outcome) -> None:
        assert outcome.error is None or outcome.is_interrupted, outcome.error
        data, count = target.getvalue(), 0
        with contextlib.suppress(archive.ArchiveError, ZstdError):
            count = len(list(archive.entries(io.BytesIO(data))))
        assert count in ((15,) if outcome.error is None else (0, 15))
        assert len(target.getvalue()) == len(data), "a thread went on writing"

    if by == "lines":
        # with the pure codec, most lines are its own, and each call is slow
        at_every_line(io.BytesIO, act, check, times=1, every=100 if IS_PURE_CODEC else 2)
    else:
        # a signal between opening a file in PyPy's os.open and returning from it loses the descriptor
        settles = engine == "native" or sys.implementation.name == "cpython"
        by_timer(io.BytesIO, act, check, times=60, signals=1 + (by == "two signals"), settles=settles)
