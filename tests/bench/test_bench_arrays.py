# SPDX-License-Identifier: Apache-2.0
"""Arrays of numbers as their bytes and as lists, packed and read, with cpkg and with its peers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from bench import arrays
from bench.cases import Case
from bench.harness import Cell
from cpkg import msgpack

GROUP = "Arrays"


@dataclass(frozen=True)
class ArrayCase(Case):
    """An array of `count` items of a dtype."""

    dtype: str = ""
    count: int = 100_000


NAMES = {"f8": "float64", "f4": "float32", "i8": "int64", "i4": "int32", "u1": "uint8", "?": "bool"}
CASES = [
    ArrayCase("1,000 float64", small=True, dtype="f8", count=1000),
    *(ArrayCase(f"100,000 {name}", quick=dtype == "f8", dtype=dtype) for dtype, name in NAMES.items()),
]
WORKS = [(operation, library) for operation, (_, others) in arrays.OPERATIONS.items() for library in ("cpkg", *others)]


@pytest.mark.parametrize(("operation", "library"), WORKS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_arrays(cell: Cell, case: ArrayCase, operation: str, library: str) -> None:
    """Pack a numpy array, or read it back."""
    cell.begin(GROUP, case, operation, library, library == "cpkg")
    try:
        import numpy as np
    except ImportError as exc:
        cell.not_run(exc)
    array = arrays.sample(case.dtype, case.count)
    missing: dict[str, str] = {}
    ways = arrays.OPERATIONS[operation][0](array, missing)
    if library not in ways:
        cell.not_run(missing[library])

    def check(result: Any) -> None:
        if operation == "packb":
            result = np.array(msgpack.unpackb(result), array.dtype)
        elif operation == "dumps":
            result = arrays.READERS[library](result)
        assert result.dtype == array.dtype, f"{library} gave another dtype"
        assert np.array_equal(result, array), f"{library} gave other items"

    cell.measure(lambda _: ways[library](), None, check)
