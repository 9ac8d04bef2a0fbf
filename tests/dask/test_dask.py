# SPDX-License-Identifier: Apache-2.0
"""Record files on Dask: a real cluster of several processes, workers that die, writes that are repeated."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed")

import dask
import dask.bag
import dask_work
import fsspec
from dask.distributed import Client, KilledWorker, LocalCluster
from documents import check_examples
from failing import each_raises
from record_files import flip, numbered, record, write_all, written
from seeds import noise

import cpkg.dask
from cpkg import records

pytestmark = pytest.mark.filterwarnings("default")  # warnings of the cluster itself are not errors


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Yield a client with two worker processes, which are restarted when they die."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 20}),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with three files of 100 records each."""
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(3):
        write_all(folder / f"{number}.rec", [record(100 * number + n) for n in range(100)], frame_size=500)
    return folder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.rec"


def test_the_examples() -> None:
    pytest.importorskip("pandas")
    check_examples("records.md", 8, only="Dask")


def test_some_megabytes_are_several_partitions_by_default(path: Path) -> None:
    data = noise(3 << 20)
    write_all(path, [data[at : at + (1 << 12)] for at in range(0, len(data), 1 << 12)])
    assert path.stat().st_size > 3 << 20
    assert cpkg.dask.read_records(path).npartitions > 2


def numbers(bag: Any) -> list[int]:
    return [row["number"] for row in bag.compute()]


def test_reading(client: Client, folder: Path) -> None:
    files = [folder / f"{number}.rec" for number in range(3)]
    for urls in (folder, str(folder / "*.rec"), files, f"file://{folder}"):
        bag = cpkg.dask.read_records(urls, partition_size=600)
        assert bag.npartitions > 6
        assert numbers(bag) == list(range(300))
    assert bag.pluck("number").sum().compute() == sum(range(300))
    assert cpkg.dask.read_records(folder).npartitions == 3
    workers = cpkg.dask.read_records(folder, partition_size=600).map_partitions(dask_work.pids).compute()
    assert len(set(workers)) == 2
    assert os.getpid() not in workers


def test_options_and_errors(client: Client, folder: Path) -> None:
    assert cpkg.dask.read_records(folder, object_hook=len).compute() == [3] * 300
    with pytest.raises(FileNotFoundError):
        cpkg.dask.read_records(folder / "*.other")
    flip(folder / "1.rec", 200)
    with pytest.raises(records.DamagedError):
        cpkg.dask.read_records(folder).compute()
    assert len(cpkg.dask.read_records(folder, errors="skip").compute()) < 300
    records.open(folder / "empty.rec", "wb").close()
    assert cpkg.dask.read_records(folder / "empty.rec").compute() == []


def test_writing(client: Client, folder: Path, tmp_path: Path) -> None:
    bag = cpkg.dask.read_records(folder, partition_size=600)
    for url in (tmp_path / "out", f"file://{tmp_path}/remote"):
        names = cpkg.dask.write_records(bag.map(dask_work.doubled), url, level=1)
        assert len(names) == bag.npartitions
        assert numbers(cpkg.dask.read_records(url)) == [2 * number for number in range(300)]
        with pytest.raises(FileExistsError):
            cpkg.dask.write_records(bag, url)
        few = bag.repartition(npartitions=2)
        assert len(cpkg.dask.write_records(few, url, overwrite=True)) == 2
        assert numbers(cpkg.dask.read_records(url)) == list(range(300))
    later = cpkg.dask.write_records(bag, tmp_path / "later", compute=False)
    assert not (tmp_path / "later").exists()
    assert len(later.compute()) == bag.npartitions


def test_a_worker_that_dies_while_it_writes(client: Client, folder: Path, tmp_path: Path) -> None:
    """Half a file has a temporary name; the partition is written again, and no temporary file is left."""
    bag = cpkg.dask.read_records(folder, partition_size=2000)
    out = tmp_path / "out"
    fatal = bag.map(dask_work.with_fatal, str(tmp_path / "died"))
    names = cpkg.dask.write_records(fatal, out, frame_size=200, default=dask_work.pack_fatal)
    assert len(list(tmp_path.glob("died-*"))) == 2
    assert numbers(cpkg.dask.read_records(out)) == list(range(300))
    assert sorted(os.listdir(out)) == [os.path.basename(name) for name in names]
    assert all(records.verify(name).ok for name in names)


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_write_that_is_done_twice(client: Client, tmp_path: Path, scheme: str) -> None:
    """A scheduler that has lost contact with a worker gives its work to another one, and both may complete it."""
    rows = numbered(500)
    folder = cpkg.dask._Folder(f"{scheme}{tmp_path}/out", False).begin()
    futures = [client.submit(folder.write, 0, rows, {"frame_size": 100}, pure=False) for _ in range(8)]
    client.gather(futures)
    for _ in range(2):
        assert folder.finish(1) == [f"{scheme}{tmp_path}/out/part-00000.rec"]
        assert os.listdir(tmp_path / "out") == ["part-00000.rec"]
    assert cpkg.dask.read_records(tmp_path / "out").compute() == rows
    with pytest.raises(RuntimeError, match="after this write failed"):
        folder.write(0, rows, {})
    assert os.listdir(tmp_path / "out") == ["part-00000.rec"]


def test_a_write_that_fails_on_a_cluster(client: Client, folder: Path, tmp_path: Path) -> None:
    """If a partition cannot be read or packed while another one is written, the worker of the other also removes it."""
    bag = cpkg.dask.read_records(folder, partition_size=2000)
    for number in (50, 250):
        started, out = tmp_path / f"started-{number}", tmp_path / f"out-{number}"
        late = bag.map(dask_work.late_or_failing, number, str(started), str(tmp_path / f"go-{number}"))
        with pytest.raises(ValueError, match="no more"):
            cpkg.dask.write_records(late, out, default=dask_work.pack_waiting)
        assert not out.exists()
        (tmp_path / f"go-{number}").touch()
        with pytest.raises(TypeError):
            cpkg.dask.write_records(bag.map(dask_work.unpackable, number), out)
        assert not out.exists()
    for worker in client.nthreads():
        client.submit(os.getpid, workers=worker, pure=False).result()  # waits for the tasks of the worker
    assert sorted(os.listdir(tmp_path)) == ["go-250", "go-50", "in", "started-250", "started-50"]


def test_a_write_whose_workers_die_each_time(client: Client, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    written(tmp_path / "out" / "part-00007.rec", 1)
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster),
        pytest.raises(KilledWorker),
    ):
        cpkg.dask.write_records(cpkg.dask.read_records(folder).map(dask_work.die), tmp_path / "out", overwrite=True)
    assert os.listdir(tmp_path / "out") == ["part-00007.rec"]


def test_parts_with_more_digits(tmp_path: Path) -> None:
    """Names sort by the numbers of the parts; parts with more digits are replaced."""
    names = [cpkg.dask._part(number, 100_002) for number in (0, 9, 99_999, 100_000, 100_001)]
    assert names == sorted(names)
    assert cpkg.dask._part(99_999, 100_000) == "part-99999.rec"
    for name in ("part-000001.rec", "part-00001.rec", "notes.rec"):
        written(tmp_path / name, 1)
    folder = cpkg.dask._Folder(str(tmp_path), True).begin()
    folder.write(0, numbered(3), {})
    folder.finish(1)
    assert sorted(os.listdir(tmp_path)) == ["notes.rec", "part-00000.rec"]


def test_a_handlers_error_is_not_a_write_that_succeeds(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parts have their names by then, but the error is still raised."""

    def finish(self: Any, *_: object) -> list[str]:
        monkeypatch.undo()
        fs, _, own = self._place()
        fs.touch(f"{own}/named")
        raise TimeoutError("mine")

    monkeypatch.setattr(cpkg.dask._Folder, "finish", finish)
    with dask.config.set(scheduler="synchronous"), pytest.raises(TimeoutError, match="mine"):
        cpkg.dask.write_records(cpkg.dask.read_records(folder), tmp_path / "out")
    assert numbers(cpkg.dask.read_records(tmp_path / "out")) == list(range(300))


@pytest.fixture(params=["{}/in/[x]", "file://{}/in/[x]", "memory://{}/in/[x]"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Yield the URL of a folder whose name is also a pattern, which matches another folder."""
    url = request.param.format(tmp_path)
    fs, path = fsspec.url_to_fs(url)
    fs.makedirs(path.replace("[x]", "x"))
    with dask.config.set(scheduler="sync"):
        cpkg.dask.write_records(dask.bag.from_sequence(range(3), npartitions=3), url.replace("[x]", "x"))
        yield url
        assert names(url.replace("[x]", "x")) == [f"part-0000{number}.rec" for number in range(3)]
    fs.rm(path.rpartition("/")[0], recursive=True)


def names(url: str) -> list[str]:
    """Return the relative names of all files below a folder."""
    fs, path = fsspec.url_to_fs(url)
    return sorted(name[len(path) + 1 :] for name in fs.find(path, withdirs=True) if name != path)


def test_a_folder_that_is_written_from_itself(place: str) -> None:
    """Old parts are read until the new ones are complete, and other files stay."""
    numbers = dask.bag.from_sequence(range(300), npartitions=3)
    cpkg.dask.write_records(numbers, f"{place}/", overwrite=True, frame_size=50)
    for name in ("part-notes", ".hidden"):
        write_all(f"{place}/{name}.rec", ["mine"])
    bag = cpkg.dask.read_records([f"{place}/part-{number:05d}.rec" for number in range(3)], partition_size=200)
    write = partial(cpkg.dask.write_records, bag, place)
    each_raises(FileExistsError, write, lambda: write(compute=False).compute())
    written = write(overwrite=True)
    assert len(written) == bag.npartitions > 3
    assert cpkg.dask.read_records(written).compute() == list(range(300))
    cpkg.dask.write_records(cpkg.dask.read_records(written).repartition(npartitions=1), place, overwrite=True)
    assert names(place) == [".hidden.rec", "part-00000.rec", "part-notes.rec"]
    assert len(cpkg.dask.find(place)) == 3


@pytest.mark.parametrize("url", ["memory://", ""])
def test_a_write_to_a_root_or_the_working_directory(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with dask.config.set(scheduler="sync"):
        written = cpkg.dask.write_records(dask.bag.from_sequence(range(3), npartitions=1), url)
        assert cpkg.dask.read_records(written).compute() == [0, 1, 2]
    assert os.listdir(tmp_path) == ([] if url else ["part-00000.rec"])
    if url:
        fsspec.filesystem("memory").rm("/part-00000.rec")


def test_a_write_that_fails_leaves_nothing(place: str) -> None:
    bag = dask.bag.from_sequence(range(4), npartitions=4)
    failing = [bag.map(dask_work.refused, error) for error in (ValueError, KeyboardInterrupt)]
    failing.append(bag.map(dask_work.unpackable, 2))
    for each in failing:
        with pytest.raises((ValueError, TypeError, KeyboardInterrupt)):
            cpkg.dask.write_records(each, place)
        assert not fsspec.url_to_fs(place)[0].exists(place)
    cpkg.dask.write_records(bag, place)
    before = names(place)
    assert len(before) == 4
    for each in (failing[0], failing[2]):
        with pytest.raises((ValueError, TypeError)):
            cpkg.dask.write_records(each, place, overwrite=True)
        assert names(place) == before
    assert cpkg.dask.read_records(place).compute() == list(range(4))


def test_a_part_that_comes_too_late(place: str) -> None:
    """The write fails while a worker is writing a part."""
    folder = cpkg.dask._Folder(place, False).begin()
    with pytest.raises((RuntimeError, FileNotFoundError)):
        folder.write(0, [object()], {"default": lambda value: len(folder.settle(1))})
    assert not fsspec.url_to_fs(place)[0].exists(place)


def test_a_delayed_write_continues_when_computed_again(place: str, tmp_path: Path) -> None:
    """No process could remove its folder; parts that other writes name meanwhile are detected at the end."""
    bag = dask.bag.from_sequence(range(4), npartitions=2)
    later = cpkg.dask.write_records(bag.map(dask_work.refused_once, str(tmp_path / "refused")), place, compute=False)
    assert not fsspec.url_to_fs(place)[0].exists(place)
    with pytest.raises(ValueError, match="no more"):
        later.compute()
    assert [name for name in names(place) if name.startswith("part-")] == []
    fs, path = fsspec.url_to_fs(place)
    fs.makedirs(path, exist_ok=True)
    with pytest.raises(FileExistsError):
        cpkg.dask.write_records(bag.map(dask_work.written_between, place), place, compute=False).compute()
    fs.rm_file(f"{path}/part-00000.rec")
    assert len(later.compute()) == 2
    assert names(place) == ["part-00000.rec", "part-00001.rec"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_write_that_fails_while_its_parts_get_their_names(
    place: str, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    """All parts are complete by then, and some old parts are gone, so the rest get their names."""
    cpkg.dask.write_records(dask.bag.from_sequence(range(9), npartitions=9), place)
    bag = dask.bag.from_sequence(range(100, 104), npartitions=4)
    move, left = cpkg.dask._move, [6 if "://" in place else 2]

    def moved(fs: Any, old: str, new: str) -> None:
        left[0] -= 1
        if not left[0]:
            raise error
        move(fs, old, new)

    monkeypatch.setattr(cpkg.dask, "_move", moved)
    with nullcontext() if error is RuntimeError else pytest.raises(KeyboardInterrupt):
        assert len(cpkg.dask.write_records(bag, place, overwrite=True)) == 4
    assert names(place) == [f"part-0000{number}.rec" for number in range(4)]
    assert cpkg.dask.read_records(place).compute() == list(range(100, 104))


LATER = json.loads(Path(__file__).with_name("later_values.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", LATER)
def test_no_value_is_changed_to_fit(path: Path, case: str) -> None:
    """With the first value of a case the column has the type; the error names the record of the second."""
    pytest.importorskip("pandas")
    usual, later, kind = LATER[case]
    write_all(path, [{"a": usual}] * 2000 + [{"a": later}], frame_size=2000)
    frame = cpkg.dask.to_dataframe(path, meta={"a": kind})
    with pytest.raises(ValueError, match=r"record 2000: 'a' is .*does not fit .*; pass another dtype"):
        frame.compute(scheduler="sync")
    write_all(path, [{"a": usual}] * 2000)
    found = cpkg.dask.to_dataframe(path, meta={"a": kind}).compute(scheduler="sync")["a"]
    assert list(found) == [usual] * 2000
    assert str(found.dtype).startswith(kind[:3])


def test_types_for_values_that_are_missing(path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    rows = [{"int": 2**53 + 1, "bool": True, "float": 0.5, "text": "x"}, {"int": None}, {}]
    write_all(path, rows * 400)
    found = cpkg.dask.to_dataframe(path).compute(scheduler="sync")
    assert [str(found[name].dtype) for name in ("int", "bool", "float")] == ["Int64", "boolean", "float64"]
    for name in found.columns:
        assert [None if pandas.isna(value) else value for value in found[name]] == [row.get(name) for row in rows * 400]


def test_data_frames(folder: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = cpkg.dask.to_dataframe(folder, partition_size=600)
    assert frame.npartitions > 6
    assert list(frame.columns) == ["number", "name", "values"]
    whole = cpkg.dask.to_dataframe(folder, columns=["number"]).compute(scheduler="sync")
    assert whole["number"].tolist() == list(range(300))
    assert whole["number"].dtype == "int64"
    meta = pandas.DataFrame({name: pandas.Series(dtype="float64") for name in ("number", "missing")})
    typed = cpkg.dask.to_dataframe(folder, meta=meta).compute(scheduler="sync")
    assert typed["number"].dtype == "float64"
    assert typed["missing"].isna().all()


def test_columns_are_found_in_all_files(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    for number in range(3):
        write_all(tmp_path / f"{number}.rec", [{"a": 1}] if number < 2 else [{"b": 2}, 5])
    with pytest.raises(ValueError, match=r"2\.rec: record 1: expected a map, found int"):
        cpkg.dask.to_dataframe(tmp_path)
    write_all(tmp_path / "2.rec", [{"b": 2}])
    found = cpkg.dask.to_dataframe(tmp_path).dtypes
    assert {name: str(kind) for name, kind in found.items()} == {"a": "Int64", "b": "Int64"}


def test_a_growing_file_is_read_as_far_as_it_was(client: Client, path: Path) -> None:
    written(path, 50, per_frame=10)
    bag = cpkg.dask.read_records(path, partition_size=200)
    with records.open(path, "ab") as writer:
        writer.append(record(50))
        writer.flush()
        assert numbers(bag) == list(range(50))
