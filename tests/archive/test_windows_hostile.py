# SPDX-License-Identifier: Apache-2.0
"""Names that Windows interprets, and directories without descriptors; the rules are tested on every system."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from archives import created, extracted, make_files, member, packed
from extent import IS_PURE_CODEC
from interrupts import at_every_line

from cpkg import archive
from purepy.base import by_path, system
from purepy.base.errors import UnsafeEntryError
from purepy.tar.windows import Spellings, fault, folded

LINK, HARD, DIRECTORY = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE
REFUSED = [
    *("C:", "c:evil", "a:b", "a::$DATA", "..\\evil", "a\\b", "\\\\server\\share"),
    *("?", 'a"b', "a<b", "a>b", "a|b", "a*"),
    *("a.", "a..", "a ", "...", " ", ". ", ".. ", "a\x00b", "a\x1f", "a\n", "\udcff"),
    *("nul", "NUL.txt", "Con", "con .tar.gz", "aux.", "PRN", "com1", "COM9.log", "lpt0", "Lpt¹", "CONIN$", "conout$.x"),
]
TAKEN = ["a", "a.b", ".a", "..a", "nulls", "con2", "com", "com10", "lpt", "console.log", "é", "a b", "~1", "-", "COM¹0"]


def test_what_windows_takes_for_something_else() -> None:
    assert [name for name in (*REFUSED, *TAKEN) if fault(name) is not None] == REFUSED


def test_names_are_compared_character_by_character() -> None:
    assert folded("aé/ß\u0149") == "AÉ/ß\u0149"


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Extract by the rules of Windows."""
    monkeypatch.setenv("CPKG_ARCHIVE_BACKEND", "pure")
    monkeypatch.setattr(system, "IS_WINDOWS", True)


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize("filter", ["data", "tar", "fully_trusted"])
@pytest.mark.parametrize("name", [name for name in REFUSED if not {"\x00", "\udcff"} & set(name)])
def test_hostile_names_are_problems(name: str, filter: str, tmp_path: Path) -> None:
    """Such names are problems anywhere in a path, for every type of entry; the rest is extracted."""
    paths = [name, f"{name}/x", f"d/{name}/x", f"/{name}"]
    kinds = (tarfile.REGTYPE, DIRECTORY, LINK, HARD)
    entries = [member(path, kind, linkname="ok") for path in paths for kind in kinds]
    problems = extracted(packed(("ok", b"1"), *entries, ("last", b"2")), tmp_path / "out", filter=filter)
    assert len(problems) == len(entries)
    assert all(isinstance(problem.error, UnsafeEntryError) for problem in problems)
    assert sorted(os.listdir(tmp_path / "out")) == ["last", "ok"]


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize("target", ["C:/x", "a/nul", "..\\..\\x", "\\\\server\\share\\x", "x:stream"])
def test_links_to_hostile_names(target: str, tmp_path: Path) -> None:
    made = packed(member("ok"), member("s", LINK, linkname=target), member("h", HARD, linkname=target))
    assert [problem.name for problem in extracted(made, tmp_path / "out")] == ["s", "h"]
    assert os.listdir(tmp_path / "out") == ["ok"]


@pytest.mark.usefixtures("windows")
def test_names_that_differ_only_in_case(tmp_path: Path) -> None:
    """The second entry does not replace the first, whether it is a file, a directory on the way or a link."""
    made = packed(
        *(("Dir/File", b"first"), ("Dir/FILE", b"second"), ("dir/other", b"third")),
        *(member("link", LINK, linkname="Dir"), ("LINK/x", b"fourth")),
        *(("ÉTÉ", b"5"), ("été", b"6"), ("Dir/File", b"again")),
    )
    problems = extracted(made, tmp_path / "out")
    wanted = ["Dir/FILE", "dir/other", "LINK/x", "été"]
    assert [problem.name for problem in problems if "only in upper and lower case" in problem.message] == wanted
    assert (tmp_path / "out" / "Dir" / "File").read_bytes() == b"again"
    assert (tmp_path / "out" / "ÉTÉ").read_bytes() == b"5"


def test_without_a_listener_the_first_is_raised(windows: None, tmp_path: Path) -> None:
    with pytest.raises(UnsafeEntryError, match="device on Windows") as caught:
        archive.extract(io.BytesIO(packed(member("a/nul.txt"))), tmp_path / "out")
    assert caught.value.entry == "a/nul.txt"


def test_spellings_hold_for_what_is_stripped(tmp_path: Path) -> None:
    entry = next(archive.entries(io.BytesIO(packed(member("A/x", HARD, linkname="A/con")))))
    with pytest.raises(UnsafeEntryError, match="'con'"):
        Spellings().check(entry, ["x"], "data", 1)


@pytest.fixture(params=["by path", "by descriptor"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run with and without system calls relative to a directory descriptor, which some systems lack."""
    monkeypatch.setenv("CPKG_ARCHIVE_BACKEND", "pure")
    if request.param == "by path":
        for name in vars(by_path).keys() & vars(system).keys():
            if callable(getattr(by_path, name)):
                monkeypatch.setattr(system, name, getattr(by_path, name))
        monkeypatch.setattr(system, "stat", by_path.stat_in)
    elif system.IS_BY_PATH:
        pytest.skip("no call takes the descriptor of a directory here")
    yield
    by_path._paths.clear() if not system.IS_BY_PATH else None


@pytest.mark.usefixtures("way")
def test_a_plain_tree_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With portable names, deeper than the path limit of some systems, twice, from another working directory."""
    tree = tmp_path / "tree"
    deep = "a directory of some length/" * 9
    make_files(tree, {f"{number}": bytes(range(256)) * number for number in range(30)})
    make_files(tree, {f"{deep}file": b"\r\n\x1a\n" * 1000})
    os.utime(tree / "7", ns=(0, 1_234_567_890_123_456_700))
    os.link(tree / "7", tree / "twin")
    monkeypatch.chdir(tmp_path)
    made = archive.create("a.tar.zst", "tree", frame_size=64 << 10)
    monkeypatch.chdir(tree)
    read = [archive.extract(tmp_path / "a.tar.zst", tmp_path / "out") for _ in range(2)]
    assert [made.entries, *(summary.problems for summary in read)] == [42, [], []]
    for path in (path.relative_to(tree) for path in tree.rglob("*") if path.is_file()):
        assert (tmp_path / "out" / "tree" / path).read_bytes() == (tree / path).read_bytes()
    assert (tmp_path / "out" / "tree" / "7").stat().st_mtime_ns == 1_234_567_890_123_456_700
    assert os.path.samefile(tmp_path / "out" / "tree" / "7", tmp_path / "out" / "tree" / "twin")


@pytest.mark.once
@pytest.mark.usefixtures("way")
def test_interrupted_anywhere_nothing_stays_open(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    make_files(tree, {"a/b/file": b"data"})
    made = created(base=tree)

    def create(target: io.BytesIO) -> archive.Summary:
        return archive.create(target, base=tree, threads=1)

    def extract(out: Path) -> archive.Summary:
        return archive.extract(io.BytesIO(made), out, threads=1)

    every = 100 if IS_PURE_CODEC else 6
    at_every_line(io.BytesIO, create, lambda target, outcome: None, times=1, every=every)
    folders = (tmp_path / f"out{number}" for number in itertools.count())
    at_every_line(lambda: next(folders), extract, lambda out, outcome: None, times=1, every=every)


@pytest.mark.usefixtures("way")
def test_one_takes_the_place_of_another(tmp_path: Path) -> None:
    """A file replaces a read-only file or an empty directory, a directory replaces a file; a full directory stays."""
    out = tmp_path / "out"
    for name in ("empty", "full/inside"):
        (out / name).mkdir(parents=True)
    for name in ("read-only", "file"):
        (out / name).write_bytes(b"old")
    (out / "read-only").chmod(0o444)
    names = ("read-only", "empty", "full")
    made = packed(*((name, b"new") for name in names), member("file", DIRECTORY), member("fifo", tarfile.FIFOTYPE))
    lacking = [] if hasattr(os, "mkfifo") else ["fifo"]
    assert [problem.name for problem in extracted(made, out, filter="tar")] == ["full", *lacking]
    assert [(out / name).read_bytes() for name in names[:2]] == [b"new", b"new"]
    assert (out / "file").is_dir()
    assert (out / "full" / "inside").is_dir()
    assert sorted({*os.listdir(out)} - {"fifo"}) == ["empty", "file", "full", "read-only"]


@pytest.mark.usefixtures("way")
def test_no_way_through_a_link(tmp_path: Path) -> None:
    """Neither through an existing link, nor through a link of the archive that replaced an open directory."""
    out, outside = tmp_path / "out", tmp_path / "outside"
    for folder in (out, outside):
        folder.mkdir()
    with contextlib.suppress(OSError):
        os.symlink(outside, out / "there", target_is_directory=True)
    if not os.path.islink(out / "there"):
        pytest.skip("no symbolic links here")
    made = packed(
        member("there/evil"),
        member("a/b", DIRECTORY),
        member("a/b", LINK, linkname="../../outside"),
        member("a/b/evil"),
    )
    assert [problem.name for problem in extracted(made, out, filter="tar")] == ["there/evil", "a/b/evil"]
    assert os.listdir(outside) == []
