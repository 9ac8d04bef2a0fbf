# SPDX-License-Identifier: Apache-2.0
"""Frames that C or Python threads compress and decompress in advance, with the same results as one thread."""

from __future__ import annotations

import errno
import io
import os
import sys
import threading
from array import array
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from extent import some
from failing import each_raises, raising
from interrupts import nothing_left
from record_files import file_of, flip, flipped, numbered, read_all, record, spans, trained, write_all, written

from cpkg import _backend, msgpack, records, zstd
from cpkg.records import opening, packing, reading_ahead
from cpkg.records.decoding import _ROWS_PATIENCE, Decoder
from cpkg.records.sources import open_source
from purepy.base import system
from purepy.base.crew import Crew

COUNT = 400
ALL = numbered(COUNT)


@pytest.fixture
def module_of_c() -> Any:
    """Return the zstd backend, if it has C threads."""
    module = _backend.choose("zstd").module
    if module.compressing_queue is None:
        pytest.skip("this backend of Zstandard has no threads of C")
    return module


def shape(number: int) -> Any:
    """Return a record; the first ones have the same keys, later ones others, and the last ones are not maps."""
    if number % 200 < 120:
        return {"id": number, "text": f"row {number}" if number % 7 else "é" * number, "tags": ["a", "b"][: number % 3]}
    if number % 200 < 190:
        return {"id": number, "more": {"number": number}} if number % 2 else {"more": None}
    return [number]


@pytest.mark.parametrize("threads", some([2, 4], 2))
@pytest.mark.parametrize(("frame_size", "frames"), [(1, 240), (500, 15), (5_000, 2)])
def test_same_bytes_and_same_records(
    tmp_path: Path, threads_of: str, threads: int, frame_size: int, frames: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "new_token", lambda: b"the same")
    whole = [shape(number) for number in range(300)]
    alone, ahead_ = tmp_path / "alone", tmp_path / "ahead"
    for path, count in ((alone, 1), (ahead_, threads)):
        with records.open(path, "wb", threads=count, frame_size=frame_size) as writer:
            for number, kind in zip(range(0, 300, 50), (list, tuple, iter) * 2):
                writer.extend(kind(whole[number : number + 49]))
                writer.append(whole[number + 49])
            assert len(writer) == 300
    assert alone.read_bytes() == ahead_.read_bytes()
    assert records.verify(ahead_).ok
    with records.open(ahead_, threads=threads) as reader:
        assert reader._layout.indexed
        assert len(reader._layout) >= frames
        assert list(reader) == whole
        assert [row for batch in reader.batches() for row in batch] == whole
        for start, stop in ((0, 1), (3, 297), (119, 121), (150, 150), (192, 300)):
            assert list(reader.iter(start, stop)) == whole[start:stop] == reader[start:stop]


def test_another_thread_gives_rows_up(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that found rows uses them, even if another thread disables rows meanwhile."""
    written(path, COUNT)
    with records.open(path) as reader:
        decoder, seen = reader._decoder, [lambda *_: None]
        rows = property(lambda _: seen.pop() if seen else None)
        monkeypatch.setattr(type(decoder), "_read_rows", rows, raising=False)
        assert list(decoder._rows(reader._layout.frame(0), b"\x90")) == []
    assert not seen


def test_a_frame_of_rows_renews_the_search_for_rows(path: Path) -> None:
    """The search stops only after several frames in a row without rows."""
    written(path, COUNT)
    with records.open(path) as reader:
        decoder, frame = reader._decoder, reader._layout.frame(0)
        all_rows = iter(()), frame.records, 1
        for found in (None, None, None, all_rows) * 3:
            decoder._read_rows = lambda *_, found=found: found
            list(decoder._rows(frame, b"\x90"))
            assert decoder.reads_rows
        decoder._read_rows = lambda *_: None
        for _ in range(_ROWS_PATIENCE):
            assert decoder.reads_rows
            list(decoder._rows(frame, b"\x90"))
        assert not decoder.reads_rows


@pytest.mark.parametrize("options", [{"use_list": False}, {"max_array_len": 10}, {"object_hook": repr}])
def test_options(path: Path, threads_of: str, options: dict[str, Any]) -> None:
    written(path, COUNT, frame_size=1000)
    with records.open(path, threads=1, **options) as alone, records.open(path, threads=2, **options) as reader:
        assert list(reader) == list(alone)


def test_damage_waits_for_its_turn(path: Path, threads_of: str) -> None:
    """Records before the damage come first, and records after it can be read afterwards."""
    written(path, COUNT, per_frame=20)
    for span in (spans(path)[3], spans(path)[11]):
        flip(path, span.end - 20)
    with records.open(path, threads=2) as reader:
        rows = iter(reader)
        assert [next(rows) for _ in range(60)] == ALL[:60]
        for error in each_raises(records.DamagedError, lambda: next(rows), *[lambda: reader[70]] * 2):
            assert (error.first, error.count) == (60, 20)
            assert reader[10] == ALL[10]
    with records.open(path, threads=2, errors="skip") as reader:
        assert list(reader) == [*ALL[:60], *ALL[80:220], *ALL[240:]]
        assert [damage.first for damage in reader.damage] == [60, 220]
        os.truncate(path, spans(path)[9].start)
        assert list(reader) == [*ALL[:60], *ALL[80:180]]
        with pytest.raises(records.DamagedError):
            reader[399]


def test_wrong_messagepack(path: Path, threads_of: str) -> None:
    """The valid records in front come first in order, whichever thread laid the frame out; none is read by number."""
    rows = numbered(200)
    packed = [msgpack.packb(row) for row in rows]
    wrong = b"".join([*packed[:99], b"\x82\xa2id\x63\xa4text\xc1", *packed[99:]])
    path.write_bytes(file_of((b"".join(packed[:50]), 50), (wrong, 200)))
    for threads in (1, 2):
        with records.open(path, threads=threads) as reader:
            found: list[Any] = []
            uses = [partial(reader.__getitem__, 50), partial(reader.__getitem__, 52), partial(reader.take, [50, 180])]
            uses.append(partial(found.extend, reader))
            each_raises(records.DamagedError, *uses, match="the MessagePack in it is not valid")
            assert found == [*rows[:50], *rows[:99]], threads


def test_more_records_than_bytes(path: Path, threads_of: str) -> None:
    """A wrong number of records in the index does not allocate memory."""
    written(path, COUNT, per_frame=20)
    for open_it in (lambda reader: reader[COUNT - 1], list):
        with records.open(path, threads=2) as reader:
            reader._layout._records = array("I", [2**32 - 1] * len(reader._layout))
            with pytest.raises(records.DamagedError, match="its header claims 4294967295 records"):
                open_it(reader)


def test_a_reader_that_is_closed_midway(path: Path, threads_of: str) -> None:
    """Records already read may come; then there is an error, and no other file is read by mistake."""
    written(path, COUNT, per_frame=20)
    reader = records.open(path, threads=2)
    rows = iter(reader)
    found = [next(rows)]
    reader.close()
    other = os.open(os.devnull, os.O_RDONLY)
    try:
        with pytest.raises(ValueError, match="closed"):
            found.extend(rows)
    finally:
        os.close(other)
    assert found == ALL[: len(found)]


def test_a_read_that_fails_since_the_file_was_closed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If another thread closes the file before a read, the error says so instead of naming a bad descriptor."""
    path.write_bytes(b"data")
    source = open_source(path)

    def read(descriptor: int, size: int, offset: int) -> bytes:
        source.close()
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    monkeypatch.setattr(system, "pread", read)
    with pytest.raises(ValueError, match="closed"):
        source.read_at(0, 4)


def test_the_first_frame_needs_no_thread(path: Path, threads_of: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many iterators return only one record, and PyPy closes abandoned iterators much later."""
    if threads_of == "Python without the GIL":
        pytest.skip("its threads unpack the first frame")
    started: list[str] = []
    for owner, name in ((Decoder, "decompressing_queue"), (Crew, "_start")):
        real = getattr(owner, name)
        monkeypatch.setattr(
            owner, name, lambda self, *given, real=real, name=name: started.append(name) or real(self, *given)
        )
    written(path, COUNT, per_frame=20)
    with records.open(path, threads=2) as reader:
        for iterator in (iter(reader), reader.batches()):
            assert next(iterator) in (ALL[0], ALL[:20])
        assert not started
        assert list(reader) == ALL
        assert started


@pytest.mark.parametrize("files", [0, 1], ids=["file", "files"])
def test_an_iterator_that_is_closed_or_dropped(path: Path, threads_of: str, files: int) -> None:
    written(path, COUNT, per_frame=20)
    with records.open([path] * files or path, threads=2) as reader, nothing_left():
        for way in (reader.iter, reader.batches):
            pytest.raises(TypeError, way, "1")
        for taken in (0, 1, 21, COUNT):
            with closing(reader.iter()) as iterator:
                assert list(islice(iterator, taken)) == ALL[:taken]
            assert list(iterator) == []
            iterator.close()
        first, second = iter(reader), iter(reader)
        assert next(first) == ALL[0]
        del first
        assert list(second) == ALL


class Failing(io.BytesIO):
    """A file whose next read() raises an error."""

    error: Exception | None = None

    def read(self, size: int | None = -1) -> bytes:
        error, self.error = self.error, None
        if error is not None:
            raise error
        return super().read(size)


@pytest.mark.parametrize(
    "by", [iter, lambda reader: iter(reader.batches()), lambda reader: reader.take([0, COUNT - 1])]
)
def test_what_a_signal_handler_raises_comes_at_once(path: Path, threads_of: str, by: Any) -> None:
    """The exception is not mistaken for an error of the frame, which would be delayed or retried."""
    written(path, COUNT, per_frame=20)
    file = Failing(path.read_bytes())
    with records.open(file, threads=2) as reader:
        iterator = by(reader) if by is iter else None
        if iterator is not None:
            next(iterator)
        file.error = error = TimeoutError("mine")
        with pytest.raises(TimeoutError) as caught:
            # Python threads read the file themselves, and do not run signal handlers
            list(islice(iterator, 40 if threads_of == "C" else COUNT) if iterator is not None else by(reader))
        assert caught.value is error
        assert list(reader) == ALL


@pytest.mark.parametrize("lacks", ["rows", "threads", "memory"])
def test_without_rows_or_threads_or_memory(path: Path, monkeypatch: pytest.MonkeyPatch, lacks: str) -> None:
    """Files are written and read even if records turn out to differ, or if no thread starts, or if frames are large."""
    module = _backend.choose("zstd").module
    if lacks == "threads" and module.compressing_queue is not None:
        for name, kept in (("compressing_queue", 2), ("decompressing_queue", 1)):
            make = getattr(module, name)
            monkeypatch.setattr(module, name, lambda *given, make=make, kept=kept: make(*given[:kept], 0))
    monkeypatch.setattr(reading_ahead, "_READ_MAX", 900 if lacks == "memory" else reading_ahead._READ_MAX)
    write_all(path, ALL, threads=2, frame_size=1000)
    with records.open(path, threads=2) as reader:
        if lacks == "rows":
            reader._decoder._read_rows = None
        assert list(reader) == ALL


@pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork is not available")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_has_no_threads(path: Path, threads_of: str) -> None:
    """The child, such as one of a DataLoader, reads without threads, and does not wait for work that none does."""
    if threads_of != "C":
        pytest.skip("threads of Python's are not in a forked child either, which concurrent.futures does not notice")
    written(path, COUNT, per_frame=20)
    numbers = range(COUNT - 1, -1, -3)
    with records.open(path, threads=2) as reader:
        rows = iter(reader)
        assert (next(rows), reader.take(numbers)) == (ALL[0], ALL[::-3])
        child = os.fork()
        if not child:
            os._exit(0 if (list(rows), reader.take(numbers), reader[7]) == (ALL[1:], ALL[::-3], ALL[7]) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert list(rows) == ALL[1:]


def test_the_caller_does_what_waits_for_a_thread(module_of_c: Any) -> None:
    """A thread that is busy for a long time delays only its own frame."""
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()
    in_time: list[bool] = []
    begun, others_done = threading.Event(), threading.Event()

    @ffi.callback("void(void *, const char *, size_t, int64_t)")  # type: ignore[untyped-decorator]
    def hold(state: Any, content: Any, size: int, count: int) -> None:
        begun.set()
        in_time.append(others_done.wait(10))

    @ffi.callback("void *(void)")  # type: ignore[untyped-decorator]
    def new() -> Any:
        return memory

    @ffi.callback("void(void *)")  # type: ignore[untyped-decorator]
    def free(made: Any) -> None:
        assert made == memory

    memory = ffi.new("char[]", 1)
    functions = [int(ffi.cast("uintptr_t", function)) for function in (new, free, hold)]
    frames = module_of_c.decompressing_queue(None, 1)
    contents = [b"%d" % number * 1000 for number in range(5)]
    jobs = [frames.job() for _ in contents]
    assert frames.begin()
    for number, (job, content) in enumerate(zip(jobs, contents)):
        frame = zstd.compress(content)
        job.put(0, frame)
        frames.expect(job, len(content))
        assert number or job.make(*functions, 0)
        frames.submit(job, len(frame))
        if not number:
            assert begun.wait(10)
    assert [bytes(frames.wait(job)) for job in jobs[:0:-1]] == contents[:0:-1]
    others_done.set()
    assert bytes(frames.wait(jobs[0])) == contents[0]
    assert in_time == [True]
    frames.close()


def test_a_context_that_has_failed_is_not_used_again(module_of_c: Any) -> None:
    """The caller's context is created again."""
    frames = module_of_c.decompressing_queue(None, 0)
    job, content = frames.job(), b"some content" * 100
    frame = zstd.compress(content, options={zstd.CompressionParameter.checksum_flag: 1})
    for sound in (True, False, True, False, False, True):
        job.put(0, flipped(frame, -1, not sound))
        frames.expect(job, len(content))
        output = frames.do(job, len(frame))
        assert (output is not None and bytes(output) == content) is sound
    frames.close()


@pytest.mark.usefixtures("module_of_c")
def test_compressing_that_fails_is_reported_and_loses_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If C threads cannot compress a frame, the caller's thread tries and raises the error."""
    with records.open(path, "wb", threads=2, frame_size=500) as writer:
        frames = writer._frames
        assert frames.is_by_c
        writer.extend(ALL[:30])
        wait = type(frames._ahead).wait
        monkeypatch.setattr(type(frames._ahead), "wait", lambda self, job: wait(self, job) and None)
        with monkeypatch.context() as patch:
            patch.setattr(packing.zstd, "compress", raising(MemoryError("no memory for a frame")))
            with pytest.raises(MemoryError):
                writer.flush()
        assert len(writer) == 30
        writer.extend(ALL[30:])
    assert read_all(path) == ALL
    assert zstd.decompress(path.read_bytes())


def test_a_dictionary_that_comes_later(path: Path, threads_of: str) -> None:
    """A frame that was read without the dictionary is read again with it."""
    write_all(path, numbered(1))
    with records.open(path) as reader:
        assert reader[0] == record(0)
        writer = records.open(path, "ab", frame_size=500, dictionary=trained(numbered(1500)))
        writer.extend(numbered(1, 1500))
        writer.flush()
        reader.refresh()
        assert reader[1499] == record(1499)
        writer.close()


def test_closing_frees_what_single_records_took(path: Path, threads_of: str) -> None:
    written(path, COUNT, per_frame=20)
    # under Wine, the folder exists and lists descriptors of Wine itself
    before = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    reader = records.open(path)
    assert reader[7] == ALL[7]
    reader.close()
    reader.close()
    if before:
        assert len(os.listdir("/proc/self/fd")) <= before
    each_raises(ValueError, lambda: reader[7], lambda: next(iter(reader)), match="closed")
