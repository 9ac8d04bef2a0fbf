# SPDX-License-Identifier: Apache-2.0
"""Typed messages: dataclasses from MessagePack and back, with cpkg and with the libraries that do it over a codec."""

from __future__ import annotations

from typing import Any

import pytest

from bench import typed
from bench.cases import Case
from bench.harness import Cell

GROUP = "Typed"
CASES = [Case(kind, quick=kind == "users", small=kind == "files") for kind in typed.MESSAGES]
LIBRARIES = {
    "cpkg": ("ours",),
    "msgspec": ("msgspec dataclass", "msgspec Meta"),
    "msgspec Struct": ("msgspec Struct",),
    "pickle": ("pickle",),
    **{name: (name,) for name in typed.PYTHON_PEERS},
}
"""Each library, and the names of its ways in typed.py."""


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("operation", ["decode", "encode"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_typed(cell: Cell, case: Case, operation: str, library: str) -> None:
    """Decode a message to dataclasses, or encode them, with the object that a library keeps for the type."""
    make, cls, _ = typed.MESSAGES[case.name]
    cell.begin(GROUP, case, operation, library, library == "cpkg")
    value = make()
    missing: dict[str, str] = {}
    if operation == "decode":
        data = typed.encoding_ways(value, {})["ours"]()
        ways = typed.decoding_ways(cls, data, missing, over_pure=False)
    else:
        ways = typed.encoding_ways(value, missing)
    names = LIBRARIES[library]
    way = next((ways[name] for name in names if name in ways), None)
    if way is None:
        cell.not_run(next((missing[name] for name in names if name in missing), "has no way of its own for this"))
    expected = typed.plain(value)

    def check(result: Any) -> None:
        found = typed.read(result, cls) if operation == "encode" else result
        assert typed.plain(found) == expected, f"{library} gave another object"

    cell.measure(lambda _: way(), None, check)
