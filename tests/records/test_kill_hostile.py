# SPDX-License-Identifier: Apache-2.0
"""Writers that are killed, fail and fork: what `flush` has returned for is there."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from processes import run_python
from record_files import record, spans, write_in_pieces, written
from seeds import SEED

from cpkg import _positions, records
from cpkg.records import writing_ahead
from purepy import _system

pytestmark = pytest.mark.once
WRITER = f"""
import sys, random
sys.path[:0] = {sys.path!r}
from cpkg import records
path, seed, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
chance = random.Random(seed)
out = sys.stdout
for _ in range(10**9):
    with records.open(path, "ab", frame_size=chance.choice([200, 2000, 20000]), threads=threads) as writer:
        number = len(writer)
        print("open", number, flush=True)
        for _ in range(chance.randrange(1, 400)):
            writer.append({{"number": number, "text": "t" * chance.randrange(200)}})
            number += 1
            if chance.random() < 0.1:
                writer.flush()
                print("flushed", number, flush=True)
    print("flushed", number, flush=True)
"""


def kill_writers(path: Path, times: int, threads: int) -> None:
    """Kill a writer at a random moment, look at what it left, and let the next one go on there."""
    chance = random.Random(SEED)
    safe = 0
    for turn in range(times):
        arguments = [sys.executable, "-I", "-c", WRITER, str(path), str(SEED + turn), str(threads)]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            begun = child.stdout.readline()
            assert begun.startswith("open")
            assert int(begun.split()[1]) >= safe
            time.sleep(chance.random() ** 2 * 0.12)
            child.send_signal(signal.SIGKILL)
            told = child.stdout.read().splitlines()
        ends = [int(line.split()[1]) for line in told if line.startswith("flushed")]
        safe = max([safe, *ends])
        with records.open(path, threads=1) as reader:
            found = [row["number"] for row in reader]
        assert found == list(range(len(found))), f"turn {turn}, seed {SEED}"
        assert len(found) >= safe, f"turn {turn}, seed {SEED}"
        report = records.verify(path, threads=1)
        assert not report.damage
        assert not report.problems
        if turn % 3 == 0:
            records.repair(path, threads=1)
            assert records.verify(path, threads=1).ok
            with records.open(path, threads=1) as reader:
                assert len(reader) == len(found)


@pytest.mark.parametrize("threads", [1, 2])
def test_killed_at_random_moments(tmp_path: Path, threads: int) -> None:
    kill_writers(tmp_path / "file.rec", 6, threads)


@pytest.mark.nightly
@pytest.mark.parametrize("threads", [1, 2])
def test_killed_hundreds_of_times(tmp_path: Path, threads: int) -> None:
    kill_writers(tmp_path / "file.rec", 200, threads)


def test_every_write_may_be_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is read after each change of it, and after each half of one, as a kill there would leave it."""
    path = tmp_path / "file.rec"
    seen: list[int] = []

    def look() -> None:
        with records.open(path, threads=1) as reader:
            assert [row["number"] for row in reader] == list(range(len(reader)))
            assert len(reader) >= max(seen, default=0)
            seen.append(len(reader))

    write_in_pieces(monkeypatch, lambda size: (1, size // 2, size - 1, size), look)
    for start in range(0, 60, 12):
        with records.open(path, "ab", threads=1) as writer:
            for number in range(start, start + 12):
                writer.append(record(number))
                if number % 5 == 0:
                    writer.flush()
    assert seen[-1] == 60
    assert len(set(seen)) > 10


class Full:
    """A disk that is full after so many bytes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
        self.room = room
        self._pwrite = os.pwrite
        monkeypatch.setattr(_system, "pwrite", self.pwrite)

    def pwrite(self, descriptor: int, data: Any, offset: int) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        done = self._pwrite(descriptor, data[: self.room], offset)
        self.room -= done
        return done


def test_opening_that_is_interrupted_leaves_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Emptying a large file takes long enough for a signal to come."""
    path = tmp_path / "file.rec"

    def interrupted(descriptor: int, size: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_positions.os, "ftruncate", interrupted)
        with pytest.raises(KeyboardInterrupt):
            records.open(path, "wb")
    with records.open(path, "wb") as writer:
        writer.append(1)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("room", [0, 10, 100, 300, 1000])
def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int, threads: int) -> None:
    """A call that fails has not taken its record; what was taken is written when there is room again."""
    path = tmp_path / "file.rec"
    monkeypatch.setattr(writing_ahead, "_GROUP_SIZE", 700)
    writer = records.open(path, "wb", frame_size=300, threads=threads)
    disk = Full(monkeypatch, room)
    taken = 0
    with pytest.raises(OSError, match="space") as info:  # noqa: PT012
        for number in range(1000):
            writer.append(record(number))
            taken += 1
    assert info.value.errno == errno.ENOSPC
    assert info.value.filename == str(path)
    with pytest.raises(OSError, match="space"):
        writer.flush()
    with pytest.raises(OSError, match="space"):
        writer.close()
    assert not writer.closed
    with records.open(path) as reader:
        before = len(reader)
        assert [row["number"] for row in reader] == list(range(before))
    disk.room = 1 << 20
    for number in range(taken, 1000):
        writer.append(record(number))
    writer.close()
    with records.open(path) as reader:
        assert list(reader) == [record(number) for number in range(1000)]
    assert records.verify(path).ok


@pytest.mark.parametrize("room", [0, 40, 300])
def test_a_full_disk_while_the_dictionary_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    path = tmp_path / "file.rec"
    rows = [{"user": f"user{n % 97}", "action": ("login", "logout", "buy")[n % 3], "n": n} for n in range(5000)]
    writer = records.open(path, "wb", dictionary=1000, frame_size=500, threads=2)
    disk = Full(monkeypatch, room)
    with pytest.raises(OSError, match="space"):  # noqa: PT012
        writer.extend(rows[:3000])
        writer.flush()
    disk.room = 1 << 20
    writer.extend(rows[len(writer) :])
    writer.close()
    assert records.verify(path).ok
    with records.open(path) as reader:
        assert list(reader) == rows


def test_flush_reaches_through_a_file_object(tmp_path: Path) -> None:
    """What it has returned for is with the system, not in the buffer of the file object."""
    path = tmp_path / "file.rec"
    with open(path, "wb", buffering=1 << 20) as file:
        writer = records.open(file, "wb")
        writer.append(1)
        writer.flush()
        with records.open(path) as reader:
            assert list(reader) == [1]
        writer.close()
        assert records.inspect(path).indexed


def test_an_upload_that_failed_says_so_again(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")
    writer = records.open("memory://uploads/file.rec", "wb")
    writer.append(1)
    upload = type(fsspec.filesystem("memory").open("uploads/other", "wb"))

    def fails(self: Any) -> None:
        raise OSError(errno.EIO, "no network")

    with monkeypatch.context() as patch:
        patch.setattr(upload, "close", fails)
        with pytest.raises(OSError, match="no network"):
            writer.close()
    with pytest.raises(OSError, match="write it again"):
        writer.close()


def test_a_file_object_that_fails_takes_no_more(tmp_path: Path) -> None:
    class Broken:
        def __init__(self) -> None:
            self.writes = 0

        def write(self, data: bytes) -> int:
            self.writes += 1
            if self.writes > 2:
                raise OSError(errno.EIO, "broken")
            return len(data)

    writer = records.open(Broken(), "wb", frame_size=100, threads=1)
    with pytest.raises(OSError, match="broken"):
        writer.extend([record(number) for number in range(50)])
    for _ in range(2):
        with pytest.raises(OSError, match="failed before"):
            writer.flush()
    writer._closed = True


# --- one writer at a time -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["wb", "ab"])
def test_a_second_writer_is_refused(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "file.rec"
    written(path, 5)
    with records.open(path, "ab") as writer:
        writer.append(record(5))
        writer.flush()
        for use in (lambda: records.open(path, mode), lambda: records.repair(path)):
            with pytest.raises(records.LockedError, match="another writer"):
                use()
        code = f"""
import sys
sys.path[:0] = {sys.path!r}
from cpkg import records
try:
    records.open(sys.argv[1], sys.argv[2])
except records.LockedError as exc:
    print("locked", exc)
"""
        done = run_python("-I", "-c", code, str(path), mode, env=os.environ)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("locked")
        writer.append(record(6))
    with records.open(path) as reader:
        assert [row["number"] for row in reader] == list(range(7))
    with records.open(path, "ab") as writer:
        assert len(writer) == 7


def test_a_file_that_was_replaced_while_it_was_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock is on the file that has the name, not on the one that had it."""
    path, other = tmp_path / "file.rec", tmp_path / "other.rec"
    written(path, 5)
    written(other, 9)
    lock = _system.lock

    def replace_first(descriptor: int, name: str) -> None:
        if other.exists():
            os.replace(other, path)
        lock(descriptor, name)

    monkeypatch.setattr(_system, "lock", replace_first)
    with records.open(path, "ab") as writer:
        assert len(writer) == 9


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "file.rec"
    code = f"""
import os, sys, gc
sys.path[:0] = {sys.path!r}
from cpkg import records
writer = records.open(sys.argv[1], "wb", threads=1)
writer.append("parent's")
child = os.fork()
if not child:
    try:
        writer.flush()
    except RuntimeError as exc:
        assert "forked" in str(exc)
        del writer
        gc.collect()
        os._exit(0)
    os._exit(1)
assert os.waitpid(child, 0)[1] == 0
writer.append("second")
writer.close()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-I", "-c", code, str(path)], check=True)
    with records.open(path) as reader:
        assert list(reader) == ["parent's", "second"]


# --- how far it goes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("fsync", "flushes", "closes"), [("never", 0, 0), ("close", 0, 1), ("flush", 1, 1)])
def test_fsync_says_what_outlasts_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fsync: Any, flushes: int, closes: int
) -> None:
    calls: list[int] = []
    directories: list[str] = []
    monkeypatch.setattr(_positions.os, "fsync", calls.append)
    monkeypatch.setattr(_positions, "sync_directory", directories.append)
    path = tmp_path / "file.rec"
    writer = records.open(path, "wb", fsync=fsync)
    writer.append(1)
    writer.flush()
    assert len(calls) == flushes
    writer.close()
    assert len(calls) == flushes + closes
    assert directories == ([str(tmp_path)] if flushes + closes else [])
    assert spans(path)
