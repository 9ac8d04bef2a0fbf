# SPDX-License-Identifier: Apache-2.0
"""Measuring: statistics of invented rounds, the order of turns, cells that are kept, payloads, installing the peers."""

from __future__ import annotations

import importlib
import io
import itertools
import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from bench import cells, fresh, measure, payloads, peers, turns
from bench.cells import Case, Group
from bench.groups import ORDER, threads
from bench.measure import Figures


def processes(*ratios: float) -> list[turns.Rounds]:
    """Return processes with these ratios of `peer` to cpkg; a disturbance affects one round of three."""
    return [{"cpkg": [1.0, 2.0, 4.0], "peer": [ratio, 5 * ratio, 4 * ratio]} for ratio in ratios]


def figures(*ratios: float, **more: Any) -> Figures:
    return Figures("g", "c", "o", processes=processes(*ratios), **more)


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        ((2.0, 2.0), (2.0, 1.98, 2.02)),  # the interval has at least FLOOR on each side
        ((1.9, 2.1), (2.0, 1.05, 3.81)),  # Student's distribution
        ((2.0,), (2.0, 0, float("inf"))),  # one process gives no interval
    ],
)
def test_a_ratio_has_an_interval(ratios: tuple[float, ...], expected: tuple[float, ...]) -> None:
    found = turns.ratio(processes(*ratios), "cpkg", "peer")
    assert found == pytest.approx(expected, rel=0.01)
    assert found.level == (len(ratios) == 1)


WIDE = (1.0, 1.2, 1.0, 1.2)


@pytest.mark.parametrize(
    ("found", "spent", "done"),
    [
        (figures(1.1, 1.1, 1.1), 0, False),  # too few
        (figures(1.1, 1.1, 1.1, 1.1), 0, True),
        (figures(*WIDE), 0, False),  # too wide
        (figures(*WIDE), 60, True),  # too long
        (figures(1.0, 1.2, 1.0), 60, True),
        (figures(1.0, 1.2), 60, False),
        (figures(3.0, 3.6, 3.0, 3.6), 0, True),  # far away
        (figures(*WIDE, *WIDE), 0, True),  # enough
        # no alternatives
        (figures(*WIDE, limits=["peer"]), 0, True),
        (figures(*WIDE, formats={"cpkg": "a", "peer": "b"}), 0, True),
    ],
)
def test_a_cell_is_done_when_its_intervals_are_narrow(found: Figures, spent: float, done: bool) -> None:
    assert found.done(spent) is done


def test_slow_libraries_far_away_are_left_out_of_further_processes() -> None:
    missing = {"other": "no compiler"}
    assert figures(5.0, 5.0, missing=missing).not_again == ["other"]
    assert figures(5.0, 5.0, 5.0, missing=missing).not_again == ["other", "peer"]


def test_a_call_is_timed_although_the_machine_was_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns.time, "perf_counter", itertools.count(step=turns.WARM[1] * 0.6).__next__)
    assert turns.calibrated(int, 1e-3) == (pytest.approx(1e-3), 2)


def test_libraries_take_turns_in_every_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "WARM", (0, 0))
    monkeypatch.setattr(turns, "SECONDS", 0)
    called: list[str] = []
    calls = {name: partial(called.append, name) for name in ("cpkg", "peer", "far")}
    took = {"cpkg": 0.2, "peer": 0.2, "far": 2.0}
    rounds = turns.in_rounds(calls, took, itertools.count().__next__, 1, "cpkg")
    assert rounds == {"cpkg": [1.0] * turns.FEW, "peer": [1.0] * turns.FEW, "far": [1.0]}
    assert (sorted(called[:3]), sorted(called[3:5])) == (["cpkg", "far", "peer"], ["cpkg", "peer"])


@pytest.mark.parametrize("call", [partial(len, "abc"), partial(int, "1", base=2), lambda: 1])
def test_the_time_of_a_call_is_that_of_many(call: Any) -> None:
    clock = iter([10.0, 30.0]).__next__
    assert turns.time_of(call, 10, clock) == 2.0


@pytest.mark.parametrize("packs", [True, False])
def test_libraries_that_fail_are_missing(packs: bool) -> None:
    def fails(given: object) -> None:
        raise TypeError("has no dates\nat all")

    ways = {"cpkg": (list, "".join), "peer": (fails, "".join), "other": (list, len)}
    works = cells.coded(ways, "abc", packs)
    works.once()
    assert [*works.calls] == ["cpkg"]
    assert works.missing["peer"] == "TypeError: has no dates"
    assert works.missing["other"].startswith("other gave something else")
    with pytest.raises(TypeError):
        cells.coded({"cpkg": (fails, fails)}, "abc", packs)


def test_a_library_may_only_pack_and_pack_an_object_of_its_own() -> None:
    ways = {"cpkg": (list, "".join), "one way": (list, "only packs"), "own": (list, "".join, "abcd")}
    packing, unpacking = (cells.coded(ways, "abc", packs) for packs in (True, False))
    assert packing.calls["own"]() == [*"abcd"]
    assert (packing.missing, unpacking.missing) == ({}, {"one way": "only packs"})


def test_a_cell_is_measured_in_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PROCESSES", (2, 2))
    group = cells.group("dumps and loads")
    found = measure.measured(group, group.case("small"), "dumps")
    assert len(found.processes) == 2
    assert {"cpkg", "its codecs", "pickle"} <= found.processes[0].keys()
    assert (found.size, found.limits) == (13, ["its codecs"])
    assert measure.lines(found)[0].endswith(" us")


def test_every_group_has_its_place_in_the_report() -> None:
    files = {path.stem for path in Path(threads.__file__).parent.glob("*.py")} - {"__init__"}
    assert files == {*ORDER.values()}
    declared = [group.name for name in files for group in importlib.import_module(f"bench.groups.{name}").GROUPS]
    assert sorted(declared) == sorted(ORDER)


@pytest.mark.parametrize("operation", ["pack", "unpack", "typed encode", "typed decode"])
def test_threads_have_work_with_records(operation: str) -> None:
    """Interpreters with a GIL do not measure these cells."""
    module = importlib.import_module("cpkg.typed" if "typed" in operation else "cpkg.msgpack")
    assert threads.work(module, operation, 2)()


def test_a_build_is_measured_without_peers(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Otherwise two environments with different peers would have different payloads."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n\n"))
    peers.load.cache_clear()
    with mock.patch.dict(sys.modules):
        measure.serve("Zstandard with a dictionary", "100 B, dictionary of 8 KiB", "compress")
        for name in ("botocore", "msgpack", "zstandard", peers.PEP784):
            with pytest.raises(ImportError):
                importlib.import_module(name)
    peers.load.cache_clear()
    assert len([*map(float, capsys.readouterr().out.split())]) == 2


def test_kept_cells_are_not_measured_again(tmp_path: Path) -> None:
    asked: list[int] = []

    def sample(case: Case, number: int) -> dict[str, dict[str, float | str]]:
        asked.append(number)
        return {"o": {"cpkg": 1.0, "peer": 2.5, "other": "no compiler"}}

    group, case, path = Group("g", [Case("c")], ["o"], sample=sample), Case("c"), tmp_path / "kept"
    first = measure.Kept(path, {"row": "3.11"}).measured(group, case, "o")
    assert asked == [*range(turns.PROCESSES[0])]
    with path.open("a") as file:
        file.write('{"group": "g", "ca')  # as if the process was killed while it wrote a line
    assert measure.Kept(path, {"row": "3.11"}).measured(group, case, "o") == first
    assert first.missing == {"other": "no compiler"}
    assert len(asked) == turns.PROCESSES[0]
    assert path.read_text().count("\n") == 2
    with pytest.raises(ValueError, match="remove it to start over"):
        measure.Kept(path, {"row": "3.14"})


@pytest.mark.parametrize("kind", payloads.BYTES)
@pytest.mark.parametrize("size", [0, 1, 1000, 100_001])
def test_bytes_have_the_requested_size(kind: str, size: int) -> None:
    assert len(payloads.BYTES[kind](size)) == size


def test_payloads_are_the_same_every_time() -> None:
    """The first three have the sizes that are known from the signer comparison."""
    sizes = {"small": 22, "regular": 178, "large": 18013, "unicode": 1014932, "floats": 393436, "ints": 268398}
    assert {name: len(json.dumps(payloads.OBJECTS[name]())) for name in sizes} == sizes
    assert payloads.records(50) == payloads.records(50)


def test_installed_or_failed_peers_are_not_installed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "bench-peers.json"
    log.write_text(json.dumps({"msgpack": "no compiler", "orjson": "failed before it was installed by hand"}))
    asked: list[str] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.extend(command)
        return subprocess.CompletedProcess(command, 1, "", "error: no wheel")

    monkeypatch.setattr(peers, "INSTALL_LOG", log)
    monkeypatch.setattr(peers, "_version", {"orjson": "3.11"}.get)
    monkeypatch.setattr(subprocess, "run", run)
    errors = peers.install()
    assert (errors["msgpack"], errors["ormsgpack"], errors.get("orjson")) == ("no compiler", "no wheel", None)
    assert "ormsgpack" in asked
    assert not {"msgpack", "orjson"} & {*asked}


def test_reasons_do_not_name_the_folder_of_the_environment() -> None:
    error = ImportError("/home/me/env/lib/python3.15/site-packages/peer/codec.so: undefined symbol: gone")
    assert cells.reason(error) == "ImportError: peer/codec.so: undefined symbol: gone"


def test_programs_import_what_is_installed() -> None:
    """The folder that Python searches first has no modules, and an error of cpkg ends the run."""
    found = fresh.program("peer", "import os; print(*os.listdir())")
    assert isinstance(found, fresh.Ended)
    assert "archives.json" in found.printed
    assert ".py" not in found.printed
    assert fresh.program("peer", "raise ImportError('no')") == "ImportError: no"
    pytest.raises(fresh.ChildFailed, fresh.program, "cpkg", "raise ImportError('no')")
