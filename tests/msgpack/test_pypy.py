# SPDX-License-Identifier: Apache-2.0
"""
The native MessagePack backend on PyPy: that C really serves what it is there for, and the pure codec the rest.

The conformance and differential tests hold its results; they could not tell whether anything native was at work.
"""

from __future__ import annotations

import datetime
import decimal
import platform
from typing import Any

import pytest
from backends import available

import cpkg
import cpkg._objects
from purepy import msgpack as pure
from purepy.msgpack.ext import ExtType

NATIVE: Any = available("msgpack").get("native")
pytestmark = pytest.mark.skipif(
    platform.python_implementation() != "PyPy" or NATIVE is None, reason="PyPy's native MessagePack backend"
)

MESSAGE = {"records": [{"id": i, "name": f"name {i}", "score": i / 7, "tags": ["a", "é"]} for i in range(50)]}


@pytest.fixture
def no_pure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the pure functions that the native ones turn to fail."""

    def refuse(*args: Any, **options: Any) -> Any:
        raise AssertionError("this was to be served natively")

    for name in ("unpackb_plain", "unpackb_with", "unpackb_from_with"):
        monkeypatch.setattr(f"cpkg._native.msgpack.pypy_unpacking.oneshot.{name}", refuse)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"strict_map_key": False},
        {"max_depth": 3000},
        {"max_str_len": 10, "max_array_len": 50},
        {"timestamp": 3},
        {"tuple_keys": True, "strict_map_key": False},
        {"ext_hook": lambda code, data: (code, data)},
    ],
    ids=str,
)
@pytest.mark.usefixtures("no_pure")
def test_the_tape_serves(kind: Any, options: dict[str, Any]) -> None:
    """Plain calls never reach the pure unpacker."""
    packed = NATIVE.packb(MESSAGE)
    assert NATIVE.unpackb(kind(packed), **options) == MESSAGE
    assert NATIVE.unpackb_from(kind(b"--" + packed + b"--"), 2, **options) == (MESSAGE, len(packed) + 2)


def test_the_tape_calls_a_hook_that_may_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extension types of `loads` are the tape's; other hooks are called by the pure codec alone, once a value."""
    values = [decimal.Decimal("1.5"), datetime.date(2024, 2, 29), MESSAGE, datetime.timedelta(1)]
    message = cpkg.dumps(values, compress=False)
    hook = cpkg._objects.unpack_ext
    calls: list[int] = []

    def counting(code: int, data: bytes) -> Any:
        calls.append(code)
        return hook(code, data)

    wrong = message[:-1] + b"\xff"
    for data in (message, wrong):
        del calls[:]
        assert NATIVE.unpackb_from(data, ext_hook=counting) == pure.unpackb_from(data, ext_hook=hook)
        assert len(calls) == 3
    bad = message.replace(b"2024-02-29", b"2024-02-30")
    with pytest.raises(pure.FormatError) as expected:
        pure.unpackb(bad, ext_hook=hook)
    with pytest.raises(type(expected.value), match="2024-02-30"):
        NATIVE.unpackb(bad, ext_hook=hook)
    with pytest.raises(TypeError, match="ext_hook must be a callable"):
        NATIVE.unpackb(message, ext_hook=5)
    for key in (b"\xc7\x01N1", b"\xc7\x04NsNaN"):  # a Decimal that has a hash, and one that has none
        data = b"\x92\xd9\xff" + b"x" * 255 + b"\x81" + key + b"\x01"
        ours, theirs = [], []
        for results, codec in ((ours, NATIVE), (theirs, pure)):
            try:
                results.append(repr(codec.unpackb(data, ext_hook=hook, strict_map_key=False)))
            except TypeError as exc:
                results.append(str(exc))
        assert ours == theirs

    def refuse(*args: Any, **options: Any) -> Any:
        raise AssertionError("this was to be served by the tape")

    monkeypatch.setattr("cpkg._native.msgpack.pypy_unpacking.oneshot.unpackb_with", refuse)
    assert cpkg.loads(message) == values


@pytest.mark.parametrize(
    "options",
    [
        {"object_hook": dict},
        {"object_pairs_hook": list},
        {"list_hook": tuple},
        {"use_list": False},
        {"raw": True, "strict_map_key": False},
        {"unicode_errors": "replace"},
        {"ext_hook": lambda code, data: (code, data)},
        {"bin_view": True},
        {"tuple_keys": True},
        {"raw_depth": 1},
        {"max_total_items": 10_000},
        {"max_total_bytes": 10_000},
    ],
    ids=lambda options: next(iter(options)),
)
def test_the_pure_codec_serves_the_rest(options: dict[str, Any]) -> None:
    """Options that the tape does not know have their effect."""
    packed = pure.packb([MESSAGE, b"bin" * 20, ExtType(5, b"data"), [1, 2, 3, 4, 5]])
    assert NATIVE.unpackb(packed, **options) == pure.unpackb(packed, **options)
    assert NATIVE.unpackb_from(packed, **options) == pure.unpackb_from(packed, **options)


@pytest.mark.parametrize(
    ("items", "served"),
    [
        (list(range(-300, 300)), True),
        ([2**62 + i for i in range(8)], True),
        ([i / 3 for i in range(600)], True),
        (list(range(10_000)), True),
        ([2**63 + i for i in range(20)], False),
        ([1, 2.5] * 20, False),
        ([True, 1] * 20, False),
        (["a"] * 20, False),
        (list(range(7)), False),
        (tuple(range(20)), False),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_lists_of_plain_numbers(items: Any, served: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """C packs the lists that PyPy stores as bare numbers, wherever they are, to the bytes that the pure codec makes."""
    from cpkg._native.msgpack import pypy_scratch

    calls = []
    for name in ("_write_ints", "_write_doubles"):
        write = getattr(pypy_scratch, name)
        monkeypatch.setattr(pypy_scratch, name, lambda *args, write=write: calls.append(1) or write(*args))
    for obj in (items, [items, "x"], {"k": items, "l": 1}):
        del calls[:]
        assert pure.packb(obj) == NATIVE.packb(obj) == NATIVE.Packer().pack(obj)
        assert bool(calls) is served


@pytest.mark.parametrize("options", [{}, {"strict_types": True}, {"datetime": True}, {"max_depth": 5}], ids=str)
def test_the_room_serves(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Options that do not change the bytes leave a call the scratch buffer; while it is taken, the pure codec packs."""
    from cpkg._native.msgpack import pypy_pack

    packed = pure.packb(MESSAGE)
    monkeypatch.setattr("purepy.msgpack.encoder.write_plain", None)
    assert NATIVE.packb(MESSAGE, **options) == NATIVE.Packer(**options).pack(MESSAGE) == packed
    monkeypatch.undo()
    monkeypatch.setattr(pypy_pack, "free", [])
    assert NATIVE.packb(MESSAGE, **options) == NATIVE.Packer(**options).pack(MESSAGE) == packed


def test_depth_of_lists_of_numbers() -> None:
    """A list that C would pack counts as a level like any other."""
    for depth in (0, 1, 2):
        obj: Any = list(range(20))
        for _ in range(depth):
            obj = [obj]
        assert NATIVE.packb(obj, max_depth=depth + 1) == pure.packb(obj)
        with pytest.raises(ValueError, match="recursion limit exceeded"):
            NATIVE.packb(obj, max_depth=depth)


def test_errors_are_those_of_the_pure_codec() -> None:
    """A long message that is wrong has the error's type, text and offset."""
    packed = NATIVE.packb(MESSAGE)
    for wrong in (packed[:-1], packed + b"\x00", packed[:-2] + b"\xc1\xc1", packed.replace(b"name 30", b"nam\xff 30")):
        with pytest.raises(Exception) as expected:
            pure.unpackb(wrong)
        with pytest.raises(type(expected.value)) as raised:
            NATIVE.unpackb(wrong)
        assert str(expected.value) == str(raised.value)
        assert expected.value.offset == raised.value.offset  # type: ignore[attr-defined]
    with pytest.raises(pure.LimitError) as limited:
        NATIVE.unpackb(packed, max_str_len=4)
    assert limited.value.offset is not None
