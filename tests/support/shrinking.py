# SPDX-License-Identifier: Apache-2.0
"""
Random cases that are two lists (what there is, and what is done with it), and the smallest one that fails.

Hypothesis does this with more care and takes a hundred times as long for each step, which is what counts where the
fault lies in a rare order of many steps.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple

from seeds import SEED


class Case(NamedTuple):
    """One run: `content` in parts, named `options`, and `operations` one after the other."""

    content: tuple[Any, ...]
    options: dict[str, Any]
    operations: tuple[Any, ...]


def failure(run: Callable[[Case], Any], case: Case) -> Exception | None:
    try:
        run(case)
    except Exception as exc:
        return exc
    return None


def shorter(items: Sequence[Any], fails: Callable[[tuple[Any, ...]], bool]) -> tuple[Any, ...]:
    """Leave out what can be left out so that it still fails: halves first, then ever smaller runs."""
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
    """Return a small case that fails as well; `defaults` are the options that say least."""

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
    run: Callable[[Case], Any],
    make: Callable[[random.Random], Case],
    count: int,
    defaults: dict[str, Any],
) -> None:
    """Run random cases until they have done `count` operations; fail with a small one if any does."""
    chance = random.Random(SEED)
    done = 0
    while done < count:
        case = make(chance)
        done += len(case.operations)
        if failure(run, case) is not None:
            case = shrink(run, case, defaults)
            raise AssertionError(f"after {done} operations of seed {SEED}: {case}") from failure(run, case)
