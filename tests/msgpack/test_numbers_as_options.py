# SPDX-License-Identifier: Apache-2.0
"""Options that are numbers: every backend and function refuses values of other types and numbers that are too large."""

from __future__ import annotations

import collections
import datetime
import decimal
import pathlib
import re
from types import ModuleType
from typing import Any, Callable

import pytest

from purepy.msgpack import options as options_module

PACKING = ["max_depth", "max_total_items", "max_total_bytes", "buf_size"]
LENGTHS = ["max_str_len", "max_bin_len", "max_array_len", "max_map_len", "max_ext_len"]
UNPACKING = ["max_depth", "max_total_items", "max_total_bytes", "raw_depth", "timestamp", *LENGTHS]
STREAMING = [*UNPACKING, "read_size", "max_buffer_size"]
EQUAL = [(value, TypeError) for value in (0.0, -1.0, 1024.0, 262144.0)]
"""Floats that are equal to defaults."""
WRONG = [
    *EQUAL,
    (1.5, TypeError),
    (None, TypeError),
    ("1", TypeError),
    (2**70, OverflowError),
    (-(2**70), OverflowError),
]


class Three:
    asked = 0

    def __index__(self) -> int:
        self.asked += 1
        return 3


def packing(msgpack: ModuleType) -> list[Callable[..., Any]]:
    """Return the ways to pack an object with options."""
    return [
        msgpack.packb,
        lambda obj, **options: msgpack.Packer(**options).pack(obj),
        lambda obj, **options: msgpack.pack_into(obj, bytearray(9), **options),
    ]


@pytest.mark.parametrize(("value", "error"), WRONG)
def test_values_that_are_not_numbers(msgpack: ModuleType, value: Any, error: type[Exception]) -> None:
    is_int = type(value) is int
    text = rf"from -2\*\*63 to 2\*\*63-1, not {value:#x}" if is_int else f"an int, not {type(value).__name__}"

    def refused(name: str) -> Any:
        return pytest.raises(error, match=f"^{name} must be {text}$")

    for name in PACKING:
        for call in packing(msgpack):
            with refused(name):
                call([1], **{name: value})
    for name in UNPACKING:
        for function in (msgpack.unpackb, msgpack.unpackb_from):
            with refused(name):
                function(b"\x91\x01", **{name: value})
    for name in STREAMING:
        with refused(name):
            msgpack.Unpacker(**{name: value})
    with refused("offset"):
        msgpack.unpackb_from(b"\x01", value)
    with refused("offset"):
        msgpack.pack_into(1, bytearray(1), value)
    with refused("nbytes"):
        msgpack.Unpacker().read_bytes(value)


def test_objects_with_an_index(msgpack: ModuleType) -> None:
    """Any object with `__index__` counts as an int."""
    for name in PACKING:
        assert msgpack.packb([1], **{name: Three()}) == b"\x91\x01"
    for name in set(UNPACKING) - {"timestamp"}:
        assert msgpack.unpackb(b"\x91\x01", **{name: Three()}) == [1]
    assert msgpack.unpackb_from(b"\x01\x02\x03\x04", Three()) == (4, 4)
    size = Three()
    msgpack.Packer(buf_size=size)
    assert size.asked == 1


def test_a_number_that_equals_the_default_is_the_default(msgpack: ModuleType) -> None:
    """A number equal to the default may be a different object, as for 1024."""
    for options, call, argument, result in (
        (options_module.PACKING, msgpack.packb, [1], b"\x91\x01"),
        (options_module.UNPACKING, msgpack.unpackb, b"\x91\x01", [1]),
    ):
        for name, value in options.defaults._asdict().items():
            if type(value) is int:
                assert call(argument, **{name: int(str(value))}) == result


def test_out_of_range(msgpack: ModuleType) -> None:
    """Sizes cannot be negative, and there are four kinds of timestamps."""
    for value in (-1, 4):
        with pytest.raises(ValueError, match=r"timestamp must be 0\.\.3"):
            msgpack.unpackb(b"\x01", timestamp=value)
    for name in ("read_size", "max_buffer_size"):
        with pytest.raises(ValueError, match=f"^{name} must be 0 or more, not -1$"):
            msgpack.Unpacker(**{name: -1})
    with pytest.raises(ValueError, match=r"^nbytes must be 0 or more, not -1$"):
        msgpack.Unpacker().read_bytes(-1)
    for call in packing(msgpack):
        with pytest.raises(OverflowError, match="negative"):
            call(1, buf_size=-1)
        with pytest.raises(ValueError, match="max_depth must be 0 or more, not -1"):
            call(1, max_depth=-1)
    with pytest.raises(ValueError, match="max_depth must be 0 or more, not -1"):
        msgpack.unpackb(b"\x01", max_depth=-1)


class Local:
    pass


@pytest.mark.parametrize(
    ("obj", "name"),
    [
        (datetime.datetime(2024, 1, 1), "datetime.datetime"),
        (datetime.date(2024, 1, 1), "datetime.date"),
        (decimal.Decimal(1), "decimal.Decimal"),
        (collections.deque(), "collections.deque"),
        (re.compile("a"), "re.Pattern"),
        ({1}, "set"),
        (1j, "complex"),
        (pathlib.PurePosixPath("a"), "PurePosixPath"),
        (Local(), "Local"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_names_of_types(msgpack: ModuleType, obj: Any, name: str) -> None:
    """An error names a type as msgpack does: with its module, unless the type is a class written in Python."""
    if msgpack.__name__ != "cpkg._native.msgpack.cpython" and name in ("collections.deque", "re.Pattern"):
        name = f"({name}|{name.split('.')[1]})"  # on PyPy they are written in Python
    with pytest.raises(TypeError, match=f"can not serialize '{name}' object"):
        msgpack.packb(obj)
