# SPDX-License-Identifier: Apache-2.0
"""Dates, UUIDs, Decimals and similar types: lists of a thousand, packed and read, with cpkg and with its peers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from bench import value_types
from bench.cases import Case
from bench.harness import Cell

GROUP = "Value types"
CASES = [Case(name, quick=name in ("date", "UUID"), small=name == "Decimal") for name in value_types.SAMPLES]
_ALL, _TYPED = tuple(value_types.PEERS), ("msgspec", "mashumaro", "cattrs")
OPERATIONS: dict[str, tuple[str, str, Collection[str]]] = {
    "dumps": ("packing", "dumps", _ALL),
    "packb": ("packing", "packb", ("msgpack", "ormsgpack")),
    "typed.encode": ("packing", "typed", _TYPED),
    "loads": ("reading", "loads", _ALL),
    "typed.decode": ("reading", "typed", _TYPED),
}
"""Each of cpkg's operations: its direction, its way in value_types.py, and the peers with the same operation."""
WORKS = [(operation, library) for operation, (_, _, others) in OPERATIONS.items() for library in ("cpkg", *others)]


@pytest.mark.parametrize(("operation", "library"), WORKS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values(cell: Cell, case: Case, operation: str, library: str) -> None:
    """Pack a thousand values of a type, or read them back."""
    direction, ours, _ = OPERATIONS[operation]
    cell.begin(GROUP, case, operation, library, library == "cpkg")
    name = ours if library == "cpkg" else library
    missing: dict[str, str] = {}
    ways = value_types.DIRECTIONS[direction][1](case.name, missing)
    if name not in ways:
        cell.not_run(missing[name])
    values = value_types.SAMPLES[case.name][1]

    def check(result: Any) -> None:
        # value_types.py has already compared what a peer reads from its own messages
        assert direction == "packing" or operation == "loads" or result == values, f"{library} gave other values"

    cell.measure(lambda _: ways[name](), None, check)
