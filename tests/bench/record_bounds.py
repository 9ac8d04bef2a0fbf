# SPDX-License-Identifier: Apache-2.0
"""
The least time of record files if records are dicts: `python tests/bench/records.py --bound`.

In one process, one after the other in each round: whole ways to write and read, and their indispensable parts.
Reading must decompress, and create a dict of twelve values; writing must examine each key and value, and
compress. If such parts alone take longer than a third of a peer's time, nothing can be three times as fast with them on
one core; if the codec works on another core, the dicts alone are the bound.
"""

from __future__ import annotations

import functools
import itertools
import sys
import types
from pathlib import Path
from typing import Any, Callable

import turns
from record_ways import POOL, WAYS, made_pool, scan

from cpkg import msgpack, records, zstd

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
        "indispensable": (_DECOMPRESSING, _DICTS),
        "where C finds the values": (_DECOMPRESSING, _DICTS, _FINDING),
        "cpkg has": (_DECOMPRESSING, _UNPACKING),
    },
    "writing": {"indispensable": (_COMPRESSING, _LOOKING), "cpkg has": (_COMPRESSING, _PACKING)},
}
_LEVEL = 3
_PIECE = 256
_BATCH = 64
"""Number of dicts alive at a time, few enough to die young: with more, the work takes longer."""


def main(rounds: int) -> None:
    pool = made_pool()
    with turns.in_memory() as place:
        ways = {}
        for name in ("cpkg", "cpkg, one thread", *PEERS):
            path = f"{place}/{len(ways)}"
            try:
                ways[name] = way, path = WAYS[name](), path
                way.write([pool], path)
            except ImportError as exc:
                print(f"  {name}: {exc}", file=sys.stderr)
        layout, frames, contents = frames_of(ways["cpkg"][1])
        decompressing, compressing = libzstd(frames, contents)
        reading: dict[str, Callable[[], Any]] = {
            _DECOMPRESSING: decompressing,
            "dicts of values that are there": dicts_of(pool),
            _DICTS: dicts_of(pool, ("path", "user", "tags")),
            _UNPACKING: unpacking(layout, contents),
        }
        if turns.PYPY:
            reading[_FINDING] = finding(contents)
        writing: dict[str, Callable[[], Any]] = {
            _COMPRESSING: compressing,
            _LOOKING: functools.partial(look_at, pool),
            _PACKING: functools.partial(packing, pool),
        }
        for name, (way, path) in ways.items():
            reading[name] = functools.partial(of_its_own(scan), way, path)
            writing[name] = functools.partial(way.write, [pool], path)
        print(f"{turns.heading('msgpack')}, microseconds per record, lowest and median\n")
        show("reading", reading, rounds)
        show("writing", writing, rounds)


def show(title: str, works: dict[str, Callable[[], Any]], rounds: int) -> None:
    """Measure and print; the figures are processor time, which other processes disturb less."""
    found = turns.in_turns({name: turns.timed(work) for name, work in works.items()}, rounds, skipped=2)
    turns.row(title, "processor", "", "by the clock", "", width=40)
    best = {}
    for name, taken in found.items():
        clock, processor = (sorted(second / POOL * 1e6 for second in column) for column in zip(*taken))
        best[name] = processor[0]
        middle = len(clock) // 2
        turns.row(f"  {name}", processor[0], processor[middle], clock[0], clock[middle], width=40)
    peer = min((name for name in best if name in PEERS), key=best.__getitem__, default=None)
    if peer is None:
        return
    print(f"  {peer} / 3: {best[peer] / 3:.2f}")
    for what, parts in PARTS[title].items():
        if all(part in best for part in parts):
            together = sum(best[part] for part in parts)
            print(f"  {what} {together:.2f}: on one core at most {best[peer] / together:.2f} times as fast")
    codec, objects = (best[part] for part in PARTS[title]["cpkg has"])
    print(f"  with the codec on cores of its own at most {1 + codec / objects:.2f} times as fast as on one")
    print(f"  cpkg on one core {best[peer] / best['cpkg, one thread']:.2f} times as fast\n")


def of_its_own(function: Any) -> Any:
    """Return a function with a new code object: PyPy then compiles each way separately."""
    code = function.__code__
    return types.FunctionType(code.replace(co_name=code.co_name), function.__globals__)


def frames_of(path: str) -> tuple[list[Any], list[bytes], list[bytes]]:
    """Return the offsets of a record file's frames, the frames, and the content of each."""
    with records.open(path) as file, open(path, "rb") as data:
        layout = [file.layout.frame(number) for number in range(len(file.layout))]
        frames = []
        for frame in layout:
            data.seek(frame.offset)
            frames.append(data.read(frame.compressed))
    return layout, frames, [zstd.decompress(frame) for frame in frames]


def unpacking(layout: list[Any], contents: list[bytes]) -> Callable[[], int]:
    """Unpack data that is already decompressed, as a Reader does."""
    from cpkg.records.decoding import Decoder

    decoder = Decoder({})

    def work() -> int:
        total = 0
        for frame, content in zip(layout, contents):
            for record in decoder.each(frame, content):
                total += record["bytes"]
        return total

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


def libzstd(frames: list[bytes], contents: list[bytes]) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return functions that compress and decompress with libzstd, always into the same memory."""
    from cpkg._native._zstd_ffi import ffi, lib

    room = lib.ZSTD_compressBound(max(map(len, contents)))
    memory = ffi.new("char[]", room)
    dctx = ffi.gc(lib.ZSTD_createDCtx(), lib.ZSTD_freeDCtx)
    cctx = ffi.gc(lib.ZSTD_createCCtx(), lib.ZSTD_freeCCtx)
    lib.ZSTD_CCtx_setParameter(cctx, 100, _LEVEL)
    lib.ZSTD_CCtx_setParameter(cctx, 201, 1)  # a checksum, which is needed to detect damage

    def decompress() -> None:
        for frame, content in zip(frames, contents):
            assert lib.ZSTD_decompressDCtx(dctx, memory, room, ffi.from_buffer(frame), len(frame)) == len(content)

    def compress() -> None:
        for content in contents:
            assert lib.ZSTD_compress2(cctx, memory, room, ffi.from_buffer(content), len(content)) < room

    return decompress, compress


def dicts_of(pool: list[Any], new: tuple[str, ...] = ()) -> Callable[[], int]:
    """Create dicts of existing values; with `new`, create the numbers, and the lists and texts of these keys.

    The offset of each new text and list is known in advance.
    """
    columns = [[record[key] for record in pool] + [None] * (not new) for key in pool[0]]  # None: no bare numbers
    slices = {}
    for key, values in zip(pool[0], columns):
        if key in new:
            ends = list(itertools.accumulate(map(len, values)))
            whole = list(itertools.chain.from_iterable(values)) if key == "tags" else "".join(values)
            slices[key] = (whole, [0, *ends[:-1]], ends)
    make = maker(pool[0], slices)

    def work() -> int:
        """Iterate over the dicts as `scan` does."""
        total = 0
        for start in range(0, len(pool), _BATCH):
            for record in make(columns, start, min(start + _BATCH, len(pool))):
                total += record["bytes"]
        return total

    return work


def maker(keys: Any, slices: dict[str, Any]) -> Callable[..., list[Any]]:
    """Return a function that creates some of the dicts, with the keys as constants."""
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


def look_at(pool: list[Any]) -> int:
    """Examine each key and value of the records and its type, as far as a packer must, and write nothing."""
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


def packing(pool: list[Any]) -> None:
    """Pack the records, many per call, and drop the results."""
    for start in range(0, len(pool), _PIECE):
        msgpack.packb(pool[start : start + _PIECE])
