# SPDX-License-Identifier: Apache-2.0
"""Messages of `cpkg zstd` on standard error, in the same words as the `zstd` tool."""

from __future__ import annotations

import sys

from cpkg.cli.progress import StatusLine

_UNITS = ((60, " EiB"), (50, " PiB"), (40, " TiB"), (30, " GiB"), (20, " MiB"), (10, " KiB"))


class Fatal(Exception):
    """An error that ends the program with the exit status `code`; `plain` omits the prefix "zstd: error"."""

    def __init__(self, code: int, text: str, *, plain: bool = False) -> None:
        super().__init__(text)
        self.code = code
        self.message = f"{text}\n" if plain else f"zstd: error {code} : {text} \n"


class Console:
    """
    Prints messages on standard error, up to a level.

    Errors have level 1, results and warnings 2 (the default), details 3 and 4. -v adds one, -q subtracts one.
    """

    def __init__(self) -> None:
        self.level = 2
        self.shows_progress = False
        self._line = StatusLine()

    def say(self, level: int, text: str) -> None:
        """Write a text to standard error if the console's level is at least `level`."""
        if self.level >= level:
            self._line.clear()
            self._line.write(text)

    def fail(self, text: str, status: int = 1) -> int:
        """Write an error message to standard error and return `status`."""
        self.say(1, text)
        return status

    def progress(self, text: str) -> None:
        """Replace the last progress line by `text`, unless that line is too recent or progress is not shown."""
        if self.shows_progress:
            self._line.show(text)

    def ask(self, question: str, refusal: str, *, stdin_is_input: bool) -> bool:
        """
        Ask a question and return whether the answer on standard input begins with y; print `refusal` if not.

        With `stdin_is_input`, prints that there can be no answer, and returns False.
        """
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
        """Return a number of bytes, rounded to about three digits, and its unit; from level 4 on, the exact number."""
        if self.level > 3:
            return str(number), " B"
        power, unit = next(((power, unit) for power, unit in _UNITS if number >> power), (0, " B"))
        value = number / (1 << power)
        precision = 0 if value >= 100 or value == number else 1 if value >= 10 else 2 if value > 1 else 3
        return f"{value:.{precision}f}", unit

    def wide(self, number: int, width: int = 6, unit_width: int = 4) -> str:
        """Return a number of bytes as text for a column, the number and the unit right-justified in their widths."""
        value, unit = self.size(number)
        return f"{value:>{width}}{unit:>{unit_width}}"
