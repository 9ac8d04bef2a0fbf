# SPDX-License-Identifier: Apache-2.0
"""Typed messages: dataclasses from MessagePack and back, with ours and with the libraries that do it over a codec."""

from __future__ import annotations

from typing import Any

import pytest

from bench import harness, typed
from bench.cases import Case
from cpkg.typed import decode, encode

GROUP = "Typed"
CASES = [Case(kind, quick=kind == "users", small=kind == "files") for kind in typed.MESSAGES]
LIBRARIES = {
    "cpkg": ("ours",),
    "msgspec": ("msgspec dataclass", "msgspec Meta"),
    "msgspec Struct": ("msgspec Struct",),
    **{name: (name,) for name in typed.PYTHON_PEERS},
}
"""Each library, and what its ways are called in typed.py."""


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("operation", ["decode", "encode"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_typed(
    benchmark: Any,
    settings: harness.Settings,
    not_run: Any,
    case: Case,
    operation: str,
    library: str,
    bench_pass: int,
) -> None:
    """Decode a message to dataclasses, or encode them, by what a library keeps for the type."""
    make, cls, _ = typed.MESSAGES[case.name]
    info = {
        "group": GROUP,
        "case": case.name,
        "operation": operation,
        "library": library,
        "ours": library == "cpkg",
        "pass": bench_pass,
    }
    value = make()
    data = encode(value)
    missing: dict[str, str] = {}
    if operation == "decode":
        ways = typed.decoding_ways(case.name, cls, data, missing, over_pure=False)
    else:
        ways = typed.encoding_ways(value, missing)
    names = LIBRARIES[library]
    way = next((ways[name] for name in names if name in ways), None)
    if way is None:
        not_run(info, next((missing[name] for name in names if name in missing), "has no way of its own for this"))
        return
    expected = typed.plain(value)

    def check(result: Any) -> None:
        found = decode(result, cls) if operation == "encode" else result
        assert typed.plain(found) == expected, f"{library} gave another object"

    harness.measure(benchmark, settings, lambda _: way(), None, check, info)
