# SPDX-License-Identifier: Apache-2.0
"""The tools that read the results: merging passes, noise, comparison in time, verdict lines."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from bench import (
    compare,
    control,
    goals,
    harness,
    kept,
    model,
    payloads,
    peers,
    publish,
    readme_table,
    results,
    synthetic,
    verdicts,
)
from bench.results import Key, NotResults

KEY = Key("MessagePack", "small", "pack", "cpkg")


NAME = ("3.11-native", "CPython 3.11.7")


def row_of(folder: Path, *entries: dict, missing: tuple[dict, ...] = ()) -> results.Row:
    return results.read_row(synthetic.write(folder, *NAME, list(entries), *missing))


def cell_of(tmp_path: Path, passes: list[float], *more: dict, **info: object) -> results.Cell:
    return row_of(tmp_path, *synthetic.benchmark(*KEY, passes, **info), *more).cells[KEY]


# --- cells -------------------------------------------------------------------------------------------------------


def test_the_value_is_the_best_of_the_passes(tmp_path: Path) -> None:
    cell = cell_of(tmp_path, [3e-6, 1e-6, 1.05e-6])
    assert (cell.value, cell.noise, cell.noisy) == (1e-6, pytest.approx(0.05), False)


def test_a_figure_not_repeated_by_a_second_pass_is_noisy(tmp_path: Path) -> None:
    assert cell_of(tmp_path, [1e-6, 1.3e-6, 1.4e-6]).noisy


def test_a_figure_of_a_busy_moment_is_noisy(tmp_path: Path) -> None:
    others = [
        entry for n in range(20) for entry in synthetic.benchmark("MessagePack", f"other {n}", "pack", "cpkg", [1.0])
    ]
    cell = cell_of(tmp_path, [1e-6, 1e-6], *others, control={"loop": 2e-3, "copy": 3e-4})
    assert cell.busy
    assert cell.noisy


def test_calls_within_a_round_are_divided_out(tmp_path: Path) -> None:
    assert cell_of(tmp_path, [1e-4], inner=100).value == pytest.approx(1e-6)


@pytest.mark.parametrize(
    ("info", "judged"),
    [
        ({"rule60": True, "stddev": 0.01}, True),
        ({"rule60": True, "stddev": 0.1}, False),
        ({"rule60": True, "stddev": 0.0}, True),
        ({}, None),
    ],
)
def test_the_rule_of_60(tmp_path: Path, info: dict[str, Any], judged: bool | None) -> None:
    assert cell_of(tmp_path, [1.0], **info).rule60 is judged


def test_cells_that_were_not_run_keep_their_reason(tmp_path: Path) -> None:
    missing = {"group": "MessagePack", "case": "small", "operation": "pack", "library": "orjson", "reason": "no wheel"}
    row = row_of(tmp_path, *synthetic.benchmark(*KEY, [1.0]), missing=(missing,))
    assert row.missing == {Key("MessagePack", "small", "pack", "orjson"): "no wheel"}
    assert [shown.text for shown in model.group_table(row, "MessagePack").lines[0]][-1] == "n/a"


@pytest.mark.parametrize("text", ["", "{}", "[]", "not JSON", '{"benchmarks": []}'])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(NotResults, match=r"x\.json"):
        results.read_folder(tmp_path)


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(NotResults, match="no results"):
            results.read_folder(folder)


def test_duplicate_rows_are_refused(tmp_path: Path) -> None:
    path = synthetic.write(tmp_path, *NAME, synthetic.rich_row())
    (tmp_path / "again.json").write_text(path.read_text())
    with pytest.raises(NotResults, match=r"two files for 3\.11-native"):
        results.read_folder(tmp_path)


def test_rows_come_in_the_order_of_interpreters_and_backends(tmp_path: Path) -> None:
    names = ["pypy3.9-pure", "3.14-pure", "3.9-native", "3.14-native", "3.14-dlopen", "pypy3.11-native"]
    for name in names:
        synthetic.write(tmp_path, name, name, synthetic.rich_row())
    assert [row.name for row in results.read_folder(tmp_path)] == [
        "3.9-native", "3.14-native", "3.14-dlopen", "3.14-pure", "pypy3.9-pure", "pypy3.11-native",
    ]  # fmt: skip


# --- comparison in time ------------------------------------------------------------------------------------------


def folders(tmp_path: Path, old: list[dict], new: list[dict]) -> tuple[Path, Path]:
    for name, entries in (("old", old), ("new", new)):
        synthetic.write(tmp_path / name, *NAME, entries)
    return tmp_path / "old", tmp_path / "new"


@pytest.mark.parametrize(
    ("factor", "machine", "code", "text"),
    [
        (1.0, 1.0, 0, "0 REGRESSION"),
        (1.1, 1.0, 0, "0 REGRESSION"),
        (0.95, 1.0, 0, "0 REGRESSION"),
        (1.5, 1.0, 1, "MessagePack, small, pack (cpkg) => 1.500 times slower"),
        (0.5, 1.0, 0, "2.000 times faster"),
        (1.5, 1.5, 0, "0 REGRESSION"),
        (1.0, 1 / 1.5, 1, "REGRESSION\n"),
    ],
)
def test_figures_are_compared_beside_the_machines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], factor: float, machine: float, code: int, text: str
) -> None:
    """cpkg takes `factor` times as long as before, on a machine that takes `machine` times as long."""
    now = {part: machine * seconds for part, seconds in synthetic.IDLE.items()}
    assert compare.compare(*folders(tmp_path, synthetic.rich_row(), synthetic.rich_row(factor, now))) == code
    assert text in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (([1e-6, 1e-6], {}), ([2e-6, 2.6e-6], {}), "1 NOISY"),
        (([1e-6, 1e-6], {"data": "old"}), ([9e-6, 9e-6], {"data": "new"}), "not of the same bytes"),
    ],
)
def test_unreliable_figures_are_not_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: Any, new: Any, text: str
) -> None:
    before, after = (synthetic.benchmark(*KEY, passes, **info) for passes, info in (old, new))
    assert compare.compare(*folders(tmp_path, before, after)) == 2
    assert text in capsys.readouterr().out


def test_a_missing_row_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = folders(tmp_path, synthetic.rich_row(), synthetic.rich_row())
    synthetic.write(old, "3.11-pure", "CPython 3.11.7", synthetic.benchmark(*KEY, [1e-6, 1e-6]))
    assert compare.compare(old, new) == 1
    assert "MISSING" in capsys.readouterr().out
    assert compare.compare(old, new, allow_missing=True) == 0


def test_more_memory_is_a_regression_on_any_machine(tmp_path: Path) -> None:
    slow = {part: 3 * seconds for part, seconds in synthetic.IDLE.items()}
    key = ("Peak memory", "pack", "peak", "cpkg", [0.1])
    old, new = (
        synthetic.benchmark(*key, control_, unit="bytes", value=value)
        for value, control_ in ((1000, None), (2000, slow))
    )
    assert compare.compare(*folders(tmp_path, old, new)) == 1


# --- verdicts and the model --------------------------------------------------------------------------------------


@pytest.fixture
def rows(tmp_path: Path) -> list[results.Row]:
    synthetic.write(tmp_path, *NAME, synthetic.rich_row())
    synthetic.write(tmp_path, "pypy3.9-native", "PyPy 7.3.11 (3.9.16)", synthetic.rich_row(3.0))
    return results.read_folder(tmp_path)


def test_verdict_lines(rows: list[results.Row]) -> None:
    ours, gzip, plain = (verdicts.Side(rows[0], name) for name in ("cpkg.zstd", "gzip", "plain"))
    case = "read_allAtOnce_binaryMode (large.bin)"
    assert next(verdicts.between(ours, gzip)) == f"{case} is 5.00 times faster on cpkg.zstd than on gzip"
    assert next(verdicts.between(ours, plain)) == f"{case} is 10.00 times slower on cpkg.zstd than on plain"
    other = verdicts.Side(rows[1], "cpkg.zstd")
    assert next(verdicts.between(ours, other)) == f"{case} is as fast on 3.11-native as on pypy3.9-native (1.00)"


def test_growth_faster_than_the_file_is_reported(rows: list[results.Row]) -> None:
    assert list(verdicts.growth(rows[0])) == [
        "read_allAtOnce_binaryMode (large.bin x4) with gzip: 4 times the size takes 16.0 times as long   SUPERLINEAR"
    ]


def test_the_overview_shows_where_cpkg_is_faster_and_slower(rows: list[results.Row]) -> None:
    line = next(line for line in model.overview(rows).lines if [s.text for s in line[:2]] == ["MessagePack", "pack"])
    assert [(shown.text, shown.tone) for shown in line[2:]] == [("2.00 (2/2)", "good"), ("0.67 (0/2)", "bad")]
    behind = [line for lines in model.behind(rows).values() for line in lines]
    assert any(
        line.startswith("pypy3.9-native: MessagePack, small, pack: msgpack takes 0.67 of ours") for line in behind
    )
    assert not any(line.startswith("3.11-native: MessagePack") for line in behind)


def test_a_limit_is_not_an_alternative(rows: list[results.Row]) -> None:
    comparison = next(iter(rows[0].comparisons("Zstandard one-shot")))
    assert "libzstd itself" in comparison.cells
    assert comparison.best_alternative is not None
    assert comparison.best_alternative.key.library == "zstd"
    assert comparison.fastest is comparison.ours


def test_advice_names_the_fastest_backend_or_the_alternative(rows: list[results.Row]) -> None:
    line = next(line for line in model.advice(rows).lines if [s.text for s in line[:2]] == ["MessagePack", "pack"])
    assert [shown.text for shown in line[2:]] == ["cpkg native (2.00)", "msgpack (0.67)"]


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


# --- goals and installing ----------------------------------------------------------------------------------------


def goal(rows: list[results.Row], label: str) -> list[tuple[str, str]]:
    line = next(line for line in goals.table(rows).lines if line[0].text.startswith(label))
    return [(shown.text, shown.tone) for shown in line[1:]]


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("MessagePack on CPython, against the fastest", [("at least 1.25", "none"), ("2.00", "good"), ("", "none")]),
        ("the same, unpack 30 MB", [("at least 2.5", "none"), ("2.00", "bad"), ("", "none")]),
        ("Zstandard, decompress 1 MiB and up", [("at most 1.05", "none"), ("1.05", "good"), ("3.15", "bad")]),
        ("MessagePack on PyPy, pack 30 MB", [("at least 1", "none"), ("", "none"), ("0.67", "bad")]),
    ],
)
def test_goals_are_judged_per_row(rows: list[results.Row], label: str, shown: list[tuple[str, str]]) -> None:
    """Each goal is against a peer, a limit, or the extension on CPython."""
    assert goal(rows, label) == shown


def test_no_mean_includes_a_copy(tmp_path: Path) -> None:
    """A cell in which no codec is at work has a separate line."""
    entries = [
        entry
        for case, library, value in (
            ("small", "cpkg", 1.0),
            ("small", "msgpack", 2.0),
            ("bin", "cpkg", 1.0),
            ("bin", "msgpack", 800.0),
        )
        for entry in synthetic.benchmark(
            "MessagePack", case, "pack", library, [value] * 2, format="msgpack", copy=case == "bin"
        )
    ]
    row = row_of(tmp_path, *entries)
    lines = [[shown.text for shown in line] for line in model.overview([row]).lines]
    assert lines == [["MessagePack", "pack", "2.00 (1/1)"], ["MessagePack", "pack, a copy", "800.00 (1/1)"]]
    assert [shown.text for shown in model.advice([row]).lines[0]] == ["MessagePack", "pack", "cpkg native (2.00)"]
    assert len(model.advice([row]).lines) == 1
    assert [lead.gain for line in readme_table.leads([row]).values() for lead in line.values()] == [2.0]
    assert goal([row], "MessagePack on CPython, against the fastest")[1] == ("2.00", "good")


def test_another_format_is_not_an_alternative(tmp_path: Path) -> None:
    """If figures do not name their formats, JSON is still not an alternative to MessagePack."""
    entries = (
        entry
        for library, value in (("cpkg", 2.0), ("msgpack", 4.0), ("json", 1.0))
        for entry in synthetic.benchmark("Whole process", "MessagePack", "import", library, [value] * 2)
    )
    row = row_of(tmp_path, *entries)
    (comparison,) = row.comparisons("Whole process")
    assert comparison.gain == 2.0


def test_a_ratio_below_a_limit_is_neutral(tmp_path: Path) -> None:
    """A figure far below its limit measures something else: it is neither good nor bad."""
    case = ("Zstandard one-shot", "1MiB level 3", "decompress")
    row = row_of(
        tmp_path,
        *synthetic.benchmark(*case, "cpkg", [0.5, 0.5], size=1 << 20),
        *synthetic.benchmark(*case, "libzstd itself", [1.0, 1.0], limit=True),
    )
    assert goal([row], "Zstandard, decompress 1 MiB and up")[1] == ("0.50, below the limit", "even")


def test_the_report_finds_the_quick_tenth(tmp_path: Path) -> None:
    (tmp_path / "quick").mkdir()
    (tmp_path / "quick" / "bench-quick.json").touch()
    assert results.folder_of_results(tmp_path) == tmp_path / "quick"
    (tmp_path / "3.11-native-bench.json").touch()
    assert results.folder_of_results(tmp_path) == tmp_path


def test_streaming_is_compared_with_whole_objects(tmp_path: Path) -> None:
    entries = [
        *synthetic.benchmark("MessagePack streaming", "40 MB object", "unpack whole", "cpkg", [1.0, 1.0]),
        *synthetic.benchmark("MessagePack streaming", "40 MB object", "feed in 4 KiB", "cpkg", [1.4, 1.4]),
    ]
    row = results.read_row(synthetic.write(tmp_path, "3.11-pure", "CPython 3.11.7", entries))
    assert goal([row], "MessagePack, 40 MB fed") == [("at most 1.5", "none"), ("1.40", "good")]


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


def test_only_noisy_cells_are_measured_again(tmp_path: Path) -> None:
    record = kept.Kept(tmp_path / "kept", {"row": "3.11-native"})
    for case, passes in (("small", [1e-6, 1.5e-6]), ("large", [1e-3, 1.01e-3])):
        for number, entry in enumerate(synthetic.benchmark("MessagePack", case, "pack", "cpkg", passes)):
            record.add({"id": f"test[pass{number}-{case}]", "took": 0.5, **entry})
    ids = [f"test[pass{number}-{case}]" for number in range(3) for case in ("small", "large")]
    record.add({"case": "small", "library": "lz4", "reason": "no compiler"})
    again = kept.Kept(tmp_path / "kept", {"row": "3.11-native"})
    assert [entry["reason"] for entry in again.not_run] == ["no compiler"]
    assert again.left(ids) == {"test[pass2-small]", "test[pass2-large]"}
    assert again.noisy([*again.left(ids)]) == {"test[pass2-small]"}
    assert again.left(ids, only_noisy=True) == {"test[pass2-small]"}
    assert again.left(ids[1:], only_noisy=True) == {"test[pass2-small]"}
    assert again.left(["test[pass2-large]"], only_noisy=True) == {"test[pass2-large]"}  # the row is written
    assert again.passes == 2
    assert again.seconds_each(1) == 0.5
    with pytest.raises(kept.OtherRun, match="remove it"):
        kept.Kept(tmp_path / "kept", {"row": "3.14-native"})


def test_noisy_figures_are_not_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Each row has further passes for noisy cells, and is refused if they stay noisy."""
    commands: list[list[str]] = []
    figures = {"native": [[1e-6, 2e-6], [1e-6, 1.01e-6]], "dlopen": [[1e-6, 1e-6]], "pure": [[1e-6, 2e-6]] * 4}

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        name = command[command.index("-e") + 1].removesuffix("-bench")
        entries = synthetic.benchmark(*KEY, figures[name.rpartition("-")[2]].pop(0))
        synthetic.write(tmp_path, name, "CPython 3.11.7", entries).rename(tmp_path / f"{name}-bench.json")
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(publish.subprocess, "run", run)
    assert publish.publish(["3.11"], tmp_path, wheels=False, minutes=None, only=None) == 3
    assert "3.11-pure: MessagePack, small, pack: noisy\nnot published: too much is noisy" in capsys.readouterr().err
    assert ["--bench-noisy" in command for command in commands] == [False, True, False, False, True, True, True]
    assert commands[1] == [*commands[0], "--bench-noisy"]
    assert all("--skip-missing-interpreters=false" in command for command in commands)
    figures.update(native=[[1e-6, 1e-6]], dlopen=[[1e-6, 1e-6]], pure=[[1e-6, 2e-6]] * 4)
    assert publish.publish(["3.11"], tmp_path, wheels=False, minutes=None, only=None, marked=100) == 0
    figures.update(native=[[1e-6, 1e-6]], dlopen=[[1e-6, 1e-6]], pure=[[1e-6, 1e-6]])
    assert publish.publish(["3.11"], tmp_path, wheels=False, minutes=None, only=None) == 0
    monkeypatch.setattr(publish.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1))
    assert publish.publish(["3.11"], tmp_path, wheels=False, minutes=5, only=None) == 1
    assert "not complete; the same command continues" in capsys.readouterr().err
