# SPDX-License-Identifier: Apache-2.0
"""Calls of `cpkg.typed` whose result depends only on their arguments: values, errors, and the texts of errors."""

from __future__ import annotations

import datetime
import enum
import sys
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import Annotated, Any, Dict, List, NamedTuple, Union

import annotated_types as at
import typed_ways
from call_tables import calls, check_call

import cpkg
from cpkg import typed
from purepy.base import errors

if sys.version_info >= (3, 11):
    from typing import TypedDict
else:
    from typing_extensions import TypedDict


class Movie(TypedDict):
    name: str


class Pair(NamedTuple):
    a: int


class Key(enum.Enum):
    A = b"a"


@dataclass
class Plain:
    a: int
    b: str = "b"


@dataclass
class Batch:
    items: List[int]

    def __iter__(self):
        return iter(self.items)


class Row:
    """A mapping that iterates over its values, like the rows of database libraries."""

    def keys(self):
        return ["name"]

    def __getitem__(self, key):
        return {"name": "x"}[key]

    def __len__(self):
        return 1

    def __iter__(self):
        return iter(["x"])


class Other:
    name = "x"


def sub(base: type, *arguments: Any) -> Any:
    """Return an instance of a subclass."""
    return type("Sub", (base,), {})(*arguments)


def is_kept(value: Any, tp: Any) -> bool:
    """Return whether `convert` returns an object unchanged."""
    return typed.convert(value, tp, dec_hook=lambda cls, value: value) is value


def key_by(rename: Any) -> str:
    """Return the key of the field `two_words` if names are changed by `rename`."""
    cls = typed.options(rename=rename)(make_dataclass("Renamed", [("two_words", int)]))
    (key,) = cpkg.unpackb(typed.encode(cls(1)))
    assert typed.decode(cpkg.packb({key: 1}), cls) == cls(1)
    return key


def declaring(cls: Any, options: Any) -> Any:
    """Return a class that declares options itself."""
    wrong: Any = TypedDict("Wrong", {"a": int}) if cls is Movie else type("Wrong", (cls,), {})  # type: ignore[operator]
    wrong.__typed_options__ = options
    return wrong


DAY, MOMENT, UTC = datetime.date(2024, 2, 3), datetime.datetime(2024, 2, 3, 4, 5, 6), datetime.timezone.utc
FITTING: Any = Annotated[Union[int, str, None], at.Gt(0), at.MinLen(2)]
DAMAGED: Any = Union[int, str, List[Any], Dict[str, int]]
OWN = {name: getattr(typed, name) for name in typed.__all__}
NAMES = {**typed_ways.NAMES, **OWN, **vars(errors), **globals(), "packb": cpkg.packb, "refusal": typed_ways.refusals}


@calls(Path(__file__).with_name("calls.txt"), every=1)
def test_calls(call: str, outcome: list[str]) -> None:
    check_call(call, outcome, NAMES)
