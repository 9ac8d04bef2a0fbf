# SPDX-License-Identifier: Apache-2.0
"""Compare `dumps` and `loads` of the compiled module with the Python functions that define them."""

from __future__ import annotations

import copy
import inspect
import pickle
import sys
from typing import Any

import pytest
from any_codecs import encode, lend_anew
from backends import available
from hypothesis import given
from hypothesis import strategies as st
from msgpack_oracle import outcome

import cpkg
from cpkg.objects import dumps_loads

pytestmark = pytest.mark.skipif(
    sys.implementation.name != "cpython" or "native" not in available("msgpack"), reason="needs the compiled module"
)

KEYS = st.text(max_size=8) | st.integers(-5, 5) | st.tuples(st.integers(0, 3), st.text(max_size=2))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64) | st.floats() | st.text() | st.binary() | st.dates(),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=20,
)
DUMPS = st.fixed_dictionaries(
    {},
    optional={
        # the last text is not interned
        "compress": st.sampled_from([True, False, "auto", 1, None, "no", "-auto"[1:]]),
        "level": st.sampled_from([0, 1, 3, -5, 23, -(2**17) - 1, 2**70, True, None, "3"]),
        "min_size": st.sampled_from([0, 10, 10**6, -1, 2**70, 12.5]),
        "checksum": st.sampled_from([True, False, 0, "yes"]),
        "default": st.sampled_from([None, str, 3, lambda o: {1, 2}]),
        "sort_keys": st.sampled_from([True, False, 1]),
        "max_depth": st.sampled_from([0, 1, 2, 1024, -1, 2**70, None]),
    },
)
LOADS = st.fixed_dictionaries(
    {},
    optional={
        "max_output_size": st.sampled_from([None, 0, 10, 100, 2**28, 2**70, -1, "10"]),
        "max_memory": st.sampled_from([None, 0, 100, 1000, 2**70, -1, -7]),
        "max_total_items": st.sampled_from([None, 0, 1, 10, -1, -2, 2**70]),
        "max_depth": st.sampled_from([0, 1, 2, 1024, -1, None]),
        "ext_hook": st.sampled_from([None, lambda code, data: (code, data), 3]),
        "object_hook": st.sampled_from([None, lambda found: len(found)]),
        "use_list": st.sampled_from([True, False, None]),
        "strict_map_key": st.sampled_from([True, False, 1]),
        "timestamp": st.sampled_from([0, 1, 2, 3, 4, None]),
    },
)


def both(name: str, value: Any, options: dict[str, Any]) -> None:
    codecs = dumps_loads.chosen_codecs()
    assert outcome(getattr(codecs, name), value, **options) == outcome(getattr(dumps_loads, name), value, **options)


@given(VALUES, DUMPS)
def test_dumps_is_dumps(value: Any, options: dict[str, Any]) -> None:
    both("dumps", value, options)


@given(VALUES, st.sampled_from([True, False]), LOADS, st.data())
def test_loads_is_loads(value: Any, compress: bool, options: dict[str, Any], data: st.DataObject) -> None:
    try:
        packed = bytearray(cpkg.dumps(value, compress=compress))
    except OverflowError:
        return
    for _ in range(data.draw(st.integers(0, 2))):  # damage
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    both("loads", bytes(packed), options)
    both("loads", packed, options)
    both("loads", bytes(packed[: data.draw(st.integers(0, len(packed)))]), options)


@given(st.binary(max_size=40), st.sampled_from([b"", b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18", b"\x28", b"\x5f"]))
def test_any_bytes(data: bytes, begin: bytes) -> None:
    both("loads", begin + data, {})


def test_wrong_arguments() -> None:
    for arguments in ((), (1, 2), (b"\x01", 2)):
        for name in ("dumps", "loads"):
            found = outcome(getattr(cpkg, name), *arguments)
            assert found == outcome(getattr(dumps_loads, name), *arguments)
            assert found[0] is TypeError
    pytest.raises(TypeError, cpkg.dumps, 1, colour=3).match("unexpected keyword argument 'colour'")
    pytest.raises(TypeError, cpkg.loads, max_depth=3).match("missing 1 required positional argument")
    assert cpkg.dumps([0] * 100, **{"-compress"[1:]: False}) == cpkg.dumps([0] * 100, compress=False)  # not interned
    assert cpkg.loads(data=b"\x01") == cpkg.loads(bytearray(b"\x01")) == 1


@pytest.mark.parametrize("name", ["dumps", "loads"])
def test_they_look_like_functions(name: str) -> None:
    function, reference = getattr(cpkg, name), getattr(dumps_loads, name)
    assert pickle.loads(pickle.dumps(function)) is copy.copy(function) is function
    assert (function.__name__, function.__module__) == (name, "cpkg")
    shown = [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]
    assert shown == [(p.name, p.kind, p.default) for p in inspect.signature(reference).parameters.values()]
    assert inspect.getdoc(function) == inspect.getdoc(reference)


def test_default_may_come_back() -> None:
    """A hook that packs, compresses and unpacks finds the scratch memory in use, and uses other memory."""

    def default(obj: Any) -> Any:
        inner = cpkg.dumps(["x" * 1000, obj.real], compress=True)
        return [inner, cpkg.loads(inner)]

    value = [complex(n, 1) for n in range(50)]
    back = cpkg.loads(cpkg.dumps(value, default=default, compress=True))
    assert back == [default(item) for item in value]


def test_what_python_lends_is_taken_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """When tests lower limits, the compiled functions must use the lowered limits."""
    codecs = dumps_loads.chosen_codecs()
    monkeypatch.setattr(dumps_loads, "MIN_SIZE", 10)
    assert encode(codecs, [0] * 100) == cpkg.dumps([0] * 100, compress=True)
    monkeypatch.undo()
    lend_anew(codecs)
    assert cpkg.dumps([0] * 100) == cpkg.dumps([0] * 100, compress=False)
