# SPDX-License-Identifier: Apache-2.0
"""Unions of objects are decided in one pass, for any map, any number of alternatives and any depth."""

from __future__ import annotations

from dataclasses import dataclass, make_dataclass
from typing import Any, List, Literal, Optional, Union

import pytest

import cpkg
from cpkg import typed
from cpkg.typed import codecs
from cpkg.typed.inputs import Message


@dataclass
class Branch:
    inner: List[Union[Branch, Leaf, Twig]]
    kind: Literal["branch"] = "branch"


@dataclass
class Leaf:
    value: Any = None
    kind: Literal["leaf", 7] = "leaf"


@dataclass
class Twig:
    inside: Optional[Union[Branch, Leaf, Twig]] = None
    kind: Literal[True, 300] = True


def text(value: str) -> bytes:
    return typed.encode(value)


def test_unions_of_many_classes_and_a_long_map():
    classes = [
        make_dataclass(f"C{i}", [("t", Literal[f"c{i}"])], namespace={"__module__": __name__}) for i in range(300)
    ]
    decoder = typed.Decoder(Union[(*classes, int)])
    assert decoder.decode(b"\x05") == 5
    assert type(decoder.decode(cpkg.packb({"t": "c299"}))) is classes[299]
    cat = make_dataclass("Cat", [("lives", int, 9), ("t", Literal["cat"], "cat")])
    dog = make_dataclass("Dog", [("name", str, ""), ("t", Literal["dog"], "dog")])
    # its length, 0xa174, is not the key "t"
    long = b"\xde\xa1\x74" + text("cat") + b"\x00" + b"".join([text(f"k{i:05}") + b"\0" for i in range(0xA173)])
    for message in (
        long,
        b"\x80",
        b"\x81\x01\x02",
        cpkg.packb({"t": 1}),
        cpkg.packb({"t": None}),
        cpkg.packb({"t": "cow"}),
    ):
        with pytest.raises(typed.ValidationError):
            typed.Decoder(Union[cat, dog]).decode(message)
    assert typed.Decoder(Union[cat, dog]).decode(b"\x82\xa1x\xc0\xd9\x01t\xd9\x03dog") == dog()


def outcome(function: Any, *args: Any) -> Any:
    try:
        return function(*args)
    except ValueError as exc:
        return exc


def test_an_exception_of_a_signal_handler_in_a_union_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds even for exceptions that decoding itself raises for an invalid message."""
    data = cpkg.packb([{"kind": True}, {"kind": 300}])
    decoder = typed.Decoder(List[Union[Branch, Leaf, Twig]])
    value = decoder.decode(data)
    look, error = Message.look, ValueError("of a handler")

    def interrupted(message: Message, at: int) -> Any:
        monkeypatch.setattr(Message, "look", look)
        raise error

    def all_of(data: bytes) -> Any:
        made, begin, failure, _ = codecs.decode_all(decoder, data, 1, -1)
        return made[0] if failure is None else codecs.decode_within(decoder, data[begin:], -1, failure)[0]

    for decode in (decoder.decode, all_of):
        monkeypatch.setattr(Message, "look", interrupted)
        assert outcome(decode, data) in (value, error)
        assert decode(data) == value
