# SPDX-License-Identifier: Apache-2.0
"""Incomplete objects, and objects initialized twice: any sequence of calls is memory-safe and raises clear errors."""

from __future__ import annotations

import gc
import io
import sys
from types import ModuleType
from typing import Any

import pytest
from processes import run_alone, sections

PROGRAMS = sections(__file__, "programs.txt")
DATA = b"some data to compress, some data to compress\n" * 2000


def test_second_init_is_refused(zstd: ModuleType) -> None:
    """It would free objects that a call in another thread, or an outer call, is using."""
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


def test_init_may_fail_before_it_succeeds(zstd: ModuleType) -> None:
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
        with pytest.raises(io.UnsupportedOperation):
            getattr(reader, name)()
    reader.close()


def test_writer_takes_a_part_of_its_own_memory(zstd: ModuleType) -> None:
    taken: list[bytes] = []
    own: list[Any] = []

    class Sink(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def tell(self) -> int:
            return sum(map(len, taken))

        def write(self, data: Any, /) -> int:
            taken.append(bytes(data))
            if isinstance(data, memoryview) and isinstance(data.obj, bytearray):
                own.append(memoryview(data.obj))
            return len(data)

    writer = zstd.ZstdFile._writer_type(Sink(), 100)
    writer.write(bytes(range(60)))
    writer.flush()
    if not own:
        pytest.skip("this backend shows no memory that lives on")
    writer.write(b"abc")
    writer.write(own[0][1:51])
    writer.flush()
    assert taken == [bytes(range(60)), b"abcbc" + bytes(range(3, 51))]


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


class Sink(io.RawIOBase):
    """A raw stream that keeps its data, fails on request, and may run any code while it writes."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.failures = 0
        self.closes = 0
        self.meanwhile: Any = None

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        if self.failures:
            self.failures -= 1
            raise OSError("no room")
        if self.meanwhile is not None:
            self.meanwhile()
        self.pieces.append(bytes(data))
        return len(data)

    def tell(self) -> int:
        return sum(map(len, self.pieces))

    def close(self) -> None:
        self.closes += not self.closed
        super().close()

    @property
    def content(self) -> bytes:
        return b"".join(self.pieces)


@pytest.fixture
def sink() -> Sink:
    return Sink()


@pytest.fixture
def writer(zstd: ModuleType, sink: Sink) -> Any:
    """The backend's writer over a sink, with room for SIZE bytes: an io.BufferedWriter, or its replacement."""
    return zstd.ZstdFile._writer_type(sink, SIZE)


def test_writer_accepts_buffers_and_keeps_none_exported(writer: Any, sink: Sink) -> None:
    expected = b""
    for size in (10, SIZE - 10, 5 * SIZE):
        for fail in (0, 1):
            writer.write(b"x" * 7)
            data = bytearray(range(256)) * (size // 256 + 1)
            before = writer.tell()
            sink.failures = fail
            try:
                assert writer.write(data) == len(data)
            except OSError as exc:
                failure = exc
                assert writer.tell() == before
                data.append(1)  # not locked, not even by the traceback
                del data[-1:]
                sink.failures = 0
                assert writer.write(data) == len(data)
                del failure
            sink.failures = 0
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


def test_failing_close_closes(writer: Any, sink: Sink) -> None:
    writer.write(b"abc")
    sink.failures = 1
    pytest.raises(OSError, writer.close).match("no room")
    assert sink.closed
    writer.close()
    for call in (lambda: writer.write(b""), lambda: writer.write(b"abc"), lambda: writer.write(b"a" * 2 * SIZE)):
        pytest.raises(ValueError, call).match("closed")
    pytest.raises(ValueError, writer.flush).match("closed")
    assert sink.closes == 1


@pytest.mark.skipif(sys.version_info < (3, 12), reason="__buffer__ came with 3.12")
def test_exporter_that_reenters(writer: Any, sink: Sink) -> None:
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
    with pytest.raises(ValueError, match="closed"):
        writer.write(Exporter())


def test_unreferenced_writer_writes(zstd: ModuleType, sink: Sink) -> None:
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
    class Patient(Sink):
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
def test_references_stay_even(zstd: ModuleType, sink: Sink) -> None:
    data, large = bytearray(b"abc"), bytes(3 * SIZE)
    kind = zstd.ZstdFile._writer_type

    def use() -> None:
        writer = kind(sink_of_use := Sink(), SIZE)
        for _ in range(50):
            writer.write(data)
            writer.write(large)
            sink_of_use.failures = 1
            pytest.raises(OSError, writer.write, large)
            pytest.raises(TypeError, writer.write, None)
        sink_of_use.failures = 0
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
