# SPDX-License-Identifier: Apache-2.0
"""Writers that are killed, fail and fork: flushed records are never lost."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from failing import each_raises, raising
from processes import run_python
from record_files import event, numbered, read_all, record, spans, trained, write_all, write_in_pieces, written

from cpkg import records
from cpkg.records import positions
from purepy.base import system

pytestmark = pytest.mark.once


@pytest.mark.parametrize("threads", [1, 2])
def test_every_write_may_be_the_last(path: Path, monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """The file is read after each write and after each half write, as if the writer was killed there."""
    seen: list[int] = []

    def look() -> None:
        with records.open(path, threads=1) as reader:
            assert [row["number"] for row in reader] == list(range(len(reader)))
            assert len(reader) >= max(seen, default=0)
            seen.append(len(reader))

    write_in_pieces(monkeypatch, lambda size: (1, size // 2, size - 1, size), look)
    for start in range(0, 60, 12):
        with records.open(path, "ab", threads=threads) as writer:
            for number in range(start, start + 12):
                writer.append(record(number))
                if number % 5 == 0:
                    writer.flush()
    assert seen[-1] == 60
    assert len(set(seen)) > 10


class Full:
    """A disk that is full after `room` bytes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
        self.room = room
        self._pwrite = os.pwrite
        monkeypatch.setattr(system, "pwrite", self.pwrite)

    def pwrite(self, descriptor: int, data: Any, offset: int) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        done = self._pwrite(descriptor, data[: self.room], offset)
        self.room -= done
        return done


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("room", [0, 10, 100, 300, 1000])
def test_a_full_disk_loses_nothing(path: Path, monkeypatch: pytest.MonkeyPatch, room: int, threads: int) -> None:
    """A call that fails has not added its record; added records are written when there is space again."""
    writer = records.open(path, "wb", frame_size=300, threads=threads)
    disk = Full(monkeypatch, room)
    taken = 0
    with pytest.raises(OSError, match="space") as info:  # noqa: PT012
        for number in range(1000):
            writer.append(record(number))
            taken += 1
    assert (info.value.errno, info.value.filename) == (errno.ENOSPC, str(path))
    each_raises(OSError, writer.flush, writer.close, match="space")
    assert not writer.closed
    found = read_all(path)
    assert found == numbered(len(found))
    disk.room = 1 << 20
    for number in range(taken, 1000):
        writer.append(record(number))
    writer.close()
    assert read_all(path) == numbered(1000)
    assert records.verify(path).ok


@pytest.mark.parametrize("room", [0, 40, 300])
def test_a_full_disk_while_the_dictionary_is_written(path: Path, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    rows = [event(number) for number in range(5000)]
    dictionary = trained(rows)
    write_all(path, rows[:10])
    disk = Full(monkeypatch, room)
    with pytest.raises(OSError, match="space"):
        write_all(path, rows[10:], mode="ab", dictionary=dictionary, frame_size=500, threads=2)
    disk.room = 1 << 20
    with records.open(path, "ab", dictionary=dictionary, frame_size=500, threads=2) as writer:
        writer.extend(rows[len(writer) :])
    assert records.verify(path).ok
    assert read_all(path) == rows


def test_flush_reaches_through_a_file_object(path: Path) -> None:
    """Flushed records have reached the system, and are not in the buffer of the file object."""
    with open(path, "wb", buffering=1 << 20) as file:
        writer = records.open(file, "wb")
        writer.append(1)
        writer.flush()
        assert read_all(path) == [1]
        writer.close()
        assert records.inspect(path).indexed


def test_an_upload_that_failed_says_so_again(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")
    writer = records.open("memory://uploads/file.rec", "wb")
    writer.append(1)
    upload = type(fsspec.filesystem("memory").open("uploads/other", "wb"))
    with monkeypatch.context() as patch:
        patch.setattr(upload, "close", raising(OSError(errno.EIO, "no network")))
        with pytest.raises(OSError, match="no network"):
            writer.close()
    with pytest.raises(OSError, match="write it again"):
        writer.close()


def test_a_file_object_that_fails_takes_no_more() -> None:
    class Broken:
        left = 2

        def write(self, data: bytes) -> int:
            if not self.left:
                raise OSError(errno.EIO, "broken")
            self.left -= 1
            return len(data)

    writer = records.open(Broken(), "wb", frame_size=100, threads=1)
    with pytest.raises(OSError, match="broken"):
        writer.extend(numbered(50))
    for _ in range(2):
        with pytest.raises(OSError, match="an earlier write failed"):
            writer.flush()
    writer._closed = True


def test_a_file_object_takes_no_record_after_the_index(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with path.open("wb") as file:
        writer = records.open(file, "wb", fsync="close", threads=1)
        writer.append(1)
        with monkeypatch.context() as patch:
            patch.setattr(positions.os, "fsync", raising(OSError(errno.EIO, "no disk")))
            each_raises(OSError, writer.close, writer.close, match="no disk")
        writer.append(2)
        each_raises(OSError, writer.close, writer.flush, match="cannot be removed")
        writer.discard()
    assert records.verify(path).ok
    assert read_all(path) == [1]


@pytest.mark.parametrize("mode", ["wb", "ab"])
def test_a_second_writer_is_refused(path: Path, mode: str) -> None:
    written(path, 5)
    with records.open(path, "ab") as writer:
        writer.append(record(5))
        writer.flush()
        uses = (lambda: records.open(path, mode), lambda: records.repair(path))
        each_raises(records.LockedError, *uses, match="another writer")
        code = f"import sys; sys.path[:0] = {sys.path!r}; from cpkg import records; records.open(*sys.argv[1:])"
        done = run_python("-I", "-c", code, str(path), mode, env=os.environ)
        assert "LockedError" in done.stderr.splitlines()[-1]
        writer.append(record(6))
    assert read_all(path) == numbered(7)


def test_a_file_that_was_replaced_while_it_was_opened(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that now has the name is locked, not the one that had it before."""
    other = path.with_name("other.rec")
    written(path, 5)
    written(other, 9)
    lock = system.lock

    def replace_first(descriptor: int, name: str) -> None:
        if other.exists():
            os.replace(other, path)
        lock(descriptor, name)

    monkeypatch.setattr(system, "lock", replace_first)
    with records.open(path, "ab") as writer:
        assert len(writer) == 9


@pytest.mark.parametrize(("fsync", "flushes", "closes"), [("never", 0, 0), ("close", 0, 1), ("flush", 1, 1)])
def test_fsync_says_what_outlasts_the_system(
    path: Path, monkeypatch: pytest.MonkeyPatch, fsync: Any, flushes: int, closes: int
) -> None:
    calls: list[int] = []
    directories: list[str] = []
    monkeypatch.setattr(positions.os, "fsync", calls.append)
    monkeypatch.setattr(positions, "sync_directory", directories.append)
    writer = records.open(path, "wb", fsync=fsync)
    writer.append(1)
    writer.flush()
    assert len(calls) == flushes
    writer.close()
    assert len(calls) == flushes + closes
    assert directories == ([str(path.parent)] if flushes + closes else [])
    assert spans(path)
