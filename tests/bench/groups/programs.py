# SPDX-License-Identifier: Apache-2.0
"""Whole programs, from the start of the interpreter to its end, each in a fresh process.

They take about 0.1, 1 and 10 s. On PyPy this includes all that its compiler costs.
"""

from __future__ import annotations

import functools
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass

from bench import fresh, turns
from bench.cells import OURS, Answer, Case, Group
from bench.peers import PEP784

FEW = 3
"""The number of samples of a library that takes more than `turns.NEAR` times as long as cpkg."""

_MESSAGES = """
for number in range(count):
    assert unpack(pack(message(number)))["id"] == number
"""
_SMALL = """
def message(number):
    return {"id": number, "name": "user %d" % number, "active": number % 3 > 0, "score": number / 7}
"""
_LARGE = """
rows = [
    {"id": n, "name": "user %d" % n, "email": "u%d@example.com" % n, "tags": ["t%d" % (n % 5), "all"], "score": n / 7}
    for n in range(280)
]
def message(number):
    return {"id": number, "rows": rows[number % 20:]}
"""
_CLASSES = """
import dataclasses
@dataclasses.dataclass
class Point:
    lat: float
    lon: float
@dataclasses.dataclass
class User:
    id: int
    name: str
    active: bool
    score: float
    tags: list[str]
    home: Point
"""
_TYPED = """
for n in range(count):
    user = User(n, "user %d" % n, n % 3 > 0, n / 7, ["t%d" % (n % 5), "all"], Point(59.9, 10.7))
    assert unpack(pack(user)) == user
"""
_OUR_RECORDS = """
from cpkg import records
def write(rows):
    with records.open(path, "wb") as file:
        for row in rows:
            file.append(row)
def read():
    with records.open(path) as file:
        yield from file
"""
_COMBINED = """
import io
def write(rows):
    with opened(path, "wb") as file, io.BufferedWriter(file) as out:
        for row in rows:
            out.write(pack(row))
def read():
    with opened(path, "rb") as file:
        yield from unpack(io.BufferedReader(file))
"""
_LINES = """
def pack(row):
    return dumps(row).encode() + b"\\n"
def unpack(file):
    return map(loads, file)
"""
_PICKLES = """
import io, pickle
opened = io.FileIO
def pack(row):
    return pickle.dumps(row, 5)
def unpack(file):
    while file.peek(1):
        yield pickle.load(file)
"""
_RECORDS = """
def row(n):
    return {"id": n, "path": "/api/v1/items/%d" % (n * 7919 % 100_000), "status": 200 if n % 11 else 404,
            "seconds": n / 7, "agent": "Mozilla/5.0 (X11; Linux x86_64) %d" % (n % 50), "user": None if n % 3 else "u"}
write(map(row, range(count)))
assert sum(each["id"] for each in read()) == count * (count - 1) // 2
"""
_ZSTD = """
words = [b"word%d " % (n * 7919 % 3001) for n in range(10_000)]
for number in range(count):
    text = b"".join(words[number % 5000:][:100 << number % 6])
    assert decompress(compress(text)) == text
"""
_CODECS = {
    OURS: "from cpkg.msgpack import packb as pack, unpackb as unpack",
    "msgpack": "from msgpack import packb as pack, unpackb as unpack",
    "ormsgpack": "from ormsgpack import packb as pack, unpackb as unpack",
    "msgspec": "from msgspec.msgpack import encode as pack, decode as unpack",
    "json": "from json import dumps as pack, loads as unpack",
    "pickle": "from pickle import dumps as pack, loads as unpack",
}
_TYPED_CODECS = {
    OURS: "from cpkg import typed\npack, unpack = typed.Encoder().encode, typed.Decoder(User).decode",
    "msgspec": "from msgspec.msgpack import Decoder, encode as pack\nunpack = Decoder(User).decode",
    "mashumaro, msgpack": "from mashumaro.codecs.msgpack import MessagePackDecoder, MessagePackEncoder\n"
    "pack, unpack = MessagePackEncoder(User).encode, MessagePackDecoder(User).decode",
    "cattrs, msgpack": "from cattrs.preconf.msgpack import make_converter\nmade = make_converter()\n"
    "pack, unpack = made.dumps, lambda data: made.loads(data, User)",
    "pickle": _CODECS["pickle"],
}
_RECORD_FILES = {
    OURS: _OUR_RECORDS,
    "msgpack in Zstandard": f"from {PEP784} import open as opened\n"
    "from msgpack import packb as pack, Unpacker as unpack\n" + _COMBINED,
    "json in gzip": "from gzip import open as opened\nfrom json import dumps, loads\n" + _LINES + _COMBINED,
    "pickles in a file": _PICKLES + _COMBINED,
}
_ZSTANDARDS = {
    name: f"from {module} import compress, decompress"
    for name, module in ((OURS, "cpkg.zstd"), (PEP784, PEP784), ("pyzstd", "pyzstd"), ("zstandard", "zstandard"))
}


@dataclass(frozen=True)
class ProgramCase(Case):
    """programs: the text of each library's program. count: how often it does its work."""

    programs: tuple[tuple[str, str], ...] = ()
    count: int = 0


def _cases(
    what: str, programs: Mapping[str, str], before: str, after: str, counts: tuple[int, ...]
) -> list[ProgramCase]:
    texts = tuple((name, before + text + "\n" + after) for name, text in programs.items())
    least, middle, _ = counts
    return [
        ProgramCase(f"{count:,} {what}", count == middle, count == least, count > middle, (), texts, count)
        for count in counts
    ]


CASES = [
    *_cases("small messages", _CODECS, _SMALL, _MESSAGES, (10_000, 200_000, 2_000_000)),
    *_cases("messages of 20 kB", _CODECS, _LARGE, _MESSAGES, (200, 3_000, 30_000)),
    *_cases("typed messages", _TYPED_CODECS, _CLASSES, _TYPED, (5_000, 100_000, 1_000_000)),
    *_cases("records written and read", _RECORD_FILES, "", _RECORDS, (10_000, 200_000, 2_000_000)),
    *_cases("texts compressed and read", _ZSTANDARDS, "", _ZSTD, (200, 10_000, 100_000)),
]


FORMATS = {OURS: "MessagePack or Zstandard", "json": "JSON", "pickle": "pickle"}
"""The formats of messages: the ways to keep records are alternatives in any format."""


@functools.lru_cache(maxsize=16)
def sample(case: ProgramCase, number: int) -> Mapping[str, Mapping[str, Answer]]:
    """Run the program of each library, in random order, and return its seconds."""
    programs = dict(case.programs)
    if number >= FEW:
        before = sample(case, 0)["run"]
        ours = float(before[OURS])
        near = [name for name, took in before.items() if not isinstance(took, str) and took < turns.NEAR * ours]
        programs = {name: programs[name] for name in near}
    return {"run": {name: _run(programs[name], case.count) for name in fresh.in_turns([*programs], number)}}


def _run(text: str, count: int) -> Answer:
    with tempfile.TemporaryDirectory(prefix="cpkg-bench-", dir=fresh.memory()) as folder:
        given = f"path, count = {folder + '/file'!r}, {count}\n"
        start = time.perf_counter()
        try:
            fresh.output([sys.executable, "-c", given + text], None)
        except fresh.ChildFailed as failure:
            return str(failure)
        return time.perf_counter() - start


GROUP = Group("Whole programs", CASES, ("run",), sample=sample, formats=FORMATS)
