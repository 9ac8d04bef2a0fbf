# SPDX-License-Identifier: Apache-2.0
"""The ways to keep records that records.py compares, and the records."""

from __future__ import annotations

import functools
import gzip
import importlib
import io
import itertools
import random
from typing import Any, Callable, NamedTuple

POOL = 20_000
"""Number of different records; they are repeated, at a distance larger than the window of any way."""

AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15",
    "curl/8.5.0",
    "python-requests/2.32.3",
)


def request(chance: random.Random, number: int) -> dict[str, Any]:
    """A line of a web server's log: about 230 bytes as MessagePack, 310 as JSON."""
    words = ("users", "orders", "items", "search", "static", "login", "cart", "help")
    return {
        "id": number,
        "time": 1_700_000_000 + number * 0.037,
        "method": chance.choice(("GET", "GET", "GET", "POST", "PUT")),
        "path": f"/api/v1/{chance.choice(words)}/{chance.randrange(10_000)}",
        "status": chance.choice((200, 200, 200, 200, 304, 404, 500)),
        "bytes": chance.randrange(200, 200_000),
        "seconds": chance.random(),
        "user": f"user{chance.randrange(50_000)}",
        "agent": chance.choice(AGENTS),
        "tags": [chance.choice(words) for _ in range(chance.randrange(4))],
        "secure": chance.random() < 0.9,
        "referrer": None if chance.random() < 0.5 else f"https://example.com/{chance.choice(words)}",
    }


@functools.cache
def made_pool() -> list[Any]:
    """Create the different records, once in each process."""
    chance = random.Random(20240229)
    return [request(chance, number) for number in range(POOL)]


class Way(NamedTuple):
    """One way to keep records: `write(pools, path)`, and `read(path)`, which yields iterables of all records."""

    write: Callable[[Any, str], None]
    read: Callable[[str], Any]


def every(pools: Any) -> Any:
    """Return the records of all pools, one by one."""
    return itertools.chain.from_iterable(pools)


def ours(threads: int | None = None, one_by_one: bool = False) -> Way:
    from cpkg import records

    def write(pools: Any, path: str) -> None:
        with records.open(path, "wb", threads=threads) as file:
            if one_by_one:
                append = file.append
                for record in every(pools):
                    append(record)
            else:
                for pool in pools:
                    file.extend(pool)

    def read(path: str) -> Any:
        with records.open(path, threads=threads) as file:
            yield file

    return Way(write, read)


def rows(open_file: Callable[[str, str], Any], pack: Callable[[Any], bytes], unpack: Callable[[Any], Any]) -> Way:
    """Return a way that writes packed records one after the other."""

    def write(pools: Any, path: str) -> None:
        with open_file(path, "wb") as file, io.BufferedWriter(file, 1 << 17) as out:
            for record in every(pools):
                out.write(pack(record))

    def read(path: str) -> Any:
        with open_file(path, "rb") as file:
            yield unpack(file)

    return Way(write, read)


def json_lines(open_file: Callable[[str, str], Any], module: str = "json") -> Way:
    found = importlib.import_module(module)
    loads, dumps = found.loads, found.dumps

    def pack(record: Any) -> bytes:
        line = dumps(record)
        return (line if isinstance(line, bytes) else line.encode()) + b"\n"

    return rows(open_file, pack, lambda file: map(loads, io.BufferedReader(file, 1 << 17)))


def gzip_file(path: str, mode: str) -> Any:
    return gzip.open(path, mode, compresslevel=6)


def zstandard_file(path: str, mode: str) -> Any:
    import zstandard

    if mode == "wb":
        return zstandard.ZstdCompressor(level=3).stream_writer(open(path, "wb"))
    return zstandard.ZstdDecompressor().stream_reader(open(path, "rb"))


def msgpack_zstandard() -> Way:
    import msgpack

    return rows(zstandard_file, msgpack.Packer().pack, lambda file: msgpack.Unpacker(file, read_size=1 << 17))


AVRO = {
    bool: "boolean",
    int: "long",
    float: "double",
    str: "string",
    list: {"type": "array", "items": "string"},
    type(None): ["null", "string"],
}


def avro() -> Way:
    import fastavro

    record = {**made_pool()[0], "referrer": None}
    fields = [{"name": name, "type": AVRO[type(value)]} for name, value in record.items()]
    schema = fastavro.parse_schema({"type": "record", "name": "Request", "fields": fields})

    def write(pools: Any, path: str) -> None:
        with open(path, "wb") as file:
            fastavro.writer(file, schema, every(pools), codec="zstandard", sync_interval=256 << 10)

    def read(path: str) -> Any:
        with open(path, "rb") as file:
            yield fastavro.reader(file)

    return Way(write, read)


def parquet() -> Way:
    import pyarrow
    import pyarrow.parquet

    def write(pools: Any, path: str) -> None:
        schema = pyarrow.Table.from_pylist(pools[0]).schema
        with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            for pool in pools:
                writer.write_table(pyarrow.Table.from_pylist(pool, schema=schema))

    def read(path: str) -> Any:
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(10_000):
            yield batch.to_pylist()

    return Way(write, read)


WAYS: dict[str, Callable[[], Way]] = {
    "cpkg": ours,
    "cpkg, one thread": lambda: ours(1),
    "cpkg, append": lambda: ours(one_by_one=True),
    "JSON Lines, gzip": lambda: json_lines(gzip_file),
    "JSON Lines, zstd": lambda: json_lines(zstandard_file),
    "JSON Lines, orjson, zstd": lambda: json_lines(zstandard_file, "orjson"),
    "msgpack, zstandard": msgpack_zstandard,
    "Avro (fastavro, zstd)": avro,
    "Parquet (pyarrow, zstd)": parquet,
}


def scan(way: Way, path: str) -> tuple[int, int]:
    """Iterate over all records; return their number and the sum of one field."""
    found = total = 0
    for batch in way.read(path):
        for record in batch:
            found += 1
            total += record["bytes"]
    return found, total
