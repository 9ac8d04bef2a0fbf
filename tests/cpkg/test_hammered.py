# SPDX-License-Identifier: Apache-2.0
"""
Threads that use one object at the same time get a right result or a clear error, and never a crash.

With the GIL, threads interfere between two instructions, without it (3.14t) at any moment. SHARED has objects for
nightly. tests/msgpack/test_pack_races_hostile.py tests lists and dicts that change, and
tests/zstd/test_runtime_hostile.py a compressor and a decompressor.
"""

from __future__ import annotations

import array
import dataclasses
import datetime
import decimal
import enum
import io
import itertools
import random
import sys
import sysconfig
import threading
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Callable

import pytest
from archives import make_files
from processes import run_alone
from record_files import read_all, write_all
from threads import run_threads, switching

import cpkg
from cpkg import archive, records, typed, zstandard

THREADS = 4
ROUNDS = 300 if sys.implementation.name == "cpython" else 100
SHARES_GENERATORS = not sysconfig.get_config_var("Py_GIL_DISABLED") or sys.version_info >= (3, 15)
"""Whether threads may share a generator. CPython 3.14 without the GIL lets two in, and may crash (gh-120321)."""
RECORD = {"id": 12, "name": "some name", "tags": ["a", "b"], "price": 1.5, "in": {"id": 1, "name": "x"}}
TEXT = b"".join(b"line %d of some text\n" % number for number in range(200))


def hammer(work: Callable[[int], Any], allowed: tuple[type[BaseException], ...] = (), rounds: int = ROUNDS) -> None:
    """Run `work`, given the thread's number, in all threads, many times; errors of `allowed` types may happen."""
    start = threading.Barrier(THREADS)

    def run(number: int) -> None:
        start.wait()
        for _ in range(rounds):
            try:
                work(number)
            except allowed:
                pass

    with switching(1e-5):
        assert run_threads(*(partial(run, number) for number in range(THREADS))) == []


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this build of Python has the GIL always")
def test_the_gil_stays_off(msgpack: ModuleType, zstd: ModuleType) -> None:
    """A module that does not declare its support makes the interpreter enable the GIL for all threads."""
    code = "from cpkg import msgpack, zstd; zstd.compress(msgpack.packb(1)); print(sys._is_gil_enabled())"
    choice = {"CPKG_MSGPACK_BACKEND": msgpack.BACKEND, "CPKG_ZSTD_BACKEND": zstd.BACKEND}
    result = run_alone(msgpack, "msgpack", f"import warnings; warnings.simplefilter('error'); {code}", **choice)
    assert (result.stdout, result.stderr) == ("False\n", "")


def test_functions_and_one_value(msgpack: ModuleType) -> None:
    """The cache of keys and the packed value are shared by all threads."""
    value = [RECORD] * 5
    data = msgpack.packb(value)

    def work(number: int) -> None:
        assert msgpack.packb(value) == data
        assert msgpack.unpackb(data) == value
        other = {f"key {number} {index}": index for index in range(20)}
        assert msgpack.unpackb(msgpack.packb(other)) == other

    hammer(work)


def test_one_unpacker(msgpack: ModuleType) -> None:
    """Each message goes to one thread, and none is lost. Threads switch in the hook, if not elsewhere."""
    unpacker = msgpack.Unpacker(object_hook=lambda found: (sum(range(50)), found["number"])[1])
    taken: list[list[Any]] = [[] for _ in range(THREADS)]
    messages = [[number, {"number": number}, [{"number": -number}]] for number in range(ROUNDS * THREADS)]
    unpacker.feed(b"".join(map(msgpack.packb, messages)))

    def work(number: int) -> None:
        taken[number].append(unpacker.unpack())

    hammer(work, (RuntimeError, msgpack.OutOfData))
    taken.append(list(unpacker))
    expected = [[number, number, [-number]] for number in range(ROUNDS * THREADS)]
    assert sorted(one for each in taken for one in each) == expected


def test_one_shot_with_one_dictionary(zstd: ModuleType) -> None:
    dictionary = zstd.ZstdDict(TEXT, is_raw=True)
    plain, with_dictionary = zstd.compress(TEXT), zstd.compress(TEXT, zstd_dict=dictionary)

    def work(number: int) -> None:
        assert zstd.decompress(plain) == TEXT
        assert zstd.decompress(with_dictionary, zstd_dict=dictionary) == TEXT
        assert zstd.decompress(zstd.compress(TEXT[number * 100 :])) == TEXT[number * 100 :]
        assert zstd.decompress(zstd.compress(TEXT, zstd_dict=dictionary), zstd_dict=dictionary) == TEXT

    hammer(work, rounds=3 if zstd.BACKEND == "pure" else ROUNDS)


def test_one_file(zstd: ModuleType) -> None:
    memory = io.BytesIO()
    lines = [b"line of thread %d\n" % number for number in range(THREADS)]
    with zstd.ZstdFile(memory, "wb") as file:
        hammer(lambda number: file.write(lines[number]))
    read = zstd.decompress(memory.getvalue()).splitlines(keepends=True)
    assert {line: read.count(line) for line in lines} == dict.fromkeys(lines, ROUNDS)
    assert len(read) == ROUNDS * THREADS
    memory.seek(0)
    found: list[bytes] = []
    with zstd.ZstdFile(memory) as file:
        hammer(lambda number: found.append(file.read(7)))
        rest = file.read()
    assert sum(map(len, found)) + len(rest) == sum(map(len, read))


Works = Iterator[Callable[[int], Any]]
SHARED: list[Any] = []


def shared(*allowed: type[BaseException], rounds: int = ROUNDS) -> Callable[[Any], Any]:
    """Add the test of an object: it yields the work of a thread, with its allowed errors, then checks the object."""

    def add(make: Any) -> Any:
        SHARED.append(pytest.param(make, allowed, rounds, id=make.__name__))
        return make

    return add


Colour = enum.Enum("Colour", {"RED": "red", "BLUE": 2})
Inner = dataclasses.make_dataclass("Inner", [("name", str), ("colour", Colour, Colour.RED)])
FIELDS = {"number": int, "day": datetime.date, "moment": datetime.datetime, "key": uuid.UUID, "price": decimal.Decimal}
Outer = dataclasses.make_dataclass("Outer", [*FIELDS.items(), ("tags", set[str]), ("inner", list[Inner])])


def outer(number: int) -> Outer:
    """Return an object with a value of each type that C packs."""
    return Outer(
        number,
        datetime.date(2024, 1, 1 + number % 28),
        datetime.datetime(2024, 5, 6, 7, 8, number % 60, tzinfo=datetime.timezone.utc),
        uuid.UUID(int=number),
        decimal.Decimal(number) / 4,
        {"a", f"b{number % 10}"},
        [Inner("x", Colour.BLUE), Inner(f"y{number % 10}")],
    )


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(11))
def test_the_first_use(msgpack: ModuleType, first: int) -> None:
    """If threads use lazily initialised parts at the same time for the first time, all get the same result."""
    program = Path(__file__).with_name("first_uses.txt").read_text(encoding="utf-8")
    code = f"THREADS, FIRST = {THREADS}, {first}\n{program}"
    for _ in range(5):
        result = run_alone(msgpack, "msgpack", code, CPKG_MSGPACK_BACKEND=msgpack.BACKEND)
        assert result.returncode == 0, result.stderr


# possible errors when another thread changes the memory that is read
MALFORMED = (ValueError, cpkg.UnpackException, cpkg.ZstdError, BufferError, OverflowError, MemoryError, TypeError)


@shared(RuntimeError, BufferError)
def one_packer_that_gathers(_: Path) -> Works:
    packer = cpkg.msgpack.Packer(autoreset=False)

    def work(number: int) -> None:
        if number == 0:
            packer.bytes()
            packer.reset()
        elif number == 1:
            packer.getbuffer()[:0]
        else:
            packer.pack(RECORD)

    yield work
    packer.reset()
    packer.pack(RECORD)
    assert packer.bytes() == cpkg.packb(RECORD)


@shared(RuntimeError, BufferError)
def one_buffer_of_a_packer(_: Path) -> Works:
    buffer = bytearray()
    packer = cpkg.msgpack.Packer(buffer=buffer)

    def work(number: int) -> None:
        if number == 0:
            buffer.clear()
        elif number == 1:
            packer.bytes()
        elif number == 2:
            cpkg.msgpack.Packer().pack_ext_type(5, buffer)
        else:
            packer.pack(RECORD)

    yield work
    assert buffer == cpkg.packb(RECORD) * (len(buffer) // len(cpkg.packb(RECORD)))


@shared(RuntimeError, cpkg.OutOfData)
def one_unpacker_that_is_fed(_: Path) -> Works:
    unpacker = cpkg.msgpack.Unpacker()
    data = cpkg.packb(RECORD)

    def work(number: int) -> None:
        if number == 0:
            unpacker.feed(data)
        elif number == 1:
            unpacker.tell()
            unpacker.skip()
        elif number == 2:
            assert unpacker.unpack_raw().data == data
        else:
            assert unpacker.unpack() == RECORD

    yield work


@shared(*MALFORMED)
def one_buffer_that_changes(_: Path) -> Works:
    """A thread overwrites data that others read: their results may be wrong, but they read no other memory."""
    good = cpkg.packb([RECORD] * 20)
    frame = cpkg.compress(TEXT)
    message, compressed = bytearray(good), bytearray(frame)
    found = random.Random(5)

    def work(number: int) -> None:
        if number == 0:
            at = found.randrange(len(good))
            message[at] = found.randrange(256)
            compressed[found.randrange(len(frame))] = found.randrange(256)
            if found.random() < 0.5:
                message[:] = good
                compressed[:] = frame
        elif number == 1:
            cpkg.unpackb(message)
            typed.decode(message, list[dict[str, Any]])
        elif number == 2:
            cpkg.decompress(compressed, max_output_size=1 << 20)
        else:
            cpkg.packb([message, memoryview(compressed)])
            cpkg.compress(message)

    yield work


@shared()
def one_buffer_that_is_written(_: Path) -> Works:
    place = bytearray(4096 * THREADS)
    back = bytearray(4096 * THREADS)
    data = cpkg.packb(RECORD)

    def work(number: int) -> None:
        view, other = (memoryview(each)[4096 * number : 4096 * (number + 1)] for each in (place, back))
        size = cpkg.msgpack.pack_into(RECORD, view)
        assert view[:size] == data
        size = cpkg.zstd.compress_into(TEXT[:2000], view)
        assert cpkg.zstd.decompress_into(view[:size], other) == 2000
        assert other[:2000] == TEXT[:2000]

    yield work


# a size that changes during a loop, and an attribute that is missing for a moment
@shared(RuntimeError, AttributeError)
def objects_that_change(_: Path) -> Works:
    """Attributes, sets, lists and dicts of objects change while they are packed."""
    shared = outer(1)
    other = Inner("other")

    def work(number: int) -> None:
        if number == 0:
            shared.tags.add(f"tag {len(shared.tags)}")
            shared.inner.append(Inner("new"))
            shared.number += 1
            shared.key = uuid.UUID(int=shared.number)
        elif number == 1:
            shared.tags.clear()
            del shared.inner[1:]
            del shared.price
            shared.price = decimal.Decimal(shared.number)
            other.name = "other " + shared.inner[0].name
        else:
            assert isinstance(cpkg.loads(cpkg.dumps(shared)), dict)
            assert isinstance(cpkg.loads(typed.encode([shared, other])), list)

    yield work


@shared()
def arrays_of_numbers(_: Path) -> Works:
    """Threads read one array. CPython 3.14 without the GIL lets none change its size (gh-128942)."""
    numbers = array.array("d", range(200))

    def work(number: int) -> None:
        packed = cpkg.dumps([numbers, numbers], compress=False)
        assert cpkg.loads(packed) == [numbers, numbers]
        assert typed.decode(packed, list[Any])
        assert cpkg.unpackb(cpkg.packb(numbers, numpy=True)) == list(numbers)

    yield work


@shared(rounds=ROUNDS // 3)
def decoders(_: Path) -> Works:
    """Threads use one decoder, and others, which the first message initialises in any thread."""
    decoder, encoder = typed.Decoder(Outer), typed.Encoder()
    values = [outer(number) for number in range(THREADS)]
    data = [encoder.encode(value) for value in values]
    others: list[Any] = [decoder]
    types = itertools.cycle([Outer, list[Outer], dict[str, Any]])

    def work(number: int) -> None:
        if number == 0:
            others[0] = typed.Decoder(next(types))
        other = others[0]
        other.decode(data[3] if other.type != list[Outer] else b"\x91" + data[3])
        assert decoder.decode(data[number]) == values[number]
        assert encoder.encode(values[0]) == data[0]
        assert typed.convert(typed.to_builtins(values[number]), Outer) == values[number]
        typed.schema(Outer)
        typed.inspect(Outer)
        assert cpkg.backend_info()["msgpack"].backend

    yield work


@shared(rounds=ROUNDS // 10)
def classes_that_come_and_go(_: Path) -> Works:
    """Classes are created, used and dropped in all threads; one class is used by all at the same time."""
    shared: list[Any] = [Inner]

    def work(number: int) -> None:
        fields = [("name", str), ("others", "list[int]", dataclasses.field())]
        made = dataclasses.make_dataclass(f"Made{number}", fields)
        value = made("x", [1, number])
        data = typed.encode(value)
        assert typed.decode(data, made) == value
        assert cpkg.loads(cpkg.dumps(value)) == {"name": "x", "others": [1, number]}
        assert cpkg.loads(cpkg.dumps([value]), type=list[made]) == [value]
        kind = enum.Enum(f"Kind{number}", {"A": number, "B": "b"})
        assert typed.decode(typed.encode([kind.A, kind.B]), list[kind]) == [kind.A, kind.B]  # type: ignore[attr-defined]
        if number == 0:
            shared[0] = made
        else:
            last = shared[0]
            typed.schema(last)
            assert typed.decode(b"\x82\xa4name\xa1a\xa6others\x91\x05", last).name == "a"

    yield work


@shared()
def one_seekable_file(folder: Path) -> Works:
    path = folder / "seekable.zst"
    with cpkg.zstd.SeekableZstdFile(path, "wb", max_frame_content_size=500) as file:
        file.write(TEXT)
    file = cpkg.zstd.SeekableZstdFile(path)

    def work(number: int) -> None:
        if number:
            file.seek(number * 700)
            assert file.read(10) in TEXT
        else:
            assert file.seek_table_info

    with file:
        yield work


# a text file has no lock, like the original
@shared(RuntimeError, OSError, ValueError)
def one_text_file(folder: Path) -> Works:
    path = folder / "text.zst"
    with cpkg.zstd.open(path, "wb") as target:
        target.write(TEXT * 20)
    with cpkg.zstd.open(path, "rt", encoding="utf-8") as file:
        yield lambda number: file.readline() or file.seek(0)


@shared()
def objects_of_the_drop_in(_: Path) -> Works:
    """Threads may also share these in the original library."""
    dictionary = zstandard.ZstdCompressionDict(TEXT, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    compressor, decompressor = zstandard.ZstdCompressor(), zstandard.ZstdDecompressor()

    def work(number: int) -> None:
        frame = zstandard.ZstdCompressor(level=1 + number, dict_data=dictionary).compress(TEXT)
        assert zstandard.ZstdDecompressor(dict_data=dictionary).decompress(frame) == TEXT
        frame = compressor.compress(TEXT)
        assert zstandard.decompress(frame) == decompressor.decompress(frame) == TEXT
        assert zstandard.get_frame_parameters(frame).content_size == zstandard.frame_content_size(frame) == len(TEXT)
        stream = compressor.compressobj()
        assert decompressor.decompressobj().decompress(stream.compress(TEXT) + stream.flush()) == TEXT
        assert b"".join(decompressor.read_to_iter(io.BytesIO(frame))) == TEXT
        compressor.memory_size()
        compressor.frame_progression()

    yield work


@shared(rounds=ROUNDS // 3)
def one_collection_of_the_drop_in(_: Path) -> Works:
    if not hasattr(zstandard.ZstdCompressor, "multi_compress_to_buffer"):
        pytest.skip("this backend has no buffers")
    pieces = [TEXT[number * 10 :] for number in range(10)]
    collection = zstandard.ZstdCompressor().multi_compress_to_buffer(pieces)

    def work(number: int) -> None:
        assert zstandard.ZstdDecompressor().decompress(collection[number].tobytes()) == pieces[number]
        found = zstandard.ZstdDecompressor().multi_decompress_to_buffer(collection)
        assert found[number].tobytes() == pieces[number]

    yield work


@shared()
def one_writer_of_records(folder: Path) -> Works:
    path = folder / "written.rec"
    writer = records.open(path, "wb", frame_size=2000, threads=2)

    def work(number: int) -> None:
        writer.append({"thread": number})
        writer.extend([{"thread": number}] * 3)
        if number == 0:
            writer.flush()

    yield work
    writer.close()
    found = [record["thread"] for record in read_all(path)]
    assert {number: found.count(number) for number in range(THREADS)} == dict.fromkeys(range(THREADS), ROUNDS * 4)


# ValueError: "generator already executing"
@shared(RuntimeError, ValueError, rounds=ROUNDS // 10)
def one_reader_of_records(folder: Path) -> Works:
    write_all(folder / "read.rec", [{"number": number} for number in range(500)], frame_size=500)
    reader = records.open(folder / "read.rec", threads=2)
    shared = [iter(reader)]

    def work(number: int) -> None:
        assert reader[number * 100] == {"number": number * 100}
        assert [record["number"] for record in reader.iter(100, 110)] == list(range(100, 110))
        assert len(reader) == 500
        assert sum(map(len, itertools.islice(reader.batches(), 3))) > 3
        if not SHARES_GENERATORS:
            return
        try:
            next(shared[0])
        except StopIteration:
            shared[0] = iter(reader)

    yield work
    reader.close()


@shared(rounds=ROUNDS // 30)
def one_archive(folder: Path) -> Works:
    make_files(folder / "source", {f"file{number}": TEXT[number:] for number in range(20)})
    path = folder / "one.tar.zst"
    archive.create(path, "source", base=folder)
    counter = itertools.count()

    def work(number: int) -> None:
        assert len(list(archive.entries(path))) == 21
        archive.verify(path)
        target = folder / f"extracted{next(counter)}"
        archive.extract(path, target)
        assert (target / "source" / "file3").read_bytes() == TEXT[3:]
        if number == 0:
            archive.create(folder / "other.tar.zst", "source", base=folder, threads=2)

    yield work


@pytest.mark.nightly
@pytest.mark.parametrize(("make", "allowed", "rounds"), SHARED)
def test_other_objects(make: Callable[[Path], Works], allowed: Any, rounds: int, tmp_path: Path) -> None:
    for work in make(tmp_path):
        hammer(work, allowed, rounds)
