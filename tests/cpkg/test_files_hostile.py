# SPDX-License-Identifier: Apache-2.0
"""dump to links, descriptors, odd names and files of others; functions that write files and are interrupted."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable, NoReturn

import pytest
from extent import IS_PURE_CODEC
from interrupts import Outcome, TimedOut, at_every_line
from record_files import file_of

import cpkg
from cpkg import records, zstd
from cpkg._backend import choose
from cpkg.records import positions
from purepy.base import new_files

VALUE = {"a": [1, 2.5, "text"] * 50}


def test_links_to_links_stay(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "elsewhere").symlink_to("real")
    (tmp_path / "first").symlink_to("second")
    (tmp_path / "second").symlink_to("elsewhere/../real/x")
    for value in (1, 2):
        cpkg.dump(value, tmp_path / "first")
        assert cpkg.load(tmp_path / "real" / "x") == value
        assert (tmp_path / "first").is_symlink()
        assert (tmp_path / "second").is_symlink()
    assert [entry.name for entry in (tmp_path / "real").iterdir()] == ["x"]
    (tmp_path / "round").symlink_to("round")
    pytest.raises(OSError, cpkg.dump, 1, tmp_path / "round").match("symbolic links")


@pytest.mark.parametrize("directory", ["/dev/fd", "/proc/self/fd", "/proc/thread-self/fd"])
def test_a_descriptor_is_written_through(tmp_path: Path, directory: str) -> None:
    if not os.path.isdir(directory):
        pytest.skip(f"no {directory} here")
    with open(tmp_path / "x", "wb", buffering=0) as file:
        (tmp_path / "link").symlink_to(f"{directory}/{file.fileno()}")
        file.write(b"before")
        cpkg.dump(VALUE, f"{directory}/{file.fileno()}")
        cpkg.dump(VALUE, tmp_path / "link")
        file.write(b"after")
    assert (tmp_path / "x").read_bytes() == b"before" + 2 * cpkg.dumps(VALUE) + b"after"
    pytest.raises(OSError, cpkg.dump, VALUE, f"{directory}/987").match(f"{directory}/987")


def test_a_file_that_has_no_name_any_more_is_written_to(tmp_path: Path) -> None:
    """A link in /proc still leads to it, even in another process."""
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("no /proc here")
    with (
        open(tmp_path / "x", "w+b") as file,
        subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[file.fileno()]) as process,
    ):
        try:
            (tmp_path / "x").unlink()
            cpkg.dump(VALUE, f"/proc/{process.pid}/fd/{file.fileno()}")
            assert cpkg.load(file) == VALUE
            assert list(tmp_path.iterdir()) == []
        finally:
            process.kill()


@pytest.mark.parametrize("name", ["", ".", "new/", "new/.", "new/..", "missing/x", "missing/../x", "x/", "x/."])
def test_a_name_that_open_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").write_bytes(b"old")
    with pytest.raises(OSError, match=r".") as expected, open(name, "wb"):
        pass
    caught = pytest.raises(type(expected.value), cpkg.dump, VALUE, name)
    assert caught.value.filename == name
    assert os.listdir(tmp_path) == ["x"]
    assert not list(tmp_path.parent.glob(".*.tmp"))
    assert (tmp_path / "x").read_bytes() == b"old"


only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the owner")


def become(user: int, group: int, function: Callable[[], Any]) -> None:
    """Call a function as another user, in a process that ends afterwards."""
    child = os.fork()
    if not child:
        status = 1
        try:
            os.setgroups([])
            os.setgid(group)
            os.setuid(user)
            function()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def owned(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)


@only_root
@pytest.mark.parametrize("mode", [0o640, 0o4755, 0o2775])
def test_owner_and_group_are_kept(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    os.chown(path, 1234, 2345)
    path.chmod(mode)
    cpkg.dump(VALUE, path)
    assert owned(path) == (1234, 2345, mode)
    assert cpkg.load(path) == VALUE


@only_root
def test_who_may_not_give_files_away_keeps_the_rest() -> None:
    with tempfile.TemporaryDirectory() as folder:  # other users cannot reach tmp_path
        os.chmod(folder, 0o777)
        path = Path(folder) / "x"
        for group, mode, kept in ((2345, 0o6666, 0o2666), (5432, 0o6672, 0o622)):
            cpkg.dump(0, path)
            os.chown(path, 1234, 2345)
            path.chmod(mode)
            become(4321, group, lambda group=group: cpkg.dump(group, path))
            assert owned(path) == (4321, group, kept)
            assert cpkg.load(path) == group


def test_extended_attributes_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    try:
        os.setxattr(path, "user.first", b"1")
    except (AttributeError, OSError):
        pytest.skip("no extended attributes here")
    os.setxattr(path, "user.second", bytes(range(256)))
    cpkg.dump(VALUE, path)
    found = {name: os.getxattr(path, name) for name in os.listxattr(path)}
    assert found == {"user.first": b"1", "user.second": bytes(range(256))}


def test_other_hard_links_keep_the_old_content(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"old")
    os.link(tmp_path / "x", tmp_path / "y")
    cpkg.dump(VALUE, tmp_path / "x")
    assert (tmp_path / "y").read_bytes() == b"old"
    assert cpkg.load(tmp_path / "x") == VALUE


@pytest.mark.parametrize("name", [b"x" * 255, "é".encode() * 127, "x\N{SNOWMAN}".encode() * 63, b"\xff\xc3" * 100])
def test_a_long_name_or_one_that_is_not_text(tmp_path: Path, name: bytes) -> None:
    path = os.fsencode(tmp_path) + b"/" + name
    try:
        open(path, "wb").close()
    except OSError:
        pytest.skip("names are text here")
    cpkg.dump(VALUE, path)
    assert cpkg.load(path) == VALUE


def test_a_source_that_would_block() -> None:
    class Source(io.RawIOBase):
        def read(self, size: int = -1) -> None:
            return None

    pytest.raises(BlockingIOError, cpkg.load, Source())


def test_a_file_that_is_not_begun_is_closed_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not wait for its finalizer, which PyPy runs late, and which a traceback delays."""

    def fail(*_: object) -> NoReturn:
        raise TimedOut

    with monkeypatch.context() as patch:
        patch.setattr(new_files.Descriptor, "file", fail)
        pytest.raises(TimedOut, cpkg.dump, 1, tmp_path / "out")
        assert os.listdir(tmp_path) == []
    with monkeypatch.context() as patch:
        patch.setattr(positions, "_locked", SimpleNamespace(add=fail))
        caught = pytest.raises(TimedOut, records.open, tmp_path / "rows", "wb")
    records.open(tmp_path / "rows", "wb").close()  # the file is not locked by another writer
    assert caught.value.__traceback__ is not None


OBJECT = {"number": list(range(2000)), "text": "text " * 2000}
ROWS = [{"number": number, "text": "x" * 50} for number in range(200)]
SOURCE = file_of(*((b"".join(map(cpkg.packb, ROWS[at : at + 50])), 50) for at in range(0, 200, 50)))

CALLS: dict[str, Callable[[Path], Any]] = {
    "dump": lambda folder: cpkg.dump(OBJECT, folder / "out"),
    "load": lambda folder: cpkg.load(folder / "packed"),
    "join": lambda folder: records.join([folder / "rows"] * 2, folder / "out", overwrite=True),
    "repair": lambda folder: records.repair(folder / "torn").records,
    "copy_stream": lambda folder: zstd.copy_stream(io.BytesIO(choose("zstd").module.compress(SOURCE)), io.BytesIO()),
    "verify a frame": lambda folder: zstd.verify(folder / "packed"),
}
EVERY = 40 if IS_PURE_CODEC else 8


@pytest.mark.once
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a file that was not closed yet
@pytest.mark.parametrize("call", CALLS)
def test_the_exception_comes_out(call: str, tmp_path: Path) -> None:
    cpkg.dump(OBJECT, tmp_path / "packed")
    (tmp_path / "rows").write_bytes(SOURCE)
    kept = {"packed", "rows", "torn", "out"}

    def make() -> Path:
        (tmp_path / "torn").write_bytes(SOURCE[:-30])
        (tmp_path / "out").write_bytes(b"old")
        return tmp_path

    def check(folder: Path, outcome: Outcome) -> None:
        assert outcome.error is None or outcome.is_interrupted, outcome.error
        assert set(os.listdir(folder)) == kept
        new = (folder / "out").read_bytes()
        if new != b"old":
            assert cpkg.load(folder / "out") == OBJECT if call == "dump" else len(records.open(folder / "out")) == 400

    at_every_line(make, CALLS[call], check, times=1, every=EVERY)
