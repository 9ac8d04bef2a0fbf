# SPDX-License-Identifier: Apache-2.0
"""
Match names against patterns as GNU tar does.

In a pattern `*` and `?` match slashes too, `[...]` a set, and a backslash takes the next character as it is; what
counts as a character is a byte, as for GNU tar. A pattern that matches a directory covers what is below it. Patterns of
`exclude` may begin at any component of a name, those of `include` at the first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from purepy.tar.encode import encoded

_CLASSES: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": " \\t-\\r",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


def _bracket(pattern: str, start: int) -> tuple[str, int]:
    """Return a set as a regular expression and where it ends; at an unclosed one the bracket stands for itself."""
    at = start + 1
    inverted = pattern[at : at + 1] in ("!", "^")
    at += inverted
    items = []
    first = at
    while at < len(pattern) and (pattern[at] != "]" or at == first):
        if pattern.startswith("[:", at):
            end = pattern.find(":]", at)
            if end >= 0 and pattern[at + 2 : end] in _CLASSES:
                items.append(_CLASSES[pattern[at + 2 : end]])
                at = end + 2
                continue
        low, at = _literal(pattern, at)
        if pattern[at : at + 1] == "-" and pattern[at + 1 : at + 2] not in ("", "]"):
            high, at = _literal(pattern, at + 1)
            if low <= high:
                items.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            items.append(re.escape(low))
    if at >= len(pattern):
        return "\\[", start + 1
    if not items:
        return ("(?s:.)" if inverted else "(?!)"), at + 1
    return f"[{'^' if inverted else ''}{''.join(items)}]", at + 1


def _literal(pattern: str, at: int) -> tuple[str, int]:
    if pattern[at] == "\\" and at + 1 < len(pattern):
        at += 1
    return pattern[at], at + 1


def translate(pattern: str) -> str:
    """Return a pattern as a regular expression for the whole of a name or of one of its leading directories."""
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == "*":
            if not parts or parts[-1] != ".*":
                parts.append(".*")
            at += 1
        elif letter == "?":
            parts.append(".")
            at += 1
        elif letter == "[":
            part, at = _bracket(pattern, at)
            parts.append(part)
        else:
            literal, at = _literal(pattern, at)
            parts.append(re.escape(literal))
    return "".join(parts)


def matcher(patterns: Iterable[str], *, anchored: bool) -> Callable[[str], bool] | None:
    """Return a function that says whether a name matches one of the patterns; None if there are none."""
    expressions = [translate(_as_bytes(pattern)) for pattern in patterns]
    if not expressions:
        return None
    start = "" if anchored else "(?:.*/)?(?!/)"
    found = re.compile(f"(?s:{start}(?:{'|'.join(f'(?:{item})' for item in expressions)})(?:/.*)?\\Z)").match
    return lambda name: found(_as_bytes(name)) is not None


def _as_bytes(text: str) -> str:
    """Return a name with a character for each of its bytes."""
    return text if text.isascii() else encoded(text).decode("latin-1")
