# SPDX-License-Identifier: Apache-2.0
"""JSON documents and JSON Lines give the same messages and errors wherever a piece ends."""

from __future__ import annotations

import functools
import io
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

import cpkg
from cpkg.cli import json_input
from cpkg.cli.json_text import JSONError

pytestmark = pytest.mark.once

SEEDS = [pytest.param(seed, marks=pytest.mark.nightly) if seed >= 15 else seed for seed in range(40)]
VECTORS = json.loads(Path(__file__).with_name("vectors.json").read_text(encoding="utf-8"))


def pack(text: str | bytes, *, lines: bool | None = None, allow_nan: bool = False) -> Any:
    data = text.encode() if isinstance(text, str) else text
    packer = json_input.MessageBuilder()
    json_input.JSONReader(io.BytesIO(data), "x", lines=lines, allow_nan=allow_nan).run(packer.take)
    return packer.message()


def outcome(text: str | bytes, lines: bool | None) -> Any:
    try:
        return bytes(pack(text, lines=lines))
    except JSONError as exc:
        return str(exc)


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that sets the size of the pieces in which JSON is read."""
    return functools.partial(monkeypatch.setattr, json_input, "_PIECE")


def value(source: random.Random, depth: int = 0) -> Any:
    kind = source.randrange(9 if depth < 3 else 6)
    if kind == 0:
        return source.choice([None, True, False])
    if kind == 1:
        return source.choice([0, -1, 123456789012345678, 2**64 - 1, -(2**63), source.randrange(100)])
    if kind == 2:
        return source.choice([1.5, -2.25e-300, 1e22, 0.1, 1e300])
    if kind in (3, 4, 5):
        letters = ["a", "b,", '"', "\\", "\n", "[", "{", "}", "]", "\u00e9", "\u2028", "\U0001f600", ", "]
        return "".join(source.choices(letters, k=source.randrange(12)))
    if kind == 6:
        return {str(number): value(source, depth + 1) for number in range(source.randrange(5))}
    return [value(source, depth + 1) for _ in range(source.randrange(6))]


def text_of(source: random.Random, obj: Any) -> str:
    return json.dumps(obj, indent=source.choice([None, 1]), ensure_ascii=source.random() < 0.3)


def damaged(source: random.Random, text: str) -> str:
    at = source.randrange(len(text) + 1)
    wrong = source.choice(["", ",", "]", "}", "x", '"', "\\", "1", "NaN ", "1e999", "\n", "[" * 3, ":"])
    return text[:at] + wrong + text[at + source.randrange(2) :]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_message_is_that_of_dumps_wherever_it_is_cut(cut: Any, seed: int) -> None:
    source = random.Random(seed)
    for _ in range(15):
        obj = value(source)
        text = " " * source.randrange(3) + text_of(source, obj) + "\n" * source.randrange(3)
        values = [value(source) for _ in range(source.randrange(2, 6))]
        stream = "\n".join(text_of(source, item) for item in values) + "\n" * source.randrange(2)
        as_lines = "\n".join(json.dumps(item) for item in values)
        for piece in (1, 2, 7, 30, 100, 1 << 20):
            cut(piece)
            assert pack(text) == cpkg.dumps(obj, compress=False)
            assert pack(text, lines=False) == cpkg.dumps(obj, compress=False)
            assert pack(stream) == cpkg.dumps(values, compress=False)
            assert pack(as_lines, lines=True) == cpkg.dumps(values, compress=False)
            assert pack(("\ufeff" + text).encode("utf-16-le")) == cpkg.dumps(obj, compress=False)
            assert pack(("\ufeff" + as_lines).encode("utf-32-le"), lines=True) == cpkg.dumps(values, compress=False)


@pytest.mark.parametrize("seed", SEEDS)
def test_errors_are_the_same_wherever_it_is_cut(cut: Any, seed: int) -> None:
    source = random.Random(seed)
    failed = 0
    for _ in range(30):
        text = damaged(source, "\n".join(text_of(source, value(source)) for _ in range(source.randrange(1, 4))))
        for lines in (None, False, True):
            cut(1 << 20)
            expected = outcome(text, lines)
            failed += isinstance(expected, str)
            for piece in (1, 5, 40):
                cut(piece)
                assert outcome(text, lines) == expected
    assert failed > 20


@pytest.mark.parametrize("piece", [1, 9, 1 << 20])
@pytest.mark.parametrize(
    ("text", "message", "lines"),
    [
        *((*pair, None) for pair in VECTORS["errors"]),
        *((*pair, True) for pair in VECTORS["errors in lines"]),
        ('["9", 1' + "0" * 5000 + "]", "x:1:7: an integer of 5001 digits does not fit MessagePack's 64 bits", None),
        ("[1, -1" + "0" * 400 + ".5]", "x:1:5: the number overflows a 64-bit float", None),
        ("[" * 100_000, "x:1: expected containers to nest at most 1024 deep, found more", None),
    ],
    ids=lambda value: str(value)[:40],
)
def test_errors_by_name(cut: Any, text: str, message: str, lines: bool | None, piece: int) -> None:
    if len(text) < 1000:
        cut(piece)
    assert outcome(text.encode("utf-8", "surrogateescape"), lines) == message


def test_streams_of_values_over_several_lines() -> None:
    assert cpkg.loads(pack('{\n  "a": 1\n}\n{\n  "a": [\n    2\n  ]\n}\n')) == [{"a": 1}, {"a": [2]}]
    assert cpkg.loads(pack("[1,\n2]\n[3]\n4")) == [[1, 2], [3], 4]
    assert cpkg.loads(pack("[]\n[]")) == [[], []]


def test_depth(request: pytest.FixtureRequest) -> None:
    before = sys.getrecursionlimit()
    request.addfinalizer(lambda: sys.setrecursionlimit(before))
    sys.setrecursionlimit(max(before, 8000))  # that of the command line
    deep = "[" * 1024 + "]" * 1024
    assert pack(deep) == cpkg.dumps(json.loads(deep), compress=False)
    assert outcome("[" + deep + "]", None).startswith("x: expected containers to nest at most 1024 deep")
    assert outcome(deep + "\n1", None).startswith("x: expected containers to nest at most 1024 deep")
    less = "[" * 1023 + "]" * 1023
    assert pack(less + "\n1") == cpkg.dumps([json.loads(less), 1], compress=False)


@pytest.mark.parametrize("count", [0, 1, 15, 16, 65535, 65536])
def test_counts(count: int) -> None:  # many numbers are parsed at once
    values = list(range(count))
    assert pack(json.dumps(values)) == cpkg.dumps(values, compress=False)
    assert pack("\n".join(map(str, values)), lines=True) == cpkg.dumps(values, compress=False)
