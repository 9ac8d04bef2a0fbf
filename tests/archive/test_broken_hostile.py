# SPDX-License-Identifier: Apache-2.0
"""Truncated and damaged archives, what `recover` extracts of them, and files that change while they are archived."""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import os
import tarfile
import threading
from pathlib import Path
from typing import Any, NoReturn

import fuzz_archives
import pytest
from archives import (
    change_after_the_walk,
    contents,
    created,
    extracted,
    fixed,
    header_of,
    make_files,
    make_tree,
    member,
    table_of,
)
from extent import fewer

from cpkg import archive, zstd
from purepy.base import system
from purepy.base.errors import ArchiveError, CodecError, ZstdError


def test_every_cut_is_noticed(engine: str, tmp_path: Path) -> None:
    """A truncated archive, even one without its last byte, is an error for us and for zstd."""
    tree = make_files(tmp_path / "tree", {"a": 70_000, "b": b"b" * 500})
    data = created(base=tree, frame_size=64 << 10)
    table = data.rindex(b"\x5e\x2a\x4d\x18")
    for cut in [*range(0, table, 1999), *range(table - 30, table)]:
        for read in (functools.partial(archive.extract, directory=tmp_path / "out"), archive.verify):
            with pytest.raises(CodecError):
                read(io.BytesIO(data[:cut]))
    for name in os.listdir(tmp_path / "out"):
        assert (tmp_path / "out" / name).read_bytes() == (tree / name).read_bytes()


def test_a_failed_call_leaves_no_empty_directories(engine: str, tmp_path: Path) -> None:
    """Directories that existed before, or that have an entry, stay."""
    made = created(base=make_files(tmp_path / "tree", {"a": 10}))
    (tmp_path / "old").mkdir()
    for directory in ("new/inner", "old/inner", "old"):
        with pytest.raises(ZstdError):
            archive.extract(io.BytesIO(b"no archive"), tmp_path / directory)
        assert sorted(os.listdir(tmp_path)) == ["old", "tree"]
        assert os.listdir(tmp_path / "old") == []
    with pytest.raises(ZstdError):
        archive.extract(io.BytesIO(made + b"no frame"), tmp_path / "new/inner")
    assert os.listdir(tmp_path / "new/inner") == ["a"]


def test_what_was_written_before_an_error_reads_as_cut(engine: str, tmp_path: Path) -> None:
    """Whichever write fails, the target has no complete archive, and no thread continues."""
    tree = make_tree(tmp_path / "tree")
    threads = threading.active_count()

    class Failing(io.BytesIO):
        left = 0

        def write(self, data: Any) -> int:
            self.left -= 1
            if self.left < 0:
                raise OSError(errno.ENOSPC, "full")
            return super().write(data)

    for writes in range(20):
        target = Failing()
        target.left = writes
        with contextlib.suppress(OSError):
            archive.create(target, base=tree, frame_size=64 << 10)
            break
        assert threading.active_count() <= threads
        with pytest.raises(CodecError):
            archive.verify(io.BytesIO(target.getvalue()))
    assert target.getvalue() == created(base=tree, frame_size=64 << 10)


def test_an_interrupt_when_a_file_was_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal may come between the system call that creates a file and the next step of Python."""
    monkeypatch.setenv("CPKG_ARCHIVE_BACKEND", "pure")
    data = zstd.compress(header_of("a", b"a") + bytes(1024))
    opened = system.open

    def interrupted(path: Any, flags: int, *rest: Any, **options: Any) -> int:
        fd = opened(path, flags, *rest, **options)
        if flags & os.O_CREAT:
            os.close(fd)
            raise KeyboardInterrupt
        return fd

    monkeypatch.setattr(system, "open", interrupted)
    with pytest.raises(KeyboardInterrupt):
        archive.extract(io.BytesIO(data), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_iterator_that_is_given_up(engine: str, tmp_path: Path) -> None:
    archive.create(tmp_path / "a", base=make_tree(tmp_path / "tree"))
    threads = threading.active_count()
    found = archive.entries(tmp_path / "a")
    next(found)
    found.close()  # type: ignore[attr-defined]
    assert threading.active_count() <= threads


def changed(changes: dict[int, bytes]) -> bytes:
    """Return the header of a file with changed bytes and the right checksum, and its data."""
    block = bytearray(header_of("name", b"data"))
    for at, value in changes.items():
        block[at : at + len(value)] = value
    return fixed(bytes(block[:512])) + bytes(block[512:])


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(changed({124: b"\xff" * 12}), id="a size below zero"),
        pytest.param(changed({124: b"\x80\0\0\x80" + bytes(8)}), id="a size beyond 2**63"),
        pytest.param(changed({124: b"12345678xyz\0"}), id="a size that is not a number"),
        pytest.param(changed({136: b"\x80" + b"\xff" * 11}), id="a time too far away"),
        pytest.param(changed({108: b"\x80\0\0\x01\0\0\0\0"}), id="an owner beyond 2**32"),
        pytest.param(changed({0: bytes(100)}), id="no name"),
        pytest.param(changed({156: b"S", 257: b"ustar\00000"}), id="a sparse file without a map"),
        pytest.param(changed({156: b"M"}), id="a continued volume"),
        *(
            pytest.param(header_of(member("pax", b"x"), records) + header_of("name", b"data"), id=records.decode())
            for records in (
                *(b"no length\n", b"99999999999999999999999 path=x\n", b"5 a=b", b"0 path=x\n", b"-9 path=x\n"),
                *(b"12 size=abc\n", b"18 mtime=1.2.3.45\n", b"27 GNU.sparse.realsize=xyz\n"),
                b"24 GNU.sparse.map=1,2,3\n29 GNU.sparse.realsize=10000\n",
                b"23 GNU.sparse.map=9,9\n26 GNU.sparse.realsize=10\n",
                b"26 SCHILY.filetype=sparse\n26 SCHILY.realsize=100000\n",
            )
        ),
    ],
)
def test_headers_that_lie(engine: str, stream: bytes, tmp_path: Path) -> None:
    data = zstd.compress(header_of("before") + stream + bytes(1024))
    with pytest.raises(ArchiveError) as caught:
        archive.extract(io.BytesIO(data), tmp_path / "out", include=["name"])
    assert caught.value.offset == 512
    assert not (tmp_path / "out").exists()


def test_signed_checksums_and_old_archives(engine: str, tmp_path: Path) -> None:
    """V7 has no magic and no type for directories; old programs summed signed bytes."""
    v7 = bytearray(512)
    v7[:6] = "d/é".encode() + b"\xff/"
    v7[100:108], v7[108:116], v7[116:124] = b"   755 \0", b"     1 \0", b"     1 \0"
    v7[124:136], v7[136:148] = b"          0 ", b" 1234567012 "
    signed = sum(byte - 256 if byte > 127 else byte for byte in v7[:148] + v7[156:]) + 256
    v7[148:156] = b"%6o\0 " % signed
    made = zstd.compress(bytes(v7) + bytes(1024))
    (entry,) = archive.entries(io.BytesIO(made))
    assert (entry.type, entry.mode, os.fsencode(entry.name)) == ("directory", 0o755, "d/é".encode() + b"\xff")
    archive.extract(io.BytesIO(made), tmp_path / "out")
    assert os.listdir(tmp_path / "out" / "d")


def test_a_volume_label_with_data(engine: str) -> None:
    made = zstd.compress(changed({156: b"V"}) + header_of("name", b"data") + bytes(1024))
    assert [entry.name for entry in archive.entries(io.BytesIO(made))] == ["name"]


def test_the_last_of_several_pax_headers_counts(engine: str, tmp_path: Path) -> None:
    """The same holds for GNU tar, bsdtar and Go."""
    names = "first" * 30, "second" * 30
    headers = [header_of(member(name), format=tarfile.PAX_FORMAT)[:-512] for name in names]
    stream = b"".join(headers) + header_of("a", b"a") + bytes(1024)
    archive.extract(io.BytesIO(zstd.compress(stream)), tmp_path)
    assert os.listdir(tmp_path) == ["second" * 30]


@pytest.mark.parametrize(
    ("change", "message", "size"),
    [
        (lambda path: os.truncate(path, 10), "shrank by", 100_000),
        (lambda path: path.write_bytes(b"x" * 200_000), "changed as we read", 100_000),
        (lambda path: path.unlink(), "removed before we read", None),
        (lambda path: (path.unlink(), path.mkdir()), "", None),
        (lambda path: (path.unlink(), os.symlink("/etc/passwd", path)), "", None),
        (lambda path: (path.unlink(), os.mkfifo(path)), "", None),
    ],
    ids=["shrinks", "grows", "vanishes", "directory", "link", "fifo"],
)
def test_files_that_change(
    engine: str, change: Any, message: str, size: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that change between walking and reading are reported with the words of tar."""
    tree = make_files(tmp_path / "tree", {"a": b"a" * 50_000, "file": b"f" * 100_000, "z": b"z"})
    change_after_the_walk(monkeypatch, "file", lambda: change(tree / "file"))
    problems: list[archive.Problem] = []
    made = created(base=tree, on_problem=problems.append, frame_size=1 << 20)
    assert [problem.name for problem in problems] == ["./file"]
    assert message in problems[0].message
    sizes = {entry.name: entry.size for entry in archive.entries(io.BytesIO(made))}
    assert sizes == {".": 0, "./a": 50_000, "./z": 1, **({} if size is None else {"./file": size})}
    archive.extract(io.BytesIO(made), tmp_path / "out")


def test_a_socket_is_a_warning(engine: str, tmp_path: Path) -> None:
    import socket

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        with pytest.warns(archive.ArchiveWarning, match="socket ignored"):
            archive.create(io.BytesIO(), base=tmp_path)


def test_errors_name_paths_as_the_caller_did(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name in the archive has no leading slash; the path in the error has it."""
    with pytest.raises(FileNotFoundError) as caught:
        archive.create(io.BytesIO(), tmp_path / "missing")
    assert caught.value.filename == str(tmp_path / "missing")
    tree = make_files(tmp_path / "tree", {"a/file": b"text"})
    path = tree / "a" / "file"
    change_after_the_walk(monkeypatch, "file", lambda: (path.unlink(), path.symlink_to(tmp_path / "other")))
    with pytest.raises(OSError, match="symbolic links") as caught_below:
        archive.create(io.BytesIO(), tree)
    assert caught_below.value.filename == str(path)


def test_an_archive_does_not_hold_itself(engine: str, tmp_path: Path) -> None:
    """Neither the new file nor the file that it replaces is archived, and this is not reported as a problem."""
    (tmp_path / "file").touch()
    for _ in range(3):
        assert archive.create(tmp_path / "a.tar.zst", base=tmp_path).problems == []
        assert [entry.name for entry in archive.entries(tmp_path / "a.tar.zst")] == [".", "./file"]


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Return an archive of a file in several frames, between small files."""
    small = {f"{letter}{number:02}": 9000 for letter in "fh" for number in range(20)}
    tree = make_files(tmp_path / "tree", {"g": 200_000, **small})
    archive.create(tmp_path / "a.tar.zst", base=tree, frame_size=64 << 10)
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
    with pytest.raises(CodecError):
        archive.verify(tmp_path / "broken")
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


@pytest.mark.once
def test_some_random_archives(tmp_path: Path) -> None:
    """C, Python and GNU tar extract the same files from random archives, also mutated ones and with false tables."""
    rounds = fewer(100)
    results = fuzz_archives.run(seed=1, folder=tmp_path, rounds=rounds)
    assert min(results[end] for end in ("with problems", "extracted, listed", "refused", "extracted")) > rounds // 50
