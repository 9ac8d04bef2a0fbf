# SPDX-License-Identifier: Apache-2.0
"""The error for a message, or for an object to convert, that does not have the requested type."""

from __future__ import annotations

from purepy.base.errors import CodecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ValidationError(CodecError, ValueError):
    """
    A value does not have its type: "$.users[3].home.lat: expected float, found str (at byte 103)".

    `path` locates the value: keys of fields, indices of arrays and keys of maps, from the outermost value inwards.
    `offset` is where the value or wrong key begins in the message; None for `convert`, which has no bytes. `expected`
    and `found` are the two halves of the text; `expected` is empty for a missing or unknown key, which `found` then
    names. `problem` is the text without the path and the offset.
    With `all_errors`, `errors` holds every error of the message, this one first; otherwise it holds only this error.
    `more` is True if the message has more errors than `max_errors`.
    """

    __module__ = "cpkg.typed"  # the public module, from which callers can import the name in a traceback

    def __init__(self, expected: str, found: str, path: tuple[Any, ...] = (), offset: int | None = None) -> None:
        super().__init__(expected, found, path, offset)
        self.expected = expected
        self.found = found
        self.path = path
        self.offset = offset
        self.errors: tuple[ValidationError, ...] = (self,)
        self.more = False

    def __str__(self) -> str:
        lines = [error._line() for error in self.errors]
        if self.more:
            lines.append(f"and more errors: only {len(lines)} are listed (max_errors)")
        text = "\n".join(lines)
        return text if self.advice is None else f"{text}; {self.advice}"

    def _line(self) -> str:
        where = "" if self.offset is None else f" (at byte {self.offset})"
        return f"{path_text(self.path)}: {self.problem}{where}"

    @property
    def problem(self) -> str:
        """Return what is wrong, without the path and the byte, such as "expected int, found str"."""
        return f"expected {self.expected}, found {self.found}" if self.expected else self.found


def path_text(path: tuple[object, ...]) -> str:
    """Return a path as text: `$` for the message, `.name` for identifiers, and `[3]` or `['a b']` for other steps."""
    return "$" + "".join(
        [f".{part}" if isinstance(part, str) and part.isidentifier() else f"[{part!r}]" for part in path]
    )
