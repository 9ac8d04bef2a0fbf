# SPDX-License-Identifier: Apache-2.0
"""The case of a parametrized benchmark: its name in the report and which selections it belongs to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One row of a group.

    name: as in the report. quick: part of the representative tenth. small: also run, once and checked, with the
    ordinary tests. slow: only with --bench-slow. copies: the operations that are one copy of memory in every library:
    no codec is at work in them, and no mean includes them.
    """

    name: str
    quick: bool = False
    small: bool = False
    slow: bool = False
    copies: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name
