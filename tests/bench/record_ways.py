# SPDX-License-Identifier: Apache-2.0
"""The ways to keep records that records.py compares, and the records."""

from __future__ import annotations

import functools
import gzip
import io
import json
import os
import random
from typing import Any, Callable

POOL = 20_000
"""So many different records; they are written again and again, which no way's window is large enough to see."""

SCHEMA = {
    "type": "record",
    "name": "Request",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "time", "type": "double"},
        {"name": "method", "type": "string"},
        {"name": "path", "type": "string"},
        {"name": "status", "type": "int"},
        {"name": "bytes", "type": "long"},
        {"name": "seconds", "type": "double"},
        {"name": "user", "type": "string"},
        {"name": "agent", "type": "string"},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "secure", "type": "boolean"},
        {"name": "referrer", "type": ["null", "string"]},
    ],
}
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
    """Make the different records, once in each process."""
    chance = random.Random(20240229)
    return [request(chance, number) for number in range(POOL)]


class Way:
    """One way to keep records: `write(pools, path)` and `read(path)`, which goes over all records."""

    def __init__(
        self, write: Callable[[Any, str], None], read: Callable[[str], Any], *, columnar: bool = False
    ) -> None:
        self.write = write
        self.read = read
        self.columnar = columnar


def ours(threads: int | None) -> Way:
    from cpkg import records

    def write(pools: Any, path: str) -> None:
        with records.open(path, "wb", threads=threads) as file:
            for pool in pools:
                file.extend(pool)

    def read(path: str) -> Any:
        with records.open(path, threads=threads) as file:
            yield file

    return Way(write, read)


def ours_one_by_one() -> Way:
    from cpkg import records

    def write(pools: Any, path: str) -> None:
        with records.open(path, "wb") as file:
            append = file.append
            for pool in pools:
                for record in pool:
                    append(record)

    return Way(write, ours(None).read)


def json_lines(open_file: Callable[[str, str], Any], module: Any = json) -> Way:
    def write(pools: Any, path: str) -> None:
        with open_file(path, "wb") as file, io.BufferedWriter(file, 1 << 17) as out:
            for pool in pools:
                for record in pool:
                    line = module.dumps(record)
                    out.write((line if isinstance(line, bytes) else line.encode()) + b"\n")

    def read(path: str) -> Any:
        with open_file(path, "rb") as file:
            for line in io.BufferedReader(file, 1 << 17):
                yield (module.loads(line),)

    return Way(write, read)


def gzip_file(path: str, mode: str) -> Any:
    return gzip.open(path, mode, compresslevel=6)


def zstandard_file(path: str, mode: str) -> Any:
    import zstandard

    if mode == "wb":
        return zstandard.ZstdCompressor(level=3).stream_writer(open(path, "wb"))
    return zstandard.ZstdDecompressor().stream_reader(open(path, "rb"))


def msgpack_zstandard() -> Way:
    import msgpack

    def write(pools: Any, path: str) -> None:
        packer = msgpack.Packer()
        with zstandard_file(path, "wb") as file, io.BufferedWriter(file, 1 << 17) as out:
            for pool in pools:
                for record in pool:
                    out.write(packer.pack(record))

    def read(path: str) -> Any:
        with zstandard_file(path, "rb") as file:
            for record in msgpack.Unpacker(file, read_size=1 << 17):
                yield (record,)

    return Way(write, read)


def avro() -> Way:
    import fastavro

    schema = fastavro.parse_schema(SCHEMA)

    def write(pools: Any, path: str) -> None:
        with open(path, "wb") as file:
            rows = (record for pool in pools for record in pool)
            fastavro.writer(file, schema, rows, codec="zstandard", sync_interval=256 << 10)

    def read(path: str) -> Any:
        with open(path, "rb") as file:
            for record in fastavro.reader(file):
                yield (record,)

    return Way(write, read)


def parquet() -> Way:
    import pyarrow
    import pyarrow.parquet

    def write(pools: Any, path: str) -> None:
        writer = None
        for pool in pools:
            table = pyarrow.Table.from_pylist(pool, schema=writer.schema if writer else None)
            if writer is None:
                writer = pyarrow.parquet.ParquetWriter(path, table.schema, compression="zstd")
            writer.write_table(table)
        writer.close()

    def read(path: str) -> Any:
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(10_000):
            yield batch.to_pylist()

    return Way(write, read, columnar=True)


def orjson_lines() -> Way:
    import orjson

    return json_lines(zstandard_file, orjson)


WAYS: dict[str, Callable[[], Way]] = {
    "cpkg": lambda: ours(None),
    "cpkg, one thread": lambda: ours(1),
    "cpkg, append": ours_one_by_one,
    "JSON Lines, gzip": lambda: json_lines(gzip_file),
    "JSON Lines, zstd": lambda: json_lines(zstandard_file),
    "JSON Lines, orjson, zstd": orjson_lines,
    "msgpack, zstandard": msgpack_zstandard,
    "Avro (fastavro, zstd)": avro,
    "Parquet (pyarrow, zstd)": parquet,
}


def scan(way: Way, path: str) -> tuple[int, int]:
    """Go over all records; return how many there are and the sum of a field of theirs."""
    found = total = 0
    for batch in way.read(path):
        for record in batch:
            found += 1
            total += record["bytes"]
    return found, total


def folder() -> str | None:
    return "/dev/shm" if os.path.isdir("/dev/shm") else None
