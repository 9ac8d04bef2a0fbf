# SPDX-License-Identifier: Apache-2.0
"""Threads, forks, re-entrant calls, dropped objects, interpreter exit: correct results, or a clear error."""

from __future__ import annotations

import functools
import gc
import io
import os
import pathlib
import select
import signal
import sys
import threading
from types import ModuleType
from typing import Any, Callable

import pytest
from extent import some
from odd_files import Target
from processes import run_alone, sections
from threads import beside, run_threads
from zstd_data import TEXT, trained

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


PROGRAMS = sections(__file__, "programs.txt")
IN_C = "calls of C: only real signals run inside them, in test_signals_nightly.py"


def rounds(zstd: ModuleType, count: int) -> range:
    return range(count if zstd.BACKEND != "pure" else 2)


def text_for(zstd: ModuleType) -> bytes:
    """Return text that a backend compresses in a few milliseconds."""
    return TEXT[:10_000] if zstd.BACKEND == "pure" else TEXT


def test_threads_share_objects(zstd: ModuleType) -> None:
    """Methods exclude each other, so that the resulting frames and contents are whole."""
    compressor, decompressor = zstd.ZstdCompressor(1), zstd.ZstdDecompressor(multi_frame=True)
    text = zstd.compress(TEXT)

    sizes: list[int] = []
    together = threading.Barrier(6)

    def work(index: int) -> None:
        payload = bytes([index]) * 50_000
        together.wait(30)
        for _ in rounds(zstd, 40):
            assert zstd.decompress(compressor.compress(payload, compressor.FLUSH_FRAME)) == payload
            sizes.append(len(decompressor.decompress(text)))

    assert run_threads(*(functools.partial(work, index) for index in range(6))) == []
    assert sum(sizes) == 6 * len(rounds(zstd, 40)) * len(TEXT)
    assert decompressor.eof


def test_dictionary_outlives_its_name(zstd: ModuleType) -> None:
    """libzstd keeps raw pointers to a prefix and a digested dictionary."""
    text = text_for(zstd)

    def make(how: str) -> Any:
        return zstd.ZstdCompressor(zstd_dict=getattr(zstd.ZstdDict(bytes(text), is_raw=True), how))

    for how in ("as_prefix", "as_digested_dict", "as_undigested_dict"):
        compressors = [make(how) for _ in rounds(zstd, 10)]
        gc.collect()
        again = zstd.ZstdDict(text, is_raw=True)
        for compressor in compressors:
            frame = compressor.compress(text, compressor.FLUSH_FRAME)
            assert zstd.decompress(frame, (again, 2 if how == "as_prefix" else 0)) == text


def test_drop_with_workers_running(zstd: ModuleType) -> None:
    """Freeing a compressor while its workers read the dictionary was once a use after free (gh-160549)."""
    if zstd.parameter_bounds(zstd.CompressionParameter.nb_workers, True)[1] == 0:
        pytest.skip("compresses in the calling thread only")
    options = {zstd.CompressionParameter.nb_workers: 2, zstd.CompressionParameter.job_size: 1 << 20}
    for _ in range(3):
        compressor = zstd.ZstdCompressor(options=options, zstd_dict=zstd.ZstdDict(bytes(TEXT), is_raw=True))
        compressor.compress(TEXT * 30)
        del compressor
        gc.collect()


@pytest.mark.parametrize("direction", ["compress", "decompress"])
def test_calls_inside_a_call(zstd: ModuleType, direction: str) -> None:
    """A signal handler may make calls at each line of a call, whether or not the thread's context is in use."""
    text = TEXT[:300]
    frame = zstd.compress(text)
    every = 1 if zstd.IS_WRAPPED else 97
    lines = 0

    def trace(*_: Any) -> Any:
        nonlocal lines
        if lines % every == 0:
            assert zstd.compress(text) == frame
            assert zstd.decompress(frame) == text
        lines += 1
        return trace

    tracer = sys.gettrace()
    sys.settrace(trace)
    try:
        result = zstd.compress(text) if direction == "compress" else zstd.decompress(frame)
    finally:
        sys.settrace(tracer)
    assert result == (frame if direction == "compress" else text)
    if not lines:
        pytest.skip(IN_C)


@pytest.mark.parametrize("kind", ["cctx", "dctx"])
def test_a_context_has_one_user_at_a_time(zstd: ModuleType, kind: str) -> None:
    """A signal handler that interrupts any bytecode is the only user of the context that it takes and may free."""
    library = getattr(zstd.codec, "library", None)
    if library is None:
        pytest.skip("keeps no contexts")
    contexts = getattr(library, f"{kind}s")
    take, give = contexts.take, contexts.give
    tracer = sys.gettrace()
    for step in range(1000):
        give(take())  # so that one context is kept
        taken: list[Any] = []
        events = 0

        def interrupt(frame: Any, event: str, _: Any, step: int = step, taken: list[Any] = taken) -> Any:
            nonlocal events
            frame.f_trace_opcodes = True
            if events == step:
                taken.append(take())
            events += 1
            return interrupt

        sys.settrace(interrupt)
        try:
            mine = take()
        finally:
            sys.settrace(tracer)
        assert all(other is not mine for other in taken), f"at step {step}"
        for context in (mine, *taken):
            give(context)
        if not taken:
            break
    assert 3 < step < 999


@pytest.mark.parametrize("kind", ["ZstdCompressor", "ZstdDecompressor"])
def test_a_call_keeps_its_context(zstd: ModuleType, kind: str) -> None:
    """A signal handler that closes a file does not take the context away from the call that it interrupts."""
    stream = getattr(zstd, kind)()
    if not hasattr(stream, "_lock"):
        pytest.skip(IN_C)
    if not hasattr(stream, "_release"):
        pytest.skip("keeps no contexts")
    with stream._lock:  # as in any of its calls
        stream._release()
    if kind == "ZstdCompressor":
        assert zstd.decompress(stream.compress(TEXT) + stream.flush()) == TEXT
    else:
        assert stream.decompress(zstd.compress(TEXT)) == TEXT


def test_finalizer_in_a_cycle_uses_what_it_holds(zstd: ModuleType) -> None:
    """The collector runs finalizers in any order; a context or dictionary must not be freed before its owner's."""
    data = b"to be or not to be " * (300 if zstd.BACKEND == "pure" else 3000)
    content = trained(zstd, [data[start : start + 500] for start in range(0, len(data) - 500, 100)], 1000)
    plain, frame = zstd.compress(data), zstd.compress(data, zstd_dict=content)
    found: list[bytes] = []

    class User:
        def __init__(self) -> None:
            self.dict = zstd.ZstdDict(content.dict_content)
            zstd.compress(data, zstd_dict=self.dict.as_digested_dict)
            zstd.decompress(frame, zstd_dict=self.dict)
            self.compressor, self.decompressor = zstd.ZstdCompressor(), zstd.ZstdDecompressor()
            self.digested = zstd.ZstdCompressor(zstd_dict=self.dict.as_digested_dict)
            self.compressor.compress(data)
            self.decompressor.decompress(plain[:-5])
            self.itself = self

        def __del__(self) -> None:
            found.append(zstd.decompress(self.digested.compress(data) + self.digested.flush(), zstd_dict=self.dict))
            again = zstd.compress(data, zstd_dict=self.dict.as_digested_dict)
            found.append(zstd.decompress(again, zstd_dict=self.dict))
            self.compressor.compress(data)
            self.compressor.flush()
            self.decompressor.decompress(plain[-5:])
            found.append(data if self.decompressor.eof else b"")

    for _ in range(3):
        User()
    for _ in range(4):  # PyPy runs finalizers one after another
        gc.collect()
    assert found == [data] * 9


def test_buffer_changes_size_while_it_is_read(zstd: ModuleType) -> None:
    """The buffer is locked by an export or was copied: C never reads memory that has moved."""
    text = text_for(zstd) * 20
    data = bytearray(text)
    stop = threading.Event()

    def resize() -> None:
        while not stop.is_set():
            try:
                data.append(0)
                del data[-1]
            except BufferError:
                pass

    with beside(resize) as errors:
        try:
            for _ in rounds(zstd, 20):
                content = zstd.decompress(zstd.compress(data, 1))
                assert content.rstrip(b"\0") == text
        finally:
            stop.set()
    assert errors == []


def child_says(work: Callable[[], None]) -> int:
    """Fork, run work() in the child, and return its exit code; kill a child that hangs."""
    ended, open_in_child = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    os.close(open_in_child)
    try:
        if not select.select([ended], [], [], 60)[0]:
            os.kill(child, signal.SIGKILL)
    finally:
        os.close(ended)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@needs_fork
def test_fork_with_warm_contexts(zstd: ModuleType) -> None:
    expected = zstd.compress(TEXT)
    compressor, decompressor = zstd.ZstdCompressor(), zstd.ZstdDecompressor()
    start = compressor.compress(TEXT[:5000])
    half = decompressor.decompress(expected[:2000])

    def work() -> None:
        assert zstd.compress(TEXT) == expected
        assert zstd.decompress(expected) == TEXT
        assert zstd.decompress(start + compressor.compress(TEXT[5000:]) + compressor.flush()) == TEXT
        assert half + decompressor.decompress(expected[2000:]) == TEXT

    assert child_says(work) == 0
    work()


@needs_fork
def test_fork_while_threads_are_inside(zstd: ModuleType) -> None:
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            zstd.compress(TEXT * 5)

    with beside(work, work) as errors:
        try:
            for _ in range(3):
                assert child_says(lambda: None if zstd.decompress(zstd.compress(TEXT)) == TEXT else os._exit(2)) == 0
        finally:
            stop.set()
    assert errors == []


@needs_fork
def test_fork_with_workers(zstd: ModuleType) -> None:
    """The workers do not exist in the child: libzstd would wait for them forever, on use and when freeing."""
    if zstd.parameter_bounds(zstd.CompressionParameter.nb_workers, True)[1] == 0:
        pytest.skip("compresses in the calling thread only")
    held = [zstd.ZstdCompressor(options={zstd.CompressionParameter.nb_workers: 2})]
    held[0].compress(TEXT)

    def work() -> None:
        pytest.raises(RuntimeError, held[0].compress, TEXT).match("^a compressor with .* in a forked child")
        held.clear()
        gc.collect()
        assert zstd.decompress(zstd.compress(TEXT)) == TEXT

    assert child_says(work) == 0


@pytest.mark.parametrize("ending", ["daemon thread inside", "open objects", "use at exit"])
def test_interpreter_exit(zstd: ModuleType, ending: str) -> None:
    result = run_alone(zstd, "zstd", PROGRAMS[f"exit with: {ending}"])
    assert result.returncode == 0, result.stderr
    assert "end" in result.stdout
    assert "Traceback" not in result.stderr


# --- writers that are never closed, in cycles of several kinds --------------------------------------------------------

ENDINGS = ["collected", "kept elsewhere", "dropped", "kept", "in a thread", "kept by the module"]
COUNT = 2 * (2 * 9 + 4)
LINE = "line of text é\n".encode()


@pytest.mark.parametrize("ending", some(ENDINGS, 2))
def test_unclosed_writer_is_complete_at_exit(zstd: ModuleType, ending: str, tmp_path: pathlib.Path) -> None:
    if ending == "dropped" and sys.implementation.name != "cpython":
        pytest.skip("PyPy ends without the finalizers of what is garbage by then, and flushes only what is held")
    code = PROGRAMS["writers in cycles"] + f"folder = {str(tmp_path)!r}\n" + PROGRAMS[f"writers {ending}"]
    result = run_alone(zstd, "zstd", code)
    assert result.returncode == 0, result.stderr
    assert not result.stderr
    found = {}
    for path in tmp_path.iterdir():
        size = int(path.name.rpartition("-")[2])
        content = path.read_bytes()
        if ending == "collected" or sys.implementation.name == "cpython":
            try:
                whole = zstd.decompress(content) if content else b""
            except zstd.ZstdError as exc:
                whole = repr(exc).encode()
        else:  # PyPy exits without running finalizers, but flushes files
            whole = zstd.ZstdDecompressor().decompress(content)
        found[path.name] = "whole" if whole == LINE * size else whole[:60]
    assert found == dict.fromkeys(found, "whole")
    assert len(found) == COUNT


# --- incomplete objects, and objects initialized twice ----------------------------------------------------------------

DATA = b"some data to compress, some data to compress\n" * 2000


def test_only_a_failed_init_may_be_repeated(zstd: ModuleType) -> None:
    """A second one would free objects that a call in another thread, or an outer call, is using."""
    raw = zstd.ZstdDict(DATA[:5000], is_raw=True)
    frame = zstd.compress(DATA, zstd_dict=raw)
    compressor = zstd.ZstdCompressor(zstd_dict=raw.as_digested_dict)
    decompressor = zstd.ZstdDecompressor(raw)
    begun = compressor.compress(DATA)
    content = decompressor.decompress(frame[:8])
    for thing, arguments in ((compressor, (5,)), (decompressor, ()), (raw, (b"other content",))):
        pytest.raises(RuntimeError, thing.__init__, *arguments).match(f"{type(thing).__name__} is already initialized")
    assert raw.dict_content == DATA[:5000]
    assert zstd.decompress(begun + compressor.flush(), raw) == DATA
    assert content + decompressor.decompress(frame[8:]) == DATA
    for kind in (zstd.ZstdCompressor, zstd.ZstdDecompressor):
        made = kind.__new__(kind)
        again = type("Again", (), {"__index__": lambda self, made=made: made.__init__() or 20})
        pytest.raises(RuntimeError, made.__init__, options={100: again()}).match("is already initialized")
    made = zstd.ZstdDict.__new__(zstd.ZstdDict)
    pytest.raises(ValueError, made.__init__, b"abc", is_raw=True).match("short")
    made.__init__(DATA[:50], is_raw=True)
    assert zstd.decompress(zstd.compress(DATA, zstd_dict=made), made) == DATA


def test_second_init_of_a_file_opens_another(zstd: ModuleType) -> None:
    first, second = io.BytesIO(), io.BytesIO()
    file = zstd.ZstdFile(first, "w")
    file.write(b"first")
    file.__init__(second, "w")
    file.write(b"second")
    file.write(b" and more")
    file.close()
    assert zstd.decompress(second.getvalue()) == b"second and more"
    second.seek(0)
    reader = zstd.ZstdFile(io.BytesIO(zstd.compress(DATA)))
    assert reader.read(4) == b"some"
    reader.__init__(second)
    assert reader.read() == b"second and more"
    reader.__init__(first, "w")
    for name in ("read", "readline", "peek"):
        pytest.raises(io.UnsupportedOperation, getattr(reader, name))
    reader.close()


def test_writer_takes_a_part_of_its_own_memory(zstd: ModuleType) -> None:
    own: list[Any] = []

    class Sink(Target):
        def write(self, data: Any, /) -> int:
            if isinstance(data, memoryview) and isinstance(data.obj, bytearray):
                own.append(memoryview(data.obj))
            return super().write(data)

    sink = Sink()
    writer = zstd.ZstdFile._writer_type(sink, 100)
    writer.write(bytes(range(60)))
    writer.flush()
    if not own:
        pytest.skip("this backend shows no memory that lives on")
    writer.write(b"abc")
    writer.write(own[0][1:51])
    writer.flush()
    assert sink.pieces == [bytes(range(60)), b"abcbc" + bytes(range(3, 51))]


def test_half_made_objects_tell_nothing(zstd: ModuleType) -> None:
    result = run_alone(zstd, "zstd", PROGRAMS["half-made objects"])
    assert result.returncode == 0, result.stderr
    assert "done" in result.stdout
    assert "Exception ignored" not in result.stderr
    assert not result.stderr


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="PyPy's finalizers do not run as it ends")
@pytest.mark.parametrize(
    "use", ["zstd.compress(data)", "zstd.ZstdCompressor().compress(data)", "zstd.decompress(frame)"]
)
def test_finalizer_at_the_end_takes_a_context(zstd: ModuleType, use: str) -> None:
    """A thread's kept objects are not finalized before the objects that use them."""
    result = run_alone(zstd, "zstd", f"USE = {use!r}\n" + PROGRAMS["late finalizer"])
    assert result.returncode == 0, result.stderr
    assert result.stdout == "used\n" * 3
    assert not result.stderr


# --- between write() and the compressor -------------------------------------------------------------------------------

SIZE = 1000


@pytest.fixture
def sink() -> Target:
    return Target()


@pytest.fixture
def writer(zstd: ModuleType, sink: Target) -> Any:
    """The backend's writer over a sink, with room for SIZE bytes: an io.BufferedWriter, or its replacement."""
    return zstd.ZstdFile._writer_type(sink, SIZE)


def test_writer_accepts_buffers_and_keeps_none_exported(writer: Any, sink: Target) -> None:
    expected = b""
    for size in (10, SIZE - 10, 5 * SIZE):
        for fail in (0, 1):
            writer.write(b"x" * 7)
            data = bytearray(range(256)) * (size // 256 + 1)
            before = writer.tell()
            sink.write_plan = [OSError("no room")] * fail
            try:
                assert writer.write(data) == len(data)
            except OSError as exc:
                failure = exc
                assert writer.tell() == before
                data.append(1)  # not locked, not even by the traceback
                del data[-1:]
                assert writer.write(data) == len(data)
                del failure
            sink.write_plan = []
            expected += b"x" * 7 + data
            data[:] = b"changed"  # the writer does not use the caller's data after it has returned
    writer.flush()
    assert sink.content == expected
    assert writer.write(memoryview(b"abcdef")[2:4]) == 2
    assert writer.write(memoryview(b"\1\0\0\0\2\0\0\0").cast("I")) == 8
    scattered = memoryview(b"abcdef")[::2]
    for bad, error in (("text", TypeError), (None, TypeError), (5, TypeError), (scattered, BufferError)):
        pytest.raises(error, writer.write, bad)
    writer.close()
    assert sink.content == expected + b"cd\1\0\0\0\2\0\0\0"


def test_failing_close_closes(writer: Any, sink: Target) -> None:
    writer.write(b"abc")
    sink.write_plan = [OSError("no room")]
    pytest.raises(OSError, writer.close).match("no room")
    assert sink.closed
    writer.close()
    for call in (lambda: writer.write(b""), lambda: writer.write(b"abc"), lambda: writer.write(b"a" * 2 * SIZE)):
        pytest.raises(ValueError, call).match("closed")
    pytest.raises(ValueError, writer.flush).match("closed")
    assert sink.closes == 1


@pytest.mark.skipif(sys.version_info < (3, 12), reason="__buffer__ came with 3.12")
def test_exporter_that_reenters(writer: Any, sink: Target) -> None:
    class Exporter:
        def __buffer__(self, flags: int) -> memoryview:
            writer.write(b"first")
            return memoryview(b"second")

        def __release_buffer__(self, view: memoryview) -> None:
            writer.write(b"third")

    assert writer.write(Exporter()) == 6
    writer.write(b"-" * (SIZE - 20))
    assert writer.write(Exporter()) == 6
    writer.flush()
    assert sink.content.startswith(b"firstsecondthird" + b"-" * (SIZE - 20))
    assert sink.content.count(b"second") == 2
    writer.close()
    pytest.raises(ValueError, writer.write, Exporter()).match("closed")


def test_unreferenced_writer_writes(zstd: ModuleType, sink: Target) -> None:
    writer = zstd.ZstdFile._writer_type(sink, SIZE)
    write = writer.write
    write(b"abc")
    del writer
    gc.collect()
    write(b"def")  # the method keeps the writer alive
    del write
    gc.collect()
    assert sink.content == b"abcdef"
    assert sink.closed


def test_writer_in_a_cycle_writes(zstd: ModuleType) -> None:
    class Patient(Target):
        def __del__(self) -> None:
            pass  # an object above closes it, as for a CompressWriter

    sink = Patient()
    writer = zstd.ZstdFile._writer_type(sink, SIZE)
    sink.meanwhile = lambda held=[writer]: None
    writer.write(b"abc")
    pieces = sink.pieces
    del writer, sink
    gc.collect()
    gc.collect()
    assert pieces == [b"abc"]


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="counts references")
def test_references_stay_even(zstd: ModuleType, sink: Target) -> None:
    data, large = bytearray(b"abc"), bytes(3 * SIZE)
    kind = zstd.ZstdFile._writer_type

    def use() -> None:
        writer = kind(target := Target(), SIZE)
        for _ in range(50):
            writer.write(data)
            writer.write(large)
            target.write_plan = [OSError("no room")]
            pytest.raises(OSError, writer.write, large)
            pytest.raises(TypeError, writer.write, None)
        writer.close()

    use()
    gc.collect()
    before = [sys.getrefcount(thing) for thing in (data, large, kind)]
    use()
    gc.collect()
    assert [sys.getrefcount(thing) for thing in (data, large, kind)] == before


def test_misuse_of_the_type_in_c(zstd: ModuleType) -> None:
    base = getattr(sys.modules[zstd.ZstdFile.__module__], "_WriteBuffer", None)
    if base is None:
        pytest.skip("this backend has no writer in C")
    for arguments in ((), (b"abc",), (None,), (bytearray(), 5)):
        pytest.raises(TypeError, base, *arguments)
    raw = base.__new__(base)
    with pytest.raises(AttributeError):
        raw.write(b"abc")  # it has no memory, and its class lacks the other methods
    memory = bytearray(10)
    buffer = base(memory)
    pytest.raises(RuntimeError, buffer.__init__, bytearray(5))
    pytest.raises(BufferError, memory.append, 1)
    assert buffer.write(b"abc") == 3
    assert (buffer.held, buffer._hold()) == (3, 3)
    pytest.raises(AttributeError, buffer.write, b"d")
    for bad in (-1, 11):
        pytest.raises(ValueError, buffer._resume, bad)
    pytest.raises(OverflowError, buffer._resume, 1 << 80)
    pytest.raises(TypeError, buffer._resume, "3")
    buffer._resume(10)
    assert buffer.write(b"") == 0
    pytest.raises(AttributeError, buffer.write, b"d")
    del buffer
    memory.append(1)
