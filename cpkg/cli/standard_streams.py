# SPDX-License-Identifier: Apache-2.0
"""Standard input, output and error at the start and end of a process, and the signals that end it."""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # importing signal is slow, because it creates enums
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
    Open closed standard streams on the null device: reading input and writing output fail, and messages are lost.

    Otherwise a file opened later would get the stream's descriptor, and everything printed would go to that file. If
    standard output is UTF-8, names that are not UTF-8 are written as their original bytes. With other encodings,
    characters that the encoding lacks become backslash escapes.
    """
    for number, name, mode, access in (
        (0, "stdin", "r", os.O_WRONLY),
        (1, "stdout", "w", os.O_RDONLY),
        (2, "stderr", "w", os.O_WRONLY),  # messages are lost; only the exit status remains
    ):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, access)  # gets the lowest free descriptor
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115
    stdout: File = sys.stdout
    if getattr(stdout, "errors", "") in ("strict", "surrogateescape") and hasattr(stdout, "reconfigure"):
        is_bytes = stdout.encoding == "utf-8" and os.name != "nt"
        stdout.reconfigure(errors="surrogateescape" if is_bytes else "backslashreplace")


def when_terminated(handler: Callable[[int, object], NoReturn]) -> None:
    """Set `handler` for the signals that ask a program to end, except those that are ignored or handled already."""
    for name in ("SIGTERM", "SIGHUP"):  # Windows has only SIGTERM
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, handler)


def discard(stream: File) -> None:
    """Redirect a standard stream to the null device, so that the interpreter can flush its buffered data at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def write_text(text: str) -> int:
    """
    Write text to standard output without click, and return the exit status.

    The status is 141 if the reader has closed standard output; 1 after another error, which is reported.
    """
    open_standard_streams()
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)
        return 128 + SIGPIPE
    except OSError as exc:
        discard(sys.stdout)
        print(f"cpkg: standard output: {exc.strerror}", file=sys.stderr)
        return 1
    return 0
