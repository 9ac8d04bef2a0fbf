# SPDX-License-Identifier: Apache-2.0
"""Files of records beside the other ways to keep them: written as a list, appended, read, read by number."""

from __future__ import annotations

import functools
import importlib
import io
import operator
import os
import pickle
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from bench import fresh
from bench.cells import OURS, PEP784, Call, Case, Group, Works

AT_ONCE = 300
"""The number of records read by number in one call."""
WRITE, APPEND, READ, BY_NUMBER = "write a list", "append one by one", "read all", f"read {AT_ONCE} by number"

# count: the number of records
CASES = [
    Case("500 records", small=True, count=500),
    Case("10,000 records", quick=True, count=10_000),
    Case("400,000 records", slow=True, count=400_000),
]


def made(count: int) -> list[Any]:
    """Return lines of a web server's log: about 230 bytes each as MessagePack, 310 as JSON."""
    draw = random.Random(20240229)
    words = ("users", "orders", "items", "search", "static", "login", "cart", "help")
    agents = ("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "curl/8.5.0", "wget/1.21.4")
    return [
        {"id": number, "time": 1_700_000_000 + number * 0.037, "method": draw.choice(("GET", "GET", "GET", "POST")),
         "path": f"/api/v1/{draw.choice(words)}/{draw.randrange(10_000)}", "status": draw.choice((200, 200, 304, 404)),
         "bytes": draw.randrange(200, 200_000), "seconds": draw.random(), "user": f"user{draw.randrange(50_000)}",
         "agent": draw.choice(agents), "tags": draw.choices(words, k=draw.randrange(4)), "secure": number % 9 > 0,
         "referrer": None if draw.random() < 0.5 else f"https://example.com/{draw.choice(words)}"}
        for number in range(count)
    ]  # fmt: skip


class Way(NamedTuple):
    """A way to keep records in a file.

    append: writes records to a new file, one by one. read: yields all records. take: returns records by their numbers;
    None if the format has no numbers. extend: writes a list to a new file; None if this is the same as `append`.
    """

    append: Callable[[Iterable[Any]], Any]
    read: Callable[[], Iterable[Any]]
    take: Callable[[list[int]], list[Any]] | None = None
    extend: Callable[[list[Any]], Any] | None = None


def in_file(opened: Any, append: Any, read: Any, take: Any = None, extend: Any = None) -> Way:
    """Return a way whose functions get a file that `opened` has opened in mode "wb" or "rb"."""

    def on(mode: str, work: Any, given: Any) -> Any:
        with opened(mode) as file:
            return work(file, given)

    def reading() -> Iterator[Any]:
        with opened("rb") as file:
            yield from read(file)

    appending, taking, extending = (
        work and functools.partial(on, mode, work) for mode, work in (("wb", append), ("rb", take), ("wb", extend))
    )
    return Way(appending, reading, taking, extending)


def ours(path: str) -> Way:
    from cpkg import records

    def append(file: Any, rows: Iterable[Any]) -> None:
        add = file.append
        for row in rows:
            add(row)

    opened = functools.partial(records.open, path)
    return in_file(opened, append, iter, lambda file, numbers: file.take(numbers), lambda file, rows: file.extend(rows))


def array_record(path: str) -> Way:
    """ArrayRecord in groups of a hundred messages, which the fastest other MessagePack library packs."""
    module, codec = map(importlib.import_module, ("array_record.python.array_record_module", "ormsgpack"))

    def append(rows: Iterable[Any]) -> None:
        out = module.ArrayRecordWriter(path, "group_size:100,zstd:3")
        for row in rows:
            out.write(codec.packb(row))
        out.close()

    def read() -> Iterable[Any]:
        return map(codec.unpackb, module.ArrayRecordReader(path, "readahead_buffer_size:16777216").read_all())

    def take(numbers: list[int]) -> list[Any]:
        return list(map(codec.unpackb, module.ArrayRecordReader(path, "readahead_buffer_size:0").read(numbers)))

    return Way(append, read, take)


def compressed(path: str, pack: Callable[[Any], bytes], unpack: Callable[[Any], Iterable[Any]]) -> Way:
    """Packed records, one after another, in a Zstandard file that another library writes at its default level."""
    try:
        module = importlib.import_module(PEP784)
    except ImportError:
        module = importlib.import_module("zstandard")

    def append(file: Any, rows: Iterable[Any]) -> None:
        with io.BufferedWriter(file, 1 << 17) as out:
            out.writelines(map(pack, rows))

    return in_file(functools.partial(module.open, path), append, unpack)


def msgpack(path: str) -> Way:
    module = importlib.import_module("msgpack")
    return compressed(path, module.Packer().pack, lambda file: module.Unpacker(file, read_size=1 << 17))


def json_lines(path: str, library: str) -> Way:
    module = importlib.import_module(library)

    def pack(row: Any) -> bytes:
        line = module.dumps(row)
        return (line if isinstance(line, bytes) else line.encode()) + b"\n"

    return compressed(path, pack, lambda file: map(module.loads, io.BufferedReader(file, 1 << 17)))


def pickles(path: str) -> Way:
    def append(rows: Iterable[Any]) -> None:
        with open(path, "wb") as file:
            for row in rows:
                pickle.dump(row, file, 5)

    def read() -> Iterator[Any]:
        with open(path, "rb") as file:
            while file.peek(1):
                yield pickle.load(file)

    return Way(append, read)


def sqlite(path: str) -> Way:
    """A table of pickles, written in one transaction."""
    import sqlite3

    def append(rows: Iterable[Any]) -> None:
        open(path, "wb").close()  # an empty database
        with sqlite3.connect(path) as base:
            base.execute("create table records (number integer primary key, content blob)")
            pickled = ((number, pickle.dumps(row, 5)) for number, row in enumerate(rows))
            base.executemany("insert into records values (?, ?)", pickled)

    def read() -> Iterator[Any]:
        found = sqlite3.connect(path).execute("select content from records order by number")
        return (pickle.loads(content) for (content,) in found)

    def take(numbers: list[int]) -> list[Any]:
        run, query = sqlite3.connect(path).execute, "select content from records where number = ?"
        return [pickle.loads(run(query, (number,)).fetchone()[0]) for number in numbers]

    return Way(append, read, take)


def shelf(path: str) -> Way:
    import shelve

    return in_file(
        lambda mode: shelve.open(path, "n" if mode == "wb" else "r", protocol=5),
        lambda file, rows: file.update((str(number), row) for number, row in enumerate(rows)),
        lambda file: (file[str(number)] for number in range(len(file))),
        lambda file, numbers: [file[str(number)] for number in numbers],
    )


WAYS: dict[str, Callable[[str], Way]] = {
    OURS: ours,
    "ArrayRecord, ormsgpack": array_record,
    "msgpack in Zstandard": msgpack,
    "orjson in Zstandard": functools.partial(json_lines, library="orjson"),
    "json in Zstandard": functools.partial(json_lines, library="json"),
    "pickle": pickles,
    "pickle in sqlite3": sqlite,
    "shelve": shelf,
}


def works(case: Case, operation: str) -> Works:
    """Return the call of each way; each way has its own file, in a folder in memory if the machine has one."""
    place, draw, records = fresh.folder(), random.Random(1), made(case.count)
    numbers = [draw.randrange(case.count) for _ in range(AT_ONCE)]
    found = Works(values=AT_ONCE if operation == BY_NUMBER else case.count, clock="wall")
    ways: dict[str, Way] = {}
    for name, make in WAYS.items():
        if name == "shelve" and case.count > CASES[0].count:
            found.missing[name] = f"takes more than ten times as long: measured with {CASES[0]}"
            continue
        try:
            way = make(f"{place}/{len(ways)}")
            (way.extend or way.append)(records)
        except Exception as error:
            found.misses(name, error)
        else:
            ways[name] = way

    def check(library: str, result: Any) -> None:
        if operation == BY_NUMBER:
            assert result == [records[number] for number in numbers], library
        elif operation == READ:
            assert result == sum(record["bytes"] for record in records), library
        else:
            assert list(ways[library].read()) == records, library

    def call(way: Way) -> Call | None:
        if operation == READ:
            return lambda: sum(map(operator.itemgetter("bytes"), way.read()))
        work = {WRITE: way.extend or way.append, APPEND: way.append, BY_NUMBER: way.take}[operation]
        return work and functools.partial(work, numbers if operation == BY_NUMBER else records)

    calls = {name: call(way) for name, way in ways.items()}
    found.missing.update((name, "has no access by number") for name, each in calls.items() if each is None)
    found.calls = {name: each for name, each in calls.items() if each is not None}
    found.check, found.info = check, {"bytes of the files": _sizes(place, ways)}
    return found


def _sizes(place: str, ways: Iterable[str]) -> dict[str, int]:
    """Return the bytes of each way's files; some modules of dbm add an ending to the name, or write several files."""
    files = [(each.name.split(".")[0], each.stat().st_size) for each in os.scandir(place)]
    return {way: sum(size for name, size in files if name == str(number)) for number, way in enumerate(ways)}


GROUPS = [Group("Records", CASES, (WRITE, APPEND, READ, BY_NUMBER), works)]
