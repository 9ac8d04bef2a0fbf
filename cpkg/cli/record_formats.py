# SPDX-License-Identifier: Apache-2.0
"""Readers and writers for the formats of `cpkg records convert`."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import math
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Callable, Final

from cpkg import msgpack, zstd
from cpkg.cli import json_text
from cpkg.cli.fitting import described
from cpkg.cli.inout import text_name
from cpkg.cli.json_input import JSONReader
from cpkg.cli.json_text import JSONError
from cpkg.cli.shell import Failure
from cpkg.objects.types_written import with_ext_hook
from purepy.base.errors import CodecError
from purepy.base.writing import write_all

if TYPE_CHECKING:
    from purepy.base.types import File, Keywords

SUFFIXES: Final = {
    ".rec": "records",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".msgpack": "msgpack",
    ".mpk": "msgpack",
    ".mp": "msgpack",
}
FORMATS: Final = ("records", "jsonl", "csv", "msgpack")
READ_OPTIONS: Final[Keywords] = {"ext_hook": with_ext_hook(json_text.plain_ext), "timestamp": 0}
"""Options for reading records that become text; json would write an ExtType as an array."""
COPY_OPTIONS: Final[Keywords] = {"raw_depth": 0}
"""Options for reading records that stay MessagePack, unchanged."""

_BATCH: Final = 1000
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,29})(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


def format_of(name: str, asked: str) -> str:
    """
    Return the format `asked`; for "auto", the format of the suffix of `name`, after .zst or .gz is removed.

    A file without a suffix holds records; standard input and output are JSON Lines. Raises Failure for other suffixes.
    """
    if asked != "auto":
        return asked
    suffix = os.path.splitext(text_name(name))[1].lower()
    if name == "-" or not suffix:
        return "jsonl" if name == "-" else "records"
    if suffix not in SUFFIXES:
        raise Failure(
            f"{name}: unknown suffix, expected one of {', '.join(SUFFIXES)}: name the format with --from or --to"
        )
    return SUFFIXES[suffix]


@contextlib.contextmanager
def compressed(out: IO[bytes], name: str, kind: str, level: int) -> Iterator[File]:
    """
    Yield a file that compresses into `out` if `name` ends in .zst or .gz, otherwise `out` itself.

    Raises Failure if `kind` is records, which are compressed already, and `name` has such a suffix.
    """
    coding = name[len(text_name(name)) :].lower()
    if coding and kind == "records":
        raise Failure(f"{name}: {kind} are compressed already: leave out {coding}")
    if not coding:
        yield out
        return
    with zstd.open(out, "wb", level=level) if coding == ".zst" else gzip.GzipFile("", "wb", fileobj=out) as file:
        yield file


Take = Callable[[list[Any]], object]
"""The type of a function that is called with the next records, as a list."""


def read_json(
    stream: BinaryIO, name: str, take: Take, advance: Callable[[int], object], *, allow_nan: bool = False
) -> None:
    """
    Read JSON Lines, a stream of values, or one array of records, and pass the records to `take` in lists.

    Any other single value is one record. Raises Failure for text that is not JSON.
    """
    lines = True if name.lower().endswith(json_text.LINES_SUFFIXES) else None
    reader = JSONReader(stream, name, lines=lines, allow_nan=allow_nan, advance=advance)
    try:
        reader.run(lambda values, is_document: take(values[0] if is_document and type(values[0]) is list else values))
    except JSONError as exc:
        raise Failure(str(exc)) from None


def read_csv(stream: BinaryIO, name: str, *, numbers: bool) -> Iterator[list[object]]:
    """
    Yield the lines of a CSV file, in lists of dicts; the first line names the columns, and empty lines are skipped.

    With `numbers`, fields that are JSON numbers, and that MessagePack can hold, become numbers. Raises Failure for
    wrong lines.
    """
    text = io.TextIOWrapper(stream, "utf-8-sig", newline="")
    try:
        rows = csv.reader(text, strict=True)
        columns = next(rows, [])
        twice = [column for column, count in Counter(columns).items() if count > 1]
        if twice:
            raise Failure(f"{name}: line {rows.line_num}: two columns are named {json.dumps(twice[0])}; rename one")

        def record(row: list[str]) -> object:
            if len(row) != len(columns):
                raise Failure(f"{name}: line {rows.line_num}: expected {len(columns)} fields, found {len(row)}")
            return dict(zip(columns, map(_number, row) if numbers else row))

        yield from _in_batches(map(record, filter(None, rows)))
    except csv.Error as exc:
        raise Failure(f"{name}: line {rows.line_num}: {exc}") from None
    except UnicodeDecodeError as exc:
        where = f"in line {rows.line_num + 1} or later"  # text is decoded in pieces of several lines
        byte = exc.object[exc.start]
        raise Failure(
            f"{name}: not UTF-8: {exc.reason} {byte:02x} {where}; convert it, for example with iconv"
        ) from None
    finally:
        text.detach()


def _in_batches(records: Iterator[object]) -> Iterator[list[object]]:
    while batch := list(islice(records, _BATCH)):
        yield batch


def _number(field: str) -> object:
    if not _NUMBER.fullmatch(field):
        return field
    value = json.loads(field)
    if isinstance(value, float):
        return value if math.isfinite(value) else field
    return value if -(2**63) <= value < 2**64 else field


def read_msgpack(stream: BinaryIO, name: str, **options: Any) -> Iterator[list[object]]:
    """Yield the objects of a MessagePack stream in lists; raises Failure for an object that cannot be read."""
    unpacker = msgpack.Unpacker(stream, max_buffer_size=0, strict_map_key=False, tuple_keys=True, **options)
    try:
        yield from _in_batches(unpacker)
    except CodecError as exc:
        raise Failure(described(name, exc)) from None
    except (ValueError, TypeError) as exc:
        raise Failure(f"{name}: {exc} (in the object at byte {unpacker.tell()})") from None
    try:
        unpacker.read_bytes(0)
    except ValueError:  # the last object is not complete
        raise Failure(f"{name}: the file ends inside an object (at byte {unpacker.tell()})") from None


def write_json(out: IO[bytes], *, allow_nan: bool = False) -> Take:
    """Return a function that writes a line of JSON per record, and raises Failure if JSON cannot hold a record."""
    count = 0

    def take(batch: list[object]) -> None:
        nonlocal count
        try:
            text = json_text.lines(batch, allow_nan=allow_nan)
        except (ValueError, RecursionError):
            for record in batch:  # finds the record
                count += 1
                try:
                    json_text.lines([record], allow_nan=allow_nan)
                except (ValueError, RecursionError) as exc:
                    raise Failure(f"the record of line {count} cannot become JSON: {exc}") from None
            raise
        count += len(batch)
        write_all(out, text)

    return take


@contextlib.contextmanager
def write_csv(out: IO[bytes], columns: Collection[str]) -> Iterator[Take]:
    """
    Write a line of column names, and yield a function that writes a line per record.

    Records must be dicts. None and missing keys become empty fields. Values other than text and numbers become JSON,
    without the quotes of a JSON string.
    """
    text = io.TextIOWrapper(out, "utf-8", newline="", write_through=True)
    try:
        writer = csv.writer(text)
        writer.writerow(columns)
        yield lambda batch: writer.writerows([_field(record.get(column)) for column in columns] for record in batch)
        text.flush()
    finally:
        text.detach()


def _field(value: object) -> object:
    if value is None or isinstance(value, (str, float)) or type(value) is int:
        return value
    return json_text.lines([value], allow_nan=True).decode().rstrip("\n").strip('"')


def add_columns(names: dict[str, None], batch: list[object], first: int) -> None:
    """
    Add the keys of the records `batch` to `names`; `first` is the number of the first of these records.

    Raises Failure for a record that is not a map with strings as keys.
    """
    for number, record in enumerate(batch, first):
        if not isinstance(record, dict) or not all(isinstance(key, str) for key in record):
            raise Failure(f"record {number} cannot become a line of CSV: expected a map with strings as keys")
        names.update(dict.fromkeys(record))


def write_msgpack(out: IO[bytes]) -> Take:
    """Return a function that writes a stream of MessagePack objects."""
    packer = msgpack.Packer(autoreset=False)

    def take(batch: list[object]) -> None:
        for record in batch:
            packer.pack(record)
        write_all(out, packer.bytes())
        packer.reset()

    return take
