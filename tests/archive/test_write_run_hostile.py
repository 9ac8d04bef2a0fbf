# SPDX-License-Identifier: Apache-2.0
"""Runs of files written by C give the same results as Python, for any archive and any existing files."""

from __future__ import annotations

import functools
import io
import os
import tarfile
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from archives import ENGINES, header_of, make_files, member
from extent import IS_THOROUGH
from fuzz_archives import Prepare, by_all, raw_frame

from cpkg import archive
from cpkg.archive import _extract
from purepy.base import system
from purepy.base.crew import Crew
from purepy.tar.encode import encode

pytestmark = pytest.mark.skipif("native" not in ENGINES, reason="needs the C side")


def files(*names: str, size: int = 3, **values: Any) -> bytes:
    """Return files whose data repeats their own names."""
    return b"".join(header_of(member(name, **values), (os.fsencode(name) * size)[:size]) for name in names)


def link(name: str, target: str, type: bytes = tarfile.SYMTYPE) -> bytes:
    """Return a link."""
    return header_of(member(name, type, linkname=target))


def same(data: bytes, folder: Path, prepare: Prepare | None = None, **options: Any) -> dict[str, Any]:
    """Extract an archive with and without C, which must give the same, and return the tree."""
    with mock.patch.dict(os.environ):
        return by_all(data, folder / "out", options, prepare)[-1]


def many(folder: str, count: int, **values: Any) -> bytes:
    """Return a directory and many files in it."""
    names = (f"{folder}/{number}" for number in range(count))
    return header_of(member(folder, tarfile.DIRTYPE)) + files(*names, **values)


def replace_with_links(out: Path) -> None:
    """Create links and directories at paths where an archive has files and directories."""
    make_files(out, {"outside/kept": b"kept", "d/2/in the way": b"", "d/5": b"older", "f": b"a file"})
    os.symlink("../outside/kept", out / "d" / "1")
    os.symlink("outside", out / "e")
    (out / "d" / "3").mkdir()
    for path in out.rglob("*"):
        os.utime(path, ns=(0, 0), follow_symlinks=False)


ARCHIVES = {
    "many": many("d", 200) + many("e", 40) + many("d", 10),
    "of one name": many("d", 5) + files("d/1", "d/1", "./d/2", "d//3", "d/1", size=9),
    "where a directory belongs": files("x/d") + many("x/d", 3) + files("x/d/1/deeper", "x/d") + many("x/d/2", 0),
    "under a link": many("d", 3) + link("l", "d") + files("l/1", "l/new") + many("l", 2),
    "links to them": many("d", 3) + link("hard", "d/1", tarfile.LNKTYPE) + files("d/1", size=9) + link("s", "d/2"),
    "links before them": link("hard", "d/1", tarfile.LNKTYPE) + many("d", 3) + files("hard") + files("d/1", size=9),
    "names that are refused": many("d", 3) + files("d/../a", "../a", "d/..", "/d/1", "d/./2", "d/.", ".", "d/x/."),
    "modes": b"".join(files(f"d/{mode:o}", f"d/{mode:o}x", mode=mode) for mode in range(0, 0o10000, 0o77)),
    "owners": b"".join(files(f"d/{uid}", f"d/{uid}x", uid=uid, gid=uid, uname=f"u{uid}") for uid in range(40)),
    "times": b"".join(
        encode(archive.Entry(f"d/{number}", mtime_ns=time)) + encode(archive.Entry(f"d/{number}x", mtime_ns=time))
        for number, time in enumerate([0, 1, 10**9, 5 * 10**8, 8**11 * 10**9, -1, *(10**18 + 10**n for n in range(9))])
    ),
    "long names": files(*(f"d/{'x' * length}" for length in (97, 98, 99, 100, 155, 200)), "d/last"),
    "sizes": b"".join(files(f"d/{size}", f"d/{size}x", size=size) for size in (0, 1, 511, 512, 513, 70_000)),
    "a wrong sum": many("d", 3) + files("d/wrong").replace(b"d/wrong\0", b"d/wrony\0") + many("e", 3),
    "a time for all": many("d", 3) + header_of(member("g", tarfile.XGLTYPE), b"11 mtime=5\n") + many("e", 3),
}


@pytest.mark.parametrize("kind", ARCHIVES)
@pytest.mark.parametrize("prepare", [None, replace_with_links])
def test_everything_is_as_without_c(kind: str, prepare: Prepare | None, tmp_path: Path) -> None:
    data = ARCHIVES[kind] + bytes(1024)
    frames = raw_frame(data[:5000]) + raw_frame(data[5000:])
    choices: list[dict[str, Any]] = [
        *({}, {"threads": 1}, {"on_entry": None, "threads": 3}),
        {"on_entry": None, "on_problem": None, "threads": 1},
        {"strip_components": 1, "filter": "tar"},
        {"include": ["d", "x"], "exclude": ["*[1-4]"], "on_entry": None},
        *({"filter": "fully_trusted", "numeric_owner": True}, {"recover": True}, {"max_size": 9000}),
    ]
    # a third of the cases for each kind, and different ones for consecutive kinds
    turn = 0 if IS_THOROUGH else list(ARCHIVES).index(kind)
    for number, options in enumerate(choices[turn % 3 :: 1 if IS_THOROUGH else 3]):
        same(frames, tmp_path / str(number), prepare, **options)


class Late(Crew):
    """A crew that writes the waiting runs in reverse order, when the result of one is requested."""

    def submit(self, function: Any, *arguments: Any) -> Any:
        if getattr(function, "__name__", "") != "write":
            return super().submit(function, *arguments)
        self.waiting = [*getattr(self, "waiting", ()), functools.partial(function, *arguments)]
        return self

    def result(self) -> None:
        while self.waiting:
            self.waiting.pop()()


@pytest.mark.parametrize("kind", ARCHIVES)
def test_runs_may_be_written_in_any_order(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_extract, "Crew", Late)
    same(raw_frame(ARCHIVES[kind] + bytes(1024)), tmp_path, replace_with_links, on_entry=None, threads=4)


def test_files_written_by_c_come_with_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        same(raw_frame(ARCHIVES["modes"] + bytes(1024)), tmp_path, filter="fully_trusted")
    finally:
        os.umask(before)


@pytest.mark.skipif(not system.is_root(), reason="needs root for owners")
def test_files_written_by_c_have_their_owners(tmp_path: Path) -> None:
    data = raw_frame(many("d", 5, uid=7, gid=8) + bytes(1024))
    archive.extract(io.BytesIO(data), tmp_path, filter="fully_trusted", numeric_owner=True)
    assert {os.stat(path)[4:6] for path in (tmp_path / "d").iterdir()} == {(7, 8)}


def test_a_descriptor_that_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose directory cannot be opened is extracted one by one."""

    def refuse(number: int) -> int:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(system, "dup", refuse)
    assert len(same(raw_frame(many("d", 40) + bytes(1024)), tmp_path)) == 41
