# SPDX-License-Identifier: Apache-2.0
"""The error of a message that is sound MessagePack but not of the type that was asked for."""

from __future__ import annotations

from purepy.base.errors import CodecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ValidationError(CodecError, ValueError):
    """
    A value is not of its type: "$.users[3].home.lat: expected float, found str (at byte 103)".

    `path` is where the value is: names of fields, indices of arrays and keys of maps from the outermost value on.
    `offset` is the byte at which the value begins in the message; None for `convert`, which has no bytes. `expected`
    and `found` are the two halves of the text. `errors` has every error of the message, itself first, if all of them
    were asked for, and otherwise itself alone. `more` is True if the message has more errors than `max_errors`.
    """

    __module__ = "cpkg.typed"  # where callers find it: what a traceback shows can be imported

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
        return "\n".join([*lines, f"and more than these {len(lines)} errors (max_errors)"] if self.more else lines)

    def _line(self) -> str:
        where = "" if self.offset is None else f" (at byte {self.offset})"
        return f"{path_text(self.path)}: expected {self.expected}, found {self.found}{where}"


def path_text(path: tuple[object, ...]) -> str:
    """Return a path as text: `$` for the message, `.name` for a name, `[3]` for an index or any other key."""
    return "$" + "".join(
        [f".{part}" if isinstance(part, str) and part.isidentifier() else f"[{part!r}]" for part in path]
    )
