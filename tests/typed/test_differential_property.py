# SPDX-License-Identifier: Apache-2.0
"""Random types and messages: each engine gives the result of a slow reference implementation based on reflection."""

from __future__ import annotations

import contextlib
import random

import pytest
import typed_classes
import typed_reference as reference
from seeds import SEED
from typed_reference import same

import cpkg
from cpkg import typed
from cpkg.typed import codecs
from purepy.base.errors import CodecError

TYPES = 45
MESSAGES = 12


def expected(tp: object, message: bytes) -> tuple[str, object]:
    try:
        value = reference.unpack(message)
    except (ValueError, TypeError, OverflowError):
        return "damaged", None
    try:
        return "value", reference.make(tp, value)
    except (reference.Refused, OverflowError):
        return "refused", None
    except TypeError:  # an unhashable map key
        return "damaged", None


def found(decoder: object, message: bytes) -> tuple[str, object]:
    try:
        return "value", decoder.decode(message)
    except typed.ValidationError as exc:
        return "refused", exc if 0 <= exc.offset <= len(message) else None
    except CodecError as exc:
        return "damaged", exc


@contextlib.contextmanager
def walker():
    """Make Decoders of the pure backend use the walker."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codecs, "msgpack_module", lambda: cpkg._backend.load("msgpack", "pure"))
        patch.setattr(codecs, "WALKED", 10**9)
        yield


def judge(rng: random.Random, types: int) -> int:
    """Compare random types, each on messages of its own values, of another type's values, and on damaged messages."""
    pairs = 0
    for _ in range(types):
        tp, other = reference.random_type(rng), reference.random_type(rng)
        try:
            decoder, all_errors, walking = typed.Decoder(tp), typed.Decoder(tp, all_errors=True), typed.Decoder(tp)
        except TypeError as exc:
            if "ambiguous" in str(exc) or "unhashable" in str(exc):
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
            with walker():
                by_walker, result_by_walker = found(walking, message)
            assert by_walker == got, (tp, message, result, result_by_walker)
            if kind == "damaged" and got == "value":  # in the value of an unknown field, which is skipped
                unpacker = cpkg.msgpack.Unpacker()
                unpacker.feed(message)
                unpacker.skip()
                assert unpacker.tell() == len(message), (tp, message, result)
            elif kind == "damaged":  # the first error may be in the type or in the message
                assert got in ("damaged", "refused"), (tp, message, result)
            else:
                assert got == kind, (tp, message, got, result, wanted)
            if kind == "value":
                assert same(result, wanted), (tp, message, result, wanted)
                assert same(result, result_by_walker), (tp, message, result, result_by_walker)
                judge_other_ways(tp, message, result)
            elif got == "refused":
                assert str(result) == str(result_by_walker), (tp, message)
                everything = found(all_errors, message)
                if everything[0] == "refused":
                    first = everything[1].errors[0]
                    assert (first.path, first.offset) == (result.path, result.offset) or len(everything[1].errors) > 1
    typed_classes.forget()
    return pairs


def judge_other_ways(tp: object, message: bytes, value: object) -> None:
    """Compare the results of encode, convert and to_builtins for the value of a message."""
    encoded = typed.encode(value)
    unpacked, written = reference.unpack(encoded), reference.written(value)
    assert unpacked == written or repr(unpacked) == repr(written), (tp, message, value)  # the latter for NaN
    if reference.is_kept(tp):
        assert same(typed.decode(encoded, tp), value), (tp, message, value)
        if not reference.has_text_for_others(tp):
            assert same(typed.convert(typed.to_builtins(value), tp), value), (tp, message, value)
    assert same(typed.convert(reference.plain(reference.unpack(message)), tp), value), (tp, message, value)
    assert same(typed.convert(value, tp), value), (tp, message, value)


def test_engines_agree_with_reflection():
    assert judge(random.Random(SEED), TYPES) > TYPES * 5


@pytest.mark.nightly
def test_engines_agree_with_reflection_on_half_a_million_messages():
    rng = random.Random(SEED)
    pairs = 0
    while pairs < 500_000:
        pairs += judge(rng, 500)
