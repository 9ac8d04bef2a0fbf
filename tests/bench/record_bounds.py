# SPDX-License-Identifier: Apache-2.0
"""
The least that record files can take where records are dicts: `python tests/bench/records.py --bound`.

In one process, one after the other in each round: whole ways to write and read, and the parts that nobody can do
without. Reading has to decompress, and to make a dict of twelve values; writing has to look at each key and value, and
to compress. If such parts alone take longer than a third of a peer's time, nobody is three times as fast with them on
one core; where the codec works on another core, the dicts alone say so.
"""

from __future__ import annotations

import functools
import itertools
import sys
import tempfile
import time
import types
from pathlib import Path
from typing import Any, Callable

from record_ways import POOL, WAYS, folder, made_pool, scan

from cpkg import records

PEERS = (
    "JSON Lines, gzip",
    "JSON Lines, zstd",
    "JSON Lines, orjson, zstd",
    "msgpack, zstandard",
    "Avro (fastavro, zstd)",
)
_DECOMPRESSING = "decompressing alone, by C"
_DICTS = "dicts of new numbers, texts, lists"
_FINDING = "finding values and giving them, by C"
_UNPACKING = "unpacking alone, record by record"
_COMPRESSING = "compressing alone, by C"
_LOOKING = "a look at each value"
_PACKING = "packing alone"
PARTS = {
    "reading": {
        "nobody does without": (_DECOMPRESSING, _DICTS),
        "where C finds the values": (_DECOMPRESSING, _DICTS, _FINDING),
        "cpkg has": (_DECOMPRESSING, _UNPACKING),
    },
    "writing": {"nobody does without": (_COMPRESSING, _LOOKING), "cpkg has": (_COMPRESSING, _PACKING)},
}
_LEVEL = 3
_PIECE = 256
_BATCH = 64
"""So many dicts live at a time, as few as die young: more take longer."""


def main(rounds: int) -> None:
    pool = made_pool()
    with tempfile.TemporaryDirectory(dir=folder()) as place:
        ways = {}
        for name in ("cpkg", "cpkg, one thread", *PEERS):
            try:
                ways[name] = (WAYS[name](), f"{place}/{len(ways)}")
                ways[name][0].write([pool], ways[name][1])
            except ImportError as exc:
                print(f"  {name}: {exc}", file=sys.stderr)
                ways.pop(name, None)
        layout, frames, contents = frames_of(ways["cpkg"][1])
        reading: dict[str, Callable[[], Any]] = {
            _DECOMPRESSING: decompressing(frames, contents),
            "dicts of values that are there": dicts_of(pool),
            _DICTS: dicts_of_new(pool),
            _UNPACKING: unpacking(layout, contents),
        }
        if sys.implementation.name == "pypy":
            reading[_FINDING] = finding(contents)
        writing: dict[str, Callable[[], Any]] = {
            _COMPRESSING: compressing(contents),
            _LOOKING: look_at(pool),
            _PACKING: packing(pool),
        }
        for name, (way, path) in ways.items():
            reading[name] = functools.partial(of_its_own(scan), way, path)
            writing[name] = functools.partial(way.write, [pool], path)
        version = ".".join(map(str, sys.version_info[:3]))
        print(f"{sys.implementation.name} {version}, microseconds per record, lowest and median\n")
        show("reading", reading, rounds)
        show("writing", writing, rounds)


def show(title: str, works: dict[str, Callable[[], Any]], rounds: int) -> None:
    """Measure and print; what is compared is processor time, which other processes disturb less."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for turn in range(2 + rounds):
        for name, work in works.items():
            begun, used = time.perf_counter(), time.process_time()
            work()
            if turn >= 2:
                taken[name].append((time.perf_counter() - begun, time.process_time() - used))
    print(f"{title:38}{'processor':>18}{'wall clock':>18}")
    least = {}
    for name, times in taken.items():
        columns = [sorted(second / POOL * 1e6 for second in column) for column in zip(*times)]
        least[name] = columns[1][0]
        shown = "".join(f"{column[0]:10.2f} {column[len(column) // 2]:7.2f}" for column in reversed(columns))
        print(f"  {name:36}{shown}")
    peer = min((name for name in least if name in PEERS), key=least.__getitem__, default=None)
    if peer is None:
        return
    print(f"  {peer} / 3: {least[peer] / 3:.2f}")
    for what, parts in PARTS[title].items():
        if all(part in least for part in parts):
            together = sum(least[part] for part in parts)
            print(f"  {what} {together:.2f}: on one core at most {least[peer] / together:.2f} times as fast")
    codec, objects = (least[part] for part in PARTS[title]["cpkg has"])
    print(f"  with the codec on cores of its own at most {1 + codec / objects:.2f} times as fast as on one")
    print(f"  cpkg on one core {least[peer] / least['cpkg, one thread']:.2f} times as fast\n")


def of_its_own(function: Any) -> Any:
    """Return a function with a code object of its own: what PyPy compiles for one way is not then what another runs."""
    code = function.__code__
    return types.FunctionType(code.replace(co_name=code.co_name), function.__globals__)


def frames_of(path: str) -> tuple[list[Any], list[bytes], list[bytes]]:
    """Return where a record file's frames are, the frames, and what each holds."""
    from cpkg import zstd

    with records.open(path) as file, open(path, "rb") as data:
        layout = [file.layout.frame(number) for number in range(len(file.layout))]
        frames = []
        for frame in layout:
            data.seek(frame.offset)
            frames.append(data.read(frame.compressed))
    return layout, frames, [zstd.decompress(frame) for frame in frames]


def unpacking(layout: list[Any], contents: list[bytes]) -> Callable[[], int]:
    """Unpack what is decompressed already, as a Reader does."""
    from cpkg.records.decoding import Decoder

    decoder = Decoder({})

    def work() -> int:
        total = 0
        for frame, content in zip(layout, contents):
            for record in decoder.each(frame, content):
                total += record["bytes"]
        return total

    return work


def decompressing(frames: list[bytes], contents: list[bytes]) -> Callable[[], None]:
    """Decompress by libzstd into the same memory again and again: no object is made."""
    from cpkg._native._zstd_ffi import ffi, lib

    room = max(map(len, contents))
    memory = ffi.new("char[]", room)
    context = ffi.gc(lib.ZSTD_createDCtx(), lib.ZSTD_freeDCtx)

    def work() -> None:
        for frame, content in zip(frames, contents):
            assert lib.ZSTD_decompressDCtx(context, memory, room, ffi.from_buffer(frame), len(frame)) == len(content)

    return work


def finding(contents: list[bytes]) -> Callable[[], None]:
    """Have C find the values of records with the same keys and lay them out by columns, as cpkg does on PyPy."""
    sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))
    from pypy_parts import pypy_part

    pypy_rows = pypy_part("rows")
    rows = pypy_rows.Rows()
    memory = rows._handle

    def work() -> None:
        for content in contents:
            pypy_rows.lib.cpkg_rows_after(memory, content, len(content), len(content))

    return work


def compressing(contents: list[bytes]) -> Callable[[], None]:
    """Compress by libzstd into the same memory again and again."""
    from cpkg._native._zstd_ffi import ffi, lib

    room = lib.ZSTD_compressBound(max(map(len, contents)))
    memory = ffi.new("char[]", room)
    context = ffi.gc(lib.ZSTD_createCCtx(), lib.ZSTD_freeCCtx)
    lib.ZSTD_CCtx_setParameter(context, 100, _LEVEL)
    lib.ZSTD_CCtx_setParameter(context, 201, 1)  # a checksum, without which damage is not noticed

    def work() -> None:
        for content in contents:
            assert lib.ZSTD_compress2(context, memory, room, ffi.from_buffer(content), len(content)) < room

    return work


def dicts_of(pool: list[Any]) -> Callable[[], int]:
    """Make dicts of values that are objects already."""
    columns = [[record[key] for record in pool] + [None] for key in pool[0]]  # None: no list of bare numbers
    make = maker(pool[0], {})

    def work() -> int:
        return total_of(make, columns, len(pool))

    return work


def dicts_of_new(pool: list[Any]) -> Callable[[], int]:
    """Make dicts whose numbers, lists and texts that hardly repeat are new; where each begins is known already."""
    columns = [[record[key] for record in pool] for key in pool[0]]
    slices = {}
    for number, key in enumerate(pool[0]):
        if key in ("path", "user", "tags"):
            values = columns[number]
            ends = list(itertools.accumulate(map(len, values)))
            whole = [item for value in values for item in value] if key == "tags" else "".join(values)
            slices[key] = (whole, [0, *ends[:-1]], ends)
    make = maker(pool[0], slices)

    def work() -> int:
        return total_of(make, columns, len(pool))

    return work


def maker(keys: Any, slices: dict[str, Any]) -> Callable[..., list[Any]]:
    """Return a function that makes some of the dicts, with the keys as constants."""
    names: dict[str, Any] = {}
    lines = ["def make(columns, start, stop):", " rows = []"]
    pairs = []
    for number, key in enumerate(keys):
        if key in slices:
            names[f"w{number}"], names[f"b{number}"], names[f"e{number}"] = slices[key]
            pairs.append(f"{key!r}: w{number}[b{number}[i]:e{number}[i]]")
        else:
            lines.append(f" c{number} = columns[{number}]")
            pairs.append(f"{key!r}: c{number}[i]")
    lines += [" for i in range(start, stop):", f"  rows.append({{{', '.join(pairs)}}})", " return rows"]
    exec("\n".join(lines), names)
    make: Callable[..., list[Any]] = names["make"]
    return make


def total_of(make: Callable[..., list[Any]], columns: list[Any], count: int) -> int:
    """Go over the dicts as `scan` does."""
    total = 0
    for start in range(0, count, _BATCH):
        for record in make(columns, start, min(start + _BATCH, count)):
            total += record["bytes"]
    return total


def look_at(pool: list[Any]) -> Callable[[], int]:
    """Look at each key and value of the records and at its type, as far as a packer has to, and write nothing."""

    def work() -> int:
        size = 0
        for record in pool:
            for key, value in record.items():
                size += len(key)
                if type(value) is str:
                    size += len(value)
                elif type(value) is int or type(value) is float:
                    size += 9
                elif type(value) is list:
                    for item in value:
                        size += len(item)
                else:
                    size += 1
        return size

    return work


def packing(pool: list[Any]) -> Callable[[], None]:
    """Pack the records, many by a call, and drop what comes."""
    from cpkg import msgpack

    def work() -> None:
        for start in range(0, len(pool), _PIECE):
            msgpack.packb(pool[start : start + _PIECE])

    return work
