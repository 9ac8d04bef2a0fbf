# SPDX-License-Identifier: Apache-2.0
"""Errors of commands (one line on standard error and an exit status), and the options that commands share."""

from __future__ import annotations

import errno
import importlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

from cpkg.cli.standard_streams import SIGPIPE, discard
from cpkg.objects.dumps_loads import LEVEL as DEFAULT_LEVEL
from purepy.base.errors import CodecError
from purepy.zstd.format.rules import LEVEL_MAX, LEVEL_MIN

PATH: Final = click.Path(readable=False)
"""An unchecked path; the type makes the shell complete names of files."""

_WRITE_ERRORS: Final = {errno.EBADF, errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC)}
_POWERS: Final = {"": 0, "b": 0, "k": 1, "m": 2, "g": 3, "t": 4}


class Failure(click.ClickException):
    """An error that prints one line and exits with status 1."""


class Commands(click.Group):
    """
    A group of commands that prints each error in one line.

    `elsewhere` maps names of commands that are imported on demand to the "module:attribute" of the click command, such
    as "cpkg.cli.archive:group".
    """

    def __init__(self, *args: Any, elsewhere: Mapping[str, str] | None = None, **extra: Any) -> None:
        super().__init__(*args, **extra)
        self._elsewhere = dict(elsewhere or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self._elsewhere})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = self._elsewhere.get(cmd_name)
        if place is None:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = place.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the whole first sentence of each command's help; click itself would cut long sentences off."""
        with formatter.section("Commands"):
            names = self.list_commands(ctx)
            found = [(name, self.get_command(ctx, name)) for name in names]
            formatter.write_dl([(name, command.get_short_help_str(1000)) for name, command in found if command])

    def main(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        *,
        standalone_mode: bool = True,
        **rest: Any,
    ) -> object:
        if not standalone_mode:
            return super().main(args, prog_name, standalone_mode=False, **rest)
        sys.exit(self._run(args, prog_name, **rest))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            raise click.exceptions.Exit(2)
        return super().parse_args(ctx, args)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        try:
            return super().make_context(*args, **extra)  # prints --help and --version
        except BrokenPipeError:
            raise click.exceptions.Exit(close_stdout()) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # caught here, because click would exit with status 1
            return close_stdout()
        except click.UsageError as exc:
            name = ctx.invoked_subcommand
            command = self.get_command(ctx, name) if exc.ctx is None and name is not None else None
            if command is not None:  # the parser of the command's options sets no context
                exc.ctx = click.Context(command, parent=ctx, info_name=name)
            raise

    def _run(self, args: Sequence[str] | None, prog_name: str | None, **rest: Any) -> int:
        try:
            status = super().main(args, prog_name, standalone_mode=False, **rest)
        except click.exceptions.Exit as exc:
            return exc.exit_code
        except click.UsageError as exc:
            command = exc.ctx.command_path if exc.ctx is not None else "cpkg"
            return complain(f"{exc.format_message()} (see '{command} --help')", 2)
        except click.ClickException as exc:
            return complain(exc.format_message(), exc.exit_code)
        except (KeyboardInterrupt, click.Abort):
            return complain("interrupted", 128 + signal.SIGINT)
        except BrokenPipeError:
            return close_stdout()
        except OSError as exc:
            where = f"{os.fsdecode(exc.filename)}: " if exc.filename is not None else ""
            if not where and exc.errno in _WRITE_ERRORS:
                where = "standard output: "  # errors of all other files have a name
            return complain(f"{where}{exc.strerror or exc}", 1)
        except MemoryError:
            return complain("not enough memory", 1)
        except (CodecError, ImportError) as exc:
            return complain(str(exc), 1)
        return status if isinstance(status, int) else 0


def complain(message: str, status: int) -> int:
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        discard(sys.stdout)
    try:
        click.echo("cpkg: " + " ".join(message.split()), err=True)
    except OSError:
        discard(sys.stderr)
    return status


def close_stdout() -> int:
    """Return the exit status of a program that SIGPIPE ends, and discard buffered output."""
    discard(sys.stdout)
    return 128 + SIGPIPE


def not_empty(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value == "":
        raise click.BadParameter("empty", context, parameter)
    return value


def parse_size(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """
    Return the size that an option gives, in bytes: 4096, 64k, 64MiB, 2G, 1T, or unlimited, which is -1.

    Returns None if the option is not given.
    """
    if value is None:
        return None
    text = value.strip().lower()
    if text == "unlimited":
        return -1
    number = text.rstrip("kmgtib")
    unit = text[len(number) :]
    power = _POWERS.get(unit[:1])
    if power is None or not (number.isascii() and number.isdigit()) or unit[1:] not in ("", "b", "ib"):
        raise click.BadParameter(
            f"expected a size (bytes, a number with k, M, G or T, or 'unlimited'), got {value!r}", context, parameter
        )
    return int(number) << (10 * power)


MAX_SIZE: Final = click.option(
    "--max-output-size",
    callback=parse_size,
    metavar="SIZE",
    help="Refuse content larger than this (64M, 2G, unlimited).  "
    "[default: 64M, or 100 times FILE's size if that is more]",
)
QUIET: Final = click.option("-q", "--quiet", is_flag=True, help="Show no progress bar and no summary.")
AS_JSON: Final = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
LEVEL: Final = click.option(
    "-l",
    "--level",
    type=click.IntRange(LEVEL_MIN, LEVEL_MAX),
    default=DEFAULT_LEVEL,
    show_default=True,
    help="Zstandard level.",
)
