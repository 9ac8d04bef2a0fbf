# SPDX-License-Identifier: Apache-2.0
"""Equal sets pack to equal bytes, whatever their members and history, and in every process."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import itertools
import sys
from types import ModuleType
from typing import Any

import pytest
from any_codecs import codecs_of, encode
from processes import run_python

from cpkg.objects import dumps_loads

Tagged = dataclasses.make_dataclass("Tagged", ["tags"], frozen=True)
Kind = enum.Enum("Kind", {"A": "a", "B": "b"})
WORDS = ["oslo", "bergen", "troms", "hamar", "bod", "vads", "moss"]
SETS: dict[str, list[Any]] = {
    "sets": [frozenset(pair) for pair in itertools.combinations(WORDS, 2)],
    "sets of sets": [frozenset({frozenset({word}), frozenset({word, "x"})}) for word in WORDS],
    "sets in tuples": [(frozenset(pair), 1) for pair in itertools.combinations(WORDS, 2)],
    "NaN": [float(i) for i in range(8)] + [float("nan")],
    "Decimal NaN": [decimal.Decimal(i) for i in range(8)] + [decimal.Decimal("NaN")],
    "several types": [*WORDS, *range(8), None, 1.5, b"x", (1, "a"), ("a", 1), frozenset({1})],
    "dataclasses": [Tagged(frozenset(pair)) for pair in itertools.combinations(WORDS, 2)],
    "members of an Enum": list(Kind),
    "dates and datetimes": [datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1)],
}


@pytest.mark.parametrize("members", SETS.values(), ids=SETS)
@pytest.mark.parametrize("kind", [set, frozenset])
def test_equal_sets_give_equal_bytes(codecs: dumps_loads.Codecs, members: list[Any], kind: type) -> None:
    """The bytes do not depend on the order in which members were added."""
    expected = encode(codecs, kind(members))
    many = {f"{i}" for i in range(1000)}
    for turn in range(len(members)):
        turned = members[turn:] + members[:turn]
        assert encode(codecs, kind(turned)) == expected
        assert encode(codecs, kind(reversed(turned))) == expected
        # a set that was larger before has its members in other slots
        grown = set(turned) | many
        assert encode(codecs, kind(grown & set(members))) == expected


def test_members_that_have_an_order_are_sorted(codecs: dumps_loads.Codecs) -> None:
    several: list[list[Any]] = [[10, 9, -1, 300], ["b", "a"], [1.5, -2, True], [(1.0, 2), (0.5, 3)], [b"b", b"a"]]
    for members in [*several, [(10, "b"), (9, "a"), (10, "a")]]:
        assert encode(codecs, set(members)) == encode(codecs, sorted(members))


@pytest.mark.parametrize("count", [32769, 70001])
def test_large_sets_are_sorted_in_parts(msgpack: ModuleType, count: int) -> None:
    numbers = [(i * 7919) % 300007 - 50000 for i in range(count)]
    assert encode(codecs_of(msgpack), set(numbers), compress=False) == msgpack.packb(sorted(numbers))


def test_the_same_bytes_in_every_process() -> None:
    code = f"""
import sys
sys.path[:0] = {sys.path!r}
import cpkg
words = {WORDS!r}
pairs = {{frozenset((a, b)) for a in words for b in words}}
print(cpkg.dumps([pairs, {{(pair, 1) for pair in pairs}}, {{*words, 1, None}}]).hex())
"""
    done = [run_python("-c", code, env={"PYTHONHASHSEED": seed}) for seed in "12"]
    assert done[0].stdout == done[1].stdout != "", done[0].stderr


@pytest.mark.parametrize(("make", "levels"), [(frozenset, 510), (tuple, 1000)])
def test_sets_very_deep(msgpack: ModuleType, make: Any, levels: int) -> None:
    """Sets in sets, and tuples in a set, pack up to the depth limit."""
    codecs = codecs_of(msgpack)
    deep: Any = 0
    for level in range(levels):  # two calls per level would exceed Python's recursion limit
        deep = make([deep, level])
    deep = {deep}
    assert encode(codecs, deep)
    pytest.raises(ValueError, encode, codecs, deep, max_depth=100).match("recursion limit")
