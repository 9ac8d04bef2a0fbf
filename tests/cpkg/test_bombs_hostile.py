# SPDX-License-Identifier: Apache-2.0
"""Default limits of loads: small input must not become large objects; legitimately large input still loads."""

from __future__ import annotations

import decimal
import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from any_codecs import decode, encode
from bombs import ITEMS, array, heaviest_below
from processes import MEASURED, run_alone

import cpkg
from cpkg.objects import dumps_loads
from purepy.base.errors import LimitError

MIB = 2**20
LIMIT = 64 * MIB
PYPY = sys.implementation.name == "pypy"
# on PyPy, a growing list exists twice for a moment, the second time an eighth larger
OBJECTS = LIMIT * (2.125 if PYPY else 1.75)
# memory of the interpreter and, on PyPy, garbage that was not collected yet
SLACK = (64 if PYPY else 32) * MIB
PURE = all(chosen.backend == "pure" for chosen in cpkg.backend_info().values())


@pytest.mark.parametrize("kind", ITEMS)
def test_the_weight_of_objects_is_bounded(codecs: dumps_loads.Codecs, kind: str) -> None:
    """As many objects as the limit allows load; one percent more are refused, compressed or not."""
    item, limit = ITEMS[kind], MIB
    count = heaviest_below(item, limit)
    for compressed in (bytes, cpkg.zstd.compress):
        allowed = decode(codecs, compressed(array(item, count)), max_memory=limit)
        assert len(allowed) == count
        for times in (count * 101 // 100 + 1, 3 * count):
            with pytest.raises(LimitError, match=f"max_memory={limit}"):
                decode(codecs, compressed(array(item, times)), max_memory=limit)


def test_the_error_names_the_argument(codecs: dumps_loads.Codecs) -> None:
    bomb = encode(codecs, [[]] * 1_000_000, compress=True)
    assert len(bomb) < 500
    with pytest.raises(LimitError, match="max_memory=67108864") as caught:
        decode(codecs, bomb)
    assert caught.value.offset == 5 + (LIMIT - 64 - 8 * 1_000_000) // 64
    assert len(decode(codecs, bomb, max_memory=2 * LIMIT)) == 1_000_000
    assert len(decode(codecs, bomb, max_memory=-1)) == 1_000_000


def test_max_memory_is_exact(codecs: dumps_loads.Codecs) -> None:
    value = [["ab"], {"a": 1000}, 1.5]
    weight = 64 + 24 + 64 + 8 + 58 + 152 + 40 + 32 + 32
    for compress in (True, False):
        data = encode(codecs, value, compress=compress)
        for enough in (weight, weight + 1, 2**70, -1, None):
            assert decode(codecs, data, max_memory=enough) == value
        for less in (weight - 1, 1, 0):
            with pytest.raises(LimitError, match=f"max_memory={less} .*raise max_memory$"):
                decode(codecs, data, max_memory=less)


def test_the_default_follows_the_input(codecs: dumps_loads.Codecs, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit depends on the size of the input as given, so that uncompressed input is never too heavy."""
    monkeypatch.setattr(dumps_loads, "MEMORY_FLOOR", 1000)
    heavy = b"\x81\xc0" * 1000 + b"\xc0"
    assert decode(codecs, heavy)
    bomb = cpkg.zstd.compress(heavy)
    assert len(bomb) * 100 < 192 * 1000
    pytest.raises(LimitError, decode, codecs, bomb).match(f"max_memory={100 * len(bomb)} allows")
    assert decode(codecs, cpkg.zstd.compress(heavy[-9:]))
    skippable = b"\x50\x2a\x4d\x18" + (2000).to_bytes(4, "little") + bytes(2000)
    assert decode(codecs, skippable + bomb)  # any input counts


def test_max_output_size_allows_such_objects(codecs: dumps_loads.Codecs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dumps_loads, "MEMORY_FLOOR", 1000)
    monkeypatch.setattr(dumps_loads, "OUTPUT_FLOOR", 1000)
    value = [b"x" * 1000] * 1000
    data = encode(codecs, value, compress=True)
    size = len(encode(codecs, value, compress=False))
    pytest.raises(LimitError, decode, codecs, data)
    assert decode(codecs, data, max_output_size=size) == value
    bomb = encode(codecs, [[]] * 10_000, compress=True)
    pytest.raises(LimitError, decode, codecs, bomb, max_output_size=20_005).match("max_memory=40010 ")
    assert decode(codecs, bomb, max_output_size=-1) == [[]] * 10_000
    with pytest.raises(LimitError, match="max_memory=5000 "):
        decode(codecs, bomb, max_output_size=-1, max_memory=5000)


# seconds each with the pure codecs
@pytest.mark.parametrize(
    ("item", "count"),
    [
        pytest.param(item, count, marks=[pytest.mark.nightly] * PURE)
        for item, count in (
            *((b"\0", 60 * MIB), ([0], 8 * MIB - 100), ("abcdefghij", 6 * MIB)),
            *(([{"id": 7, "name": "the same", "tags": ["a", "b"]}], 100_000), ([[0.0] * 1000], 1000)),
        )
    ],
    ids=["bytes", "numbers", "text", "records", "matrix"],
)
def test_what_compresses_well_still_loads(item: Any, count: int) -> None:
    value = item * count
    data = cpkg.dumps(value)
    assert len(data) * 100 < len(cpkg.packb(value))
    assert cpkg.loads(data) == value


def test_a_damaged_message_is_refused_for_what_comes_first(codecs: dumps_loads.Codecs) -> None:
    """The error is about the weight, or about damage that comes before the limit is reached."""
    pytest.raises(LimitError, decode, codecs, array(b"\x90", 1_000_000) + b"\xc1", max_memory=1_000_000)
    with pytest.raises(dumps_loads.FormatError) as caught:
        decode(codecs, b"\xdd\x00\x0f\x42\x40\xc1" + b"\x90" * 1_000_000, max_memory=16_000_000)
    assert caught.value.offset == 5


def test_long_decimals(codecs: dumps_loads.Codecs) -> None:
    """Decimals are read digit by digit, because converting their text takes quadratic time on PyPy."""
    generator = random.Random(3)
    context = decimal.Context(traps=[decimal.InvalidOperation])
    for size in (1023, 1024, 1025, 2000, 4000):
        digits = "".join(generator.choice("0123456789") for _ in range(size))
        point = generator.randrange(1, size)
        texts = f"{digits} -{digits} +{digits} .{digits} {digits}. {digits[:point]}.{digits[point:]} {digits}e+99 "
        texts += f"{digits[:point]}.{digits[point:]}E-12345 NaN{digits} -sNaN{digits} {digits}e12345678901 "
        for text in (texts + "{0} -0.{0} sNaN{0}".format("0" * size)).split():
            data = b"\xc8" + len(text).to_bytes(2, "big") + b"N" + text.encode()
            expected = decimal.Decimal(text, context)
            assert decode(codecs, data).as_tuple() == expected.as_tuple(), text


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="measures with /proc")
@pytest.mark.parametrize("kind", ITEMS)
def test_memory_is_bounded(msgpack: ModuleType, kind: str, tmp_path: Path) -> None:
    """The limit is the message plus 64 MiB of objects, with slack for differences between interpreters."""
    # memory for decompression as a multiple of the output, from the table in docs/zstd.md
    decompressing = 4.3 if PYPY and cpkg.backend_info()["zstd"].backend == "pure" else 2.4
    item = ITEMS[kind]
    count = heaviest_below(item, LIMIT)
    size = len(array(item, count))
    for name, times in (("allowed", count), ("too much", count * 101 // 100 + 1), ("far too much", 3 * count)):
        message = array(item, times)
        (tmp_path / name).write_bytes(cpkg.zstd.compress(message, 1))
    settings = f"FOLDER, SIZE, COUNT, LIMIT = {(str(tmp_path), size, count, LIMIT)!r}\n"
    program = Path(__file__).with_name("bombs_nightly.txt").read_text(encoding="utf-8")
    done = run_alone(msgpack, "codec", settings + program, **MEASURED)
    assert (done.returncode, done.stderr) == (0, "")
    refused, allowed = map(int, done.stdout.split())
    assert refused < decompressing * min(3 * size, LIMIT) + SLACK
    assert allowed < max(refused, OBJECTS + decompressing * size + SLACK)
