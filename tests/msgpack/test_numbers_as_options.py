# SPDX-License-Identifier: Apache-2.0
"""Options that are numbers: every backend and function refuses values of other types and numbers that are too large."""

from __future__ import annotations

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
    text = "of at most 64 bits" if type(value) is int else f", not {type(value).__name__}"

    def refused(name: str) -> Any:
        return pytest.raises(error, match=f"^{name} must be an int ?{text}$")

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
