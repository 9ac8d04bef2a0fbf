# SPDX-License-Identifier: Apache-2.0
"""Decode a value in each way, and read rows of data files, for tests of typed messages."""

from __future__ import annotations

import collections
import datetime
import decimal
import math
import re
import typing
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Optional

import annotated_types as at
import pytest

import cpkg
from cpkg import typed


@dataclass(frozen=True)
class Point:
    """A type with required fields."""

    lat: float
    lon: float


@dataclass
class User:
    """A type with an object and a dict in it."""

    name: str
    home: Optional[Point] = None
    scores: Dict[str, int] = field(default_factory=dict)


FOLDER = Path(__file__).resolve().parents[1] / "typed"
NAMES = {
    **{name: value for module in (decimal, uuid, cpkg.msgpack, typing) for name, value in vars(module).items()},
    **{module.__name__: module for module in (collections, cpkg, datetime, decimal, math, re, typing, uuid)},
    "at": at,
    "typed": typed,
    "Point": Point,
    "User": User,
}
"""The names that all data files may use."""


def rows_of(name: str, names: dict[str, Any]) -> list[Any]:
    """Return the rows of a file in tests/typed: each line is a Python tuple, which may use `names` and NAMES."""
    lines = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [eval(line, {**NAMES, **names}) for line in lines]


def decode_in_all_ways(value: object, tp: Any, **options: Any) -> Any:
    """
    Pack `value` and decode the message with and without `strict`, and convert `value` itself; return the object.

    Check that the three results are equal.
    """
    decoder = typed.Decoder(tp, **options)
    data = cpkg.packb(value)
    made = decoder.decode(data)
    assert typed.Decoder(tp, strict=False, **options).decode(data) == made
    assert decoder.convert(value) == made
    return made


def refusals(value: object, tp: Any) -> str:
    """Check that the ways of `decode_in_all_ways` raise the same error; return its text without the offset."""
    texts = set()
    for decode in (typed.Decoder(tp).decode, typed.Decoder(tp, strict=False).decode):
        with pytest.raises(typed.ValidationError) as info:
            decode(cpkg.packb(value))
        texts.add(str(info.value).partition(" (at byte")[0])
    with pytest.raises(typed.ValidationError) as info:
        typed.convert(value, tp)
    assert texts == {str(info.value)}
    return texts.pop()
