# SPDX-License-Identifier: Apache-2.0
"""
Random recursive types: the time for a message is linear in its size, however deep the message is.

Steps are lines of Python that run: those of the walker on every backend, and those of the pure backend's functions.
A message has a depth and a payload at its bottom. If each level read the data below it once more, the number of steps
would contain a term that grows with both at once, or with the square of the depth.
"""

from __future__ import annotations

import gc
import random
import sys
from dataclasses import dataclass, field
from typing import Any, Dict, Generic, List, Literal, Optional, TypeVar, Union

import pytest
import typed_classes
import typed_reference as reference
from seeds import SEED

from cpkg import typed
from cpkg.typed import codecs
from purepy.base.errors import CodecError

T = TypeVar("T")
MODES = {"strict": {}, "lax": {"strict": False}, "all errors": {"all_errors": True, "max_errors": 5}, "walker": {}}


@dataclass
class One(Generic[T]):
    kind: Literal["one"]
    next: Optional[Union[One[T], Two[T]]] = None
    many: List[Union[One[T], Two[T]]] = field(default_factory=list)
    named: Dict[str, Union[One[T], Two[T]]] = field(default_factory=dict)
    content: Optional[List[T]] = None


@dataclass
class Two(Generic[T]):
    kind: Literal["two"]
    next: Optional[Union[One[T], Two[T]]] = None
    many: List[Union[One[T], Two[T]]] = field(default_factory=list)
    named: Dict[str, Union[One[T], Two[T]]] = field(default_factory=dict)
    content: Optional[List[T]] = None


@dataclass
class ByUrl(Generic[T]):
    url: str
    next: Optional[Union[ByUrl[T], ByPath[T]]] = None
    content: Optional[List[T]] = None


@dataclass
class ByPath(Generic[T]):
    path: str
    next: Optional[Union[ByUrl[T], ByPath[T]]] = None
    content: Optional[List[T]] = None


@typed.options(forbid_unknown_fields=True)
@dataclass
class Closed(Generic[T]):
    next: Optional[Closed[T]] = None
    content: Optional[List[T]] = None


SHAPES = {
    "tag first": lambda inner, tag: {"kind": tag, "next": inner},
    "tag last": lambda inner, tag: {"next": inner, "kind": tag},
    "tag that nobody has": lambda inner, tag: {"next": inner, "kind": "three"},
    "no tag": lambda inner, tag: {"next": inner},
    "in lists": lambda inner, tag: {"many": [inner], "kind": tag},
    "in maps": lambda inner, tag: {"named": {"x": inner}, "kind": tag},
    "passed over": lambda inner, tag: {"unknown": inner, "kind": tag},
    "by keys": lambda inner, tag: {"next": inner, "url" if tag == "one" else "path": ""},
    "without a key": lambda inner, tag: {"next": inner},
    "a wrong word at each level": lambda inner, tag: {"next": inner, "wrong": 1},
}


def nested(shape: str, depth: int, content: list[Any], last: Any) -> bytes:
    """Return a message of a shape with this many levels, and with `last` after the content at its bottom."""
    make = SHAPES[shape]
    value = {"content": [*content, *last], "kind": "one", "url": ""}
    for level in range(depth):
        value = make(value, ("one", "two")[level % 2])
    return typed.encode(value)


def steps(decoder: typed.Decoder, message: bytes) -> int:
    """Return the number of Python lines that run while a message is decoded."""
    count = 0

    def trace(frame: object, event: str, arg: object) -> object:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    gc.disable()  # finalizers of freed objects may run other lines
    sys.settrace(trace)
    try:
        decoder.decode(message)
    except CodecError:
        pass
    finally:
        sys.settrace(before)
        gc.enable()
    return count


def judge(rng: random.Random, shape: str, mode: dict[str, Any]) -> None:
    """Compare the steps for messages of a shape around values of a random type."""
    tp = reference.random_type(rng, 2)
    content = [reference.random_value(rng, tp) for _ in range(4)]
    classes = (Closed,) if "wrong" in shape else (ByUrl, ByPath) if "key" in shape else (One, Two)
    try:
        decoder = typed.Decoder(Union[tuple(cls[tp] for cls in classes)], **mode)
    except TypeError:  # a union of types that look alike
        return
    for last in ([], [reference.ExtType(99, b"")]):
        measured = {}
        for depth, times in ((4, 1), (24, 1), (44, 1), (4, 9), (24, 9)):
            message = nested(shape, depth, content * times, last)
            steps(decoder, message)  # compiles functions
            measured[depth, times] = steps(decoder, message)
        of_both = measured[24, 9] - measured[24, 1] - measured[4, 9] + measured[4, 1]
        of_square = measured[44, 1] - 2 * measured[24, 1] + measured[4, 1]
        assert of_both < 0.1 * measured[24, 9] + 50, (tp, shape, mode, last, measured)
        assert of_square < 0.1 * measured[44, 1] + 50, (tp, shape, mode, last, measured)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", SHAPES)
def test_steps_grow_only_with_the_size(shape, mode, monkeypatch):
    if mode == "walker":
        monkeypatch.setattr(codecs, "WALKED", 10**9)
    judge(random.Random(SEED), shape, MODES[mode])
    typed_classes.forget()


@pytest.mark.nightly
def test_steps_grow_only_with_the_size_for_many_types():
    rng = random.Random(SEED)
    for _ in range(300):
        judge(rng, rng.choice(list(SHAPES)), rng.choice(list(MODES.values())))
        typed_classes.forget()
