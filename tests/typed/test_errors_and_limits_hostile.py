# SPDX-License-Identifier: Apache-2.0
"""Errors name the place; input that is too large is refused before memory is allocated."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional

import pytest
from processes import run_python
from typed_ways import User

import cpkg
from cpkg import typed
from purepy.base.errors import CodecError, LimitError, StackError


@dataclass
class Chain:
    value: int = 0
    next: Optional[Chain] = None


def fails(data: bytes, tp: Any, **options: Any) -> typed.ValidationError:
    with pytest.raises(typed.ValidationError) as info:
        typed.decode(data, tp, **options)
    assert isinstance(info.value, CodecError)
    assert isinstance(info.value, ValueError)
    return info.value


def test_an_error_has_path_expected_and_found():
    data = cpkg.packb([{"name": "a", "home": {"lat": 1.0, "lon": "x"}}])
    error = fails(data, List[User])
    assert error.path == (0, "home", "lon")
    assert (error.expected, error.found) == ("float", "str")
    assert error.problem == "expected float, found str"
    assert fails(cpkg.packb({}), User).problem == "missing key 'name' in User"
    assert data[error.offset :] == b"\xa1x"
    assert str(error) == f"$[0].home.lon: expected float, found str (at byte {error.offset})"
    assert error.errors == (error,)


def test_all_errors_of_a_message():
    data = cpkg.packb([{"name": 1, "home": {"lat": "x"}}, {"scores": {"a": None}}, 3])
    error = fails(data, List[User], all_errors=True)
    assert [e.path for e in error.errors] == [
        (0, "name"), (0, "home", "lat"), (0, "home"), (1, "scores", "a"), (1,), (2,),
    ]  # fmt: skip
    assert [data[e.offset : e.offset + 2] for e in error.errors] == [
        b"\x01\xa4", b"\xa1x", b"\x81\xa3", b"\xc0\x03", b"\x81\xa6", b"\x03",
    ]  # fmt: skip
    assert len(str(error).splitlines()) == 6
    assert typed.decode(cpkg.packb([]), List[User], all_errors=True) == []
    with pytest.raises(typed.ValidationError) as info:
        typed.convert([{"name": 1}, 2], List[User], all_errors=True)
    assert [e.offset for e in info.value.errors] == [None, None]


def nested(depth: int) -> bytes:
    return b"\x82\xa5value\x01\xa4next" * depth + b"\x80"


@pytest.mark.interpreter
def test_depth_is_limited_and_fits_on_the_stack():
    # in a thread: PyPy 8 fails if it still considers an exception of another test the current one
    with ThreadPoolExecutor(1) as thread:
        thread.submit(check_depth).result()


def check_depth():
    assert typed.decode(nested(100), Chain).next.next.value == 1
    with pytest.raises(StackError):
        typed.decode(nested(100), Chain, max_depth=100)
    typed.decode(nested(100), Chain, max_depth=101)
    for depth in (1025, 5000, 100_000):
        with pytest.raises(StackError):
            typed.decode(nested(depth), Chain)
        with pytest.raises(StackError):
            typed.decode(b"\x91" * depth + b"\x01", Any)
    with pytest.raises(StackError):
        typed.decode(b"\x91" * 10 + b"\x01", List[Any], max_depth=9)
    deep: Any = None
    for _ in range(5000):
        deep = Chain(1, deep)
    with pytest.raises(ValueError, match="recursion limit"):
        typed.encode(deep)


LIMITS = [
    ("max_str_len", 2, "abc"), ("max_bin_len", 2, b"abc"), ("max_array_len", 2, [1, 2, 3]),
    ("max_total_items", 3, [1, 2, 3]), ("max_map_len", 1, {"a": 1, "b": 2}), ("max_total_bytes", 3, ["ab", "cd"]),
    ("max_memory", 100, ["ab"] * 10), ("max_ext_len", 0, cpkg.msgpack.ExtType(1, b"x")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "limit", "value"), LIMITS)
def test_limits_hold_while_decoding(name, limit, value):
    made: List[Any] = []
    hooked = make_dataclass("Hooked", [("x", Any)], namespace={"__post_init__": lambda self: made.append(self)})
    data = cpkg.packb([{"x": 1}, value])
    with pytest.raises(LimitError, match=name):
        typed.decode(data, List[Any], **{name: limit})
    assert typed.decode(cpkg.packb(value), Any, **{name: 10_000}) == value
    with pytest.raises(LimitError, match=name):
        typed.decode(cpkg.packb({"x": value}), hooked, **{name: 0})
    assert not made


@pytest.mark.interpreter
def test_calls_within_hooks_fit_on_a_small_stack(msgpack):
    program = Path(__file__).with_name("small_stack.txt")
    run = run_python(str(program), env={**os.environ, "CPKG_MSGPACK_BACKEND": msgpack.BACKEND})
    assert run.returncode == 0, run.stderr
    assert len(run.stdout.split()) == 2


def test_the_path_of_a_value_contains_an_invalid_key():
    for message, key in ((b"\x81\xa1a\xa1b", "a"), (b"\x81\x91\x01\xa1b", "array"), (b"\x81\xc0\xa1b", "None")):
        error = fails(message, Dict[int, int], all_errors=True)
        assert [e.path for e in error.errors] == [("key of the map",), (key,)]
        assert [e.offset for e in error.errors] == [1, len(message) - 2]
    with pytest.raises(typed.ValidationError) as info:
        typed.convert({"a": "b"}, Dict[int, int], all_errors=True)
    assert [e.path for e in info.value.errors] == [("key of the map",), ("a",)]


class Config:
    __slots__ = (*"abcdefgh", "timeout")


def test_c_ignores_a_slot_of_another_class(msgpack):
    if msgpack.TypedTable is None:
        pytest.skip("only the native backend sets slots in C")
    request = make_dataclass("Request", [("timeout", float)])
    spec = {"name": "timeout", "packed": b"\xa7timeout", "text_size": 7, "slot": Config.timeout}
    made = msgpack.TypedClass(request, [dict(spec)], False, False)
    request.__typed_class__ = made
    assert cpkg.unpackb(msgpack.typed_packb(request(1.5), None, 10, None, None)) == {"timeout": 1.5}
