# SPDX-License-Identifier: Apache-2.0
"""Every form of a block, its literals and its sequences is used where it is the smallest."""

from __future__ import annotations

import random
from typing import Any, Callable

import pytest
from zstd_data import DICTIONARY, SAMPLES
from zstd_dissect import Block, dissect

from purepy.zstd import CompressionParameter, ZstdCompressor, ZstdDict, compress, decompress

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


def test_described_tables() -> None:
    words = [noise(_random.randrange(4, 20)) for _ in range(200)]
    (block,) = blocks_of(b"".join(_random.choices(words, k=6000)))
    assert block.tables == ("fse", "fse", "fse")


def test_rle_tables() -> None:
    # Alternating 4 bytes of noise and 24 bytes of history: all lengths are the same.
    history = bytes(byte & 127 for byte in noise(4096))
    data = b"".join(bytes(byte | 128 for byte in noise(4)) + history[at : at + 24] for at in range(0, 4000, 40))
    (block,) = blocks_of(data, zstd_dict=ZstdDict(history, is_raw=True))
    assert block.sequences == 100
    assert (block.tables[0], block.tables[2]) == ("rle", "rle")


def test_repeated_tables() -> None:
    words = [noise(_random.randrange(4, 20)) for _ in range(200)]
    pieces = [b"".join(_random.choices(words, k=count)) for count in (4000, 4000, 100)]
    assert blocks_of_pieces(*pieces, level=3)[2].tables == ("repeat", "repeat", "repeat")


def test_tables_of_a_dictionary_are_repeated() -> None:
    zstd_dict = ZstdDict(DICTIONARY)
    data = b"".join(SAMPLES[100:104])
    frame = compress(data, zstd_dict=zstd_dict)
    assert decompress(frame, zstd_dict) == data
    taken_apart = dissect(frame)
    assert taken_apart.dict_id == zstd_dict.dict_id
    assert "repeat" in taken_apart.blocks[0].tables


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
    magicless = compress(data, options={10: 1})
    assert decompress(b"\x28\xb5\x2f\xfd" + magicless) == data


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
