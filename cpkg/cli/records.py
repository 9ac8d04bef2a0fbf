# SPDX-License-Identifier: Apache-2.0
"""The commands `cpkg records ...`: show, check and repair record files, and convert other formats."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from cpkg import records
from cpkg._urls import is_url
from cpkg.cli import record_formats as formats
from cpkg.cli.fitting import counted, squeezed, text_of
from cpkg.cli.inout import STDOUT, exists, naming, open_output, open_seekable, open_text, shown, size_of, summarise
from cpkg.cli.progress import Bar
from cpkg.cli.shell import AS_JSON, LEVEL, MAX_SIZE, QUIET, Commands, Failure, not_empty, parse_size

if TYPE_CHECKING:
    from purepy.base.types import File, Keywords

_file = click.argument("file", metavar="FILE", callback=not_empty)
_skip = click.option("--skip-damage", is_flag=True, help="Skip records that cannot be read, and report them.")
_output_file = click.option("-o", "--output", metavar="OUT", required=True, callback=not_empty, help="Where to write.")
_threads = click.option(
    "--threads",
    type=click.IntRange(0, 256),
    help="Number of threads; 0: one per core.  [default: as many as are useful]",
)


@click.group(cls=Commands)
def group() -> None:
    """
    Work with record files: MessagePack records in Zstandard frames, to append to, seek in, split and recover.

    FILE is a path, a URL that fsspec can open (s3://, https://, ...), or - for standard input.
    """


@contextlib.contextmanager
def _opened(
    file: str, *, skip: bool = False, quiet: bool = False, threads: int | None = None, **options: Any
) -> Iterator[records.Reader]:
    """
    Open a record file for reading; standard input and anything that cannot seek are copied to a temporary file.

    With `skip`, skips damage. Unless `quiet`, prints skipped damage and an unfinished end on standard error after the
    block.
    """
    options |= {"errors": "skip" if skip else "raise", "threads": threads}
    with _place(file) as place, records.open(place, **options) as reader:
        try:
            yield reader
        except records.DamagedError as exc:
            exc.advice = "with --skip-damage, cat and convert read the rest"
            raise
        if not quiet:
            for damage in reader.damage:
                click.echo(f"cpkg: {shown(file)}: skipped {damage}", err=True)
            _note_torn(file, reader.torn)


def _note_torn(file: str, torn: int) -> None:
    """Print a note on standard error if the last `torn` bytes of a file are an unfinished frame or index."""
    if torn:
        end = f"left out the last {counted(torn, 'byte')}, an unfinished frame or index"
        click.echo(f"cpkg: {shown(file)}: {end}: the file was cut off, or a writer is at work", err=True)


@contextlib.contextmanager
def _place(file: str) -> Iterator[str | BinaryIO]:
    """Yield `file` unchanged if it names a regular file or is a URL; else (a pipe, "-") yield an open seekable file."""
    if is_url(file) or (file != "-" and os.path.isfile(file)):
        yield file
        return
    with open_seekable(file) as stream:
        yield stream


@contextlib.contextmanager
def _named(file: str) -> Iterator[None]:
    """Turn an error of reading in the block into a Failure that names the file."""
    try:
        yield
    except (records.RecordsError, ValueError, TypeError) as exc:
        raise _failure(exc, file) from None


def _failure(exc: Exception, file: str = "") -> Failure:
    """Return the Failure for an error of records, with the name of the file if the error lacks it."""
    text = text_of(exc)
    if not isinstance(exc, records.RecordsError):
        text = f"a record cannot be read: {text}"
    elif "not a cpkg record file" in text:
        text += "; 'cpkg info' describes it, and 'cpkg records convert' creates record files"
    return Failure(text if file in text else f"{shown(file)}: {text}")


def _batches(file: str, reader: records.Reader) -> Iterator[list[object]]:
    """Yield the records of a reader in lists; raises Failure for records that cannot be read."""
    with _named(file):
        yield from reader.batches()


def _print(batches: Iterable[list[object]]) -> None:
    take = formats.write_json(sys.stdout.buffer, allow_nan=True)
    for batch in batches:
        with naming(STDOUT):
            take(batch)
    with naming(STDOUT):
        sys.stdout.buffer.flush()


@group.command()
@_file
@click.option("--start", type=int, default=0, help="The first record; negative numbers count from the end.")
@click.option("--stop", type=int, help="Stop before this record.")
@_skip
def cat(file: str, start: int, stop: int | None, skip_damage: bool) -> None:
    """Print records as JSON Lines."""
    with _named(file), _opened(file, skip=skip_damage, **formats.READ_OPTIONS) as reader:
        _print(reader.batches(start, stop))


@group.command()
@_file
@click.option("-n", "--number", type=click.IntRange(0), default=10, show_default=True, help="Number of records.")
def head(file: str, number: int) -> None:
    """Print the first records as JSON Lines."""
    with _named(file), _opened(file, threads=1, **formats.READ_OPTIONS) as reader:
        _print([list(islice(reader.iter(0, number), number))])


def _inspected(file: str) -> records.Report:
    with _named(file), _place(file) as place:
        return records.inspect(place)


@group.command()
@_file
def count(file: str) -> None:
    """Print the number of records, from the index or the headers of the frames."""
    report = _inspected(file)
    click.echo(report.records)
    _note_torn(file, report.torn)


@group.command()
@_file
@AS_JSON
def info(file: str, as_json: bool) -> None:
    """
    Show what is in a record file, without decompressing it.

    The exit status is 1 if frames are missing or a header is damaged; `verify` also checks the content of frames.
    """
    report = _inspected(file)
    _show(file, report, as_json)
    if report.damage:
        raise Failure(f"{shown(file)}: damaged; see 'cpkg records verify'")


@group.command()
@_file
@AS_JSON
@_threads
@QUIET
def verify(file: str, as_json: bool, threads: int | None, quiet: bool) -> None:
    """
    Read a whole record file and show all damage.

    The exit status is 1 if there is any damage.
    """
    with contextlib.closing(Bar(1, size_of(file), quiet=quiet)) as bar:
        bar.stage("verifying")
        with _named(file), _place(file) as place:
            report = records.verify(place, threads=threads, progress=_advance(bar))
    _show(file, report, as_json)
    if not report.ok:
        copy = " of a local copy" if file == "-" or is_url(file) else ""
        raise Failure(f"{shown(file)}: {_faults(report)}; see 'cpkg records repair'{copy}")
    if not as_json:
        click.echo("  damage      none")


@group.command()
@_file
@_threads
@QUIET
def repair(file: str, threads: int | None, quiet: bool) -> None:
    """
    Repair a record file, and show what was lost.

    Removes an unfinished frame at the end and writes the index. Damaged frames are dropped; in this case, the repaired
    file replaces the old one when it is complete.
    """
    if file == "-" or is_url(file):
        raise click.UsageError("only a local file can be repaired", click.get_current_context())
    with contextlib.closing(Bar(1, size_of(file), quiet=quiet)) as bar:
        bar.stage("verifying")
        with _named(file):
            report = records.repair(file, threads=threads, progress=_advance(bar))
    for line in _fault_lines(report):
        click.echo(line)
    done = f"the file has {counted(report.records, 'record')}"
    if report.ok and report.indexed:
        click.echo(f"{file}: nothing to repair: {done}")
    else:
        lost = f"; {report.lost:,} {'is' if report.lost == 1 else 'are'} lost" if report.lost else ""
        click.echo(f"{file}: repaired: {done}{lost}")


@group.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@_output_file
@click.option("-f", "--force", is_flag=True, help="Replace OUT if it exists.")
def join(files: tuple[str, ...], output: str, force: bool) -> None:
    """
    Write the records of several record files into one.

    Frames are copied unchanged if all files have the same dictionary or none. OUT appears when it is complete. With
    --force, OUT may be one of the FILEs.
    """
    if "-" in (*files, output):
        raise click.UsageError("only files can be joined: - names no file", click.get_current_context())
    try:
        torn = [records.inspect(file).torn for file in files]  # before OUT replaces one of the files
        total = records.join(files, output, overwrite=force)
    except FileExistsError:
        raise exists(output) from None
    except records.RecordsError as exc:
        raise _failure(exc) from None
    click.echo(f"{output}: {counted(total, 'record')}")
    for file, left_out in zip(files, torn):
        _note_torn(file, left_out)


def _advance(bar: Bar) -> Callable[[int, int], None]:
    return lambda done, total: bar.at(done)


def _show(file: str, report: records.Report, as_json: bool) -> None:
    if as_json:
        fields = dataclasses.asdict(report)
        fields["damage"] = [damage._asdict() for damage in report.damage]
        click.echo(json.dumps({**fields, "file": shown(file), "ok": report.ok}))
        return
    held = f"{counted(report.records, 'record')} in {counted(report.frames, 'frame')}"
    click.echo(f"{shown(file)}: {held}, {counted(report.size, 'byte')}")
    if report.compressed:
        content = f"{counted(report.decompressed, 'byte')} of MessagePack"
        click.echo(f"  content     {content}, {squeezed(report.decompressed, report.compressed)}")
    click.echo(f"  index       {'yes' if report.indexed else 'none: the file was not closed'}")
    click.echo(f"  dictionary  {'yes' if report.has_dictionary else 'none'}")
    if report.marked:
        click.echo(f"  lost        {counted(report.marked, 'record')}, before an earlier repair")
    for line in _fault_lines(report):
        click.echo(line)


def _fault_lines(report: records.Report) -> list[str]:
    lines = [f"  problem     {problem}" for problem in report.problems]
    lines += [f"  damage      {damage}" for damage in report.damage]
    if report.torn:
        lines.append(f"  torn        {counted(report.torn, 'byte')} at the end, from a frame that was never finished")
    return lines


def _faults(report: records.Report) -> str:
    parts = []
    if report.lost:
        parts.append(f"{counted(report.lost, 'record')} cannot be read")
    elif report.damage:
        parts.append("headers are damaged")
    if report.torn:
        parts.append("the end is incomplete")
    if report.problems:
        parts.append(report.problems[0])
    return "; ".join(parts)


@group.command()
@click.argument("files", nargs=-1, metavar="[FILE]...", callback=lambda *args: tuple(args[2]) or ("-",))
@_output_file
@click.option(
    "--from",
    "source",
    type=click.Choice(["auto", *formats.FORMATS]),
    default="auto",
    help="Format of FILE.  [default: from its name]",
)
@click.option(
    "--to",
    "kind",
    type=click.Choice(["auto", *formats.FORMATS]),
    default="auto",
    help="Format of OUT.  [default: from its name]",
)
@LEVEL
@click.option(
    "--frame-size", callback=parse_size, metavar="SIZE", help="Size of the records in a frame.  [default: 256k]"
)
@click.option("--append", is_flag=True, help="Add to the record file OUT.")
@click.option("--numbers", is_flag=True, help="Convert CSV fields that look like numbers.")
@click.option("--allow-nan", is_flag=True, help="Read and write NaN and infinities, which JSON does not have.")
@_skip
@_threads
@MAX_SIZE
@QUIET
def convert(
    files: tuple[str, ...],
    output: str,
    source: str,
    kind: str,
    level: int,
    frame_size: int | None,
    append: bool,
    numbers: bool,
    allow_nan: bool,
    skip_damage: bool,
    threads: int | None,
    max_output_size: int | None,
    quiet: bool,
) -> None:
    """
    Convert between record files, JSON Lines, CSV and MessagePack streams.

    Without FILE, standard input is converted, which is JSON Lines unless --from names another format.

    The suffixes .zst and .gz mean that text or MessagePack is compressed.

    Several FILEs become one OUT, in order. OUT is written completely or not at all, except with --append.
    """
    kind = formats.format_of(output, kind)
    if output == "-" and kind not in ("jsonl", "csv") and sys.stdout.isatty():
        raise Failure("only text can be written to a terminal: use --to jsonl, or name a file with -o")
    sizes = [size_of(file) for file in files]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    with contextlib.closing(Bar(2 if kind == "csv" else 1, total, quiet=quiet)) as bar:
        reading = formats.READ_OPTIONS if kind in ("jsonl", "csv") else formats.COPY_OPTIONS
        target = STDOUT if output == "-" else output
        job = _Conversion(
            files, source, target, bar, numbers, allow_nan, skip_damage, threads, reading, max_output_size
        )
        options: Keywords = {"level": level, "threads": threads}
        if frame_size is not None:
            options["frame_size"] = frame_size
        try:
            if append and kind != "records":
                raise Failure(f"{output}: --append needs a record file, not {kind}: omit it, or pass --to records")
            if append:
                with records.open(output, "ab", **options) as writer:
                    job.run("converting", writer.extend)
            else:
                _write(output, kind, job, options)
        except records.RecordsError as exc:
            raise _failure(exc) from None
        except ValueError as exc:
            raise Failure(f"{output}: {exc}") from None
    summarise(counted(job.count, "record"), output, quiet)


def _write(output: str, kind: str, job: _Conversion, options: Keywords) -> None:
    columns: dict[str, None] = {}
    if kind == "csv":
        if "-" in job.files:
            raise Failure(
                "writing CSV reads all records twice, first to find the columns: name a file instead of a pipe"
            )
        job.is_last = False
        job.run("reading", lambda batch: formats.add_columns(columns, batch, job.count))
        job.is_last = True
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(open_output(output))
        out = stack.enter_context(formats.compressed(out, output, kind, options["level"]))
        if kind == "jsonl":
            take = formats.write_json(out, allow_nan=job.allow_nan)
        elif kind == "csv":
            take = stack.enter_context(formats.write_csv(out, columns))
        elif kind == "msgpack":
            take = formats.write_msgpack(out)
        else:
            take = stack.enter_context(records.open(out, "wb", **options)).extend
        job.run("converting", take)


@dataclasses.dataclass
class _Conversion:
    """Reads the records of several files, which may differ in format; `options` are for records and MessagePack."""

    files: tuple[str, ...]
    source: str
    target: str
    bar: Bar
    numbers: bool
    allow_nan: bool
    skip: bool
    threads: int | None
    options: dict[str, object]
    most: int | None
    count: int = 0
    """The number of records passed on in the last or current run."""
    before: int = 0
    """The total size in bytes of the files that are done."""
    is_last: bool = True
    """Whether this is the last run, which reports skipped damage and unfinished ends."""

    def run(self, stage: str, take: formats.Take) -> None:
        """Begin the stage `stage` of the bar, and pass all records to `take`, in lists."""
        self.bar.stage(stage)
        self.before = self.count = 0

        def counted(batch: list[object]) -> None:
            with naming(self.target):
                take(batch)
            self.count += len(batch)

        for file in self.files:
            kind = formats.format_of(file, self.source)
            size = size_of(file) or 0
            if kind == "records":
                self._records(file, size, counted)
            else:
                with open_text(file, self.most) as stream:
                    self._others(kind, stream, shown(file), counted)
            self.before += size

    def _records(self, file: str, size: int, take: formats.Take) -> None:
        done = 0
        opened = _opened(file, skip=self.skip, quiet=not self.is_last, threads=self.threads, **self.options)
        with opened as reader:
            for batch in _batches(file, reader):
                take(batch)
                done += len(batch)
                self.bar.at(self.before + size * done // max(len(reader), 1))

    def _others(self, kind: str, stream: File, name: str, taken: formats.Take) -> None:
        def take(batch: list[object]) -> None:
            taken(batch)
            stream.size = stream.objects = 0

        if kind == "jsonl":
            formats.read_json(
                stream, name, take, lambda done: self.bar.at(self.before + done), allow_nan=self.allow_nan
            )
            return
        if kind == "csv":
            batches = formats.read_csv(stream, name, numbers=self.numbers)
        else:
            batches = formats.read_msgpack(stream, name, **self.options)
        for batch in batches:
            take(batch)
            if stream.seekable():
                self.bar.at(self.before + stream.tell())
