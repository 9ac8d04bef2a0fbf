# SPDX-License-Identifier: Apache-2.0
"""Threads read and write frames at their places in files; the files are the same as with one thread."""

from __future__ import annotations

import errno
import io
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from purepy.base import descriptors, system
from purepy.base.cores import python_runs_in_parallel
from purepy.base.errors import ZstdError
from purepy.zstd.format.scanner import frame_extent, scan_frames
from purepy.zstd.threads import copy_files
from purepy.zstd.threads import decompress as parallel_decompress

FRAME = 4096
DATA = b"".join(b"%d lines of text\n" % number for number in range(4000))
CUTS = [DATA[start : start + FRAME] for start in range(0, len(DATA), FRAME)]
SKIPPABLE = b"\x50\x2a\x4d\x18" + (3 * FRAME).to_bytes(4, "little") + bytes(3 * FRAME)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make small frames worth a thread."""
    monkeypatch.setattr(copy_files, "_PART_SIZE", 2 * FRAME)
    monkeypatch.setattr(copy_files, "_WRITE_SIZE", FRAME)
    monkeypatch.setattr(copy_files, "_READ_SIZE", 100)
    monkeypatch.setattr(copy_files, "CONTENT_MAX", 5 * FRAME)
    monkeypatch.setattr(parallel_decompress, "_RUN_SIZE", 2 * FRAME)


@pytest.fixture
def placed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the places to which threads write."""
    places: list[int] = []
    write_at = copy_files.write_at

    def noted(descriptor: int, data: Any, position: int) -> None:
        places.append(position)
        write_at(descriptor, data, position)

    monkeypatch.setattr(copy_files, "write_at", noted)
    return places


def is_parallel(zstd: ModuleType) -> bool:
    return descriptors.IS_POSSIBLE and (zstd.RELEASES_GIL or python_runs_in_parallel())


@pytest.fixture
def parallel(zstd: ModuleType) -> None:
    if not is_parallel(zstd):
        pytest.skip("no thread reads or writes")


def frames(zstd: ModuleType) -> bytes:
    return b"".join(map(zstd.compress, CUTS))


def decompressed(zstd: ModuleType, data: bytes, folder: Path, **more: Any) -> tuple[Any, bytes]:
    """Return the result or error of copying from file to file, and the content of the second file."""
    (folder / "source").write_bytes(data)
    with open(folder / "source", "rb") as source, open(folder / "target", "wb") as target:
        try:
            result: Any = zstd.copy_stream(source, target, mode="decompress", **more)
            assert source.tell() == len(data)
            assert target.tell() == result[1]
        except (zstd.ZstdError, EOFError) as exc:
            result = type(exc), str(exc), getattr(exc, "offset", None)
    return result, (folder / "target").read_bytes()


def mixtures(zstd: ModuleType) -> Iterator[bytes]:
    """Frames that determine the place of their content, with frames that do not before, between and after them."""
    no_size = {zstd.CompressionParameter.content_size_flag: 0}
    checksum = {zstd.CompressionParameter.checksum_flag: 1}
    known, unknown = frames(zstd), zstd.compress(DATA[:9999], options=no_size)
    large = zstd.compress(DATA)
    small = b"".join(zstd.compress(DATA[at : at + 9], options=checksum) for at in range(0, 3000, 9))
    empty = zstd.compress(b"")
    yield known
    yield unknown + known
    yield known + unknown + known
    yield known + large + known + SKIPPABLE
    yield SKIPPABLE + known + empty + SKIPPABLE + known
    yield small + known + small
    yield known + zstd.compress(bytes(FRAME), options=checksum)
    yield empty + empty


def extents(data: bytes) -> list[Any]:
    """Return the size of each frame and of its content, up to the first frame whose headers do not determine it."""
    found: list[Any] = []
    offset = 0
    while offset < len(data):
        extent = frame_extent(lambda size, at: data[at : at + size], offset, len(DATA))
        found.append(extent)
        if extent is None:
            break
        offset += extent[0]
    return found


def inspected(data: bytes) -> list[Any]:
    found: list[Any] = []
    for frame in scan_frames(io.BytesIO(data)):
        is_told = frame.content_size is not None and frame.content_size <= min(frame.content_max, len(DATA))
        found.append((frame.size, frame.content_size) if is_told else None)
        if not is_told:
            break
    return found


def test_extents_of_damaged_frames(zstd: ModuleType) -> None:
    data = zstd.compress(DATA[:300]) + zstd.compress(bytes(FRAME), options={zstd.CompressionParameter.checksum_flag: 1})
    damaged = [data[:size] for size in range(1, len(data))]
    damaged += [
        data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :] for at in range(len(data)) for bit in range(8)
    ]
    agreed = 0
    for each in damaged:
        try:
            told = extents(each)
        except ZstdError:
            told = [None]
        try:
            assert told == inspected(each)
            agreed += 1
        except ZstdError:  # inspection continues to the end, where data may be missing
            assert told[-1] is None or sum(size for size, _ in told) > len(each)
    assert agreed > len(data)


@pytest.mark.parametrize("threads", [2, 5])
def test_the_files_are_those_of_one_thread(zstd: ModuleType, tmp_path: Path, placed: list[int], threads: int) -> None:
    for data in mixtures(zstd):
        expected = zstd.decompress(data)
        assert decompressed(zstd, data, tmp_path, threads=threads) == ((len(data), len(expected)), expected)
    assert bool(placed) == is_parallel(zstd)


@pytest.mark.parametrize("buffering", [0, -1])
def test_positions_in_both_files(zstd: ModuleType, tmp_path: Path, placed: list[int], buffering: int) -> None:
    data = frames(zstd)
    (tmp_path / "source").write_bytes(b"before" + data)
    with (
        open(tmp_path / "source", "rb", buffering=buffering) as source,
        open(tmp_path / "target", "w+b", buffering=buffering) as target,
    ):
        assert source.read(6) == b"before"
        target.write(b"in front of it\n")
        copied = zstd.copy_stream(source, target, mode="decompress", threads=2)
        target.write(b"behind it\n")
    assert copied == (len(data), len(DATA))
    assert (tmp_path / "target").read_bytes() == b"in front of it\n" + DATA + b"behind it\n"
    assert bool(placed) == is_parallel(zstd)


def test_a_source_that_was_just_written(zstd: ModuleType, tmp_path: Path) -> None:
    with open(tmp_path / "source", "w+b") as source, open(tmp_path / "target", "w+b") as target:
        source.write(frames(zstd))
        source.write(frames(zstd)[:100])
        source.write(frames(zstd)[100:])
        source.seek(0)
        zstd.copy_stream(source, target, mode="decompress", threads=2)
        target.seek(0)
        assert target.read() == DATA + DATA
        again = io.BytesIO()
        target.seek(0)
        zstd.copy_stream(target, again, threads=2, frame_size=FRAME)
        assert zstd.decompress(again.getvalue()) == DATA + DATA


@pytest.mark.parametrize("kind", ["appending", "over others", "not for reading at a place"])
def test_files_that_are_written_in_order(zstd: ModuleType, tmp_path: Path, placed: list[int], kind: str) -> None:
    data = frames(zstd)
    (tmp_path / "source").write_bytes(data)
    (tmp_path / "target").write_bytes(bytes(len(DATA) + 10))
    with open(tmp_path / "source", "rb") as file, open(tmp_path / "target", "r+b") as target:
        source: Any = io.BytesIO(data) if kind == "not for reading at a place" else file
        if kind == "appending":
            with open(tmp_path / "target", "ab") as end:
                zstd.copy_stream(source, end, mode="decompress", threads=2)
        else:
            zstd.copy_stream(source, target, mode="decompress", threads=2)
    tail = bytes(len(DATA) + 10) + DATA if kind == "appending" else DATA + bytes(10)
    assert (tmp_path / "target").read_bytes() == tail
    assert not placed


def test_damage_is_found_as_by_one_thread(zstd: ModuleType, tmp_path: Path) -> None:
    chance = random.Random(5)
    checksum = {zstd.CompressionParameter.checksum_flag: 1}
    whole = b"".join(zstd.compress(piece, options=checksum) for piece in CUTS[:8]) + frames(zstd)
    for number in range(18):
        broken = bytearray(whole)
        at = chance.randrange(len(broken))
        if number % 3 == 0:
            del broken[at:]
        elif number % 3 == 1:
            broken[at] ^= 1 << chance.randrange(8)
        else:
            broken[at:at] = b"some other bytes"
        target = io.BytesIO()
        result, content = decompressed(zstd, bytes(broken), tmp_path, threads=3)
        try:
            expected: Any = zstd.copy_stream(io.BytesIO(broken), target, mode="decompress", threads=3)
        except zstd.ZstdError as exc:
            expected = type(exc), str(exc), exc.offset
        assert (result, content) == (expected, target.getvalue()), number


def test_a_frame_that_declares_too_little_does_not_reach_the_next(zstd: ModuleType, tmp_path: Path) -> None:
    pieces = [zstd.compress(cut) for cut in CUTS[:6]]
    at = pieces[3].index((FRAME - 256).to_bytes(2, "little"), 4)
    pieces[3] = pieces[3][:at] + (99).to_bytes(2, "little") + pieces[3][at + 2 :]
    result, content = decompressed(zstd, b"".join(pieces), tmp_path, threads=2)
    assert result[0] is zstd.ZstdError
    assert DATA.startswith(content)
    assert len(content) >= 3 * FRAME


def test_limits_hold(zstd: ModuleType, tmp_path: Path) -> None:
    data = frames(zstd)
    size = len(DATA)
    assert decompressed(zstd, data, tmp_path, threads=2, max_output_size=size)[1] == DATA
    for limit in (size - 1, size // 2, 0):
        result, content = decompressed(zstd, data, tmp_path, threads=2, max_output_size=limit)
        assert result[:2] == (zstd.ZstdLimitError, f"decompressed data is larger than max_output_size ({limit} bytes)")
        assert len(content) <= limit
        assert DATA.startswith(content)


def failing(call: Callable[..., Any], count: int, failure: Any) -> Callable[..., Any]:
    """Return a function that calls `call` `count` times, and raises `failure()` from then on."""
    calls = [call] * count  # threads pop from it, which a list does under a lock even without the GIL

    def work(*arguments: Any) -> Any:
        try:
            next_call = calls.pop()
        except IndexError:
            return failure()
        return next_call(*arguments)

    return work


def no_space() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.usefixtures("parallel")
def test_a_full_disk(zstd: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "pwrite", failing(os.pwrite, 9, no_space))
    pytest.raises(OSError, decompressed, zstd, frames(zstd), tmp_path, threads=2).match("space")
    assert DATA.startswith((tmp_path / "target").read_bytes())


@pytest.mark.usefixtures("parallel")
def test_a_disk_that_takes_little_at_a_time(zstd: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pwrite = os.pwrite
    monkeypatch.setattr(system, "pwrite", lambda file, data, at: pwrite(file, bytes(data[:1000]), at))
    assert decompressed(zstd, frames(zstd), tmp_path, threads=2)[1] == DATA


@pytest.mark.usefixtures("parallel")
def test_a_source_truncated_meanwhile(zstd: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "pread", failing(os.pread, 60, lambda: b""))
    assert decompressed(zstd, frames(zstd), tmp_path, threads=2)[1] == DATA  # works without pread() as well


def test_progress_comes_in_order_and_may_end_it(zstd: ModuleType, tmp_path: Path) -> None:
    data = frames(zstd)
    told: list[tuple[int, int]] = []
    decompressed(zstd, data, tmp_path, threads=2, progress=lambda *sizes: told.append(sizes))
    assert told == sorted(told)
    assert told[-1] == (len(data), len(DATA))

    def stop(read: int, written: int) -> None:
        raise InterruptedError(f"at {written}")

    caught = pytest.raises(InterruptedError, decompressed, zstd, data, tmp_path, threads=2, progress=stop)
    content = (tmp_path / "target").read_bytes()
    assert DATA.startswith(content)
    assert str(caught.value) == f"at {len(content)}"


@pytest.mark.parametrize("size", [0, 1, FRAME, 3 * FRAME, 5 * FRAME + 7])
@pytest.mark.parametrize("buffering", [0, -1])
def test_threads_compress_what_they_read(zstd: ModuleType, tmp_path: Path, size: int, buffering: int) -> None:
    content = DATA[:size]
    (tmp_path / "source").write_bytes(b"before" + content)
    told: list[tuple[int, int]] = []
    with open(tmp_path / "source", "rb", buffering=buffering) as source:
        assert source.read(6) == b"before"
        target = io.BytesIO()
        copied = zstd.copy_stream(
            source, target, threads=3, frame_size=FRAME, size=size, progress=lambda *sizes: told.append(sizes)
        )
        assert source.tell() == 6 + size
    assert target.getvalue() == zstd.compress(content, frame_size=FRAME)
    assert copied == told[-1] == (size, len(target.getvalue()))
    for wrong in {size - 1, size + 1} - {-1}:
        with open(tmp_path / "source", "rb", buffering=buffering) as source:
            source.seek(6)
            with pytest.raises(zstd.ZstdError, match="pledged"):
                zstd.copy_stream(source, io.BytesIO(), threads=3, frame_size=FRAME, size=wrong)


@pytest.mark.parametrize("size", [0, FRAME, 2 * FRAME + 100])
def test_a_file_truncated_meanwhile(zstd: ModuleType, tmp_path: Path, size: int) -> None:
    (tmp_path / "source").write_bytes(DATA)
    target, told = io.BytesIO(), []

    def progress(*sizes: int) -> None:
        told.append(sizes)
        os.truncate(tmp_path / "source", FRAME + size)

    with open(tmp_path / "source", "r+b", buffering=0) as source:
        copied = zstd.copy_stream(source, target, threads=2, frame_size=FRAME, progress=progress)
    content = zstd.decompress(target.getvalue())
    assert DATA.startswith(content)
    assert FRAME <= len(content) < len(DATA)
    assert copied == told[-1] == (len(content), len(target.getvalue()))


@pytest.mark.parametrize("left", [0, 100])
@pytest.mark.parametrize("has_preadv", [True, False])
def test_truncation_found_after_other_threads_read_on(
    zstd: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: int, has_preadv: bool
) -> None:
    """The content ends where the first thread found the end; nothing follows a gap, and a pledged size is an error."""
    end = 2 * FRAME + left
    is_cut = range(2 * FRAME, 3 * FRAME)

    def cut(size: int, position: int) -> int:
        return max(min(size, end - position), 0) if position in is_cut else size

    pread, preadv = system.pread, getattr(os, "preadv", None)
    if has_preadv and preadv is not None:
        monkeypatch.setattr(os, "preadv", lambda fd, views, at: preadv(fd, [views[0][: cut(len(views[0]), at)]], at))
    else:
        monkeypatch.delattr(os, "preadv", raising=False)
    for module in (os, system):
        monkeypatch.setattr(module, "pread", lambda fd, size, at: pread(fd, cut(size, at), at), raising=False)
    (tmp_path / "source").write_bytes(DATA)
    is_placed = is_parallel(zstd)
    with open(tmp_path / "source", "rb") as source:
        content = zstd.decompress(b"".join(zstd.compress_iter(source, threads=2, frame_size=FRAME)))
    assert content == (DATA[:end] if is_placed else DATA)
    with open(tmp_path / "source", "rb") as source:
        pieces = zstd.compress_iter(source, threads=2, frame_size=FRAME, size=len(DATA))
        if is_placed:
            pytest.raises(zstd.ZstdError, list, pieces).match("less than pledged")
