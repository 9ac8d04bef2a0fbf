# SPDX-License-Identifier: Apache-2.0
"""Measuring: statistics of made-up rounds, the order of turns, cells that are kept, payloads, installing the peers."""

from __future__ import annotations

import itertools
import json
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bench import cells, measure, payloads, peers, turns
from bench.cells import Case, Group, Works
from bench.measure import Figures

# --- statistics --------------------------------------------------------------------------------------------------


def processes(*ratios: float) -> list[turns.Rounds]:
    """Return processes in which `peer` takes so many times as long as cpkg."""
    return [{"cpkg": [1.0, 2.0, 4.0], "peer": [ratio, 2 * ratio, 4 * ratio]} for ratio in ratios]


def test_a_ratio_is_the_mean_of_the_processes_medians() -> None:
    assert turns.median_ratio([1.0, 2.0, 10.0], [2.0, 5.0, 10.0]) == 2.0
    found = turns.ratio(processes(2.0, 2.0, 2.0, 2.0), "cpkg", "peer")
    assert found.value == pytest.approx(2.0)


@pytest.mark.parametrize(("ratios", "low", "high"), [((2.0, 2.0), 1.98, 2.02), ((1.9, 2.1), 1.05, 3.81)])
def test_an_interval_is_students_but_never_narrower_than_a_machine_is(
    ratios: tuple[float, ...], low: float, high: float
) -> None:
    found = turns.ratio(processes(*ratios), "cpkg", "peer")
    assert (found.low, found.high) == (pytest.approx(low, rel=0.01), pytest.approx(high, rel=0.01))


def test_one_process_gives_no_interval() -> None:
    found = turns.ratio(processes(2.0), "cpkg", "peer")
    assert (found.low, found.high) == (0, float("inf"))
    assert found.level


@pytest.mark.parametrize(
    ("ratios", "spent", "done"),
    [
        ((1.1,) * 3, 0, False),  # too few
        ((1.1,) * 4, 0, True),
        ((1.0, 1.2, 1.0, 1.2), 0, False),  # too wide
        ((1.0, 1.2, 1.0, 1.2), 60, True),  # too long
        ((3.0, 3.6, 3.0, 3.6), 0, True),  # far away
        ((1.0, 1.2) * 4, 0, True),  # enough
    ],
)
def test_a_cell_is_done_when_its_intervals_are_narrow(ratios: tuple[float, ...], spent: float, done: bool) -> None:
    assert Figures("g", "c", "o", processes=processes(*ratios)).done(spent) is done


def test_other_formats_and_limits_need_no_narrow_interval() -> None:
    figures = Figures("g", "c", "o", processes=processes(1.0, 1.2, 1.0, 1.2), limits=["peer"])
    assert figures.done(0)
    figures = Figures("g", "c", "o", processes=processes(1.0, 1.2, 1.0, 1.2), formats={"cpkg": "a", "peer": "b"})
    assert figures.alternatives == []
    assert figures.done(0)


def test_slow_libraries_far_away_are_left_out_of_further_processes() -> None:
    figures = Figures("g", "c", "o", processes=processes(5.0, 5.0), missing={"other": "no compiler"})
    assert figures.not_again == ["other"]
    figures.processes += processes(5.0)
    assert figures.not_again == ["other", "peer"]


# --- turns -------------------------------------------------------------------------------------------------------


def test_libraries_take_turns_in_every_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "WARM", (0, 0))
    monkeypatch.setattr(turns, "SECONDS", 0)
    called: list[str] = []
    clock = itertools.count().__next__
    calls = {name: partial(called.append, name) for name in ("cpkg", "peer", "far")}
    took = {"cpkg": 0.2, "peer": 0.2, "far": 2.0}
    prepared: list[str] = []
    before = {"peer": partial(prepared.append, "peer")}
    rounds = turns.in_rounds(calls, took, before, clock, 1, "cpkg")
    assert rounds == {"cpkg": [1.0] * turns.FEW, "peer": [1.0] * turns.FEW, "far": [1.0]}
    assert sorted(called[:3]) == ["cpkg", "far", "peer"]
    assert sorted(called[3:5]) == ["cpkg", "peer"]
    assert len(prepared) == turns.FEW


@pytest.mark.parametrize("call", [partial(len, "abc"), partial(int, "1", base=2), lambda: 1])
def test_the_time_of_a_call_is_that_of_many(call: Any) -> None:
    clock = iter([10.0, 30.0]).__next__
    assert turns.time_of(call, 10, clock) == 2.0


def test_libraries_that_fail_are_missing() -> None:
    def fails() -> None:
        raise TypeError("has no dates\nat all")

    def check(library: str, result: object) -> None:
        assert result == 3, "gives another length"

    works = Works({"cpkg": partial(len, "abc"), "peer": fails, "other": partial(len, "ab")}, check=check)
    works.once()
    assert [*works.calls] == ["cpkg"]
    assert works.missing["peer"] == "TypeError: has no dates"
    assert works.missing["other"].startswith("gives another length")
    with pytest.raises(TypeError):
        Works({"cpkg": fails}).once()


def test_a_cell_is_measured_in_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PROCESSES", (2, 2))
    group = cells.group("dumps and loads")
    figures = measure.measured(group, group.case("small"), "dumps")
    assert len(figures.processes) == 2
    assert {"cpkg", "its codecs", "pickle"} <= figures.processes[0].keys()
    assert (figures.size, figures.limits) == (13, ["its codecs"])
    assert measure.lines(figures)[0].endswith(" us")


def test_every_group_has_its_place_in_the_report() -> None:
    from bench.groups import ORDER

    assert [*cells.groups()] == [*ORDER]
    assert all(cells.group(name).name == name for name in ORDER)


# --- cells that are kept -----------------------------------------------------------------------------------------


def test_kept_cells_are_not_measured_again(tmp_path: Path) -> None:
    asked: list[int] = []

    def sample(case: Case, number: int) -> dict[str, dict[str, float | str]]:
        asked.append(number)
        return {"o": {"cpkg": 1.0, "peer": 2.5, "other": "no compiler"}}

    group, case, path = Group("g", [Case("c")], ["o"], sample=sample), Case("c"), tmp_path / "kept"
    first = measure.Kept(path, {"row": "3.11"}).measured(group, case, "o")
    assert asked == [*range(turns.PROCESSES[0])]
    with path.open("a") as file:
        file.write('{"group": "g", "ca')  # the process was killed within a line
    again = measure.Kept(path, {"row": "3.11"})
    assert again.measured(group, case, "o") == first
    assert first.missing == {"other": "no compiler"}
    assert len(asked) == turns.PROCESSES[0]
    assert path.read_text().count("\n") == 2
    with pytest.raises(ValueError, match="remove it to start over"):
        measure.Kept(path, {"row": "3.14"})


# --- payloads and peers ------------------------------------------------------------------------------------------


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
