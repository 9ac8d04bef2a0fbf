# SPDX-License-Identifier: Apache-2.0
"""Options, passes and records of the benchmarks; without --benchmark-enable each small case runs once, checked."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench import harness, machine, peers
from bench.kept import Kept, OtherRun

# test id -> why it has no figure; written into the JSON beside the figures
_not_run: list[dict[str, Any]] = []
_STARTED = time.monotonic()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("bench", "the benchmark matrix")
    group.addoption("--bench-passes", type=int, help="passes over all cells (default 3, of the quick tenth 2)")
    group.addoption("--bench-seconds", type=float, default=0.2, help="seconds per cell and pass (default 0.2)")
    group.addoption("--bench-quick", action="store_true", help="a representative tenth of the cells")
    group.addoption("--bench-slow", action="store_true", help="also the cells that take minutes or gigabytes")
    group.addoption(
        "--bench-keep", type=Path, help="write each figure to this file at once; do not measure its figures again"
    )
    group.addoption("--bench-noisy", action="store_true", help="another pass, of noisy cells in --bench-keep's file")
    group.addoption("--bench-minutes", type=float, help="end after that many minutes; --bench-keep continues there")


def _settings(config: pytest.Config) -> harness.Settings:
    session = getattr(config, "_benchmarksession", None)
    enabled = session is not None and not session.disabled
    quick = config.getoption("--bench-quick", default=False)
    passes = config.getoption("--bench-passes", default=None) or (2 if quick else 3)
    return harness.Settings(
        enabled=enabled,
        passes=passes if enabled else 1,
        seconds=config.getoption("--bench-seconds", default=0.2),
        quick=quick,
        slow=config.getoption("--bench-slow", default=False),
    )


@functools.lru_cache(maxsize=1)
def _kept(config: pytest.Config) -> Kept | None:
    path = config.getoption("--bench-keep", default=None)
    if path is None:
        return None
    settings = _settings(config)
    described = {**machine.describe(), "row": machine.row_name(), "seconds": settings.seconds, "quick": settings.quick}
    try:
        return Kept(path, {name: described[name] for name in ("row", "interpreter", "revision", "seconds", "quick")})
    except OtherRun as error:
        raise pytest.UsageError(str(error)) from None


@pytest.fixture(scope="session")
def settings(request: pytest.FixtureRequest) -> harness.Settings:
    """The settings from the command line."""
    return _settings(request.config)


@pytest.fixture
def cell(request: pytest.FixtureRequest, benchmark: Any, settings: harness.Settings, bench_pass: int) -> harness.Cell:
    """The cell that the test measures, in one of the passes."""

    def record(info: dict[str, Any]) -> None:
        _not_run.append(info)
        kept = _kept(request.config)
        if kept is not None and info not in kept.not_run:
            kept.add(info)

    return harness.Cell(benchmark, settings, record, {"pass": bench_pass})


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "bench_pass" in metafunc.fixturenames:
        passes = _settings(metafunc.config).passes
        record = _kept(metafunc.config)
        if record is not None and metafunc.config.getoption("--bench-noisy"):
            passes = max(passes, record.passes + 1)
        metafunc.parametrize("bench_pass", range(passes), ids=[f"pass{n}" for n in range(passes)])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    settings = _settings(config)
    kept, dropped = [], []
    only = settings.enabled and config.getoption("benchmark_only", default=False)
    for item in items:
        params = _params(item)
        case = params.get("case")
        if "way" in params and params["way"] not in params["case"].ways:
            continue  # a library that does not take part in the case
        if case is None:
            # `--benchmark-only` would skip tests without a measurement, and a skip looks like a test that could not run
            keep = not only or "benchmark" in getattr(item, "fixturenames", ())
        elif not settings.enabled:
            keep = case.small
        else:
            keep = (settings.slow or not case.slow) and (not settings.quick or case.quick)
        (kept if keep else dropped).append(item)
    # pass by pass: the measurements of one cell are far apart, those of the libraries alternate
    kept.sort(key=lambda item: int(_params(item).get("bench_pass", 0)))
    record = _kept(config)
    if record is not None:
        wanted = record.left([item.nodeid for item in kept], only_noisy=config.getoption("--bench-noisy"))
        dropped += [item for item in kept if item.nodeid not in wanted]
        kept = [item for item in kept if item.nodeid in wanted]
        minutes = len(kept) * record.seconds_each(settings.seconds * 2) / 60
        print(f"\n{len(kept)} figures to measure, about {minutes:.0f} minutes")
    items[:] = kept
    if dropped:
        config.hook.pytest_deselected(items=dropped)


def _params(item: pytest.Item) -> dict[str, Any]:
    """Return the parameters of a benchmark."""
    params = getattr(getattr(item, "callspec", None), "params", {})
    return params if "bench_pass" in params else {}


def pytest_runtest_setup(item: pytest.Item) -> None:
    """End the run when its time is over."""
    minutes = item.config.getoption("--bench-minutes", default=None)
    if minutes is not None and time.monotonic() > _STARTED + 60 * minutes:
        item.session.shouldstop = "the time of --bench-minutes is over"


@pytest.fixture(autouse=True)
def _keep_figure(request: pytest.FixtureRequest) -> Iterator[None]:
    """Write the measurement to the file of --bench-keep."""
    start = time.monotonic()
    yield
    record = _kept(request.config)
    benchmark = request.node.funcargs.get("benchmark")
    if record is not None and benchmark is not None and "inner" in benchmark.extra_info:
        took, stats = time.monotonic() - start, benchmark.stats.as_dict(include_data=False)["stats"]
        record.add({"id": request.node.nodeid, "took": took, "extra_info": benchmark.extra_info, "stats": stats})


@pytest.fixture(autouse=True)
def _quiet_peers() -> Iterator[None]:
    """A peer's deprecation warning is not an error here."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def pytest_benchmark_update_json(config: pytest.Config, benchmarks: Any, output_json: dict[str, Any]) -> None:
    """Add information for readers: the row, the machine, every peer, every cell without a figure."""
    settings = _settings(config)
    record = _kept(config)
    if record is not None:
        output_json["benchmarks"] = record.entries
        _not_run[:] = record.not_run
    output_json["matrix"] = {
        "row": machine.row_name(),
        "machine": machine.describe(),
        "settings": {"passes": settings.passes, "seconds": settings.seconds, "quick": settings.quick},
        "peers": [_peer(loaded) for loaded in map(peers.load, peers.PEERS)],
        "install_errors": peers.install_errors(),
        "not_run": _not_run,
    }


def pytest_unconfigure(config: pytest.Config) -> None:
    """Print at the very end where the figures are, and how to read them: a full table would have hundreds of lines."""
    given = config.getoption("benchmark_json", default=None)
    # a path, and in the last version for Python 3.9 an open file
    figures = given if given is None or isinstance(given, Path) else Path(given.name)
    if figures is not None and figures.exists():
        print(f"The figures are in {figures}. Next: tox run -e bench-report")


def _peer(loaded: peers.Loaded) -> dict[str, Any]:
    peer, library = loaded.peer, loaded.library
    record: dict[str, Any] = {"name": peer.name, "codecs": [peer.codec], "ours": peer.ours}
    if library is None:
        return {**record, "error": loaded.error}
    return {**record, "version": library.version, "build": library.build, "backend": library.backend}
