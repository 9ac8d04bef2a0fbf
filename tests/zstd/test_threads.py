# SPDX-License-Identifier: Apache-2.0
"""Several threads write and read the same as one thread, with the same errors."""

from __future__ import annotations

import io
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from interrupts import nothing_left
from processes import run_alone, sections

import purepy.base.crew
from purepy.zstd.threads import compress as parallel_compress
from purepy.zstd.threads import decompress as parallel_decompress
from purepy.zstd.threads import decompress_buffer
from purepy.zstd.threads.arguments import frame_size_for

PROGRAMS = sections(__file__, "programs.txt")
FRAME = 4096


def sample(size: int, seed: int = 1) -> bytes:
    """Return text that compresses to about a third."""
    source = random.Random(seed)
    words = [bytes(source.choices(b"abcdefghij \n", k=source.randint(2, 9))) for _ in range(200)]
    return b"".join(source.choices(words, k=size // 4))[:size]


DATA = sample(100_000)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make small frames worth a thread, and some of them count as large."""
    monkeypatch.setattr(decompress_buffer, "_PART_SIZE", 2 * FRAME)
    monkeypatch.setattr(purepy.base.crew, "LOOK_AGAIN", 0.02)
    monkeypatch.setattr(parallel_decompress, "_RUN_SIZE", 2 * FRAME)
    monkeypatch.setattr(parallel_decompress, "CONTENT_MAX", 5 * FRAME)
    monkeypatch.setattr(parallel_decompress, "_WAITING_MAX", 2 * FRAME)
    monkeypatch.setattr(parallel_decompress, "_PIECE", FRAME)


@pytest.fixture(autouse=True)
def _none_left() -> Iterator[None]:
    with nothing_left():
        yield


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


def mixture(zstd: ModuleType) -> bytes:
    """Frames of all kinds: small, large, empty, skippable, of unknown size, with checksum."""
    with_checksum = {zstd.CompressionParameter.checksum_flag: 1}
    no_size = {zstd.CompressionParameter.content_size_flag: 0}
    skippable = b"\x50\x2a\x4d\x18" + (3 * FRAME).to_bytes(4, "little") + bytes(3 * FRAME)
    frames = [
        zstd.compress(DATA[:50]),
        zstd.compress(DATA[:30_000]),
        b"\x5f\x2a\x4d\x18\x00\x00\x00\x00",
        zstd.compress(b""),
        zstd.compress(DATA[30_000:33_000], options=no_size),
        zstd.compress(DATA[33_000:80_000], options=no_size),
        *(zstd.compress(piece, options=with_checksum) for piece in cut(DATA[80_000:81_000], 10)),
        skippable,
        zstd.compress(bytes(200_000), options=with_checksum),
        zstd.compress(DATA[81_000:]),
        skippable,
    ]
    return b"".join(frames)


MIXTURE_CONTENT = DATA[:50] + DATA[:81_000] + bytes(200_000) + DATA[81_000:]


@pytest.mark.parametrize("size", [0, 1, FRAME, 10 * FRAME - 1])
def test_the_number_of_threads_changes_nothing(zstd: ModuleType, size: int) -> None:
    content = DATA[:size]
    expected = zstd.compress(content, frame_size=FRAME)
    assert zstd.decompress(expected) == content
    assert (zstd.get_frame_size(expected) == len(expected)) is (size <= FRAME)
    for count in (1, 2, 3):
        more = {"threads": count, "frame_size": FRAME}
        assert zstd.compress(content, **more) == expected
        assert b"".join(zstd.compress_iter(cut(content, 1000), **more)) == expected
        assert b"".join(zstd.compress_iter(io.BytesIO(content), **more)) == expected
        target = io.BytesIO()
        result = zstd.copy_stream(io.BytesIO(content), target, **more)
        assert (result, target.getvalue()) == ((size, len(expected)), expected)
        target = io.BytesIO()
        with zstd.open(target, "wb", **more) as file:
            for piece in cut(content, 777) or [b""]:
                file.write(piece)
        assert target.getvalue() == expected


def test_frames_that_are_ready_at_the_end_of_the_file(zstd: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """They were once lost if their threads finished while the end was being read."""
    if zstd.BACKEND == "pure":
        pytest.skip("uses no threads")
    frames = threading.Semaphore(0)
    put, read_from = purepy.base.crew.Job.put, parallel_compress._NextFrame.read_from

    def noted(job: purepy.base.crew.Job, piece: Any) -> None:
        put(job, piece)
        frames.release()

    def waiting(room: Any, file: Any) -> int:
        taken = read_from(room, file)
        for _ in range(0 if taken else 3):
            assert frames.acquire(timeout=60)
        return taken

    monkeypatch.setattr(purepy.base.crew.Job, "put", noted)
    monkeypatch.setattr(parallel_compress._NextFrame, "read_from", waiting)
    content = DATA[: 3 * FRAME]
    assert b"".join(zstd.compress_iter(io.BytesIO(content), threads=3, frame_size=FRAME)) == zstd.compress(
        content, frame_size=FRAME
    )


def test_slow_levels_look_up_in_between(zstd: ModuleType) -> None:
    one, two = (zstd.compress(DATA, 10, threads=threads, frame_size=10 * FRAME) for threads in (1, 2))
    assert one == two
    assert zstd.decompress(one) == DATA
    assert zstd.get_frame_info(one).decompressed_size == 10 * FRAME


@pytest.mark.parametrize("size", [1, 100, 1 << 20])
def test_every_way_to_read(zstd: ModuleType, size: int) -> None:
    data = mixture(zstd)
    if size == 1:
        data = data[: len(data) // 10]
        one, several = (lambda t=t: b"".join(zstd.decompress_iter(cut(data, 1), threads=t)) for t in (None, 3))
        assert outcome(several) == outcome(one)
        return
    content = MIXTURE_CONTENT
    assert zstd.decompress(data, threads=3) == content
    assert b"".join(zstd.decompress_iter(cut(data, size), threads=3)) == content
    assert max(map(len, zstd.decompress_iter(cut(data, size), threads=3, write_size=999))) == 999
    target = io.BytesIO()
    result = zstd.copy_stream(cut(data, size), target, mode="decompress", threads=3)
    assert (result, target.getvalue()) == ((len(data), len(content)), content)
    kept: list[bytes] = []
    zstd.copy_stream(io.BytesIO(data), SimpleNamespace(write=kept.append), mode="decompress", threads=3)
    assert b"".join(kept) == content


def test_a_flush_ends_the_frame(zstd: ModuleType) -> None:
    target = io.BytesIO()
    with zstd.open(target, "wb", threads=2, frame_size=FRAME) as file:
        file.write(b"first")
        file.flush()
        flushed = target.getvalue()
        assert zstd.decompress(flushed) == b"first"
        file.flush()
        file.flush(file.FLUSH_FRAME)
        assert target.getvalue() == flushed
        file.write(b"second")
    assert zstd.decompress(target.getvalue()) == b"firstsecond"
    with zstd.open(io.BytesIO(), "wb", threads=2) as file:
        pass
    assert file.closed


def test_a_dictionary_serves_every_frame(zstd: ModuleType) -> None:
    dictionary = zstd.ZstdDict(DATA[:5000], is_raw=True)
    data = zstd.compress(DATA, zstd_dict=dictionary, threads=2, frame_size=FRAME)
    assert len(data) < len(zstd.compress(DATA, threads=2, frame_size=FRAME))
    assert zstd.decompress(data, zstd_dict=dictionary, threads=2) == DATA
    assert b"".join(zstd.decompress_iter([data], zstd_dict=dictionary, threads=2)) == DATA
    prefixed = zstd.compress(DATA, zstd_dict=dictionary.as_prefix)
    assert zstd.decompress(prefixed, zstd_dict=dictionary.as_prefix, threads=2) == DATA


def test_frames_without_magic_number_are_read(zstd: ModuleType) -> None:
    data = zstd.compress(DATA, options={10: 1})
    assert zstd.decompress(data, options={1000: 1}, threads=2) == DATA
    assert b"".join(zstd.decompress_iter([data], options={1000: 1}, threads=2)) == DATA


def test_frames_are_larger_where_windows_are() -> None:
    sizes = [frame_size_for(None, level, None) for level in (-5, 1, 3, 9, 19, 22)]
    assert sizes == sorted(sizes)
    assert (sizes[0], sizes[-1]) == (16 << 20, 64 << 20)
    assert frame_size_for(None, None, {101: 23}) == 64 << 20
    assert frame_size_for(None, None, {160: 1}) == 64 << 20


# --- errors ------------------------------------------------------------------------------------------------------


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as exc:
        return type(exc).__name__, str(exc)


def mutants(data: bytes, count: int) -> Iterator[bytes]:
    source = random.Random(7)
    for _ in range(count):
        changed = bytearray(data)
        for _ in range(source.randint(1, 3)):
            changed[source.randrange(len(data))] ^= 1 << source.randrange(8)
        kind = source.randrange(4)
        if kind == 0:
            del changed[source.randrange(len(data)) :]
        elif kind == 1:
            changed += b"\x28\xb5\x2f\xfd garbage"[: source.randint(1, 12)]
        yield bytes(changed)


def test_the_same_errors(zstd: ModuleType, operations: int) -> None:
    small = mixture(zstd)[:12_000]
    count = 3 if zstd.BACKEND == "pure" else operations // 200
    calls: list[Callable[..., Any]] = [
        zstd.decompress,
        partial(zstd.decompress, max_output_size=40_000),
        lambda data, **more: b"".join(zstd.decompress_iter(cut(data, 3000), **more)),
        lambda data, **more: zstd.open(io.BytesIO(data), **more).read(),
    ]
    for data in (b"", b"\x28", small, *mutants(mixture(zstd), count)):
        for call in calls:
            assert outcome(partial(call, data, threads=3)) == outcome(partial(call, data))


def test_content_before_an_error_comes_first(zstd: ModuleType) -> None:
    frames = [zstd.compress(piece, options={201: 1}) for piece in cut(DATA, FRAME)]
    frames[10] = frames[10][:-1] + bytes([frames[10][-1] ^ 1])
    seen = b""
    pieces = zstd.decompress_iter(frames, threads=3)
    with pytest.raises(zstd.ZstdError):  # noqa: PT012
        for piece in pieces:
            seen += piece
    assert seen[: 10 * FRAME] == DATA[: 10 * FRAME]
    file = zstd.open(io.BytesIO(b"".join(frames)), threads=3)
    assert file.read(9 * FRAME) == DATA[: 9 * FRAME]
    for _ in range(2):
        pytest.raises(zstd.ZstdError, file.read)
    assert file.seek(5) == 5
    assert file.read(5) == DATA[5:10]
    file.close()


def test_limits_hold(zstd: ModuleType) -> None:
    data = mixture(zstd)
    pytest.raises(zstd.ZstdLimitError, zstd.decompress, data, max_output_size=len(MIXTURE_CONTENT) - 1, threads=2)
    assert zstd.decompress(data, max_output_size=len(MIXTURE_CONTENT), threads=2) == MIXTURE_CONTENT
    with pytest.raises(zstd.ZstdLimitError):
        list(zstd.decompress_iter([data], max_output_size=len(MIXTURE_CONTENT) - 1, threads=2))
    small_window = {zstd.DecompressionParameter.window_log_max: 12}
    for call in (zstd.decompress, lambda data, **more: list(zstd.decompress_iter([data], **more))):
        pytest.raises(zstd.ZstdLimitError, call, data, options=small_window, threads=2)


class Broken(Exception):
    pass


def test_errors_of_sources_and_destinations_end_it(zstd: ModuleType) -> None:
    def source(data: bytes) -> Iterator[bytes]:
        yield from cut(data, 1000)
        raise Broken

    def full(data: Any) -> int:
        raise Broken

    packed = zstd.compress(DATA, frame_size=FRAME)
    for mode, data in (("compress", DATA), ("decompress", packed)):
        more = {"frame_size": FRAME} if mode == "compress" else {}
        target = io.BytesIO()
        pytest.raises(Broken, zstd.copy_stream, source(data), target, mode=mode, threads=2, **more)
        if mode == "compress":  # complete frames do not look like the whole
            pytest.raises(zstd.ZstdError, zstd.decompress, target.getvalue()).match("ended before")
        pytest.raises(Broken, zstd.copy_stream, [data], SimpleNamespace(write=full), mode=mode, threads=2, **more)


def test_errors_of_workers_reach_the_caller_with_their_cause(zstd: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    cause = OSError("no more room")

    def fail(*arguments: Any, **more: Any) -> bytes:
        raise Broken("in a worker") from cause

    monkeypatch.setattr(zstd, "compress", fail)
    for call in (
        lambda: zstd.compress_iter([DATA], threads=2, frame_size=FRAME),
        lambda: zstd.copy_stream(io.BytesIO(DATA), io.BytesIO(), threads=2, frame_size=FRAME),
    ):
        with pytest.raises(Broken, match="in a worker") as caught:
            list(call())
        assert caught.value.__cause__ is cause


# --- ends ---------------------------------------------------------------------------------------------------------


def test_an_iterator_left_early_stops_all_threads(zstd: ModuleType) -> None:
    packed = zstd.compress(DATA, frame_size=FRAME)
    for begin in (
        lambda: zstd.compress_iter(cut(DATA, 500), threads=3, frame_size=FRAME),
        lambda: zstd.decompress_iter(cut(packed, 500), threads=3),
    ):
        with nothing_left():
            pieces = begin()
            assert next(pieces)
            pieces.close()
            pytest.raises(StopIteration, next, pieces)


def test_files_closed_early_or_dropped_stop_all_threads(zstd: ModuleType) -> None:
    packed = zstd.compress(DATA, frame_size=FRAME)
    with nothing_left():
        file = zstd.open(io.BytesIO(packed), threads=3)
        assert file.read(1)
        file.close()
    for begin in (
        lambda: zstd.open(io.BytesIO(packed), threads=3),
        lambda: zstd.compress_iter([DATA], threads=2, frame_size=FRAME),
    ):
        with nothing_left():
            next(iter(begin()))


def test_what_is_read_ahead_is_bounded(zstd: ModuleType) -> None:
    given = 0

    def source(data: bytes, size: int) -> Iterator[bytes]:
        nonlocal given
        for piece in cut(data, size):
            given += len(piece)
            yield piece

    data = DATA * 2
    content = 0
    for frames in zstd.compress_iter(source(data, 1024), threads=2, frame_size=FRAME):
        content += len(zstd.decompress(frames))
        assert given <= content + 5 * FRAME
    given = content = 0
    packed = zstd.compress(data, frame_size=FRAME)
    for piece in zstd.decompress_iter(source(packed, 100), threads=2):
        content += len(piece)
        # two frames are given at once; three jobs and a part are ahead of the output
        assert given <= len(packed) * (content + 12 * FRAME) / len(data) + 1000


def test_a_large_frame_waits_for_its_reader(zstd: ModuleType) -> None:
    data = zstd.compress(bytes(20 << 20))
    pieces = zstd.decompress_iter(cut(data, 100), threads=2)
    assert sum(map(len, pieces)) == 20 << 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_has_none_of_the_threads(zstd: ModuleType) -> None:
    if zstd.BACKEND == "pure":
        pytest.skip("uses no threads")
    result = run_alone(zstd, "zstd", PROGRAMS["fork with threads"])
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stdout + result.stderr


def test_the_interpreter_ends_with_threads_at_work(zstd: ModuleType) -> None:
    result = run_alone(zstd, "zstd", PROGRAMS["exit with threads at work"])
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads the size of a process from /proc")
def test_the_caller_does_the_work_if_no_thread_can_start(zstd: ModuleType) -> None:
    """There is no memory for a thread's stack: each call with `threads=` returns the same as with threads."""
    import resource

    kept = resource.getrlimit(resource.RLIMIT_STACK)
    if kept[1] != resource.RLIM_INFINITY and kept[1] < 1 << 30:
        pytest.skip("the stack of a thread may not be large here")
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 30, kept[1]))  # the default stack size of a new process's threads
    try:
        result = run_alone(
            zstd, "zstd", PROGRAMS["no thread can start"], CPKG_ZSTD_BACKEND=zstd.BACKEND, CPKG_MSGPACK_BACKEND="auto"
        )
    finally:
        resource.setrlimit(resource.RLIMIT_STACK, kept)
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stdout + result.stderr


@pytest.mark.nightly
@pytest.mark.skipif(sys.implementation.name == "pypy", reason="PyPy ends without memory for itself")
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads the size of a process from /proc")
def test_threads_without_memory_give_the_result_or_memory_error(zstd: ModuleType) -> None:
    """The result or a MemoryError; no other exception, whichever allocation fails."""
    if not zstd.IS_WRAPPED:
        pytest.skip("allocates in Python")
    code = f"NAME = {zstd.__name__!r}\n" + PROGRAMS["threads without memory"]
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    found = set(run.stdout.splitlines())
    assert found <= {f"{threads} {ended}" for threads in (1, 4) for ended in ("result", "MemoryError")}
    assert "4 MemoryError" in found, "there was memory for all"


def test_one_thread_works_like_no_threads(zstd: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where C decompresses everything at once, it also does so for threads=1."""
    frames = zstd.compress(b"abc") * 100
    calls = []
    kept = type(zstd.codec)._decompress

    def counted(*arguments: Any) -> bytes:
        calls.append(arguments)
        content: bytes = kept(*arguments)
        return content

    monkeypatch.setattr(type(zstd.codec), "_decompress", counted)
    numbers = []
    for more in ({}, {"threads": 1}):
        assert zstd.decompress(frames, **more) == b"abc" * 100
        numbers.append(len(calls))
        calls.clear()
    assert numbers[0] == numbers[1]
