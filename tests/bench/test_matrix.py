# SPDX-License-Identifier: Apache-2.0
"""The benchmark matrix: a test for each cell. Without --benchmark-enable each small cell runs once and is checked."""

from __future__ import annotations

import statistics
from dataclasses import asdict
from typing import Any

import pytest

from bench import cells, measure
from bench.cells import OURS, Case, Group

pytestmark = pytest.mark.filterwarnings("ignore")  # a peer's deprecation warning is not an error here


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    given = metafunc.config.getoption
    found = [*cells.cells(given("--bench-quick"), given("--bench-slow"))]
    if not given("benchmark_enable"):
        found = [cell for cell in found if cell[1].small]
    names = [f"{group.name}-{case}-{operation}" for group, case, operation in found]
    metafunc.parametrize(("group", "case", "operation"), found, ids=names)


_reported = [0.0]
"""The sum of the reported figures. pytest-benchmark uses it as its clock, because other processes measure them."""


@pytest.mark.benchmark(timer=lambda: _reported[0])
def test_cell(benchmark: Any, bench_kept: measure.Kept | None, group: Group, case: Case, operation: str) -> None:
    """Measure all libraries of a cell. `extra_info` of the results has all rounds; pytest's statistics are of cpkg."""
    if bench_kept is None:
        benchmark.pedantic(once, (group, case, operation))
        return

    def report() -> None:
        _reported[0] += next(left)

    figures = bench_kept.measured(group, case, operation)
    benchmark.extra_info.update(asdict(figures))
    # a cell that cannot be measured here has no processes; pytest-benchmark then needs a figure, which is 0
    values = [statistics.median(process[OURS]) for process in figures.processes if OURS in process] or [0.0]
    left = iter(values)
    benchmark.pedantic(report, rounds=len(values))


def once(group: Group, case: Case, operation: str) -> None:
    """Run the calls of a cell once and check their results."""
    try:
        if group.works is not None:
            group.works(case, operation).once()
        else:
            answer = group.sample(case, -1)[operation][OURS]
            assert not isinstance(answer, str), answer
    except cells.NotHere as reason:
        pytest.skip(str(reason))
