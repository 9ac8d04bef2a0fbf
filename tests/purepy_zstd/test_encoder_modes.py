# SPDX-License-Identifier: Apache-2.0
"""Every form of a block, its literals and its sequences is used where it is the smallest; the encoder's parts alone."""

from __future__ import annotations

import random
from math import log2
from typing import Any, Callable

import pytest
from zstd_data import DICTIONARY, SAMPLES
from zstd_dissect import Block, dissect

from purepy.zstd import CompressionParameter, ZstdCompressor, ZstdDict, compress, decompress
from purepy.zstd.decoder.fse import read_distribution
from purepy.zstd.encoder import fse, huffman
from purepy.zstd.encoder.levels import MatchParameters, parameters_for
from purepy.zstd.encoder.matchfinders import make_match_finder
from purepy.zstd.encoder.matchfinders.base import equal_before, equal_bytes, match_length
from purepy.zstd.encoder.sequences import INITIAL_REPEATS, Sequences, offset_values

_random = random.Random(5)
BLOCK = 128 << 10


@pytest.fixture(autouse=True)
def _same_numbers_for_each_test() -> None:
    _random.seed(5)


def blocks_of(data: bytes, level: int = 3, zstd_dict: ZstdDict | None = None) -> list[Block]:
    frame = compress(data, level, zstd_dict=zstd_dict)
    assert decompress(frame, zstd_dict) == data
    taken_apart = dissect(frame)
    assert taken_apart.end == len(frame)
    return taken_apart.blocks


def blocks_of_pieces(*pieces: bytes, level: int) -> list[Block]:
    compressor = ZstdCompressor(level)
    frame = b"".join(compressor.compress(piece, ZstdCompressor.FLUSH_BLOCK) for piece in pieces) + compressor.flush()
    assert decompress(frame) == b"".join(pieces)
    return dissect(frame).blocks


def noise(size: int) -> bytes:
    return _random.randbytes(size)


def text(size: int, letters: bytes = b"etaoinshrdlucmfwypvbgkjqxz") -> bytes:
    """Letters of very different frequencies in random order: Huffman coding shortens them, and few matches exist."""
    weights = [1 / (rank + 1) for rank in range(len(letters))]
    return bytes(_random.choices(letters, weights, k=size))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (lambda: noise(BLOCK + 10), {"kind": ["raw", "raw"]}),
        # zstd 1.4.3 and older reject a frame that begins with an RLE block
        (lambda: b"r" * (3 * BLOCK), {"kind": ["compressed", "rle", "rle"]}),
        (lambda: b"", {"kind": ["raw"], "size": [0], "last": [True]}),
        (lambda: b"0123456789" * 100, {"literals": ["raw"], "literals_size": [10], "sequences": [1]}),
        *(
            (lambda size=size: noise(size) * 2, {"literals": ["raw"], "literals_size": [size]})
            for size in (20, 400, 5000)
        ),
        (lambda: text(200), {"literals": ["compressed"], "streams": [1]}),
        *((lambda size=size: text(size), {"literals": ["compressed"], "streams": [4]}) for size in (600, 4000, 60_000)),
    ],
)
def test_blocks_and_literals(data: Callable[[], bytes], expected: dict[str, list[Any]]) -> None:
    blocks = blocks_of(data(), 1 if "streams" in expected else 3)
    assert {name: [getattr(block, name) for block in blocks] for name in expected} == expected


def test_rle_literals() -> None:
    filler = noise(3000)
    data = b"".join(filler[at : at + 100] + b"-" for at in range(0, 3000, 100))
    (block,) = blocks_of(data, zstd_dict=ZstdDict(filler, is_raw=True))
    assert (block.literals, block.literals_size) == ("rle", 30)


@pytest.mark.parametrize(("size", "streams"), [(1000, 4), (40, 1)])
def test_treeless_literals(size: int, streams: int) -> None:
    first, second, _ = blocks_of_pieces(text(5000), text(size), level=1)
    assert [(block.literals, block.streams) for block in (first, second)] == [("compressed", 4), ("treeless", streams)]


def test_predefined_tables() -> None:
    # Few sequences, all different: a description of a table would not pay off.
    first, second, third = noise(9), noise(50), noise(23)
    (block,) = blocks_of(first + noise(900) + second + third + first + noise(2) + third + noise(30) + second)
    assert block.sequences == 3
    assert block.tables == ("predefined", "predefined", "predefined")


def test_rle_tables() -> None:
    # Alternating 4 bytes of noise and 24 bytes of history: all lengths are the same.
    history = bytes(byte & 127 for byte in noise(4096))
    data = b"".join(bytes(byte | 128 for byte in noise(4)) + history[at : at + 24] for at in range(0, 4000, 40))
    (block,) = blocks_of(data, zstd_dict=ZstdDict(history, is_raw=True))
    assert block.sequences == 100
    assert (block.tables[0], block.tables[2]) == ("rle", "rle")


def test_described_and_repeated_tables() -> None:
    words = [noise(_random.randrange(4, 20)) for _ in range(200)]
    pieces = [b"".join(_random.choices(words, k=count)) for count in (6000, 4000, 100)]
    first, _, last, _ = blocks_of_pieces(*pieces, level=3)
    assert (first.tables, last.tables) == (("fse",) * 3, ("repeat",) * 3)


def test_tables_of_a_dictionary_are_repeated() -> None:
    first, *_ = blocks_of(b"".join(SAMPLES[100:104]), zstd_dict=ZstdDict(DICTIONARY))
    assert "repeat" in first.tables


@pytest.mark.parametrize(("count", "low", "high"), [(50, 1, 127), (8000, 128, 0x7EFF), (32_768, 0x7F00, 32_768)])
def test_number_of_sequences_in_each_form(count: int, low: int, high: int) -> None:
    # Units of the shortest match length, in an order in which hardly any two follow each other twice. Frames of unknown
    # size have a large table, which keeps all of them.
    units = [noise(4) for _ in range(1500)]
    data = b"".join(_random.choices(units, k=count))
    zstd_dict = ZstdDict(b"".join(units), is_raw=True)
    parameter = CompressionParameter
    options = {parameter.strategy: 1, parameter.min_match: 4, parameter.hash_log: 20, parameter.window_log: 20}
    compressor = ZstdCompressor(options=options, zstd_dict=zstd_dict)
    frame = compressor.compress(data) + compressor.flush()
    assert decompress(frame, zstd_dict) == data
    (block,) = dissect(frame).blocks
    assert low <= block.sequences <= high


@pytest.mark.parametrize(("size", "field"), [(0, 1), (255, 1), (256, 2), (65_791, 2), (65_792, 4), (3_000_000, 4)])
def test_content_size_field(size: int, field: int) -> None:
    frame = compress(bytes(size))
    taken_apart = dissect(frame)
    assert taken_apart.content_size == size
    assert taken_apart.single_segment == (size <= 1 << 21)
    assert (1, 2, 4, 8)[frame[4] >> 6] == field


def test_content_size_of_eight_bytes() -> None:
    compressor = ZstdCompressor()
    compressor.set_pledged_input_size(1 << 40)
    start = compressor.compress(b"x", ZstdCompressor.FLUSH_BLOCK)
    assert start[4] >> 6 == 3
    assert int.from_bytes(start[6:14], "little") == 1 << 40


def test_unknown_size_has_a_window() -> None:
    compressor = ZstdCompressor(3)
    frame = dissect(compressor.compress(b"abc") + compressor.flush())
    assert (frame.single_segment, frame.content_size, frame.window_size) == (False, None, 1 << 21)


def test_options_of_the_frame() -> None:
    parameter = CompressionParameter
    data = text(5000)
    options = {parameter.checksum_flag: 1, parameter.content_size_flag: 0, parameter.window_log: 11}
    frame = compress(data, options=options)
    assert decompress(frame) == data
    taken_apart = dissect(frame)
    assert (taken_apart.checksum, taken_apart.content_size, taken_apart.window_size) == (True, None, 1 << 11)
    assert all(block.size <= 1 << 11 for block in taken_apart.blocks)


# --- errors, and failures inside a call -------------------------------------------------------------------------------

FLUSH_BLOCK, FLUSH_FRAME = ZstdCompressor.FLUSH_BLOCK, ZstdCompressor.FLUSH_FRAME


def test_zeros_are_the_defaults() -> None:
    data = b"levels " * 1000
    parameter = CompressionParameter
    zeros = {key: 0 for key in parameter if key not in (parameter.content_size_flag, parameter.dict_id_flag)}
    assert compress(data, options=zeros) == compress(data)


def test_the_bytes_of_flushed_blocks() -> None:
    compressor = ZstdCompressor()
    assert compressor.compress(b"abc") == b""
    assert compressor.flush(FLUSH_BLOCK) == b"\x28\xb5\x2f\xfd\x00\x58\x18\x00\x00abc"
    assert compressor.flush() == b"\x01\x00\x00"
    assert compressor.flush() == compress(b"") == b"\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00"


def test_frame_in_one_call_needs_no_pledge() -> None:
    for pledge in (3, 300):
        compressor = ZstdCompressor()
        compressor.set_pledged_input_size(pledge)
        assert decompress(compressor.compress(b"x" * 20, FLUSH_FRAME)) == b"x" * 20


def test_other_failures_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    compressor = ZstdCompressor()
    compressor.compress(b"abc")

    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("purepy.zstd.encoder.frame_encoder.encode_block", fail)
        pytest.raises(MemoryError, compressor.flush)
    assert compressor.last_mode == FLUSH_FRAME
    assert decompress(compressor.compress(b"def", FLUSH_FRAME)) == b"def"


def test_call_from_inside_of_a_call_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    compressor = ZstdCompressor()

    def come_back(*_: object, **__: object) -> None:
        compressor.compress(b"again")

    with monkeypatch.context() as patch:
        patch.setattr("purepy.zstd.encoder.frame_encoder.encode_block", come_back)
        pytest.raises(RuntimeError, compressor.compress, b"abc", FLUSH_BLOCK).match("from inside")
    assert decompress(compressor.compress(b"def", FLUSH_FRAME)) == b"def"


# --- FSE and Huffman tables, match finders ----------------------------------------------------------------------------


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


def replay(window: bytes, start: int, sequences: Sequences) -> bytes:
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
        sequences = Sequences()
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
