# SPDX-License-Identifier: Apache-2.0
"""The options of packing and unpacking: numbers, and the functions that are generated from one declaration."""

from __future__ import annotations

import inspect
import io
from functools import partial
from types import ModuleType
from typing import Any

import pytest

from purepy.msgpack.options import PACKING as PACKING_OPTIONS
from purepy.msgpack.options import UNPACKING as UNPACKING_OPTIONS

PACKING = ["max_depth", "max_total_items", "max_total_bytes", "buf_size"]
LENGTHS = ["max_str_len", "max_bin_len", "max_array_len", "max_map_len", "max_ext_len"]
UNPACKING = ["max_depth", "max_total_items", "max_total_bytes", "raw_depth", "timestamp", *LENGTHS]
STREAMING = [*UNPACKING, "read_size", "max_buffer_size"]
WRONG = [0.0, -1.0, 1024.0, 262144.0, 1.5, None, "1", 2**70, -(2**70)]
"""Numbers that are too large and values of other types, also floats that are equal to defaults."""


class Three:
    asked = 0

    def __index__(self) -> int:
        self.asked += 1
        return 3


@pytest.mark.parametrize("value", WRONG)
def test_values_that_are_not_numbers(msgpack: ModuleType, value: Any) -> None:
    error, text = TypeError, f"an int, not {type(value).__name__}"
    if type(value) is int:
        error, text = OverflowError, rf"from -2\*\*63 to 2\*\*63-1, not {value:#x}"

    def refused(name: str) -> Any:
        return pytest.raises(error, match=f"^{name} must be {text}$")

    for name in PACKING:
        for call in (msgpack.packb, partial(msgpack.pack_into, buffer=bytearray(9))):
            with refused(name):
                call([1], **{name: value})
        with refused(name):
            msgpack.Packer(**{name: value})
    for name in UNPACKING:
        for function in (msgpack.unpackb, msgpack.unpackb_from):
            with refused(name):
                function(b"\x91\x01", **{name: value})
    for name in STREAMING:
        with refused(name):
            msgpack.Unpacker(**{name: value})
        with refused(name):
            msgpack.unpack_async(io.BytesIO(), **{name: value})
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
    msgpack.unpack_async(io.BytesIO(), read_size=Three(), max_buffer_size=Three())
    size = Three()
    msgpack.Packer(buf_size=size)
    assert size.asked == 1


def test_a_number_that_equals_the_default_is_the_default(msgpack: ModuleType) -> None:
    """A number equal to the default may be a different object, as for 1024."""
    for options, call, argument, result in (
        (PACKING_OPTIONS, msgpack.packb, [1], b"\x91\x01"),
        (UNPACKING_OPTIONS, msgpack.unpackb, b"\x91\x01", [1]),
    ):
        for name, value in options.defaults._asdict().items():
            if type(value) is int:
                assert call(argument, **{name: int(str(value))}) == result


def test_generated_functions_look_like_their_source() -> None:
    """A generated function has the name, module, documentation, annotations and parameters of its source."""
    calls: list[Any] = []

    def plain(first: int, second: int, *, own: str) -> None:
        calls.append(("plain", first, second, own))

    def general(first: int, second: int = 2, *, own: str = "x", options: Any) -> None:
        """Do something."""
        calls.append(("general", first, second, own, options))

    made = PACKING_OPTIONS.taken_by(plain)(general)
    assert (made.__name__, made.__module__, made.__doc__) == ("general", __name__, "Do something.")
    names = list(inspect.signature(made).parameters)
    assert names == ["first", "second", *PACKING_OPTIONS.defaults._fields, "own"]
    assert made.__annotations__["first"] == "int"
    assert made.__annotations__["max_depth"] == "int"
    made(1)
    made(1, own="y")
    made(1, 3, max_depth=1024)  # passing the default explicitly counts as the default
    made(1, own="z", max_depth=5, uuid=1)
    assert calls[:3] == [("plain", 1, 2, "x"), ("plain", 1, 2, "y"), ("plain", 1, 3, "x")]
    assert calls[3] == ("general", 1, 2, "z", PACKING_OPTIONS.defaults._replace(max_depth=5, uuid=1))
    with pytest.raises(TypeError):
        made(1, 2, 3)
    with pytest.raises(TypeError):
        made(1, no_such_option=1)
