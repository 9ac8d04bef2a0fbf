# SPDX-License-Identifier: Apache-2.0
"""If a message is refused, callers' code runs only once, and every engine and the walker report the same error."""

from __future__ import annotations

import enum
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, FrozenSet, List, Literal, Optional, Set, Tuple, Union

import annotated_types as at
import pytest
from typing_extensions import Annotated

from cpkg import typed
from cpkg.typed import codecs
from purepy.base.errors import ExtraData

CALLS: Counter[str] = Counter()


class Failure(Exception):
    """An exception that no library handles specially."""


RAISED: Dict[str, type] = {"ValueError": ValueError, "KeyError": KeyError, "Failure": Failure}


def called(name: str, value: object = None) -> None:
    """Count a call of callers' code; raise the exception that the value requests."""
    CALLS[name] += 1
    if isinstance(value, str) and value in RAISED:
        raise RAISED[value](f"{name} refuses")


def made(name: str) -> Callable[[], List[int]]:
    def factory() -> List[int]:
        called(name)
        return [1]

    return factory


@dataclass
class Checked:
    value: str
    other: List[int] = field(default_factory=made("factory"))

    def __post_init__(self) -> None:
        called("post_init", self.value)


@dataclass
class Built:
    value: str

    def __init__(self, value: str) -> None:
        called("constructor", value)
        self.value = value


@dataclass(frozen=True)
class Hashed:
    value: str

    def __hash__(self) -> int:
        called("hash", self.value)
        return 1


class Color(enum.Enum):
    RED = "red"

    @classmethod
    def _missing_(cls, value: object) -> Optional[Color]:
        called("missing", value)
        return cls.RED if value == "rouge" else None


class Custom:
    def __init__(self, value: object) -> None:
        self.value = value


def hook(cls: type, value: object) -> object:
    called("hook", value)
    return value if value == "other" else cls(value)


def passes(value: object) -> bool:
    called("predicate", value)
    return value != "bad"


Passing = Annotated[str, at.Predicate(passes)]
PassingObject = Annotated[Checked, at.Predicate(lambda checked: passes(checked.value + "!"))]

# the type of a value, a valid value, values that are refused, and the calls for one valid value
ROLES: Dict[str, Tuple[Any, Any, List[Any], Dict[str, int]]] = {
    "post_init": (Checked, {"value": "a"}, [{"value": "ValueError"}, {"value": 1}, {}], {"factory": 1, "post_init": 1}),
    "constructor": (Built, {"value": "a"}, [{"value": "ValueError"}, {"value": 1}, {}], {"constructor": 1}),
    "hook": (Custom, "a", ["ValueError", "other"], {"hook": 1}),
    "predicate": (Passing, "a", ["bad", "ValueError", "KeyError", 1], {"predicate": 1}),
    "predicate of an object": (
        PassingObject,
        {"value": "a"},
        [{"value": "ValueError"}, {"value": 1}],
        {"factory": 1, "post_init": 1, "predicate": 1},
    ),
    "missing": (Color, "rouge", ["vert", "ValueError", 1], {"missing": 1}),
}


def outcome(decoder: typed.Decoder, data: bytes) -> Tuple[object, ...]:
    """Return a decoder's result for a message, and the calls of callers' code for it."""
    CALLS.clear()
    try:
        decoder.decode(data)
    except typed.ValidationError as exc:
        return "refused", str(exc), exc.path, exc.offset, dict(CALLS)
    except Exception as exc:
        return type(exc), str(exc), dict(CALLS)
    return "value", dict(CALLS)


def outcomes(data: bytes, tp: Any, monkeypatch: Any, **options: Any) -> List[Tuple[object, ...]]:
    """Return the outcomes of the compiled functions and of the walker."""
    found = [outcome(typed.Decoder(tp, dec_hook=hook, **options), data)]
    with monkeypatch.context() as patch:
        patch.setattr(codecs.Decoder, "_make_decode", lambda self, size: None)
        found.append(outcome(typed.Decoder(tp, dec_hook=hook, **options), data))
    return found


PLACES: Dict[str, Tuple[Callable[[Any], Any], Callable[[List[Any]], Any]]] = {
    "list": (lambda tp: List[tp], list),
    "dict": (lambda tp: Dict[str, tp], lambda values: {f"k{index}": value for index, value in enumerate(values)}),
    "tuple in union": (lambda tp: Union[int, Tuple[tp, tp, tp]], list),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("role", ROLES)
def test_the_callers_code_runs_once_for_each_value(monkeypatch, role, place):
    tp, good, refused, calls = ROLES[role]
    outer, values = PLACES[place]
    data = typed.encode(values([good] * 3))
    for found in outcomes(data, outer(tp), monkeypatch):
        assert found == ("value", {name: 3 * count for name, count in calls.items()})
    for bad in refused:
        data = typed.encode(values([good, bad, good]))
        fast, slow = outcomes(data, outer(tp), monkeypatch)
        assert fast == slow
        assert fast[0] == "refused"
        most = {name: 2 * count for name, count in calls.items()}
        assert all(count <= most[name] for name, count in fast[-1].items()), (bad, fast)
        everything, slow = outcomes(data, outer(tp), monkeypatch, all_errors=True)
        assert everything[:-1] == slow[:-1] == fast[:-1]
        assert all(count <= 3 * calls[name] for name, count in everything[-1].items())


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("role", ["post_init", "constructor", "hook", "predicate", "missing"])
def test_an_exception_that_is_not_a_refusal_is_raised_unchanged(monkeypatch, role, place):
    tp, good, _, _ = ROLES[role]
    outer, values = PLACES[place]
    bad = {"value": "Failure"} if isinstance(good, dict) else "Failure"
    fast, slow = outcomes(typed.encode(values([good, bad, good])), outer(tp), monkeypatch)
    assert fast == slow == (Failure, f"{role} refuses", fast[-1])


@pytest.mark.parametrize(("name", "kind"), [("ValueError", ValueError), ("Failure", Failure)])
@pytest.mark.parametrize("tp", [Set[Hashed], FrozenSet[Tuple[Hashed, int]], Dict[Hashed, int]])
def test_the_error_of_a_hash_is_raised_unchanged(monkeypatch, tp, name, kind):
    values = [{"value": "a"}, {"value": name}]
    if "Tuple" in str(tp):
        values = [[value, 1] for value in values]
    data = typed.encode(values)
    if "Dict" in str(tp):
        data = b"\x82" + b"".join([typed.encode(value) + b"\x01" for value in values])
    fast, slow = outcomes(data, tp, monkeypatch)
    assert fast[:2] == slow[:2] == (kind, "hash refuses")


def test_a_wrong_value_of_a_map_of_objects_has_a_path(monkeypatch):
    data = b"\x81" + typed.encode({"value": "a"}) + typed.encode("x")
    fast, slow = outcomes(data, Dict[Hashed, int], monkeypatch)
    assert fast[:4] == slow[:4]
    assert fast[2] == ("Hashed(...)",)


def test_all_errors_includes_errors_after_one_of_the_callers_code(monkeypatch):
    data = typed.encode([{"value": "ValueError"}, {"value": 1}, {"value": "a"}, {"value": "ValueError"}, 3])
    for found in outcomes(data, List[Checked], monkeypatch, all_errors=True):
        assert found[1].count("\n") == 3
        assert found[-1]["post_init"] == 3


@dataclass
class Envelope:
    body: bytes
    kind: Literal["packed", "plain"] = "plain"

    def __post_init__(self) -> None:
        called("envelope")
        if self.kind == "packed":
            typed.decode(self.body, Envelope)


@pytest.mark.parametrize("options", [{}, {"strict": False}, {"all_errors": True}])
def test_nested_messages_are_decoded_once(options):
    levels = 30
    data = b"\x01"
    for _ in range(levels):
        data = typed.encode({"body": data, "kind": "packed"})
    CALLS.clear()
    with pytest.raises(typed.ValidationError):
        typed.Decoder(Envelope, **options).decode(data)
    assert CALLS["envelope"] == levels


def test_an_exception_without_relation_to_the_message_is_raised(monkeypatch):
    decoder = typed.Decoder(List[Annotated[str, at.Predicate(passes)]])
    data = typed.encode(["a"])
    assert decoder.decode(data) == ["a"]
    decode = decoder._decode

    class Interrupted(ValueError):
        """An exception that a signal handler raises."""

    def interrupted(*args: Any) -> object:
        decode(*args)
        raise Interrupted

    decoder._decode = interrupted
    with pytest.raises(Interrupted):
        decoder.decode(data)


@pytest.mark.parametrize("options", [{}, {"strict": False}, {"all_errors": True}])
def test_the_object_before_extra_data_is_built_once(options):
    CALLS.clear()
    with pytest.raises(ExtraData) as info:
        typed.Decoder(Checked, **options).decode(typed.encode({"value": "a"}) + b"\x01")
    assert info.value.unpacked == Checked("a")
    assert info.value.extra == b"\x01"
    assert CALLS["post_init"] == 2  # with the one of this test
