# SPDX-License-Identifier: Apache-2.0
"""
Rows against the pure codec: the same maps, in the same order, with the same end. Rows leave all other values to the
pure codec. They are for PyPy, but their C side and their reader also run on CPython.
"""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgpack_strategies import EXTENSIONS, INTS, PLAIN, TEXTS, damaged
from pypy_parts import pypy_part
from threads import run_threads

from purepy import msgpack as pure

rows = pypy_part("rows")

pytestmark = pytest.mark.interpreter

texts = TEXTS | st.sampled_from(["GET", "POST", "a" * 64, "b" * 129])
scalars = PLAIN | texts | EXTENSIONS
values = (
    scalars
    | st.lists(texts, max_size=5)
    | st.lists(scalars, max_size=5)
    | st.lists(st.integers(), max_size=3).map(lambda items: [[item % 100] for item in items])
    | st.dictionaries(INTS | texts, scalars, max_size=3)
)
names = st.lists(st.text(max_size=12), min_size=1, max_size=8, unique=True)


def read(data: bytes, most: int = 10_000) -> tuple[list[Any], int]:
    """Read rows until there are none; return them and their end."""
    found: list[Any] = []
    end = 0
    while len(found) < most and (part := rows.read_rows(data, end, most - len(found))) is not None:
        maps, count, end = part
        maps = list(maps)
        assert len(maps) == count
        found += maps
    return found, end


def read_in_advance(data: bytes, most: int = 10_000, fewest: int = 1) -> tuple[list[Any], int]:
    """Arrange all rows first, as a C thread does, then read them, up to the first invalid value."""
    memory = rows.Rows(fewest)
    rows.lib.cpkg_rows_after(memory._handle, data, len(data), most)
    found: list[Any] = []
    end = 0
    with contextlib.suppress(Exception):
        for maps, _, end in memory.each(data):  # noqa: B007
            found += maps
    return found, end


def pure_read(data: bytes, count: int) -> tuple[list[Any], int]:
    """Read `count` messages with the pure codec; return them and their end."""
    found = []
    end = 0
    for _ in range(count):
        value, end = pure.unpackb_from(data, end, strict_map_key=False)
        found.append(value)
    return found, end


def check(data: bytes) -> None:
    """Compare rows with the results of the pure codec, including types."""
    found, end = read(data)
    expected = pure_read(data, len(found))
    assert repr((found, end)) == repr(expected)
    assert repr(read_in_advance(data)) == repr(expected)


@given(names, st.data())
def test_same_maps(keys: list[str], data: st.DataObject) -> None:
    records = [{key: data.draw(values) for key in keys} for _ in range(data.draw(st.integers(1, 5)))]
    packed = b"".join(map(pure.packb, records))
    assert read(packed) == (records, len(packed))
    check(packed)


@given(names, st.lists(values, min_size=1, max_size=4), st.integers(65, 200))
def test_many_rows_with_uniform_and_mixed_columns(keys: list[str], mix: list[Any], count: int) -> None:
    records = [{key: mix[(row * place) % len(mix)] for place, key in enumerate(keys)} for row in range(count)]
    packed = b"".join(map(pure.packb, records))
    assert read(packed) == (records, len(packed))
    found, end = read(packed, count - 1)
    assert found == records[:-1]
    assert end == len(packed) - len(pure.packb(records[-1]))


packed_maps = st.lists(st.dictionaries(st.sampled_from("abc"), values, max_size=3), max_size=8).map(
    lambda maps: b"".join(map(pure.packb, maps))
)


@given(packed_maps | damaged(packed_maps), st.integers(0, 200))
def test_damage_is_never_a_row(packed: bytes, missing: int) -> None:
    check(packed[: max(len(packed) - missing, 0)])


@given(st.binary(max_size=60))
def test_any_bytes(data: bytes) -> None:
    check(data)
    check(b"\x81\xa1a" + data)
    check(b"\x81\xa1a\x01" + data)


def test_rows_end_where_the_keys_change() -> None:
    packed = b"".join(map(pure.packb, [{"a": 1}, {"a": 2}, {"b": 3}, {"a": 4, "b": 5}, [1], {"a": 6}]))
    maps, *place = rows.read_rows(packed, 0, 100)
    assert (list(maps), place) == ([{"a": 1}, {"a": 2}], [2, 8])
    assert read(packed) == ([{"a": 1}, {"a": 2}, {"b": 3}, {"a": 4, "b": 5}], 19)


def test_too_few_rows_are_left_to_the_pure_codec() -> None:
    packed = b"".join(map(pure.packb, [{"a": 1}, {"a": 2}, {"b": 3}, {"b": 4}, {"b": 5}]))
    assert rows.read_rows(packed, 0, 100, 3) is None
    assert rows.read_rows(packed, 0, 2, 3)[1:] == (2, 8)
    assert read_in_advance(packed, fewest=2) == ([{"a": 1}, {"a": 2}, {"b": 3}, {"b": 4}, {"b": 5}], 20)
    assert read_in_advance(packed, fewest=3) == ([], 0)


LEFT = {
    "no data": b"",
    "no keys": b"\x80",
    "a key that is not a str": b"\x81\x01\x02",
    "a key twice": b"\x82\xa1a\x01\xa1a\x02",
    "a key that is not UTF-8": b"\x81\xa1\xff\x01",
    "a text that is not UTF-8": b"\x81\xa1a\xa1\xff",
    "the unused byte": b"\x81\xa1a\xc1",
    "an array with more items than bytes": b"\x81\xa1a\xdd\xff\xff\xff\xff",
    "a timestamp of one byte": b"\x81\xa1a\xc7\x01\xff\x00",
    "a map with more pairs than bytes": b"\xdf\xff\xff\xff\xff\xa1a\x01",
}


@pytest.mark.parametrize("what", LEFT)
def test_values_left_to_the_pure_codec(what: str) -> None:
    assert rows.read_rows(LEFT[what], 0, 100) is None


def test_keys_are_not_executed() -> None:
    """Keys are never executed as Python code, whatever they contain."""
    odd = ["'", '"""', "\\", "\n", "{x}", "c0[row]", "__class__", "é\u2028", "class", "}); raise SystemExit(0) #"]
    record = dict.fromkeys(odd, 7)
    assert read(pure.packb(record) * 3)[0] == [record] * 3


def test_depth_counts_as_elsewhere() -> None:
    def nested(depth: int) -> bytes:
        return b"\x81\xa1a" + b"\x91" * depth + b"\x01"

    assert read(nested(1023))[1] == 1027
    assert rows.read_rows(nested(1024), 0, 1) is None


def test_more_shapes_texts_and_items_than_fit() -> None:
    for shape in range(200):
        record = {f"{shape}": 1}
        assert read(pure.packb(record))[0] == [record]
    wide = {str(number): number for number in range(65)}
    assert rows.read_rows(pure.packb(wide), 0, 1) is None
    many = [{"texts": [f"{row}.{number}" for number in range(200)], "long": str(row) * 9_000} for row in range(9)]
    packed = b"".join(map(pure.packb, many))
    assert read(packed) == (many, len(packed))


def test_large_rows_come_few_at_a_time() -> None:
    packed = pure.packb({"text": "x" * 400_000}) * 10
    assert rows.read_rows(packed, 0, 10)[1] == 3
    assert read(packed)[1] == len(packed)


def test_rows_share_nothing() -> None:
    packed = pure.packb({"list": [1, "a"], "map": {}}) * 4
    found = read(packed)[0]
    found[0]["list"].append(2)
    found[1]["map"]["x"] = found[2]["new"] = 1
    assert found[3] == {"list": [1, "a"], "map": {}}


def test_several_threads() -> None:
    sets = [[{"n": n, "text": f"{seed}-{n % 9}", "seed": seed} for n in range(500)] for seed in range(3)]
    packed = [b"".join(map(pure.packb, records)) for records in sets]

    def work(number: int) -> None:
        for _ in range(20):
            assert read(packed[number]) == (sets[number], len(packed[number]))

    assert run_threads(lambda: work(0), lambda: work(1), lambda: work(2)) == []


def test_a_signal_handlers_exception_is_not_a_wrong_value(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise TimeoutError("mine")

    packed = b"".join(map(pure.packb, [{"a": 1}] * 3))
    assert rows.read_rows(packed, 0, 100) is not None
    monkeypatch.setattr(rows, "_read_batch", interrupted)
    with pytest.raises(TimeoutError, match="mine"):
        rows.read_rows(packed, 0, 100)
