# SPDX-License-Identifier: Apache-2.0
"""
What Python's `json` lets through and is refused here, since it is lost or becomes something else on the way.

That is duplicate keys, NaN and Infinity, and numbers that overflow to infinity.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

from cpkg.cli.json_text import member

# Only such a number can overflow a double: one with an exponent of three digits, or with hundreds of its own.
HUGE_FLOAT: Final = re.compile(r"\d[eE]\+?0*[1-9]\d\d|\d{290}")


class DuplicateKeyError(Exception):
    """A key occurs twice in an object; `find_duplicate` finds which, and where."""


class RefusedError(Exception):
    """A refused constant or number, as the text has it, and the reason."""

    def __init__(self, token: str, reason: str) -> None:
        super().__init__(token)
        self.token = token
        self.reason = reason


def strict_scanners(*, allow_nan: bool) -> list[Callable[[str, int], tuple[Any, int]]]:
    """
    Return two functions that parse the value at a position of a text, and return it and the position behind it.

    The second one is for text in which `HUGE_FLOAT` is found; it takes longer. They raise what `scan_once` of `json`
    does, DuplicateKeyError and RefusedError.
    """
    constant = _constant if allow_nan else _refuse_constant
    return [
        json.JSONDecoder(object_pairs_hook=_object, parse_constant=constant, parse_float=finite).scan_once  # type: ignore[attr-defined]
        for finite in (None, _finite)
    ]


def find_duplicate(text: str, position: int, path: str) -> tuple[str, str]:
    """Return the path of the first object with a key that occurs twice in a value of that path, and the key."""
    marked = json.JSONDecoder(object_pairs_hook=_mark_duplicates).raw_decode(text, position)[0]
    return _find_marked(marked, path)


class _Duplicate(dict):  # type: ignore[type-arg]
    """A JSON object in which a key occurs twice."""

    key: str


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise DuplicateKeyError
    return value


def _mark_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = _Duplicate(pairs)
    if len(value) == len(pairs):
        return dict(value)
    seen = set()
    for key, _ in pairs:
        if key in seen:
            value.key = key
        seen.add(key)
    return value


def _find_marked(value: object, path: str) -> tuple[str, str]:
    """Return the path of the first object with a key that occurs twice, and that key."""
    pending = [(value, path)]
    while pending:
        value, path = pending.pop()
        if isinstance(value, _Duplicate):
            return path, value.key
        if isinstance(value, dict):
            pending += [(item, member(path, key)) for key, item in reversed(list(value.items()))]
        elif isinstance(value, list):
            pending += [(item, f"{path}[{index}]") for index, item in reversed(list(enumerate(value)))]
    raise AssertionError("no duplicate key")


def _constant(token: str) -> float:
    return float(token.replace("Infinity", "inf"))


def _refuse_constant(token: str) -> float:
    raise RefusedError(token, f"{token} is not JSON; --allow-nan takes it")


def _finite(token: str) -> float:
    value = float(token)
    if value in (float("inf"), float("-inf")):
        raise RefusedError(token, "the number overflows a 64-bit float")
    return value
