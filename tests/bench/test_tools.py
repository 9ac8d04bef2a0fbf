# SPDX-License-Identifier: Apache-2.0
"""The tools around the matrix: timing, payloads, installing the peers, runs that go on."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from bench import control, harness, payloads, peers

# --- measuring ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("call", "rounds", "inner"), [(1e-7, 500, 2000), (1e-3, 100, 1), (0.9, 3, 1), (10, 1, 1)])
def test_rounds_fill_the_time(call: float, rounds: int, inner: int) -> None:
    assert harness.plan(call, 0.1) == (rounds, inner)


def test_the_control_takes_time() -> None:
    measured = control.measure()
    assert set(measured) == {"loop", "copy"}
    assert all(0 < seconds < 10 for seconds in measured.values())


def moments_of(monkeypatch: pytest.MonkeyPatch, probes: Iterable[float]) -> control.Moments:
    """Return moments whose checksum first seems to take 1 ms, and then the values of `probes`."""
    taken = itertools.chain([1e-3] * control.FASTEST, probes)
    monkeypatch.setattr(control, "seconds_of", lambda _: next(taken))
    return control.Moments(0)


def test_rounds_wait_while_the_processor_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    probes = iter([1.9e-3, 1.3e-3, 1.1e-3, 1e-3])
    moments = moments_of(monkeypatch, probes)
    assert 0 < moments.wait(60) < 60
    assert list(probes) == [1e-3]
    assert moments.wait(60) == 60, "it looks again at once"


def test_rounds_stop_waiting_after_their_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = moments_of(monkeypatch, itertools.repeat(2e-3))
    assert moments.wait(0.01) == 0


def test_payloads_are_the_same_every_time() -> None:
    assert payloads.records(50) == payloads.records(50)
    assert payloads.unicode() == payloads.unicode()


@pytest.mark.parametrize("kind", payloads.BYTES)
@pytest.mark.parametrize("size", [0, 1, 1000, 100_001])
def test_bytes_have_the_requested_size(kind: str, size: int) -> None:
    assert len(payloads.BYTES[kind](size)) == size


def test_json_sizes_of_the_signer_comparison() -> None:
    sizes = [len(json.dumps(make())) for make in (payloads.small, payloads.regular, payloads.large)]
    assert sizes == [22, 178, 18013]


def test_installed_or_failed_peers_are_not_installed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "bench-peers.json"
    log.write_text(json.dumps({"msgpack": "no compiler"}))
    asked: list[str] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(command[-1] if command[-1] != "--no-deps" else command[-2])
        return subprocess.CompletedProcess(command, 1, "", "error: no wheel")

    monkeypatch.setattr(peers, "_install_log", lambda: log)
    monkeypatch.setattr(peers, "_installed", lambda requirement: requirement == "orjson")
    monkeypatch.setattr(subprocess, "run", run)
    peers.install_errors.cache_clear()
    try:
        errors = peers.install()
    finally:
        peers.install_errors.cache_clear()
    assert errors["msgpack"] == "no compiler"
    assert errors["ormsgpack"] == "no wheel"
    assert "ormsgpack" in asked
    assert not {"msgpack", "orjson"} & {*asked}


def test_a_slow_call_of_a_peer_is_measured_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []

    class Benchmark:
        def __init__(self) -> None:
            self.extra_info: dict[str, object] = {}

        def pedantic(self, function: object, arguments: tuple[object, ...], setup: object, rounds: int) -> object:
            assert callable(function)
            assert callable(setup)
            return function(*arguments)

    monkeypatch.setattr(harness, "ONCE", -1.0)
    monkeypatch.setattr(harness, "WATCHES", 0.0)
    monkeypatch.setattr(harness, "_too_long", set())
    settings = harness.Settings(enabled=True, passes=2, seconds=0.001, quick=False, slow=False)
    info = {"group": "g", "case": "c", "operation": "o", "library": "theirs", "ours": False, "pass": 0}
    harness.Cell(Benchmark(), settings, print, dict(info)).measure(calls.append, 1, lambda result: None)
    made = len(calls)
    assert made > 1
    with pytest.raises(pytest.skip.Exception, match="one pass"):
        harness.Cell(Benchmark(), settings, print, {**info, "pass": 1}).measure(calls.append, 1, lambda result: None)
    assert len(calls) == made


# --- libraries in turns ------------------------------------------------------------------------------------------


def test_libraries_take_turns() -> None:
    pytest.importorskip("zstandard")
    script = str(Path(__file__).with_name("in_turns.py"))
    command = [sys.executable, script, "-k", "100 source", "--rounds", "1", "--processes", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if "100 source" in line]
    assert [row.partition("  ")[0] for row in rows] == ["compress 100 source, level 3", "decompress 100 source"]
    for row in rows:
        ours, theirs, times, worst, best = map(float, re.findall(r"\d+\.\d+", row))
        assert times == pytest.approx(theirs / ours, rel=0.1)
        assert times == worst == best, "of one process"


# --- runs that go on, and publishing -----------------------------------------------------------------------------


def measured(keep: Path, *options: str) -> str:
    """Measure one cell in two passes, in a separate process, and return the printed output."""
    chosen = ["tests/bench/test_bench_msgpack.py", "-k", "small and not unpack and cpkg", "-p", "no:cacheprovider"]
    how = ["--benchmark-enable", "--benchmark-only", f"--benchmark-json={keep}.json", f"--bench-keep={keep}"]
    command = [sys.executable, "-m", "pytest", "-q", *chosen, *how, "--bench-passes=2", *options]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_a_run_continues_where_it_ended(tmp_path: Path) -> None:
    keep, fast = tmp_path / "kept", "--bench-seconds=0.001"
    assert "the time of --bench-minutes is over" in measured(keep, fast, "--bench-minutes=0.0000001")
    begun = keep.read_text().splitlines(keepends=True)
    assert len(begun) == 2  # a head, and the first of two passes
    keep.write_text(begun[0] + begun[1][:50])
    shown = measured(keep, fast)  # the process may have been killed within a line
    assert "2 figures to measure" in shown
    assert f"The figures are in {keep}.json. Next: tox run -e bench-report\n" in shown
    assert len(json.loads(Path(f"{keep}.json").read_text())["benchmarks"]) == 2
    assert "1 figures to measure" in measured(keep, fast)  # the last test runs again, so that the results are written
    assert "remove it to start over" in measured(keep, "--bench-seconds=0.002")
