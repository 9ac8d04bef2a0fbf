# SPDX-License-Identifier: Apache-2.0
"""The commands `cpkg archive create`, `extract`, `list` and `verify`."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, BinaryIO, Final

import click

from cpkg import archive
from cpkg.archive._create import check_name
from cpkg.cli.fitting import HEAD, counted, other_format
from cpkg.cli.inout import STDOUT, naming, shown, size_of
from cpkg.cli.progress import Bar
from cpkg.cli.shell import LEVEL, PATH, QUIET, Commands, Failure, not_empty, parse_size
from purepy.base.errors import CodecError, LimitError, ZstdLimitError
from purepy.tar.names import FILTERS
from purepy.zstd.format.rules import MAGIC, is_frame

_KINDS: Final = {
    "file": stat.S_IFREG,
    "hardlink": stat.S_IFREG,
    "directory": stat.S_IFDIR,
    "symlink": stat.S_IFLNK,
    "fifo": stat.S_IFIFO,
    "character": stat.S_IFCHR,
    "block": stat.S_IFBLK,
}
_SEE_INFO: Final = "; 'cpkg info' describes the file"

_archive = click.argument("archive_file", metavar="ARCHIVE", type=PATH, callback=not_empty)
_threads = click.option(
    "-T", "--threads", type=click.IntRange(0), default=0, help="Number of threads (0: one per processor)."
)
_verbose = click.option("-v", "--verbose", is_flag=True, help="Print the name of each entry on standard error.")
_exclude = click.option(
    "--exclude",
    multiple=True,
    metavar="PATTERN",
    help="Leave out entries that match, like tar --exclude. May be repeated.",
)
_exclude_from = click.option(
    "-X",
    "--exclude-from",
    multiple=True,
    type=click.File("rb"),
    metavar="FILE",
    help="Read patterns to exclude from FILE, one per line.",
)
_max_size = click.option(
    "--max-size",
    callback=parse_size,
    metavar="SIZE",
    help="Refuse more content than this (64M, 2G, unlimited).  [default: 1G, or 250 times the archive if that is more]",
)
_long = click.option(
    "--long",
    "window_log_max",
    type=click.IntRange(10, 31),
    default=27,
    show_default=True,
    help="Allow windows of up to 2**N bytes.",
)


@click.group(cls=Commands)
def group() -> None:
    """
    Create, extract, list and verify .tar.zst archives, on all processors.

    tar and zstd can read these archives, and these commands can read archives of tar and zstd. ARCHIVE can be - for
    standard input or output, or a URL if fsspec is installed.
    """


@group.command()
@_archive
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=PATH)
@click.option("-C", "--directory", metavar="DIR", type=PATH, help="Look for PATHs in DIR.")
@click.option("--files-from", type=click.File("rb"), metavar="FILE", help="Read more PATHs from FILE, one per line.")
@click.option("--null", is_flag=True, help="Lines of --files-from end with NUL, not with a newline.")
@_exclude
@_exclude_from
@click.option("--include", multiple=True, metavar="PATTERN", help="Archive only files that match. May be repeated.")
@click.option("--no-recursion", is_flag=True, help="Archive directories without their content.")
@click.option("-f", "--force", is_flag=True, help="Replace ARCHIVE even if it is not a Zstandard archive.")
@LEVEL
@click.option(
    "--frame-size",
    callback=parse_size,
    metavar="SIZE",
    default="8M",
    show_default=True,
    help="Amount of content per frame.",
)
@click.option(
    "--sort", type=click.Choice(["name", "none"]), default="name", show_default=True, help="Order of entries."
)
@click.option("--mtime", type=float, metavar="SECONDS", help="Give all entries this time, in seconds since 1970.")
@click.option("--owner", metavar="UID:GID", help="Give all entries this owner (numeric ids).")
@click.option("--numeric-owner", is_flag=True, help="Do not store the names of users and groups.")
@click.option(
    "--reproducible", is_flag=True, help="Create equal archives from equal trees: fixed order, times and owners."
)
@click.option("--xattrs", is_flag=True, help="Store extended attributes.")
@click.option("--acls", is_flag=True, help="Store access control lists.")
@click.option("-S", "--sparse", is_flag=True, help="Store holes in files as holes.")
@_threads
@_verbose
@QUIET
def create(
    archive_file: str,
    paths: tuple[str, ...],
    directory: str | None,
    files_from: BinaryIO | None,
    null: bool,
    exclude: tuple[str, ...],
    exclude_from: tuple[BinaryIO, ...],
    no_recursion: bool,
    force: bool,
    sort: str,
    owner: str | None,
    verbose: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """
    Archive PATHs: files, and directories with their content. With -C and no PATH, archive all of DIR.

    An existing ARCHIVE is replaced; a file with content that is not Zstandard is replaced only with -f.

    The exit status is 1 if a file could not be read, or changed or vanished while it was read; the archive then holds
    the rest. If a PATH itself cannot be read, nothing is archived, and an old ARCHIVE is not changed.
    """
    if not paths and files_from is None and directory is None:
        raise click.UsageError("no PATH given: name what to archive ('.' is the whole working directory)")
    if archive_file == "-" and sys.stdout.isatty():
        raise Failure("refusing to write an archive to a terminal: name a file")
    _check_name(archive_file, force)
    target = sys.stdout.buffer if archive_file == "-" else archive_file

    def on_any_problem(problem: archive.Problem) -> None:
        if isinstance(problem.error, OSError) and problem.error.filename in paths:
            raise Failure(f"{problem.error.filename}: {problem.message}; {archive_file} is not written")
        on_problem(problem)

    with (
        _named(archive_file, STDOUT),
        contextlib.closing(Bar(1, None, quiet=quiet)) as bar,
        _reports(verbose, bar.say) as (on_entry, on_problem),
    ):
        bar.stage("archiving")
        archive.create(
            target,
            *paths,
            base=directory,
            files_from=None if files_from is None else _listed_paths(files_from.read(), null),
            exclude=_patterns(exclude, exclude_from),
            recursive=not no_recursion,
            sort=sort == "name",
            owner=_owner(owner),
            on_entry=on_entry,
            on_problem=on_any_problem,
            progress=lambda content, _: bar.at(content),
            **options,
        )
        if archive_file == "-":
            sys.stdout.buffer.flush()


def _check_name(archive_file: str, force: bool) -> None:
    """
    Raise Failure for the name of another archive format, or for a file with content that is not a Zstandard frame.

    With `force`, any existing file may be replaced.
    """
    try:
        check_name(archive_file)
    except ValueError as exc:
        raise Failure(str(exc)) from None
    head = b"" if force else _head(archive_file)
    if head and not is_frame(head):
        raise Failure(
            f"{archive_file}: exists and is not a Zstandard archive; use -f to replace it, or name another file"
        )


def _head(archive_file: str) -> bytes:
    """Return the first bytes of a regular file, b"" for anything else and for "-"."""
    if archive_file == "-" or not os.path.isfile(archive_file):
        return b""
    with open(archive_file, "rb") as file:
        return file.read(HEAD)


def _listed_paths(data: bytes, null: bool) -> list[str]:
    if b"\0" in data and not null:
        raise click.UsageError("--files-from contains NUL bytes: add --null")
    return [os.fsdecode(name) for name in data.split(b"\0" if null else b"\n") if name]


def _owner(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    numbers = text.split(":")
    if len(numbers) != 2 or not all(number.isascii() and number.isdigit() for number in numbers):
        raise click.BadParameter(f"expected numeric UID:GID, got {text!r}", param_hint="'--owner'")
    return int(numbers[0]), int(numbers[1])


def _patterns(given: tuple[str, ...], files: tuple[BinaryIO, ...]) -> list[str]:
    return [*given, *(os.fsdecode(line.rstrip(b"\n")) for file in files for line in file if line.strip())]


@group.command()
@_archive
@click.argument("members", nargs=-1, metavar="[MEMBER]...")
@click.option("-C", "--directory", metavar="DIR", type=PATH, default=".", help="Extract to DIR, created if missing.")
@_exclude
@_exclude_from
@click.option(
    "--strip-components",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Remove N leading directories from names.",
)
@click.option(
    "--filter",
    type=click.Choice(FILTERS),
    default="data",
    show_default=True,
    help="What to refuse and which permissions to keep, like the filters of tarfile.",
)
@click.option("--recover", is_flag=True, help="Continue after damage: lose only the damaged frames.")
@click.option("--numeric-owner", is_flag=True, help="Set owners by number.")
@click.option("--xattrs", is_flag=True, help="Set extended attributes.")
@click.option("--acls", is_flag=True, help="Set access control lists.")
@_max_size
@_long
@_threads
@_verbose
@QUIET
def extract(
    archive_file: str,
    members: tuple[str, ...],
    directory: str,
    exclude: tuple[str, ...],
    exclude_from: tuple[BinaryIO, ...],
    verbose: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """
    Extract an archive, or only MEMBERs: names, directories or patterns.

    Nothing is ever written outside DIR. The exit status is 1 if an entry was refused or failed, or if a MEMBER was not
    found; all other entries are extracted.
    """
    with (
        _bar(archive_file, "extracting", quiet) as (bar, progress),
        _reports(verbose, bar.say) as (on_entry, on_problem),
    ):
        archive.extract(
            _source(archive_file),
            directory,
            include=members,
            exclude=_patterns(exclude, exclude_from),
            on_entry=on_entry,
            on_problem=on_problem,
            progress=progress,
            **options,
        )


@group.command("list")
@_archive
@click.argument("members", nargs=-1, metavar="[MEMBER]...")
@_exclude
@_exclude_from
@click.option("-l", "--long-format", is_flag=True, help="Also show modes, owners, sizes and times.")
@_max_size
@_long
@_threads
def list_(
    archive_file: str,
    members: tuple[str, ...],
    exclude: tuple[str, ...],
    exclude_from: tuple[BinaryIO, ...],
    long_format: bool,
    **options: object,
) -> None:
    """
    List the names in an archive, or only MEMBERs.

    The exit status is 1 if a MEMBER was not found.
    """
    options |= {"include": members, "exclude": _patterns(exclude, exclude_from)}
    with _reports(False, partial(click.echo, err=True)) as (_, on_problem):
        for entry in _listed(archive_file, on_problem=on_problem, **options):
            click.echo(_long_line(entry) if long_format else _name(entry))


def _listed(archive_file: str, **options: Any) -> Iterator[archive.Entry]:
    with _named(archive_file):
        yield from archive.entries(_source(archive_file), **options)


@group.command()
@_archive
@_max_size
@_long
@_threads
@QUIET
def verify(archive_file: str, quiet: bool, **options: Any) -> None:
    """Decompress an archive without writing anything, and check its checksums and headers."""
    with _bar(archive_file, "verifying", quiet) as (_, progress):
        summary = archive.verify(_source(archive_file), progress=progress, **options)
    click.echo(
        f"{shown(archive_file)}: {summary.entries:,} entr{'y' if summary.entries == 1 else 'ies'}, "
        f"{counted(summary.size, 'byte')} in "
        f"{summary.compressed_size:,}, no damage"
    )


def _source(archive_file: str) -> str | BinaryIO:
    return sys.stdin.buffer if archive_file == "-" else archive_file


@contextlib.contextmanager
def _bar(archive_file: str, stage: str, quiet: bool) -> Iterator[tuple[Bar, Callable[[int, int], None]]]:
    size = size_of(archive_file) if os.path.exists(archive_file) else None
    with _named(archive_file), contextlib.closing(Bar(1, size, quiet=quiet)) as bar:
        bar.stage(stage)
        yield bar, lambda content, compressed: bar.at(compressed)


@contextlib.contextmanager
def _named(archive_file: str, stream: str = "standard input") -> Iterator[None]:
    """
    Turn a CodecError or ValueError of the block into a Failure; name the archive in CodecErrors and OSErrors.

    `stream` is the name of the archive "-".
    """
    name = stream if archive_file == "-" else archive_file
    try:
        with naming(name):
            yield
    except LimitError as exc:
        option = "--long" if isinstance(exc, ZstdLimitError) else "--max-size"
        hint = "" if exc.advice is None else f"; if you trust the archive, raise {option}"  # other limits are fixed
        raise Failure(f"{name}: {exc.args[0]}{hint}") from None
    except CodecError as exc:
        head = _head(archive_file)
        hint = ""
        if head and not head.startswith(MAGIC):  # even a damaged archive begins with a frame's magic number
            hint = other_format(head) or _SEE_INFO
        elif head and str(exc).startswith("not a tar archive"):
            hint = _SEE_INFO
        raise Failure(f"{name}: {exc}{hint}") from None
    except ValueError as exc:
        raise Failure(str(exc)) from None


@contextlib.contextmanager
def _reports(
    verbose: bool, say: Callable[[str], object]
) -> Iterator[tuple[Callable[[archive.Entry], None] | None, Callable[[archive.Problem], None]]]:
    """
    Yield callbacks that print entries (None without `verbose`) and problems with the function `say`.

    Exits with status 1 after the block if there was a problem.
    """
    failures: list[archive.Problem] = []

    def on_problem(problem: archive.Problem) -> None:
        failures.append(problem)
        say("cpkg: " + _printable(str(problem)))

    def on_entry(entry: archive.Entry) -> None:
        say(_name(entry))

    yield on_entry if verbose else None, on_problem
    if failures:
        raise click.exceptions.Exit(1)


def _printable(text: str) -> str:
    """Return text with backslash escapes for unprintable characters and for bytes that are not UTF-8."""
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def _name(entry: archive.Entry) -> str:
    return _printable(entry.name) + ("/" if entry.type == "directory" else "")


def _long_line(entry: archive.Entry) -> str:
    """Return a line in the format of `tar -tv`."""
    mode = stat.filemode(_KINDS[entry.type] | entry.mode)
    if entry.type == "hardlink":
        mode = f"h{mode[1:]}"
    owner = f"{_printable(entry.uname) or entry.uid}/{_printable(entry.gname) or entry.gid}"
    is_device = entry.type in ("character", "block")
    size = ",".join(map(str, entry.device)) if is_device else str(entry.size)
    seconds = entry.mtime_ns // 10**9
    try:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        when = str(seconds)
    link = {"symlink": " -> ", "hardlink": " link to "}.get(entry.type)
    return f"{mode} {owner} {size:>{max(0, 19 - len(owner))}} {when} {_name(entry)}" + (
        f"{link}{_printable(entry.linkname)}" if link else ""
    )
