# SPDX-License-Identifier: Apache-2.0
"""Add the options of the benchmark matrix to pytest, and more information to its results."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from bench import cells, machine, measure, peers, turns

_STARTED = time.monotonic()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("bench", "the benchmark matrix")
    group.addoption("--bench-quick", action="store_true", help="a representative tenth of the cells")
    group.addoption("--bench-slow", action="store_true", help="also the cells that take minutes or gigabytes")
    keep = "write each cell to this file at once; do not measure its cells again"
    group.addoption("--bench-keep", type=Path, help=keep)
    group.addoption("--bench-minutes", type=float, help="end after that many minutes; --bench-keep continues there")


@pytest.fixture(scope="session")
def bench_kept(pytestconfig: pytest.Config) -> measure.Kept | None:
    """Return the object that measures cells and keeps their figures, or None if cells are only checked."""
    if not pytestconfig.getoption("benchmark_enable"):
        return None
    described = {name: machine.describe()[name] for name in ("interpreter", "revision")}
    try:
        return measure.Kept(pytestconfig.getoption("--bench-keep"), {"row": machine.row_name(), **described})
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """End the run after --bench-minutes."""
    minutes = item.config.getoption("--bench-minutes", default=None)
    if minutes is not None and time.monotonic() > _STARTED + 60 * minutes:
        item.session.shouldstop = "the time of --bench-minutes is over"


def pytest_benchmark_update_json(config: pytest.Config, benchmarks: Any, output_json: dict[str, Any]) -> None:
    """Add to the results for the report: the row, the machine, the settings, every peer."""
    given = {name: config.getoption(f"--bench-{name}") for name in ("quick", "slow")}
    output_json["matrix"] = {
        "row": machine.row_name(),
        "machine": machine.describe(),
        "settings": {**given, "turn": turns.TURN, "processes": turns.PROCESSES, "narrow": turns.NARROW},
        "peers": [_peer(peer) for peer in peers.PEERS],
        "install_errors": peers.install_errors(),
    }


def _peer(peer: peers.Peer) -> dict[str, Any]:
    library = peers.load(peer)
    record: dict[str, Any] = {"name": peer.name, "codecs": [peer.codec], "ours": peer.name == cells.OURS}
    if isinstance(library, str):
        return {**record, "error": library}
    return {**record, "version": library.version, "build": library.build, "backend": library.backend}
