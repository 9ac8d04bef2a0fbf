# SPDX-License-Identifier: Apache-2.0
"""The options of packing and unpacking are declared once, and functions are generated from the declaration."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from purepy.msgpack.options import PACKING


def test_generated_functions_look_like_their_source() -> None:
    """A generated function has the name, module, documentation, annotations and parameters of its source."""
    calls: list[Any] = []

    def plain(first: int, second: int, *, own: str) -> None:
        calls.append(("plain", first, second, own))

    def general(first: int, second: int = 2, *, own: str = "x", options: Any) -> None:
        """Do something."""
        calls.append(("general", first, second, own, options))

    made = PACKING.taken_by(plain)(general)
    assert (made.__name__, made.__module__, made.__doc__) == ("general", __name__, "Do something.")
    names = list(inspect.signature(made).parameters)
    assert names == ["first", "second", *PACKING.defaults._fields, "own"]
    assert made.__annotations__["first"] == "int"
    assert made.__annotations__["max_depth"] == "int"
    made(1)
    made(1, own="y")
    made(1, 3, max_depth=1024)  # passing the default explicitly counts as the default
    made(1, own="z", max_depth=5, uuid=1)
    assert calls[:3] == [("plain", 1, 2, "x"), ("plain", 1, 2, "y"), ("plain", 1, 3, "x")]
    assert calls[3] == ("general", 1, 2, "z", PACKING.defaults._replace(max_depth=5, uuid=1))
    with pytest.raises(TypeError):
        made(1, 2, 3)
    with pytest.raises(TypeError):
        made(1, no_such_option=1)
