# SPDX-License-Identifier: Apache-2.0
"""
Match names against patterns, as GNU tar does.

In a pattern, `*` and `?` also match slashes, `[...]` matches a set, and a backslash quotes the next character. Each
byte counts as a character, as in GNU tar with the locale C. A pattern that matches a directory also matches everything
below it. Patterns of `exclude` may match from any component of a name on, patterns of `include` only from the first.
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
    """Return the set at `start` as a regular expression, and the position after it; an unclosed [ matches itself."""
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


def _segments(pattern: str) -> list[str]:
    """Split a pattern at its stars; return each part as a regular expression that matches a fixed number of bytes."""
    parts = [""]
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == "*":
            parts.append("")
            at += 1
        elif letter == "?":
            parts[-1] += "."
            at += 1
        elif letter == "[":
            part, at = _bracket(pattern, at)
            parts[-1] += part
        else:
            literal, at = _literal(pattern, at)
            parts[-1] += re.escape(literal)
    return parts


def _starred(number: int, first: str, *others: str, begin: str) -> str:
    """
    Return a regular expression for the `number`-th pattern, which has stars.

    `first` and `others` are its segments (see `_segments`). `begin` matches what may precede the pattern in a name.
    The text between two stars is searched only once, for its first position, because a later position could not help
    the rest to match. So the time is proportional to the length of the name. Each search is a lookahead, which the
    regular expression does not backtrack into, and a reference to the text it found.
    """
    pieces = [begin + first] if first else []
    pieces += [f".*?{segment}" for segment in others[:-1] if segment]
    found = "".join(f"(?=(?P<at{number}_{at}>{piece}))(?P=at{number}_{at})" for at, piece in enumerate(pieces))
    return f"{found}.*{others[-1]}"


def matcher(patterns: Iterable[str], *, anchored: bool) -> Callable[[str], bool] | None:
    """
    Return a function that reports whether a name matches one of the patterns; None without patterns.

    With `anchored`, patterns match from the first component of a name on, otherwise from any.
    """
    begin = "" if anchored else "(?:.*?/)??(?!/)"
    plain, expressions = [], []
    for number, pattern in enumerate(patterns):
        segments = _segments(_as_bytes(pattern))
        if len(segments) == 1:
            plain += segments
        else:
            expressions.append(_starred(number, *segments, begin=begin))
    if plain:
        expressions.append(f"{begin}(?:{'|'.join(plain)})")
    if not expressions:
        return None
    found = re.compile(f"(?s:(?:{'|'.join(expressions)})(?:/|\\Z))").match
    return lambda name: found(_as_bytes(name)) is not None


def _as_bytes(text: str) -> str:
    """Return a name with one character for each byte."""
    return text if text.isascii() else encoded(text).decode("latin-1")
