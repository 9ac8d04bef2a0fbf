# SPDX-License-Identifier: Apache-2.0
"""Packing beyond msgpack: conversions, canonical order, limits, the caller's buffers."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import itertools
import random
import sys
import uuid
from functools import partial
from types import ModuleType
from typing import Any

import attr
import pytest
from processes import run_alone

from purepy.msgpack import forms
from purepy.msgpack.ext import ExtType, Raw


@dataclasses.dataclass
class Point:
    x: int
    y: Any
    secret: dataclasses.InitVar[int] = 0


@dataclasses.dataclass(frozen=True)
class Slim:
    __slots__ = ("a",)
    a: int


@attr.s(slots=True)
class Private:
    _x: Any = attr.ib()
    counted: int = attr.ib(init=False, default=3)


class Colour(enum.Enum):
    RED = "red"
    ID = uuid.UUID(int=5)
    PAIR = (1, 2)


ROWS = [
    ("dataclass", Point(1, [Point(2, None)]), {"x": 1, "y": [{"x": 2, "y": None}]}),
    ("dataclass", Slim(5), {"a": 5}),
    ("dataclass", Private(Private(1)), {"_x": {"_x": 1, "counted": 3}, "counted": 3}),
    ("date", datetime.date(2024, 2, 29), "2024-02-29"),
    ("uuid", uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    ("enum", Colour.RED, "red"),
    ("enum", Colour.PAIR, [1, 2]),
    ("decimal", decimal.Decimal("1.10"), "1.10"),
]


@pytest.mark.parametrize(("option", "obj", "plain"), ROWS, ids=lambda value: repr(value)[:20])
def test_conversions(msgpack: ModuleType, option: str, obj: Any, plain: Any) -> None:
    """Each option packs its type at any place; without the option, the type goes to default or is an error."""
    expected = msgpack.packb(plain)
    assert msgpack.packb(obj, **{option: True}) == expected
    assert msgpack.packb([{"k": obj}], **{option: True}) == b"\x91\x81\xa1k" + expected
    assert msgpack.packb(obj, strict_types=True, default=list, **{option: True}) == expected
    assert msgpack.Packer(**{option: True}).pack(obj) == expected
    others = {name: True for name in ("dataclass", "date", "uuid", "enum", "decimal", "numpy") if name != option}
    with pytest.raises(TypeError):
        msgpack.packb(obj)
    with pytest.raises(TypeError):
        msgpack.packb(obj, **others)
    assert msgpack.packb([obj], default=lambda o: 7, **others) == b"\x91\x07"


def test_a_dataclass_that_is_decorated_again(msgpack: ModuleType) -> None:
    class Growing:
        x: int = 1

    grown = dataclasses.dataclass(Growing)()
    assert msgpack.packb([grown, grown], dataclass=True) == b"\x92\x81\xa1x\x01\x81\xa1x\x01"
    Growing.y = 2
    Growing.__annotations__ = {"x": int, "y": int}
    dataclasses.dataclass(Growing)
    assert msgpack.packb([grown], dataclass=True) == b"\x91\x82\xa1x\x01\xa1y\x02"


@pytest.mark.once
def test_more_types_than_a_table_of_forms_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "MOST", 5)
    monkeypatch.setattr(forms, "TURNS", 10)
    looked: list[type] = []

    def find(kind: type) -> Any:
        looked.append(kind)
        return repr

    kinds = [type("Kind", (), {}) for _ in range(8)]
    table = forms.Forms(0, False, find)
    for _ in range(3):
        assert [table.find(kind) for kind in kinds] == [repr] * 5 + [None] * 3
    assert looked == kinds[:5]
    assert table.find(kinds[5]) is repr
    assert list(table) == looked[5:] == kinds[5:6]


def test_fields_of_classes_are_read_only_by_options_that_need_them(msgpack: ModuleType) -> None:
    class Refusing(type):
        def __getattr__(cls, name: str) -> Any:
            raise ValueError(name)

    obj = Refusing("Odd", (), {})()
    assert msgpack.packb([obj], default=lambda _: 5, date=True, enum=True, datetime=True) == b"\x91\x05"


def test_numpy(msgpack: ModuleType) -> None:
    """Scalars become bool, int or float, arrays nested arrays; complex numbers, times and records are refused."""
    np = pytest.importorskip("numpy")
    for obj, plain in (
        *((np.bool_(True), True), (np.int8(-5), -5), (np.uint64(2**64 - 1), 2**64 - 1)),
        *((np.float32(0.5), 0.5), (np.float64(0.25), 0.25), (np.array(5.5), 5.5)),
        *((np.array([True]), [True]), (np.array(["a", "b"]), ["a", "b"]), (np.array([], dtype="f8"), [])),
        (np.array([[1, 2], [3, 4]], dtype="i2"), [[1, 2], [3, 4]]),
        (np.array([1, None, np.int32(3)], dtype=object), [1, None, 3]),
        (np.arange(6, dtype="u1")[::2], [0, 2, 4]),
        *((np.array([1, -300], dtype=kind), [1, -300]) for kind in ("<i8", ">i2")),
        *((np.array([1, -300], dtype=kind), [1.0, -300.0]) for kind in ("<f8", ">f8", "<f2")),
    ):
        assert msgpack.packb([obj], numpy=True) == msgpack.packb([plain])
        assert msgpack.packb([obj], numpy=True, strict_types=True) == msgpack.packb([plain])
    times = np.datetime64("2020-01-01"), np.timedelta64(1, "s")
    for obj in (np.complex128(1j), np.array([1j]), *times, np.array([(1, 2)], dtype="i1,i1")):
        with pytest.raises(TypeError):
            msgpack.packb(obj, numpy=True)
        assert msgpack.packb(obj, numpy=True, default=str)
    with pytest.raises(TypeError):
        msgpack.packb(np.int32(5))


def test_sort_keys(msgpack: ModuleType) -> None:
    """Pairs are ordered by the bytes of their keys; equal objects give equal bytes."""
    # by packed bytes: 1 before -1, short strings before long ones, ints before strings
    mixed = {"aa": 0, "b": 0, -1: 0, 1: 0, 300: 0, b"a": 0, None: 0, (2,): 0, 1.5: 0, "é" * 40: 0}
    packed = msgpack.packb(mixed, sort_keys=True)
    keys = [msgpack.packb(key) for key in msgpack.unpackb(packed, strict_map_key=False, tuple_keys=True)]
    assert keys == sorted(msgpack.packb(key) for key in mixed)
    rnd = random.Random(3)
    items = [(f"key {number}", {str(n): n for n in range(number % 7)}) for number in range(200)]
    first = msgpack.packb(dict(items), sort_keys=True)
    for _ in range(5):
        rnd.shuffle(items)
        assert msgpack.packb(dict(items), sort_keys=True) == first
    assert msgpack.unpackb(first) == dict(items)


@pytest.mark.parametrize(
    "obj",
    [
        *("a" * 97, b"a" * 97, [1] * 96, {"k": ["v" * 94]}, ExtType(1, b"a" * 96), Raw(b"a" * 99)),
        *([1, 2, 3], {"a": [None]}, "a" * 9, [b"b" * 7], [1.5]),
    ],
    ids=lambda obj: repr(obj)[:20],
)
@pytest.mark.parametrize("options", [{}, {"sort_keys": True}], ids=["plain", "sorted"])
def test_max_total_bytes(msgpack: ModuleType, obj: Any, options: dict[str, Any]) -> None:
    """The size of the message counts; the error omits it, since backends notice the excess at different points."""
    packed, target = msgpack.packb(obj), bytearray(200)
    size = len(packed)
    assert msgpack.packb(obj, max_total_bytes=size, **options) == packed
    packer = msgpack.Packer(max_total_bytes=size, autoreset=False, **options)
    for _ in range(3):
        packer.pack(obj)  # the limit applies to each message
    assert packer.bytes() == packed * 3
    for limit in {size - 1, size // 2, 1, 0}:
        limited = {"max_total_bytes": limit, **options}
        match = rf"^the packed object exceeds max_total_bytes\({limit}\)$"
        packer = msgpack.Packer(autoreset=False, **limited)
        for pack in (msgpack.packb, packer.pack, partial(msgpack.pack_into, buffer=target)):
            with pytest.raises(msgpack.LimitError, match=match) as info:
                pack(obj, **({} if pack == packer.pack else limited))
            assert info.value.offset is None


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="PyPy does not lock a bytearray with a view")
def test_packer_buffer_is_viewed(msgpack: ModuleType) -> None:
    """While a view of the bytearray exists, it cannot grow: packing fails, and nothing is written."""
    buffer = bytearray(b"head")
    packer = msgpack.Packer(buffer=buffer)
    with memoryview(buffer), pytest.raises(BufferError):
        packer.pack([1] * 1000)
    assert buffer == b"head"
    packer.pack(1)
    assert buffer == b"head\x01"


LAZY = """
import datetime, types
asked = []
class Lazy(types.ModuleType):
    def __getattr__(self, name):
        asked.append(name)
        raise KeyboardInterrupt
sys.modules["attr"] = sys.modules["numpy"] = Lazy("lazy")
assert msgpack.packb(datetime.date(2020, 1, 1), date=True) == b"\\xaa2020-01-01"
assert not asked, asked
"""


def test_other_types_run_no_code_of_optional_modules(msgpack: ModuleType) -> None:
    done = run_alone(msgpack, "msgpack", LAZY)
    assert done.returncode == 0, done.stderr


def test_one_to_three_ints_are_sorted() -> None:
    """Ints whose differences fit into a machine word are sorted by arithmetic, others by sort()."""
    numbers = (-(1 << 63), -(1 << 61) - 1, -(1 << 61), -1, 0, 7, 1 << 61, (1 << 61) + 1, (1 << 64) - 1)
    for count in (1, 2, 3):
        for members in itertools.permutations(numbers, count):
            assert forms._few(list(members)) == forms._many(list(members)), members
