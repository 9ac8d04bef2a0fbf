# SPDX-License-Identifier: Apache-2.0
"""
Run random cases that consist of two lists (content and operations), and find the smallest one that fails.

Hypothesis is more thorough, but takes a hundred times as long for each operation. Speed is more important if only a
rare order of many operations shows a fault.
"""

from __future__ import annotations

import random
from collections import namedtuple
from collections.abc import Sequence
from typing import Any, Callable

from seeds import SEED

Case = namedtuple("Case", "content options operations")
"""One case: a tuple of content, named options, and a tuple of operations."""


def failure(run: Callable[[Case], Any], case: Case) -> Exception | None:
    try:
        run(case)
    except Exception as exc:
        return exc
    return None


def shorter(items: Sequence[Any], fails: Callable[[tuple[Any, ...]], bool]) -> tuple[Any, ...]:
    """Remove items as long as `fails` returns True for the rest: first halves, then ever shorter runs."""
    kept = tuple(items)
    size = max(1, len(kept) // 2)
    while True:
        at = 0
        while at < len(kept):
            candidate = kept[:at] + kept[at + size :]
            if fails(candidate):
                kept = candidate
            else:
                at += size
        if size == 1:
            return kept
        size //= 2


def shrink(run: Callable[[Case], Any], case: Case, defaults: dict[str, Any]) -> Case:
    """Return a smaller case that also fails, if possible; `defaults` has the simplest value of each option."""

    def fails(candidate: Case) -> bool:
        return failure(run, candidate) is not None

    def with_less(case: Case, part: str) -> Case:
        left = shorter(getattr(case, part), lambda left: fails(case._replace(**{part: left})))
        return case._replace(**{part: left})

    before = None
    while case != before:
        before = case
        case = with_less(with_less(case, "operations"), "content")
        for name, value in defaults.items():
            plainer = case._replace(options={**case.options, name: value})
            if plainer != case and fails(plainer):
                case = plainer
    return case


def check(
    run: Callable[[Case], Any], make: Callable[[random.Random], Case], count: int, defaults: dict[str, Any]
) -> None:
    """Run random cases until they have done `count` operations; if a case fails, fail with the smallest one found."""
    chance = random.Random(SEED)
    done = 0
    while done < count:
        case = make(chance)
        done += len(case.operations)
        if failure(run, case) is not None:
            case = shrink(run, case, defaults)
            raise AssertionError(f"after {done} operations of seed {SEED}: {case}") from failure(run, case)
