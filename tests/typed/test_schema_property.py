# SPDX-License-Identifier: Apache-2.0
"""Random types and classes: their schemas are valid, and accept the same values as `to_builtins` and decode."""

from __future__ import annotations

import json
import random

import pytest
import typed_classes
import typed_reference as reference
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from seeds import SEED

from cpkg import typed
from purepy.base.errors import CodecError

TYPES = 35


def as_json(value: object) -> object:
    """Return a value as another program would read it."""
    return json.loads(json.dumps(typed.to_builtins(value)))


def judge(rng: random.Random, types: int) -> int:
    """Validate values of random types; return their number."""
    count = 0
    for _ in range(types):
        tp = reference.random_type(rng)
        try:
            decoder = typed.Decoder(tp)
        except TypeError:  # a union of types that look alike
            continue
        meanings = [meaning for meaning in map(typed_classes.meaning_of, reference.below(tp)) if meaning]
        schema = typed.schema(tp)
        Draft202012Validator.check_schema(schema)
        validator = Draft202012Validator(schema)
        for turn in range(6):
            message = typed.encode(reference.random_value(rng, tp))
            sound = message
            if turn % 2:
                message = reference.mutated(rng, message)
            try:
                value = decoder.decode(message)
                # in a damaged message that decode accepts, skipped keys may have any value
                instances = [as_json(reference.plain(reference.unpack(message)))] if message is sound else []
                if not any(meaning.own_constructor for meaning in meanings):  # otherwise fields may have any value
                    instances.append(as_json(value))
            except (CodecError, TypeError, ValueError):  # a value of another type, or a key that JSON cannot express
                continue
            for instance in instances:
                try:
                    validator.validate(instance)
                except ValidationError as exc:
                    raise AssertionError((tp, instance, schema, exc.message)) from None
                count += 1
    typed_classes.forget()
    return count


def test_schemas_accept_the_same_values_as_decode():
    assert judge(random.Random(SEED), TYPES) > TYPES


@pytest.mark.nightly
def test_schemas_accept_the_same_values_as_decode_for_many_types():
    rng = random.Random(SEED)
    count = 0
    while count < 50_000:
        count += judge(rng, 500)
