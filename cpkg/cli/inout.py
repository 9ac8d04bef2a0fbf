# SPDX-License-Identifier: Apache-2.0
"""The inputs and outputs of commands: files, URLs, standard input and standard output."""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Final

import click

from cpkg import _backend
from cpkg._places import reading, writing
from cpkg._urls import is_url
from cpkg.cli.json_text import LINES_SUFFIXES
from cpkg.cli.progress import Bar
from cpkg.cli.shell import Failure
from cpkg.objects.dumps_loads import OUTPUT_FLOOR, memory_allowed
from purepy.base.errors import ZstdError, ZstdLimitError
from purepy.base.reading import read_some
from purepy.zstd.format.error_codes import PREFIX_UNKNOWN

if TYPE_CHECKING:
    from purepy.base.types import File

STDOUT: Final = "standard output"
_CHUNK: Final = 1 << 20
_COMPRESSED: Final = (".zst", ".gz")
_OBJECT: Final = 64
"""About how many bytes an object takes in Python; in a text it may take only one or two bytes."""


def shown(file: str) -> str:
    return "standard input" if file == "-" else file


def size_of(file: str) -> int | None:
    """Return the size of a regular file in bytes, None for anything else; raises OSError if `file` does not exist."""
    if file == "-" or is_url(file):
        return None
    status = os.stat(file)
    return status.st_size if os.path.isfile(file) else None


def read(file: str, bar: Bar) -> bytes:
    """Return the bytes of a whole file, a URL or standard input; begins a stage of `bar`, which shows the progress."""
    bar.stage("reading")
    pieces = bytearray()
    with open_input(file) as stream:
        for piece in _pieces(stream):
            pieces += piece
            bar.at(len(pieces))
    bar.sized(len(pieces))
    return bytes(pieces)


def _pieces(stream: IO[bytes]) -> Iterator[bytes]:
    """Return an iterator over the rest of a file, in pieces of at most _CHUNK bytes."""
    return iter(lambda: read_some(stream, _CHUNK), b"")


@contextlib.contextmanager
def open_input(file: str) -> Iterator[IO[bytes]]:
    """
    Open a file, a URL or standard input, with a buffer; OSErrors get the name of the input.

    Raises UsageError if `file` is "-" and standard input is a terminal.
    """
    if file == "-" and sys.stdin.isatty():
        raise click.UsageError("no FILE, and standard input is a terminal", click.get_current_context())
    with naming(shown(file)), reading(sys.stdin.buffer if file == "-" else file) as stream:
        yield io.BufferedReader(stream) if isinstance(stream, io.FileIO) else stream


@contextlib.contextmanager
def naming(name: str) -> Iterator[None]:
    """Add the file name `name` to OSErrors of the block without a file name, such as errors of read() and write()."""
    try:
        yield
    except OSError as exc:  # errors of fsspec have neither a number nor a name
        reason = exc.strerror or ("not found" if isinstance(exc, FileNotFoundError) else str(exc))
        raise OSError(exc.errno or errno.EIO, reason, exc.filename or name) from None


@contextlib.contextmanager
def open_seekable(file: str) -> Iterator[BinaryIO]:
    """Open a file, a URL or standard input; input that cannot seek is copied to a temporary file."""
    with open_input(file) as stream:
        if file != "-" and stream.seekable():
            yield stream  # type: ignore[misc]
            return
        with tempfile.SpooledTemporaryFile(max_size=16 * _CHUNK) as spool:
            spool.writelines(_pieces(stream))
            spool.seek(0)
            yield spool  # type: ignore[misc]


def text_name(name: str) -> str:
    """Return the name of a text file without the suffix .zst or .gz, or unchanged if it has neither."""
    stem, suffix = os.path.splitext(name)
    return stem if suffix.lower() in _COMPRESSED else name


class Text:
    """
    A text file that limits how much of its content is in memory at a time, as `unpack` limits a message.

    `size` counts the bytes read, `objects` estimates how many objects they become. Callers set a count to 0 when they
    have dropped the counted bytes or objects. `most` is the limit in bytes, -1 for no limit. If it is None, only
    compressed text has a limit, which depends on how much of the file `compressed` was read. `compressed` is None if
    the text is not compressed.
    """

    def __init__(self, content: File, name: str, compressed: IO[bytes] | None, most: int | None) -> None:
        self._content = content
        self._name = name
        self._compressed = compressed
        self._most = most
        self.size = self.objects = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes, -1 for all; raises Failure if more is in memory than the limit allows."""
        data: bytes = self._content.read(size)
        self.size += len(data or b"")
        most = self._most
        if most is None and data and self._compressed is not None:
            self.objects += sum(map(data.count, (b",", b"[", b"{")))
            if max(self.size, _OBJECT * self.objects) > OUTPUT_FLOOR:
                most = memory_allowed(self._compressed.tell() if self._compressed.seekable() else 0, None)
        if most is not None and max(self.size, _OBJECT * self.objects) > most >= 0:
            allows = "raise --max-output-size"
            raise Failure(f"{self._name}: its content takes more than {most:,} bytes of memory; {allows}")
        return data

    read1 = read


@contextlib.contextmanager
def open_text(file: str, most: int | None) -> Iterator[Text]:
    """Open a text file like `open_input`, and decompress it if its name ends in .zst or .gz; see Text for `most`."""
    with open_input(file) as stream:
        kind = None if text_name(file) == file else file[-1:].lower()
        try:
            if kind == "t":
                with _backend.zstd().open(stream, "rb") as content:
                    yield Text(content, shown(file), stream, most)
            elif kind == "z":
                with gzip.open(stream, "rb") as content:
                    yield Text(content, shown(file), stream, most)
            else:
                yield Text(stream, shown(file), None, most)
        except (EOFError, ZstdError, zlib.error, gzip.BadGzipFile) as exc:
            is_other = isinstance(exc, gzip.BadGzipFile) or getattr(exc, "code", None) == PREFIX_UNKNOWN
            hint = f"; rename it without {file[len(text_name(file)) :]} if it is not compressed" if is_other else ""
            if isinstance(exc, ZstdLimitError):
                exc.advice = "if you trust it, decompress it with 'cpkg zstd -d --long=31' first"
            raise Failure(f"{file}: {exc}{hint}") from None


def target_for(file: str, output: str | None, suffix: str, replaced: tuple[str, ...]) -> str:
    """
    Return the name of the output file: `output` or, if that is None, `file` with `suffix` instead of known suffixes.

    `replaced` has the known suffixes; a name may end in several of them. For standard input, the output is standard
    output ("-"). The suffix .json is not added to a name that then ends in .jsonl or .ndjson. Raises Failure if the
    output is the input file, and UsageError for a URL without `output` or an empty `output`.
    """
    if output == "":
        raise click.BadParameter("empty", click.get_current_context(), param_hint="'-o'")
    if output is None:
        if file == "-":
            return "-"
        if is_url(file):
            raise click.UsageError("FILE is a URL: name OUT with -o", click.get_current_context())
        path = Path(file)
        while path.suffix.lower() in replaced:
            path = path.with_suffix("")
        if suffix == ".json" and path.suffix.lower() in LINES_SUFFIXES:
            suffix = ""  # data.jsonl was packed to data.jsonl.mpz, and gets its old name
        # a path without a name is a directory, which fails when it is read
        output = str(path.with_name(path.name + suffix)) if path.name else file + suffix
    if output != "-" and file != "-" and os.path.exists(output) and os.path.samefile(file, output):
        raise Failure(f"{output}: is the input file; name another output file with -o")
    return output


@contextlib.contextmanager
def open_output(target: str, *, overwrite: bool = True) -> Iterator[IO[bytes]]:
    """
    Open standard output, or a file or URL that appears when the block ends; OSErrors name the target.

    Raises Failure if the target exists, unless `overwrite`.
    """
    try:
        with naming(STDOUT if target == "-" else target):
            if target == "-":
                yield sys.stdout.buffer
                sys.stdout.buffer.flush()
            else:
                with writing(target, overwrite=overwrite) as file:
                    yield file
    except FileExistsError:
        raise exists(target) from None


def exists(target: str) -> Failure:
    return Failure(f"{target}: already exists; use -f to replace it, or name another file with -o")


def summarise(text: str, target: str, quiet: bool) -> None:
    if not quiet and target != "-" and sys.stderr.isatty():
        click.echo(f"{text}: {target}", err=True)
