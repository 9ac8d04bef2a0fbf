# SPDX-License-Identifier: Apache-2.0
"""Typed records on Dask: bags of objects, and data frames whose columns are the fields of the type."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, List, NamedTuple, Optional

import pytest

pytest.importorskip("dask.dataframe")

import dask
import pandas
from record_files import write_all
from typing_extensions import Literal, NotRequired, TypedDict

import cpkg.dask
from cpkg import typed
from cpkg.msgpack import Raw

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(autouse=True)
def _here() -> Any:
    with dask.config.set(scheduler="sync"):
        yield


@dataclass
class Visit:
    id: int
    rank: Optional[int]
    share: float
    paid: bool
    seen: Optional[bool]
    name: str
    kind: Literal["a", "b"]
    took: datetime.timedelta
    at: datetime.datetime
    tags: List[str]


class Point(NamedTuple):
    x: int
    y: Optional[float] = None


class Row(TypedDict):
    a: int
    b: NotRequired[int]


DAY = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


def visit(n: int) -> Visit:
    return Visit(
        n, n if n % 2 else None, n / 8, n % 3 == 0, None if n % 5 else True, f"näme {n}", "a" if n % 2 else "b",
        datetime.timedelta(seconds=n), DAY + datetime.timedelta(hours=n), ["x"] * (n % 3),
    )  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "visits.rec"
    write_all(path, [Raw(typed.encode(visit(n))) for n in range(200)], frame_size=500)
    return path


def test_a_bag(path: Path) -> None:
    bag = cpkg.dask.read_records(path, type=Visit, partition_size=1000)
    assert bag.npartitions > 3
    assert bag.compute() == [visit(n) for n in range(200)]


def test_columns_by_the_fields(path: Path) -> None:
    frame = cpkg.dask.to_dataframe(path, type=Visit, partition_size=1000)
    text = str(pandas.Series(["x"]).dtype)
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == {
        "id": "int64",
        "rank": "Int64",
        "share": "float64",
        "paid": "bool",
        "seen": "boolean",
        "name": text,
        "kind": text,
        "took": "timedelta64[us]",
        "at": "object",
        "tags": "object",
    }
    made = frame.compute()
    assert made.dtypes.to_dict() == frame.dtypes.to_dict()
    for n in (0, 1, 7, 199):
        for name, found in made.iloc[n].items():
            value = getattr(visit(n), str(name))
            assert pandas.isna(found) if value is None else found == value
    some = cpkg.dask.to_dataframe(path, type=Visit, columns=["name", "id"], partition_size=1000).compute()
    assert list(some.columns) == ["name", "id"]
    assert len(cpkg.dask.to_dataframe(path, columns=[]).compute()) == len(some) == 200
    meta = {"at": "datetime64[us, UTC]", "id": "int32", "nothing": "object"}
    other = cpkg.dask.to_dataframe(path, type=Visit, meta=meta).compute()
    assert str(other.dtypes["at"]) == "datetime64[us, UTC]"
    assert other["at"].iloc[9] == visit(9).at
    assert other["nothing"].isna().all()


@pytest.mark.parametrize("kind", [Point, Row])
def test_named_tuples_and_typed_dicts(path: Path, kind: Any) -> None:
    rows: list[Any] = [(1, 2.5), (2, None)] if kind is Point else [{"a": 1, "b": 2}, {"a": 3}]
    write_all(path, rows)
    made = cpkg.dask.to_dataframe(path, type=kind).compute()
    found = [tuple(None if pandas.isna(value) else value for value in row) for row in made.itertuples(index=False)]
    assert found == [(1, 2.5), (2, None)] if kind is Point else [(1, 2), (3, None)]


def test_objects_are_not_made_texts(path: Path) -> None:
    """By default, Dask converts columns of objects to strings."""
    rows = [{"list": ["x"] * n, "mixed": (1, "a", None, 2.5)[n % 4]} for n in range(8)]
    write_all(path, rows)
    made = cpkg.dask.to_dataframe(path).compute()
    assert made["list"].tolist() == [row["list"] for row in rows]
    assert [None if value != value else value for value in made["mixed"]] == [row["mixed"] for row in rows]


def test_what_does_not_fit(path: Path) -> None:
    """Errors for a record that is not of the type, a value too large for its column, and a type without fields."""
    write_all(path, [Raw(typed.encode(replace(visit(5), id=2**63)))], mode="ab")
    with pytest.raises(ValueError, match=r"record 200: 'id'"):
        cpkg.dask.to_dataframe(path, type=Visit, partition_size=1000).compute()
    write_all(path, [{"id": "x"}], mode="ab")
    for use in (cpkg.dask.read_records, cpkg.dask.to_dataframe):
        with pytest.raises(typed.ValidationError, match=r"\$\[201\]"):
            use(path, type=Visit, partition_size=1000).compute()
    with pytest.raises(TypeError, match="fields"):
        cpkg.dask.to_dataframe(path, type=List[int])
