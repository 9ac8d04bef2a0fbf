# SPDX-License-Identifier: Apache-2.0
"""Standard input, output and error, as a process may find them and leave them; the signals that end it."""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # signal makes enums, which takes long
import contextlib
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, NoReturn

    from purepy.base.types import File

SIGPIPE: int = getattr(signal, "SIGPIPE", 13)  # Windows has none


def open_standard_streams() -> None:
    """
    Open those of the three standard streams that are closed, on what refuses to be read or written.

    Else a file opened later would get such a number, and with it everything printed. Names go to standard output as the
    bytes that they are, where it is UTF-8; elsewhere what its encoding lacks is escaped by backslashes.
    """
    for number, name, mode, access in (
        (0, "stdin", "r", os.O_WRONLY),
        (1, "stdout", "w", os.O_RDONLY),
        (2, "stderr", "w", os.O_WRONLY),  # only the exit status remains
    ):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, access)  # gets the lowest number that is free
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115
    stdout: File = sys.stdout
    if getattr(stdout, "errors", "") in ("strict", "surrogateescape") and hasattr(stdout, "reconfigure"):
        is_bytes = stdout.encoding == "utf-8" and os.name != "nt"
        stdout.reconfigure(errors="surrogateescape" if is_bytes else "backslashreplace")


def when_terminated(handler: Callable[[int, object], NoReturn]) -> None:
    """Have `handler` called for each signal that asks this program to end, unless it is ignored or handled already."""
    for name in ("SIGTERM", "SIGHUP"):  # Windows has but the first
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, handler)


def discard(stream: File) -> None:
    """Send what a standard stream still holds nowhere: the interpreter flushes it at exit, and would complain then."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
