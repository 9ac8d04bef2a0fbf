# SPDX-License-Identifier: Apache-2.0
"""Random types and messages: every engine says what a slow implementation by reflection says."""

from __future__ import annotations

import math
import random
import sys

import pytest
import typed_reference as reference
from seeds import SEED

import cpkg
from cpkg import typed
from purepy.base.errors import CodecError

TYPES = 60 if sys.implementation.name == "pypy" else 100
MESSAGES = 12


def same(one: object, two: object) -> bool:
    """Tell whether values are equal and of the same types all the way down."""
    if type(one) is not type(two):
        return False
    if isinstance(one, float):
        return one == two or (math.isnan(one) and math.isnan(two))
    if isinstance(one, (list, tuple)):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, (set, frozenset)):
        return sorted(map(repr, one)) == sorted(map(repr, two))
    if isinstance(one, dict):
        return same(list(one.items()), list(two.items()))
    if hasattr(one, "__dataclass_fields__"):
        return all(same(getattr(one, name), getattr(two, name)) for name in one.__dataclass_fields__)
    return one == two


def expected(tp: object, message: bytes) -> tuple[str, object]:
    try:
        value = reference.unpack(message)
    except (ValueError, TypeError, OverflowError):
        return "damaged", None
    try:
        return "value", reference.make(tp, value)
    except (reference.Refused, OverflowError):
        return "refused", None
    except TypeError:  # a map key that has no hash
        return "damaged", None


def found(decoder: object, message: bytes) -> tuple[str, object]:
    try:
        return "value", decoder.decode(message)
    except typed.ValidationError as exc:
        return "refused", exc if 0 <= exc.offset <= len(message) else None
    except CodecError:
        return "damaged", None


def judge(rng: random.Random, types: int) -> int:
    """Compare so many types, each on messages of values of its own, of another's, and on damaged ones."""
    pairs = 0
    for _ in range(types):
        tp, other = reference.random_type(rng), reference.random_type(rng)
        try:
            decoder, all_errors = typed.Decoder(tp), typed.Decoder(tp, all_errors=True)
        except TypeError as exc:
            if "ambiguous" in str(exc) or "no hash" in str(exc):
                continue
            raise
        for turn in range(MESSAGES):
            value = reference.random_value(rng, other if turn == MESSAGES - 1 else tp)
            message = typed.encode(value)
            if turn % 3 == 2:
                message = typed.encode(reference.shuffled(rng, reference.unpack(message)))
            if turn % 2:
                message = reference.mutated(rng, message)
            try:
                kind, wanted = expected(tp, message)
            except NotImplementedError:
                continue
            pairs += 1
            got, result = found(decoder, message)
            if kind == "damaged" and got == "value":  # in a value that no field wants, which is passed over
                unpacker = cpkg.msgpack.Unpacker()
                unpacker.feed(message)
                unpacker.skip()
                assert unpacker.tell() == len(message), (tp, message, result)
            elif kind == "damaged":  # what is wrong first: the type, or the message
                assert got in ("damaged", "refused"), (tp, message, result)
            else:
                assert got == kind, (tp, message, got, result, wanted)
            if kind == "value":
                assert same(result, wanted), (tp, message, result, wanted)
            elif got == "refused":
                everything = found(all_errors, message)
                if everything[0] == "refused":
                    first = everything[1].errors[0]
                    assert (first.path, first.offset) == (result.path, result.offset) or len(everything[1].errors) > 1
    return pairs


def test_engines_agree_with_reflection():
    assert judge(random.Random(SEED), TYPES) > TYPES * 5


@pytest.mark.nightly
def test_engines_agree_with_reflection_on_a_hundred_thousand_messages():
    rng = random.Random(SEED)
    pairs = 0
    while pairs < 100_000:
        pairs += judge(rng, 500)
