# SPDX-License-Identifier: Apache-2.0
"""Messages of `cpkg zstd`, on standard error, in the words of the `zstd` tool."""

from __future__ import annotations

import sys

from cpkg.cli.progress import StatusLine

_UNITS = ((60, " EiB"), (50, " PiB"), (40, " TiB"), (30, " GiB"), (20, " MiB"), (10, " KiB"))


class Fatal(Exception):
    """An error that ends the program with the exit status `code`; `plain` leaves the tool's words in front away."""

    def __init__(self, code: int, text: str, *, plain: bool = False) -> None:
        super().__init__(text)
        self.code = code
        self.message = f"{text}\n" if plain else f"zstd: error {code} : {text} \n"


class Console:
    """
    Standard error, as far as the level lets it speak.

    Errors have the level 1, results and warnings 2 (the default), details 3 and 4; -v adds one, -q takes one.
    """

    def __init__(self) -> None:
        self.level = 2
        self.shows_progress = False
        self._line = StatusLine()

    def say(self, level: int, text: str) -> None:
        """Write a text to standard error if the level is at least this."""
        if self.level >= level:
            self._line.clear()
            self._line.write(text)

    def fail(self, text: str, status: int = 1) -> int:
        """Write the text of an error and return the exit status."""
        self.say(1, text)
        return status

    def progress(self, text: str) -> None:
        """Show how far the work has come, over the line shown before."""
        if self.shows_progress:
            self._line.show(text)

    def ask(self, question: str, refusal: str, *, stdin_is_input: bool) -> bool:
        """Ask for a y on standard input."""
        self._line.clear()
        if stdin_is_input:
            self._line.write("stdin is an input - not proceeding.\n")
            return False
        self._line.write(question)
        try:
            answer = sys.stdin.readline()
        except (OSError, ValueError):
            answer = ""
        if answer[:1] in ("y", "Y"):
            return True
        self._line.write(f"{refusal} \n")
        return False

    def size(self, number: int) -> tuple[str, str]:
        """Return a number of bytes in three digits, and its unit; exactly at level 4."""
        if self.level > 3:
            return str(number), " B"
        power, unit = next(((power, unit) for power, unit in _UNITS if number >> power), (0, " B"))
        value = number / (1 << power)
        precision = 0 if value >= 100 or value == number else 1 if value >= 10 else 2 if value > 1 else 3
        return f"{value:.{precision}f}", unit

    def wide(self, number: int, width: int = 6, unit_width: int = 4) -> str:
        """Return a size for a column of a table."""
        value, unit = self.size(number)
        return f"{value:>{width}}{unit:>{unit_width}}"
