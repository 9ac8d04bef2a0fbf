# SPDX-License-Identifier: Apache-2.0
"""Where commands read from and write to: files, standard input and standard output."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, Final

import click

from cpkg._files import replacing
from cpkg.cli.progress import Bar
from cpkg.cli.shell import Failure
from purepy._writing import write_all

_CHUNK: Final = 1 << 20


def shown(file: str) -> str:
    return "standard input" if file == "-" else file


def size_of(file: str) -> int | None:
    """Return the size of a regular file, None for what has none."""
    if file == "-":
        return None
    status = os.stat(file)
    return status.st_size if os.path.isfile(file) else None


def read(file: str, bar: Bar) -> bytes:
    """Read a whole file in pieces."""
    bar.stage("reading")
    pieces = bytearray()
    with open_input(file) as stream:
        for piece in _pieces(stream):
            pieces += piece
            bar.at(len(pieces))
    bar.sized(len(pieces))
    return bytes(pieces)


def _pieces(stream: IO[bytes]) -> Iterator[bytes]:
    """Read a file to its end."""
    while piece := stream.read(_CHUNK):
        yield piece


@contextlib.contextmanager
def open_input(file: str) -> Iterator[IO[bytes]]:
    if file == "-" and sys.stdin.isatty():
        raise click.UsageError("no FILE, and standard input is a terminal", click.get_current_context())
    with contextlib.nullcontext(sys.stdin.buffer) if file == "-" else open(file, "rb") as stream, naming(shown(file)):
        yield stream


@contextlib.contextmanager
def naming(name: str) -> Iterator[None]:
    """Give errors of the system the name of what was read or written: read() and write() do not know it."""
    try:
        yield
    except OSError as exc:
        raise OSError(exc.errno, exc.strerror, exc.filename or name) from None


@contextlib.contextmanager
def open_seekable(file: str) -> Iterator[BinaryIO]:
    """Open a file; bring what cannot seek into a temporary one."""
    with open_input(file) as stream:
        if file != "-" and stream.seekable():
            yield stream  # type: ignore[misc]
            return
        with tempfile.SpooledTemporaryFile(max_size=16 * _CHUNK) as spool:
            spool.writelines(_pieces(stream))
            spool.seek(0)
            yield spool  # type: ignore[misc]


def target_for(file: str, output: str | None, suffix: str, replaced: tuple[str, ...]) -> str:
    """Return where to write: what -o says, or FILE under the suffix of the other form."""
    if output == "":
        raise click.BadParameter("empty", click.get_current_context(), param_hint="'-o'")
    if output is None:
        if file == "-":
            return "-"
        path = Path(file)
        while path.suffix.lower() in replaced:
            path = path.with_suffix("")
        # what has no name is a directory, and reading it says so
        output = str(path.with_name(path.name + suffix)) if path.name else file + suffix
    if output != "-" and file != "-" and os.path.exists(output) and os.path.samefile(file, output):
        raise Failure(f"{output}: is the input file itself; name another one with -o")
    return output


def write(target: str, data: Any, *, overwrite: bool) -> None:
    if target == "-":
        write_all(sys.stdout.buffer, data)  # with PYTHONUNBUFFERED that is a raw file, which may take a part
        sys.stdout.buffer.flush()
        return
    try:
        with replacing(target, overwrite=overwrite) as file:
            file.write(data)
    except FileExistsError:
        raise Failure(f"{target}: exists; replace it with -f, or name another file with -o") from None
    except BrokenPipeError:
        raise
    except OSError as exc:
        raise OSError(exc.errno or errno.EIO, exc.strerror, exc.filename or target) from None


def summarise(text: str, target: str, quiet: bool) -> None:
    if not quiet and target != "-" and sys.stderr.isatty():
        click.echo(f"{text}: {target}", err=True)
