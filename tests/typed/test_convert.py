# SPDX-License-Identifier: Apache-2.0
"""`convert` accepts the results of `to_builtins`, and objects that already have the type."""

from __future__ import annotations

import datetime
import enum
import sys
from collections import UserDict
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Dict, List, Literal, Optional, Set, Tuple, Union
from uuid import UUID

import pytest

from cpkg import typed

if sys.version_info >= (3, 11):
    from typing import TypedDict
else:
    from typing_extensions import TypedDict


class Movie(TypedDict):
    name: str


class Key(enum.Enum):
    A = b"a"


class Moment(datetime.datetime):
    pass


class Day(datetime.date):
    pass


class Number(Decimal):
    pass


@dataclass
class Batch:
    items: List[int]

    def __iter__(self):
        return iter(self.items)


DAY = datetime.date(2024, 2, 3)
MOMENT = datetime.datetime(2024, 2, 3, 4, 5, 6)
UUID_OF_DIGITS = UUID("12345678-1234-5678-1234-567812345678")
BOTH_WAYS = [
    (bytes, b"a"), (Optional[bytes], b"a"), (Union[bytes, int], b"a"), (Union[bytearray, None], bytearray(b"a")),
    (Literal[b"a"], b"a"), (Literal[b"a", 1], b"a"), (Optional[Literal[b"a"]], b"a"),
    (Key, Key.A), (Optional[Key], Key.A),
    (Union[bytes, datetime.timedelta], datetime.timedelta(12)), (Union[bytes, UUID], UUID_OF_DIGITS),
    (Union[bytes, Decimal], Decimal("1234")), (Union[datetime.date, datetime.datetime], MOMENT),
    (Union[datetime.date, datetime.datetime], DAY), (Dict[bytes, bytes], {b"a": b"b"}), (Set[bytes], {b"a"}),
]  # fmt: skip


@pytest.mark.parametrize(("tp", "value"), BOTH_WAYS)
def test_results_of_to_builtins_are_converted_back(tp, value):
    made = typed.convert(typed.to_builtins(value), tp)
    assert made == value
    assert type(made) is type(value)


@pytest.mark.parametrize(
    ("tp", "value"),
    [
        (datetime.datetime, Moment(2024, 1, 1)),
        (datetime.date, Day(2024, 1, 1)),
        (Decimal, Number(1)),
        (Union[datetime.date, datetime.datetime], MOMENT),
        (Union[datetime.datetime, datetime.date], Day(2024, 1, 1)),
        (Union[List[int], Batch], Batch([1])),
        (Union[Batch, Key], Key.A),
    ],
)
def test_instances_are_returned_unchanged(tp, value):
    assert typed.convert(value, tp, dec_hook=lambda cls, value: value) is value


@pytest.mark.parametrize(
    ("tp", "value", "found"),
    [
        (datetime.date, MOMENT, "datetime"),
        (Optional[Movie], 1.5, "float"),
        (Optional[bytes], "a", "str"),
        (datetime.date, type("date", (), {})(), "date"),
        (Dict[str, int], dict, "type"),
    ],
)
def test_other_objects_are_a_validation_error(tp, value, found):
    with pytest.raises(typed.ValidationError, match=f"found {found}$"):
        typed.convert(value, tp)


def test_iterables_without_a_length_are_read_once():
    assert typed.convert(iter([1, 2]), Tuple[int, int]) == (1, 2)
    assert typed.convert(iter([1, 2]), Union[List[int], None]) == [1, 2]
    assert typed.convert([iter([1]), iter([2])], List[List[int]]) == [[1], [2]]
    with pytest.raises(typed.ValidationError, match="expected array of length 2, found array of length 3"):
        typed.convert(iter([1, 2, 3]), Tuple[int, int])


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


def test_mappings_of_other_classes():
    assert typed.convert(UserDict(name="x"), Movie) == {"name": "x"}
    assert typed.convert(Row(), Movie) == {"name": "x"}


@pytest.mark.parametrize("tp", [Dict[Tuple[int], str], Dict[int, str], Literal[1], Any])
def test_ints_with_more_digits_than_python_prints(tp):
    long = 10**5000
    value = {(long,): 1} if tp is Dict[Tuple[int], str] else {long: 1} if tp is Dict[int, str] else long
    if tp is Any:
        assert typed.convert(value, tp) is value
        return
    with pytest.raises(typed.ValidationError) as info:
        typed.convert(value, tp)
    assert "expected" in str(info.value)
