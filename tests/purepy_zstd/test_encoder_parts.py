# SPDX-License-Identifier: Apache-2.0
"""The encoder's parts on their own: FSE and Huffman tables, match finders."""

from __future__ import annotations

import random
from math import log2

import pytest

from purepy.zstd.decoder.fse import read_distribution
from purepy.zstd.encoder import fse, huffman
from purepy.zstd.encoder.levels import MatchParameters, parameters_for
from purepy.zstd.encoder.matchfinders import make_match_finder
from purepy.zstd.encoder.matchfinders.base import equal_before, equal_bytes, match_length
from purepy.zstd.encoder.sequences import INITIAL_REPEATS, offset_values
from purepy.zstd.encoder.sequences import Sequences as EncoderSequences

_random = random.Random(41)


@pytest.fixture(autouse=True)
def _same_numbers_for_each_test() -> None:
    _random.seed(41)


def random_counts(symbols: int) -> list[int]:
    counts = [int(_random.expovariate(1) ** 4 * 10) if _random.random() < 0.7 else 0 for _ in range(symbols)]
    counts[-1] = counts[-1] or 1
    counts[0] = counts[0] or 3
    return counts


@pytest.mark.parametrize("table_log", [6, 7, 8, 9])
def test_distribution_is_normalised_and_read_back(table_log: int) -> None:
    for _ in range(200):
        counts = random_counts(_random.randrange(2, 53))
        norm = fse.normalise(counts, table_log)
        assert sum(abs(n) for n in norm) == 1 << table_log
        assert [bool(n) for n in norm] == [bool(count) for count in counts]
        described = fse.describe(norm, table_log)
        read, log, end = read_distribution(described + bytes(8), 0, len(described), 255, 9, 0)
        assert (list(read), log, end) == (norm, table_log, len(described))


def test_normalising_costs_little() -> None:
    counts = [500, 250, 125, 60, 30, 20, 10, 5]
    total = sum(counts)
    entropy = -sum(count * log2(count / total) for count in counts)
    table = fse.EncodingTable(fse.normalise(counts, 6), 6)
    assert entropy <= table.cost(counts) < entropy * 1.02


def test_cost_of_a_code_without_a_cell_is_infinite() -> None:
    table = fse.EncodingTable((3, 0, 29), 5)
    assert table.cost([1, 1, 1]) == fse.INFINITE_COST
    assert table.cost([1, 0, 1, 1]) == fse.INFINITE_COST
    assert table.cost([1, 0, 1, 0]) < fse.INFINITE_COST


@pytest.mark.parametrize("symbols", [2, 3, 17, 100, 256])
def test_huffman_lengths_fill_the_code_space_within_the_limit(symbols: int) -> None:
    for _ in range(30):
        counts = random_counts(symbols)
        lengths = huffman.code_lengths(counts)
        assert max(lengths) <= huffman.MAX_BITS
        assert sum(2.0**-length for length in lengths if length) == 1
        assert [bool(length) for length in lengths] == [bool(count) for count in counts]


def test_huffman_lengths_are_optimal() -> None:
    # Fibonacci counts produce the deepest tree, so the limit applies.
    counts = [1, 1]
    while len(counts) < 20:
        counts.append(counts[-1] + counts[-2])
    free = huffman.code_lengths(counts, 19)
    assert sorted(free) == [1, *range(2, 19), 19, 19]
    limited = huffman.code_lengths(counts)
    assert max(limited) == 11
    assert sum(2.0**-length for length in limited) == 1
    assert sum(c * n for c, n in zip(counts, limited)) < sum(c * n for c, n in zip(counts, free)) * 1.01


@pytest.mark.parametrize(("symbols", "described"), [(2, True), (128, True), (256, False)])
def test_equal_weights_are_described_where_the_format_can(symbols: int, described: bool) -> None:
    lengths = huffman.code_lengths([1] * symbols)
    assert (huffman.describe(lengths) is not None) == described


def test_matches_are_counted_to_the_byte() -> None:
    for length in (0, 1, 4, 7, 8, 9, 15, 16, 17, 40):
        window = bytearray(b"m" * length + b"x" + b"-" * 60 + b"m" * length + b"y" + b"-" * 60)
        assert match_length(window, length + 61, 0, len(window)) == length
        assert match_length(window, length + 61, 0, length + 61 + length // 2) == length // 2
    for byte in range(8):
        assert equal_bytes(1 << (8 * byte)) == byte
        assert equal_bytes(-1 << (8 * byte)) == byte


@pytest.mark.parametrize("count", range(4))
def test_equal_bytes_before_end_at_the_first_difference_at_the_limit_and_at_the_start(count: int) -> None:
    window = bytearray(b"-abcd+abcd")
    assert equal_before(window, 6 + count, 1 + count, 9) == count
    assert equal_before(window, 10, 5, count) == count
    assert equal_before(window[5:] * 2, 5 + count, count, 9) == count


def replay(window: bytes, start: int, sequences: EncoderSequences) -> bytes:
    """Execute sequences that follow window[:start]."""
    out = bytearray(window[:start])
    at = 0
    for literals, length, offset in zip(sequences.literal_lengths, sequences.match_lengths, sequences.offsets):
        out += sequences.literals[at : at + literals]
        at += literals
        for _ in range(length):
            out.append(out[-offset])
    out += sequences.literals[at:]
    return bytes(out)


@pytest.mark.once
@pytest.mark.parametrize("level", [-7, 1, 3, 5, 7, 9, 13, 16, 18])
@pytest.mark.parametrize("distance", [100, 5000, 1 << 20])
def test_match_finders_keep_their_limits(level: int, distance: int) -> None:
    words = [_random.randbytes(_random.randrange(3, 30)) for _ in range(50)]
    window = bytearray(b"".join(_random.choices(words, k=2000)))
    finder = make_match_finder(parameters_for(level, len(window)))
    start = 0
    repeats = INITIAL_REPEATS
    for end in (1, 10, 3000, 20_000, len(window)):
        sequences = finder.find(window, start, end, distance, repeats)
        assert replay(window, start, sequences) == window[:end]
        assert all(3 <= length for length in sequences.match_lengths)
        assert all(1 <= offset <= distance for offset in sequences.offsets)
        _, repeats = offset_values(sequences, repeats)
        start = end


@pytest.mark.parametrize(
    ("literals", "expected"),
    [
        (1, {9: (1, (9, 4, 7)), 4: (2, (4, 9, 7)), 7: (3, (7, 9, 4)), 8: (11, (8, 9, 4)), 30: (33, (30, 9, 4))}),
        (0, {4: (1, (4, 9, 7)), 7: (2, (7, 9, 4)), 8: (3, (8, 9, 4)), 30: (33, (30, 9, 4))}),
    ],
)
def test_values_of_offsets(literals: int, expected: dict[int, tuple[int, tuple[int, int, int]]]) -> None:
    """RFC 8878, section 3.1.1.5: the value of each offset after 9, 4 and 7, and the offsets that are repeated next."""
    for offset, (value, repeats) in expected.items():
        sequences = EncoderSequences()
        sequences.literal_lengths.append(literals)
        sequences.offsets.append(offset)
        assert offset_values(sequences, (9, 4, 7)) == ([value], repeats)


def test_parameters_fit_the_input() -> None:
    assert parameters_for(3, None) == MatchParameters(21, 16, 17, 1, 5, 0, 2)
    assert parameters_for(3, 100_000).window_log == 17
    assert parameters_for(3, 1).window_log == 10
    assert parameters_for(22, 1000).hash_log <= 11
    assert parameters_for(-9, None).target_length == 9
    assert parameters_for(3, 1000, 100_000).hash_log >= 17
