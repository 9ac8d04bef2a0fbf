# SPDX-License-Identifier: Apache-2.0
"""The group `cpkg` and its commands `demo`, `pack`, `unpack`, `info` and `backends`; others are imported on demand."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import os
import re
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from cpkg import _backend
from cpkg.cli import json_text
from cpkg.cli.fitting import HEAD, NOT_ONE, counted, described, is_like_json, other_format
from cpkg.cli.inout import open_output, open_seekable, open_text, read, shown, size_of, summarise, target_for, text_name
from cpkg.cli.json_input import JSONReader, MessageBuilder
from cpkg.cli.json_text import LINES_SUFFIXES, JSONError
from cpkg.cli.plain import backend_lines, version_line
from cpkg.cli.progress import Bar
from cpkg.cli.shell import AS_JSON, LEVEL, MAX_SIZE, PATH, QUIET, Commands, Failure, not_empty
from cpkg.cli.standard_streams import open_standard_streams, when_terminated
from cpkg.objects import dumps_loads
from purepy.base.errors import CodecError, ExtraData, LimitError
from purepy.base.mistaken import ends
from purepy.base.writing import write_all
from purepy.msgpack.formats import ARRAY, FAMILY, MAP
from purepy.zstd.format.rules import MAGIC
from purepy.zstd.format.scanner import Frame

if TYPE_CHECKING:
    from purepy.base.types import File, Keywords

F = TypeVar("F", bound=Callable[..., object])

PACKED_SUFFIX: Final = ".mpz"
_PACKED_SUFFIXES: Final = (PACKED_SUFFIX, ".zst", ".msgpack", ".mpk", ".mp")
_RECURSION_LIMIT: Final = 8000
"""Enough for 1024 levels of containers in the encoder of `json`, which is recursive."""

_ELSEWHERE: Final[dict[str, str]] = {
    "archive": "cpkg.cli.archive:group",
    "records": "cpkg.cli.records:group",
}
"""Commands that have their own modules: name -> "module:attribute"."""


def main() -> int:
    """Run the command line on this process's arguments and return the exit status."""

    def terminate(number: int, frame: object) -> NoReturn:
        raise SystemExit(128 + number)  # unwinds the stack, so that no temporary file is left

    when_terminated(terminate)
    open_standard_streams()
    try:
        cli.main(prog_name="cpkg")
    except SystemExit as exc:
        return exc.code if isinstance(exc.code, int) else 0
    return 0


@click.group(
    cls=Commands,
    elsewhere=_ELSEWHERE,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option("", "-V", "--version", message=version_line())
@click.pass_context
def cli(context: click.Context) -> None:
    """
    Pack JSON as MessagePack, compressed with Zstandard where that makes it smaller, and back.

    FILE can be - for standard input, and OUT - for standard output. An output file is written completely or not at all.
    """
    before = sys.getrecursionlimit()
    if before < _RECURSION_LIMIT:
        sys.setrecursionlimit(_RECURSION_LIMIT)
        context.call_on_close(lambda: sys.setrecursionlimit(before))  # a program may call this function


class _Light(click.Command):
    """
    A command that parses its own arguments and can start without click.

    cpkg/__main__.py calls such a command directly; this class makes it known to click's help and shell completion.
    `usage` is the "module:attribute" of the text that names the options, which the shell completes.
    """

    def __init__(self, name: str, module: str, usage: str, help_: str) -> None:
        arguments = click.Argument(
            ["arguments"],
            nargs=-1,
            type=click.UNPROCESSED,
            shell_complete=lambda context, _, word: self.shell_complete(context, word),
        )
        super().__init__(
            name,
            callback=lambda arguments: sys.exit(importlib.import_module(module).main(arguments)),
            params=[arguments],
            help=help_,
            add_help_option=False,
            context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
        )
        self._usage = usage

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        if not incomplete.startswith("-"):
            return [CompletionItem(incomplete, type="file")]
        module, _, name = self._usage.partition(":")
        text = getattr(importlib.import_module(module), name)
        words = {word.replace("[no-]", "") for word in re.findall(r"(?<![\w-])--?[\w\[][\w\]-]*", text)}
        return [CompletionItem(word) for word in sorted(words) if word.startswith(incomplete)]


cli.add_command(
    _Light(
        "run",
        "cpkg.cli.run",
        "cpkg.cli.run:USAGE",
        "Run a Python program with cpkg in place of missing packages.\n\n"
        "The packages are msgpack, zstandard, backports.zstd and compression.zstd.",
    )
)
cli.add_command(
    _Light("zstd", "cpkg.cli.zstd.main", "cpkg.cli.zstd.help:ALL", "Compress and decompress files like the zstd tool.")
)


_file = click.argument("file", default="-", metavar="[FILE]", type=PATH, callback=not_empty)
_out = click.option("-o", "--output", metavar="OUT", type=PATH, help="Write to OUT, replacing it if it exists.")
_force = click.option("-f", "--force", is_flag=True, help="Replace the default output file if it exists.")


def _format(what: str) -> Callable[[F], F]:
    return click.option(
        "--format",
        "format_",
        type=click.Choice(["auto", "json", "jsonl"]),
        default="auto",
        show_default=True,
        help=what,
    )


@cli.command()
@_file
@_out
@_force
@_format("Format of FILE. auto: JSON Lines if it ends in .jsonl or .ndjson, or if more values follow the first one.")
@LEVEL
@click.option(
    "--compress",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="auto: compress if that makes the message smaller.",
)
@click.option("--sort-keys", is_flag=True, help="Sort the keys of each object, so that equal data gives equal bytes.")
@click.option("--allow-nan", is_flag=True, help="Accept NaN, Infinity and -Infinity, which JSON does not have.")
@MAX_SIZE
@QUIET
def pack(
    file: str,
    output: str | None,
    force: bool,
    format_: str,
    level: int,
    compress: str,
    sort_keys: bool,
    allow_nan: bool,
    max_output_size: int | None,
    quiet: bool,
) -> None:
    """
    Pack JSON or JSON Lines.

    JSON Lines become one array. A FILE that ends in .zst or .gz is decompressed. Without -o, FILE.json is packed to
    FILE.mpz, and standard input to standard output.
    """
    target = target_for(file, output, PACKED_SUFFIX, (".json", ".zst", ".gz"))
    if target == "-" and sys.stdout.isatty():
        raise Failure("refusing to write packed data to a terminal: name a file with -o")
    name = shown(file)
    packer = MessageBuilder(sort_keys=sort_keys)
    with contextlib.closing(Bar(3, size_of(file), quiet=quiet)) as bar:
        bar.stage("packing")
        with open_text(file, max_output_size) as stream:
            size = _parse(stream, file, format_, packer.take, allow_nan=allow_nan, advance=bar.at)
        bar.sized(size)
        bar.stage("compressing")
        packed = packer.message()
        if compress == "always" or (compress == "auto" and len(packed) >= dumps_loads.MIN_SIZE):
            packed = dumps_loads.finish(_backend.zstd(), packed, compress=compress == "always" or "auto", level=level)
        bar.stage("writing")
        with open_output(target, overwrite=force or output is not None) as out:
            write_all(out, packed)  # with PYTHONUNBUFFERED, standard output is a raw file and may write only a part
    summarise(f"{name}: {counted(size, 'byte')} of JSON packed to {len(packed):,}", target, quiet)


def _parse(
    stream: File,
    file: str,
    format_: str,
    take: Callable[[list[Any], bool], object],
    **options: Any,
) -> int:
    """
    Pass the values of a JSON file to `take` in lists; return the decompressed size of the file in bytes.

    Each call is `take(values, is_document)`; `is_document` is True if the file is one JSON value, not JSON Lines.
    `options` are arguments of JSONReader. Raises Failure if the file is not valid JSON.
    """
    by_name = True if text_name(file).lower().endswith(LINES_SUFFIXES) else None
    lines = {"json": False, "jsonl": True}.get(format_, by_name)
    reader = JSONReader(stream, shown(file), lines=lines, **options)

    def take_and_drop(values: list[Any], is_document: bool) -> None:
        take(values, is_document)
        stream.objects = 0

    try:
        reader.run(take_and_drop)
    except JSONError as exc:
        raise Failure(f"{exc}{_text_hint(file, reader.head)}") from None
    return reader.size


def _text_hint(file: str, head: bytes) -> str:
    """Return the end of the message for a file that is not JSON: the command for its format, "" if JSON or unknown."""
    if is_like_json(head):
        return ""
    suffix = os.path.splitext(text_name(file))[1].lower()
    if suffix in _PACKED_SUFFIXES or (head[:1] > b"\x80" and FAMILY[head[0]] in (ARRAY, MAP)):
        return "; this file is packed already: see 'cpkg unpack'"
    if suffix == ".csv" or (suffix not in (".json", *LINES_SUFFIXES) and b"," in head.partition(b"\n")[0]):
        return "; this command reads JSON: for CSV, see 'cpkg records convert --from csv'"
    return other_format(head)


@cli.command()
@_file
@_out
@_force
@_format("Format of the output. auto: JSON Lines if OUT ends in .jsonl or .ndjson, else JSON.")
@click.option("--indent", type=click.IntRange(0, 16), help="Indent the JSON by this many spaces.")
@click.option("--allow-nan", is_flag=True, help="Write NaN, Infinity and -Infinity, which JSON does not have.")
@MAX_SIZE
@QUIET
def unpack(
    file: str,
    output: str | None,
    force: bool,
    format_: str,
    indent: int | None,
    allow_nan: bool,
    max_output_size: int | None,
    quiet: bool,
) -> None:
    """
    Unpack to JSON or JSON Lines.

    FILE is the output of 'pack' or cpkg.dump, or any other MessagePack object, compressed with Zstandard or not.
    Without -o, FILE.mpz is unpacked to FILE.json, and standard input to standard output.

    Binary values become base64, times RFC 3339, durations seconds, and UUIDs, Decimals and dates their text. An
    extension becomes an object with its code and base64 data. A key that is not a string becomes its JSON text.
    """
    target = target_for(file, output, ".json", _PACKED_SUFFIXES)
    lines = format_ == "jsonl" or (format_ == "auto" and target.lower().endswith(LINES_SUFFIXES))
    name = shown(file)
    limits: dict[str, int | None] = {"max_output_size": max_output_size}
    if max_output_size is not None:
        limits["max_memory"] = -1  # the size that the user chose limits the objects as well
    with contextlib.closing(Bar(3, size_of(file), quiet=quiet)) as bar:
        data = read(file, bar)
        bar.stage("unpacking")
        try:
            text = json_text.render(data, lines=lines, indent=indent, allow_nan=allow_nan, limits=limits)
        except LimitError as exc:
            hint = "" if exc.advice is None else "; raise --max-output-size"  # keys must never collide
            raise Failure(described(name, exc) + hint) from None
        except CodecError as exc:
            raise Failure(described(name, exc) + _content_hint(data, exc)) from None
        except (TypeError, ValueError) as exc:
            raise Failure(f"{name}: {exc}") from None
        except RecursionError:
            raise Failure(f"{name}: nested too deep for Python's json; read it with cpkg.load") from None
        bar.stage("writing")
        with open_output(target, overwrite=force or output is not None) as out:
            write_all(out, text)
    summarise(f"{name}: {counted(len(data), 'byte')} unpacked to {len(text):,} of JSON", target, quiet)


def _content_hint(data: bytes, exc: CodecError) -> str:
    """Return the end of the message for a file that is not one object: the command for its format, "" if unknown."""
    is_compressed = data.startswith(MAGIC)
    hint = "" if is_compressed else other_format(data[:HEAD])
    if hint or not isinstance(exc, ExtraData):
        return hint
    content = ends(exc.unpacked, exc.extra) if exc.offset == 1 else b""
    return other_format(content, compressed=is_compressed) or NOT_ONE


@cli.command()
@_file
@AS_JSON
def info(file: str, as_json: bool) -> None:
    """
    Show what is in a packed file, without unpacking it.

    Reads only the headers of the Zstandard frames and blocks and the first bytes of the message, so it is fast for
    large files. Detects a truncated file, but not damage inside blocks. 'cpkg backends' describes cpkg itself.
    """
    from cpkg.cli import contents

    name = shown(file)
    damage = None
    with open_seekable(file) as stream:
        try:
            summary = contents.inspect_file(stream)
        except contents.DamagedError as exc:
            summary, damage = exc.summary, exc
    context = click.get_current_context()
    if not summary.size and context.get_parameter_source("file") is ParameterSource.DEFAULT:
        raise click.UsageError("no FILE, and standard input is empty; for cpkg itself: 'cpkg backends'", context)
    if as_json:
        found = {**dataclasses.asdict(summary), "frames": [_frame(frame) for frame in summary.frames]}
        click.echo(json.dumps({"file": name, **found, "error": damage and str(damage)}))
    else:
        for line in contents.info_lines(name, summary):
            click.echo(line)
    if damage is not None:
        raise Failure(f"{name}: {damage}")


def _frame(frame: Frame) -> dict[str, object]:
    """Return a frame as a dictionary, with a list of dictionaries for its blocks."""
    return {**frame._asdict(), "blocks": [block._asdict() for block in frame.blocks]}


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per codec, in an array.")
def backends(as_json: bool) -> None:
    """
    Print which backend serves each codec, and why.

    The environment variables CPKG_MSGPACK_BACKEND, CPKG_ZSTD_BACKEND and CPKG_BACKEND choose other backends (auto,
    native, dlopen, stdlib or pure).
    """
    for line in backend_lines(as_json=as_json):
        click.echo(line)


@cli.command()
@click.argument("file", required=False, type=PATH, callback=not_empty)
@_format("Format of FILE, as for 'pack'.")
@LEVEL
@click.option(
    "--seconds",
    type=click.FloatRange(0, 60),
    default=0.3,
    show_default=True,
    help="Time each direction of each combination for this long, after an equally long warm-up (up to ten times "
    "longer on PyPy). Each runs at least six times.",
)
@MAX_SIZE
@QUIET
def demo(file: str | None, format_: str, level: int, seconds: float, max_output_size: int | None, quiet: bool) -> None:
    """
    Pack and unpack FILE (JSON or JSON Lines) with every available backend, and time each.

    Without FILE, use the data that comes with the package: the airports of the United States. The exit status is 1 if
    the backends disagree.
    """
    import importlib.resources  # slow to import

    from cpkg.cli import compare

    packer = MessageBuilder()
    name = "airports.json" if file is None else shown(file)
    with contextlib.ExitStack() as stack:
        bar = stack.enter_context(contextlib.closing(Bar(1, size_of(file) if file else None, quiet=quiet)))
        data = importlib.resources.files("cpkg") / "data" / name
        path = file or str(stack.enter_context(importlib.resources.as_file(data)))
        stream = stack.enter_context(open_text(path, max_output_size))
        bar.stage("reading")
        options: Keywords = {"allow_nan": False, "nan_hint": "", "advance": bar.at}
        size = _parse(stream, name, format_ if file else "json", packer.take, **options)
        value = dumps_loads.loads(packer.message(), max_output_size=-1)
        progress = partial(bar.show, at_once=True)
        result = compare.run(value, seconds=seconds, level=level, progress=progress)
    for line in compare.demo_lines(name, size, result):
        click.echo(line)
    if result.disagreements:
        raise Failure("; ".join(result.disagreements))
