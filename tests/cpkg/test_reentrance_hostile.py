# SPDX-License-Identifier: Apache-2.0
"""
Objects that are used from inside their own calls: by a signal handler, a callback, or the caller's own file.

Each nested call is refused with a RuntimeError that names the running call, or takes effect before or after that call.
In both cases, the running call ends as it would alone.
"""

from __future__ import annotations

import dataclasses
import io
import itertools
import operator
import re
import types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from archives import header_of
from extent import IS_FULL, IS_PYPY, IS_THOROUGH
from interrupts import calling_at, points_of
from record_files import write_all

from cpkg import archive, records
from cpkg._backend import choose
from cpkg.zstandard.backend_names import names_over
from purepy.base.errors import ZstdError

DATA = b"".join(b"%06d\n" % number for number in range(1000))
ROWS = [{"number": number, "text": "x" * number} for number in range(40)]
REFUSED = "inside|in progress|already executing|reentrant call|before consuming output"
"""The messages of our objects, of Python's buffered files and generators, and of python-zstandard's chunker."""
MOST = 1 << 30 if IS_THOROUGH else 20 if IS_FULL else 6
"""The number of points of a call to test, without codecs, which work on plain data while the object is locked."""
OBSERVERS = ("tell", "len")
"""Calls that change nothing, and may observe the progress of another call."""
LEFT = re.compile("text, writing: .*: (write|line) inside (write|flush), accepted: ")
"""
Text that a signal handler writes in the moment after io.TextIOWrapper has passed on its pending text, and before our
code refuses more. CPython before 3.12.4 loses such text, and other interpreters may write it first. Detecting this
moment would need a Python call for each write(), which would be several times slower.
"""
CODECS = ("/purepy/zstd/decoder/", "/purepy/zstd/encoder/")


class Hook:
    """Calls a function once, when it is called itself."""

    call: Callable[[], object] = bool  # does nothing

    def __call__(self) -> None:
        call, self.call = self.call, bool
        call()


class Sink(io.BytesIO):
    """A file that calls a hook before it accepts bytes; `flush` and `close` keep them."""

    def __init__(self, hook: Hook) -> None:
        super().__init__()
        self.hook = hook

    def write(self, data: Any) -> int:
        self.hook()
        return super().write(data)

    def close(self) -> None:
        """Do nothing, to stay open."""


class Source(io.BytesIO):
    """A file that calls a hook before it returns bytes."""

    def __init__(self, data: bytes, hook: Hook) -> None:
        super().__init__(data)
        self.hook = hook

    def read(self, size: int | None = -1) -> bytes:
        self.hook()
        return super().read(min(size, 500) if size and size > 0 else size)

    def readinto(self, memory: Any) -> int:
        data = self.read(len(memory))
        memory[: len(data)] = data
        return len(data)


@dataclasses.dataclass
class Row:
    """A kind of object: how to create it, its methods, and its state at the end."""

    make: Callable[[Hook], Any]
    calls: dict[str, Callable[[Any], Any]]
    state: Callable[[Any], Any]
    in_parts: tuple[str, ...] = ()
    """Calls that add items one by one, so that other items may come in between."""
    known: dict[tuple[str, ...], list[Any]] = dataclasses.field(default_factory=dict)
    """The results of consecutive calls."""


def methods(*names: str, **more: Callable[[Any], Any]) -> dict[str, Callable[[Any], Any]]:
    """Return calls by name: methods without arguments, and other calls."""
    return {**{name: operator.methodcaller(name) for name in names}, **more}


def made(thing: Any, **more: Any) -> Any:
    """Return an object with the attributes from which its state is read."""
    return types.SimpleNamespace(thing=thing, **more)


def over_sink(open_file: Callable[[Any], Any], begin: bytes = b"") -> Callable[[Hook], Any]:
    """Return a function that opens a file over a sink with the hook, and writes its first bytes."""

    def make(hook: Hook) -> Any:
        sink = Sink(hook)
        file = open_file(sink)
        if begin:
            file.write(begin)
        return made(file, sink=sink)

    return make


def over_source(open_file: Callable[[Any], Any], data: bytes) -> Callable[[Hook], Any]:
    """Return a function that opens a file over a source of data with the hook."""
    return lambda hook: made(open_file(Source(data, hook)))


def rest_of(subject: Any) -> Any:
    return None if subject.thing.closed else subject.thing.read()


def rows_of_zstd(zstd: Any) -> Iterator[tuple[str, Row]]:
    def content(subject: Any) -> Any:
        subject.thing.close()
        return zstd.decompress(subject.sink.getvalue())

    frames = b"".join(zstd.compress(DATA[at : at + 2000]) for at in range(0, len(DATA), 2000))
    calls = {
        **methods("flush", "close", "tell", write=lambda file: file.write(DATA)),
        "flush_frame": lambda file: file.flush(file.FLUSH_FRAME),
    }
    seekable = partial(zstd.SeekableZstdFile, mode="w", max_frame_content_size=2000)
    files = {
        "ZstdFile, writing": (partial(zstd.ZstdFile, mode="w"), calls),
        "ZstdFile, frames": (partial(zstd.open, mode="wb", threads=2, frame_size=2000), calls),
        "text, writing": (lambda sink: Text(zstd.open(sink, "wt")), TEXT_CALLS),
        "SeekableZstdFile, writing": (seekable, {name: calls[name] for name in calls if name != "flush_frame"}),
    }
    for name, (open_file, writing) in files.items():
        yield name, Row(over_sink(open_file, DATA[:20]), writing, content)
    calls = {
        **methods("read", "close", "tell", "readline", "read1", "peek", part=lambda file: file.read(3000)),
        **methods(into=lambda file: file.readinto(bytearray(3000))),
        **methods(seek=lambda file: file.seek(100), back=lambda file: file.seek(0)),
    }
    sought = io.BytesIO()
    with seekable(sought) as file:
        file.write(DATA)
    yield "ZstdFile, reading", Row(over_source(zstd.ZstdFile, frames), calls, rest_of)
    yield "ZstdFile, threads", Row(over_source(partial(zstd.open, threads=2), frames), calls, rest_of)
    yield "SeekableZstdFile, reading", Row(over_source(zstd.SeekableZstdFile, sought.getvalue()), calls, rest_of)
    calls = {
        **methods("flush", compress=lambda stream: stream.compress(DATA)),
        "flush_block": lambda stream: stream.flush(stream.FLUSH_BLOCK),
    }
    yield "ZstdCompressor", Row(lambda hook: made(zstd.ZstdCompressor()), calls, lambda it: it.thing.flush())
    one = zstd.compress(DATA)
    calls = {
        "all": lambda stream: stream.decompress(one),
        "some": lambda stream: stream.decompress(one[:500], 500),
        "unused_data": lambda stream: stream.unused_data if stream.eof else None,
    }
    yield "ZstdDecompressor", Row(lambda hook: made(zstd.ZstdDecompressor()), calls, lambda it: it.thing.eof)


class Text:
    """A text file that also accepts bytes."""

    def __init__(self, file: Any) -> None:
        self.file = file
        file._CHUNK_SIZE = 5000  # so that a larger write passes on the pending text, and then itself

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def write(self, data: Any) -> Any:
        return self.file.write(data.decode() if isinstance(data, bytes) else data)


TEXT_CALLS = methods(
    "flush", "close", write=lambda file: file.write(DATA.decode()), line=lambda file: file.write("a line\n")
)


def rows_of_msgpack(msgpack: Any) -> Iterator[tuple[str, Row]]:
    unknown = object()

    def packer(hook: Hook) -> Any:
        def default(thing: object) -> object:
            hook()
            return None

        return made(msgpack.Packer(default=default, autoreset=False))

    packing = {
        **methods("bytes", "reset", pack=lambda packer: packer.pack([1, unknown, 2])),
        "array": lambda packer: packer.pack_array_header(2),
        "map": lambda packer: packer.pack_map_header(2),
        "ext": lambda packer: packer.pack_ext_type(1, b"e"),
        "pairs": lambda packer: packer.pack_map_pairs([(1, unknown)]),
    }
    yield "Packer", Row(packer, packing, lambda it: it.thing.bytes())
    stream = b"".join(map(msgpack.packb, [{"a": number} for number in range(500)]))
    unpacking = {
        **methods("unpack", "skip", "tell", next=next, header=lambda unpacker: unpacker.read_map_header()),
        "read_bytes": lambda unpacker: unpacker.read_bytes(10),
        "feed": lambda unpacker: unpacker.feed(b"\x01"),
    }

    def hooked(hook: Hook) -> Any:
        def found(items: dict[Any, Any]) -> Any:
            hook()
            return items

        unpacker = msgpack.Unpacker(object_hook=found)
        unpacker.feed(stream)
        return made(unpacker)

    of_file = over_source(partial(msgpack.Unpacker, read_size=4096), stream)
    yield "Unpacker of a file", Row(of_file, unpacking, lambda subject: list(subject.thing))
    yield "Unpacker with a hook", Row(hooked, unpacking, lambda subject: list(subject.thing))


def rows_of_records(zstd: Any) -> Iterator[tuple[str, Row]]:
    unknown = object()

    def writer(threads: int, hook: Hook) -> Any:
        def default(thing: object) -> object:
            hook()
            return "unknown"

        sink = Sink(hook)
        thing = records.open(sink, "wb", frame_size=300, threads=threads, default=default)
        thing.append("first")
        return made(thing, sink=sink)

    writing = {
        **methods("flush", "close", append=lambda writer: writer.append({"a": unknown}), len=len),
        "extend": lambda writer: writer.extend(ROWS),
        "unknown": lambda writer: writer.extend([unknown, *ROWS[:9], unknown]),
        "one_by_one": lambda writer: writer.extend(iter(ROWS[:9])),
    }

    def content(subject: Any) -> Any:
        subject.thing.close()
        file = io.BytesIO(subject.sink.getvalue())
        return list(records.open(file)) if records.verify(file).ok else None

    for threads in (1, 2):
        row = Row(partial(writer, threads), writing, content, ("extend", "unknown", "one_by_one"))
        yield f"Writer, {threads} threads", row
    write_all(target := io.BytesIO(), ROWS, frame_size=300)
    reading = {
        **methods("refresh", "close", list=list, len=len, first=lambda reader: next(iter(reader))),
        "one": lambda reader: reader[20],
        "take": lambda reader: reader.take([1, 30]),
        "last": lambda reader: reader[-5:],
    }

    def rest(subject: Any) -> Any:
        try:
            return list(subject.thing)
        except ValueError:
            return "closed"

    yield "Reader", Row(over_source(records.open, target.getvalue()), reading, rest)


def rows_of_zstandard(zstd: Any) -> Iterator[tuple[str, Row]]:
    zstandard = types.SimpleNamespace(**names_over(zstd))
    frame = zstd.compress(DATA)

    def content(subject: Any) -> Any:
        subject.thing.close()
        return subject.sink.getvalue()

    reading = {
        **methods("read", "readall", "close", "tell", read1=lambda file: file.read1(3000)),
        **methods(part=lambda file: file.read(3000), into=lambda file: file.readinto(bytearray(3000))),
    }
    for kind, data in (zstandard.ZstdCompressor, DATA), (zstandard.ZstdDecompressor, frame):
        writing = methods("flush", "close", "tell", write=operator.methodcaller("write", data))
        row = Row(over_sink(partial(kind().stream_writer, closefd=False)), writing, content)
        yield f"stream_writer of {kind.__name__}", row
        yield f"stream_reader of {kind.__name__}", Row(over_source(kind().stream_reader, data), reading, rest_of)
    packing = methods("flush", compress=lambda stream: stream.compress(DATA))
    chunking = {
        "compress": lambda stream: list(stream.compress(DATA)),
        "flush": lambda stream: list(stream.flush()),
        "finish": lambda stream: list(stream.finish()),
    }
    unpacking = methods("flush", decompress=lambda stream: stream.decompress(frame))
    compressor = zstandard.ZstdCompressor()
    yield "compressobj", Row(lambda hook: made(compressor.compressobj()), packing, partial(result, packing["flush"]))
    of_chunker = Row(lambda hook: made(compressor.chunker(500)), chunking, partial(result, chunking["finish"]))
    yield "chunker", of_chunker
    decompressor = zstandard.ZstdDecompressor()
    yield "decompressobj", Row(lambda hook: made(decompressor.decompressobj()), unpacking, lambda it: it.thing.eof)


def rows_of_archives(zstd: Any) -> Iterator[tuple[str, Row]]:
    data = b"".join(header_of(f"f{number}", DATA[:3000]) for number in range(9)) + bytes(1024)
    packed = b"".join(zstd.compress(data[at : at + 4000]) for at in range(0, len(data), 4000))

    def names(entries: Any) -> list[str]:
        return [entry.name for entry in entries]

    calls = methods("close", next=lambda entries: next(entries).name, all=names)
    opened = over_source(partial(archive.entries, threads=1), packed)
    yield "entries of an archive", Row(opened, calls, lambda subject: names(subject.thing))


def result(call: Callable[[Any], Any], subject: Any) -> Any:
    """Return the result of a call of an object, or the type of its error."""
    try:
        found = call(subject.thing)
    except Exception as exc:
        return type(exc)
    return bytes(found) if isinstance(found, (bytearray, memoryview)) else found


def in_turn(row: Row, *names: str) -> list[Any]:
    """Return the results of consecutive calls, and the state after them."""
    if names not in row.known:
        subject = row.make(Hook())
        row.known[names] = [*(result(row.calls[name], subject) for name in names), row.state(subject)]
    return row.known[names]


def is_between(found: list[Any], ended: Any, alone: list[Any], both: list[Any]) -> bool:
    """Return whether items come from two calls: those of the first in order, or a prefix of them if it failed."""
    if isinstance(ended, type):
        return alone[: len(found)] == found
    rest = iter(found)
    return sorted(map(repr, found)) == sorted(map(repr, both)) and all(item in rest for item in alone)


def shown(results: list[Any]) -> str:
    """Return results as a short text that distinguishes large ones."""
    texts = [each.__name__ if isinstance(each, type) else repr(each) for each in results]
    return ", ".join(text if len(text) < 30 else f"{text[:9]}..{text[-9:]} ({len(text)})" for text in texts)


class Inner:
    """A nested call: its result, or the error that refused it."""

    def __init__(self, row: Row, name: str) -> None:
        self._call = row.calls[name]
        self.subject: Any = None
        self.result: Any = None
        self.is_refused = self.is_done = False

    def __call__(self) -> None:
        self.is_done = True
        try:
            self.result = self._call(self.subject.thing)
        except Exception as exc:
            has_text = isinstance(exc, (RuntimeError, ValueError, ZstdError))
            self.is_refused = has_text and re.search(REFUSED, str(exc)) is not None
            self.result = type(exc)


def fault(row: Row, outer: str, name: str, inner: Inner, ended: Any) -> str | None:
    """Return how an outer call is wrong after a nested call, None if it is right."""
    state = row.state(inner.subject)  # closes a file, whose finalizer would otherwise report missing data
    if not inner.is_done:
        return None
    found = [ended, state]
    after, before = in_turn(row, outer, name), in_turn(row, name, outer)
    if inner.is_refused:
        wanted = [in_turn(row, outer)]
    else:
        found.insert(0, inner.result)
        wanted = [[after[1], after[0], after[2]], before]
    if name in OBSERVERS and found[-2:] == in_turn(row, outer):
        return None
    is_mixed = outer in row.in_parts and not inner.is_refused
    if found in wanted or (is_mixed and is_between(found[-1], ended, in_turn(row, outer)[-1], after[-1])):
        return None
    how = "refused" if inner.is_refused else "accepted"
    return f"{name} inside {outer}, {how}: {shown(found)} instead of {' or '.join(map(shown, wanted))}"


def faults_by_hook(row: Row, most: int) -> Iterator[str | None]:
    """Make each call from the file or callback of each other call."""
    for outer, name in itertools.product(row.calls, row.calls):
        hook, inner = Hook(), Inner(row, name)
        inner.subject = subject = row.make(hook)
        hook.call = inner
        ended = result(row.calls[outer], subject)
        hook.call = bool
        yield fault(row, outer, name, inner, ended)


def faults_by_lines(row: Row, most: int) -> Iterator[str | None]:
    """Make each call at lines of each other call."""
    turns = itertools.cycle(row.calls)
    for outer, call in row.calls.items():
        act = partial(result, call)
        found = points_of(act, row.make(Hook()))
        points = [each for each in found if each.time < 2 and not any(codec in each.file for codec in CODECS)]
        for point in points[:: len(points) // most + 1]:
            for name in row.calls if IS_THOROUGH else [next(turns)]:
                inner = Inner(row, name)
                inner.subject = subject = row.make(Hook())
                outcome = calling_at(point, inner, act, subject)
                wrong = fault(row, outer, name, inner, outcome.value)
                yield wrong and f"{point.file}:{point.line} ({point.time}): {wrong}"


def check(rows: Iterator[tuple[str, Row]], way: Callable[[Row, int], Iterator[str | None]], backend: str = "") -> None:
    most = 2 if not IS_THOROUGH and (backend == "pure" or IS_PYPY) else MOST
    faults = [f"{name}: {each}" for name, row in rows for each in way(row, most) if each is not None]
    found = [each for each in faults if not LEFT.match(each)]
    assert not found, "\n".join(found)


WAYS = pytest.mark.parametrize("way", [faults_by_hook, faults_by_lines])


@WAYS
@pytest.mark.parametrize("rows", [rows_of_zstd, rows_of_zstandard])
def test_objects_of_zstandard(zstd: Any, rows: Callable[[Any], Any], way: Any) -> None:
    if rows is rows_of_zstandard and zstd.BACKEND == "pure" and not IS_THOROUGH:
        pytest.skip("the same Python as over the other backends")
    check(rows(zstd), way, zstd.BACKEND)


@WAYS
def test_objects_of_messagepack(msgpack: Any, way: Any) -> None:
    check(rows_of_msgpack(msgpack), way, msgpack.BACKEND)


@WAYS
@pytest.mark.once
@pytest.mark.parametrize("rows", [rows_of_records, rows_of_archives])
def test_records_and_archives(rows: Callable[[Any], Any], way: Any) -> None:
    check(rows(choose("zstd").module), way)
