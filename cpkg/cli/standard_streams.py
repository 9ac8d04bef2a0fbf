# SPDX-License-Identifier: Apache-2.0
"""Standard input, output and error, as a process may find them and leave them."""

from __future__ import annotations

import contextlib
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any


def open_standard_streams() -> None:
    """
    Open those of the three standard streams that are closed, on what refuses to be read or written.

    Else a file that is opened later would get such a number, and what is printed with it.
    """
    for number, name, mode, access in (
        (0, "stdin", "r", os.O_WRONLY),
        (1, "stdout", "w", os.O_RDONLY),
        (2, "stderr", "w", os.O_WRONLY),  # the exit status is what is left
    ):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, access)  # gets the lowest number that is free
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115


def discard(stream: IO[str] | Any) -> None:
    """Send what a standard stream still holds nowhere: the interpreter flushes it at exit, and would complain then."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
