# SPDX-License-Identifier: Apache-2.0
"""Where an allocation fails, what C makes of types and messages is a MemoryError or right, and nothing is lost."""

from __future__ import annotations

import os

import pytest
from extent import IS_FULL
from processes import run_python

PROGRAM = """
import gc
import sys
from dataclasses import dataclass, field, replace
from enum import Enum
from types import SimpleNamespace
from typing import Any, Dict, FrozenSet, List, Literal, NamedTuple, Optional, Set, Tuple, TypedDict, Union

import _testcapi
import annotated_types as at
from typing_extensions import Annotated

from cpkg import typed
from cpkg.typed import codecs, native
from cpkg.typed.readers import Mismatch

Color = Enum("Color", {"RED": "red"})
Place = NamedTuple("Place", [("lat", float), ("lon", float)])
Movie = TypedDict("Movie", {"name": str}, total=False)

@dataclass
class A:
    kind: Literal["a"]
    x: Annotated[int, at.Ge(0), at.Lt(10**6)] = 1

@dataclass
class B:
    kind: Literal["b"]
    text: Annotated[str, at.MinLen(1), typed.Pattern("^[a-z]+$")] = "x"

@typed.options(forbid_unknown_fields=True)
@dataclass
class Strict:
    __slots__ = ("id", "name")
    id: int
    name: str

@typed.options(array_like=True)
@dataclass
class Row:
    a: int
    b: Optional[str] = None

@typed.options(omit_defaults=True)
@dataclass
class Omitting:
    a: int = 1
    b: List[int] = field(default_factory=list)
    c: Dict[str, int] = field(default_factory=dict)
    d: Set[int] = field(default_factory=lambda: {1000})

@dataclass(frozen=True)
class Constructed:
    a: int
    b: int = 2
    def __post_init__(self) -> None:
        pass

@dataclass
class Root:
    ab: List[Union[A, B]]
    strict: List[Strict]
    row: Row
    omitting: Omitting
    constructed: Constructed
    color: Color
    place: Place
    movie: Movie
    any: Any
    arr: bytearray
    sets: Tuple[Set[int], FrozenSet[str], Tuple[int, ...]]
    even: List[Annotated[int, at.MultipleOf(2)]]

value = Root(
    [A("a", 5), B("b", "t" * 40)], [Strict(2**40 + i, f"name {i} " * 9) for i in range(60)], Row(1, "b" * 40),
    Omitting(7, [1000, 2000]), Constructed(10**10), Color.RED, Place(1.5, 2.5), {"name": "n" * 40},
    [None, {"a": [1.5, b"b" * 40]}], bytearray(b"a" * 40), ({1000}, frozenset({"a" * 40}), (10**6,)), [2, 10**9],
)
message = typed.encode(value)
wrong = [
    message.replace(b"name 0", b"name \\xff", 1),
    message.replace(b"\\xa2id", b"\\xa2ie", 1),
    message.replace(b"\\xa1x\\x05", b"\\xa1x\\xff", 1),
    message.replace(b"t" * 40, b"T" * 40, 1),
    message[:-6] + b"\\x92\\x02\\x01",
    message[:-1],
]
decoder = typed.Decoder(Root)
module = codecs.msgpack_module()
describe_table = native.make_table(lambda *given: given, decoder.node, decoder._functions)
strict = codecs._class_cache(Strict).node
describe_class = native.make_class(SimpleNamespace(TypedClass=lambda *given: given), strict)
table = module.TypedTable(*describe_table)

def decodes(table):
    assert table.decode(message, 100) == value
    for data in wrong:
        try:
            table.decode(data, 100)
        except (ValueError, Mismatch):
            continue
        raise AssertionError(data)

def encodes(made):
    Strict.__typed_class__ = made
    assert typed.encode(value) == message

def is_value(found):
    assert found == value

def is_message(found):
    assert found == message

def refuse():
    for data in wrong[-1], wrong[0]:
        try:
            table.decode(data, 100)
        except (ValueError, Mismatch):
            continue
        raise AssertionError(data)

def fail(act, place):
    _testcapi.set_nomemory(place, place + 1)
    try:
        return act()
    finally:
        _testcapi.remove_mem_hooks()

def allocations(act, check):
    place = calm = 0
    while calm < 50:  # a failure that does no harm may be followed by those that do
        place += 1
        try:
            found = fail(act, place)
        except MemoryError:
            calm = 0
        else:
            calm += 1
            check(found)
    return place - calm

CALLS = {
    "table": (lambda: module.TypedTable(*describe_table), decodes),
    "class": (lambda: module.TypedClass(*describe_class), encodes),
    "decode": (lambda: table.decode(message, 100), is_value),
    "refuse": (refuse, lambda found: None),
    "encode": (lambda: typed.encode(value), is_message),
}
def sweep(act, count):
    for place in range(1, count + 1):
        try:
            fail(act, place)
        except MemoryError:
            pass

for name, (act, check) in CALLS.items():
    count = allocations(act, check)
    print(name, count, flush=True)
    sweep(act, count)
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(10):
        sweep(act, count)
    gc.collect()
    lost = sys.getallocatedblocks() - before
    assert lost < 9, (name, lost)
"""


@pytest.mark.skipif(not IS_FULL, reason="one version of CPython tries it: the others run the same source")
def test_a_failing_allocation_is_a_memory_error_and_leaves_nothing_behind(msgpack, tmp_path):
    pytest.importorskip("_testcapi", reason="not installed with every Python")
    if msgpack.TypedTable is None:
        pytest.skip("types are C's in the native backend alone")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    run = run_python(program.name, env={**os.environ, "CPKG_MSGPACK_BACKEND": msgpack.BACKEND}, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    counts = {line.split()[0]: int(line.split()[1]) for line in run.stdout.splitlines()}
    assert min(counts.values()) > 5, counts
    assert list(counts) == ["table", "class", "decode", "refuse", "encode"]
