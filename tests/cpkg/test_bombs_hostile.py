# SPDX-License-Identifier: Apache-2.0
"""loads by default: no small input takes much memory, whatever it holds, and what is large in earnest still loads."""

from __future__ import annotations

import decimal
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from processes import run_alone

import cpkg
from cpkg import _backend
from cpkg.objects import dumps_loads
from purepy.errors import LimitError
from purepy.msgpack.weigher import find_excess

MIB = 2**20
LIMIT = 64 * MIB
PYPY = sys.implementation.name == "pypy"
PURE = all(chosen.backend == "pure" for chosen in cpkg.backend_info().values())
# a list that grows is there twice for a moment on PyPy, the second time an eighth larger
OBJECTS = LIMIT * (2.125 if PYPY else 1.75)
# what an interpreter takes besides, and, on PyPy, what its collector has not come by for
SLACK = (64 if PYPY else 32) * MIB


def decompressing() -> float:
    """Return how many times its output decompressing takes, by the table in docs/zstd.md."""
    return 4.3 if PYPY and cpkg.backend_info()["zstd"].backend == "pure" else 2.4


needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="measures with /proc")


@pytest.fixture
def codecs(msgpack: ModuleType) -> dumps_loads.Codecs:
    """Every MessagePack backend that loads."""
    return dumps_loads.Codecs(msgpack, _backend.zstd())


def array(item: bytes, count: int) -> bytes:
    return b"\xdd" + count.to_bytes(4, "big") + item * count


# One item in the message each; each is light there and heavy in memory in a way of its own.
ITEMS = {
    "empty lists": b"\x90",
    "empty maps": b"\x80",
    "maps": b"\x81\xc0\xc0",
    "maps in maps": b"\x81\x01" * 50 + b"\x01",
    "lists in lists": b"\x91" * 50 + b"\x01",
    "keys that are tuples": b"\x81\x92\x01\x02\x03",
    "text of one wide character": cpkg.packb("a" * 25 + "\U0001f600"),
    "small numbers": b"\x01",
    "Decimals": b"\xd4N1",
    "long Decimals": b"\xc8\x10\x00N" + b"7" * 4096,
}


def heaviest_below(item: bytes) -> int:
    """Return how many of an item, about, weigh just what is allowed."""
    sample = array(item, 10)
    low, high = 0, 100 * len(sample)
    while low < high:
        middle = (low + high) // 2
        if find_excess(sample, middle, 1024) < 0:
            high = middle
        else:
            low = middle + 1
    return (LIMIT - 64) // -(-(low - 64) // 10)


# each takes seconds; the others are in the thorough row
ORDINARY = ("empty lists", "maps") if PURE else ("empty lists", "maps", "small numbers", "long Decimals")


@needs_proc
@pytest.mark.parametrize(
    "kind", [kind if kind in ORDINARY else pytest.param(kind, marks=pytest.mark.nightly) for kind in ITEMS]
)
def test_memory_is_bounded(msgpack: ModuleType, kind: str, tmp_path: Path) -> None:
    """The message and 64 MiB of objects, with room for what interpreters differ in."""
    item = ITEMS[kind]
    count = heaviest_below(item)
    size = len(array(item, count))
    for name, times in (("allowed", count), ("too much", count * 101 // 100 + 1), ("far too much", 3 * count)):
        message = array(item, times)
        (tmp_path / name).write_bytes(cpkg.zstd.compress(message, 1))
    code = f"""
from pathlib import Path
from cpkg import _backend
from cpkg.objects import dumps_loads
codecs = dumps_loads.Codecs(codec, _backend.zstd())
def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
def loads(name):
    return dumps_loads.decode(codecs, (Path({str(tmp_path)!r}) / name).read_bytes())
for value in {{"a": [1, 2.5]}}, b"bytes" * 100_000:
    assert dumps_loads.decode(codecs, dumps_loads.encode(codecs, value, compress=True)) == value
start = peak()
for name in "too much", "far too much":
    try:
        loads(name)
    except codec.LimitError as exc:
        assert "max_memory={LIMIT}" in str(exc) or {3 * size} > {LIMIT}, exc
    else:
        raise AssertionError(name)
print(peak() - start)
assert len(loads("allowed")) == {count}
print(peak() - start)
"""
    done = run_alone(msgpack, "codec", code)
    assert (done.returncode, done.stderr) == (0, "")
    refused, allowed = map(int, done.stdout.split())
    assert refused < decompressing() * min(3 * size, LIMIT) + SLACK
    assert allowed < max(refused, OBJECTS + decompressing() * size + SLACK)


def test_the_error_names_the_argument(codecs: dumps_loads.Codecs) -> None:
    bomb = dumps_loads.encode(codecs, [[]] * 1_000_000, compress=True)
    assert len(bomb) < 500
    with pytest.raises(LimitError, match="max_memory=67108864") as caught:
        dumps_loads.decode(codecs, bomb)
    assert caught.value.offset == 5 + (LIMIT - 64 - 8 * 1_000_000) // 64
    assert len(dumps_loads.decode(codecs, bomb, max_memory=2 * LIMIT)) == 1_000_000
    assert len(dumps_loads.decode(codecs, bomb, max_memory=-1)) == 1_000_000


def test_max_memory_is_exact(codecs: dumps_loads.Codecs) -> None:
    value = [["ab"], {"a": 1000}, 1.5]
    weight = 64 + 24 + 64 + 8 + 58 + 152 + 40 + 32 + 32
    for compress in (True, False):
        data = dumps_loads.encode(codecs, value, compress=compress)
        for enough in (weight, weight + 1, 2**70, -1, None):
            assert dumps_loads.decode(codecs, data, max_memory=enough) == value
        for less in (weight - 1, 1, 0):
            with pytest.raises(LimitError, match=f"max_memory={less}"):
                dumps_loads.decode(codecs, data, max_memory=less)


def test_the_default_follows_the_input(codecs: dumps_loads.Codecs, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was given: compressed, if it was, so that what is not compressed is never too heavy."""
    monkeypatch.setattr(dumps_loads, "MEMORY_FLOOR", 1000)
    heavy = b"\x81\xc0" * 1000 + b"\xc0"
    assert dumps_loads.decode(codecs, heavy)
    bomb = cpkg.zstd.compress(heavy)
    assert len(bomb) * 100 < 192 * 1000
    with pytest.raises(LimitError, match=f"max_memory={100 * len(bomb)} allows"):
        dumps_loads.decode(codecs, bomb)
    assert dumps_loads.decode(codecs, cpkg.zstd.compress(heavy[-9:]))
    skippable = b"\x50\x2a\x4d\x18" + (2000).to_bytes(4, "little") + bytes(2000)
    assert dumps_loads.decode(codecs, skippable + bomb)  # any input counts


def test_max_output_size_allows_objects_of_that_size(
    codecs: dumps_loads.Codecs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dumps_loads, "MEMORY_FLOOR", 1000)
    monkeypatch.setattr(dumps_loads, "OUTPUT_FLOOR", 1000)
    value = [b"x" * 1000] * 1000
    data = dumps_loads.encode(codecs, value, compress=True)
    size = len(dumps_loads.encode(codecs, value, compress=False))
    with pytest.raises(LimitError):
        dumps_loads.decode(codecs, data)
    assert dumps_loads.decode(codecs, data, max_output_size=size) == value
    bomb = dumps_loads.encode(codecs, [[]] * 10_000, compress=True)
    with pytest.raises(LimitError, match="max_memory=40010 "):
        dumps_loads.decode(codecs, bomb, max_output_size=20_005)
    assert dumps_loads.decode(codecs, bomb, max_output_size=-1) == [[]] * 10_000
    with pytest.raises(LimitError, match="max_memory=5000 "):
        dumps_loads.decode(codecs, bomb, max_output_size=-1, max_memory=5000)


@pytest.mark.parametrize(
    "make",
    [
        lambda: bytes(60 * MIB),
        lambda: [0] * (8 * MIB - 100),
        # seconds each with the pure codecs
        pytest.param(lambda: "abcdefghij" * (6 * MIB), marks=[pytest.mark.nightly] * PURE),
        pytest.param(
            lambda: [{"id": 7, "name": "the same", "tags": ["a", "b"]}] * 100_000, marks=[pytest.mark.nightly] * PURE
        ),
        pytest.param(lambda: {"matrix": [[0.0] * 1000] * 1000}, marks=[pytest.mark.nightly] * PURE),
    ],
    ids=["bytes", "numbers", "text", "records", "matrix"],
)
def test_what_compresses_well_still_loads(make: Callable[[], Any]) -> None:
    value = make()
    data = cpkg.dumps(value)
    assert len(data) * 100 < len(cpkg.packb(value))
    assert cpkg.loads(data) == value


def test_a_damaged_message_is_refused_for_what_comes_first(codecs: dumps_loads.Codecs) -> None:
    """Its weight, or its damage where that is in front of what is too much."""
    with pytest.raises(LimitError):
        dumps_loads.decode(codecs, array(b"\x90", 1_000_000) + b"\xc1", max_memory=1_000_000)
    with pytest.raises(dumps_loads.FormatError) as caught:
        dumps_loads.decode(codecs, b"\xdd\x00\x0f\x42\x40\xc1" + b"\x90" * 1_000_000, max_memory=16_000_000)
    assert caught.value.offset == 5


def test_long_decimals(codecs: dumps_loads.Codecs) -> None:
    """Read digit by digit, since converting their text takes quadratic time on PyPy."""
    generator = random.Random(3)
    context = decimal.Context(traps=[decimal.InvalidOperation])
    for size in (1023, 1024, 1025, 2000, 4000):
        digits = "".join(generator.choice("0123456789") for _ in range(size))
        point = generator.randrange(1, size)
        for text in (
            digits, "-" + digits, "+" + digits, digits[:point] + "." + digits[point:], "." + digits, digits + ".",
            digits[:point] + "." + digits[point:] + "E-12345", digits + "e+99", "0" * size, "-0." + "0" * size,
            "NaN" + digits, "-sNaN" + digits, "sNaN" + "0" * size, digits + "e12345678901",
        ):  # fmt: skip
            data = b"\xc8" + len(text).to_bytes(2, "big") + b"N" + text.encode()
            expected = decimal.Decimal(text, context)
            assert dumps_loads.decode(codecs, data).as_tuple() == expected.as_tuple(), text
