# SPDX-License-Identifier: Apache-2.0
"""Dictionaries built by hand: well-formed, corrupt, and with a tree of codes of 12 bits, which libzstd accepts."""

from __future__ import annotations

import json
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from zstd_frames import (
    RAW,
    RLE,
    bitstream,
    block,
    coded_literals,
    compressed,
    forward_bits,
    header,
    raw_literals,
    rle_sequences,
    weights,
)
from zstd_oracle import libzstd

from purepy.base.errors import ZstdError
from purepy.zstd.encoder.huffman import HuffmanTable, code_lengths
from purepy.zstd.format.rules import DICTIONARY_MAGIC
from purepy.zstd.format.zdict import ZstdDict

TABLE = forward_bits((0, 4), (17, 5), (31, 5))
ID = (77).to_bytes(4, "little")
REPEATS = b"".join(number.to_bytes(4, "little") for number in (1, 4, 8))
# A tree of all 256 symbols: encoders before libzstd 1.5.6 do not use a tree with fewer.
CODE = HuffmanTable(code_lengths([1 + (1 << 20 >> symbol) for symbol in range(256)], 12))
TREE = CODE.description or b""
DICTIONARY = ZstdDict(DICTIONARY_MAGIC + ID + TREE + TABLE * 3 + REPEATS + bytes(range(40)) * 3)


def literals(size: int, seed: int) -> bytes:
    """Return symbols in the tree, half of them with short codes."""
    rng = random.Random(seed)
    return bytes(rng.randrange(256) if rng.random() < 0.5 else int(rng.expovariate(0.7)) for _ in range(size))


def stream(content: bytes) -> bytes:
    return bitstream(*((CODE.codes[symbol], CODE.lengths[symbol]) for symbol in content))


def treeless(content: bytes, four: bool) -> bytes:
    """Return a frame with one block of literals that are coded by the dictionary's tree."""
    if not four:
        section = coded_literals(len(content), stream(content), kind=3)
    else:
        part = len(content) + 3 >> 2
        streams = [stream(content[at : at + part]) for at in range(0, 4 * part, part)]
        jumps = b"".join(len(piece).to_bytes(2, "little") for piece in streams[:3])
        section = coded_literals(len(content), jumps + b"".join(streams), size_format=3, kind=3)
    return header(17) + block(section + b"\0")


@pytest.mark.parametrize(("size", "four"), [(1, False), (6, False), (400, False), (400, True), (7001, True)])
def test_literals_that_the_dictionary_codes(codec: ModuleType, size: int, four: bool) -> None:
    assert (min(CODE.lengths), max(CODE.lengths)) == (1, 12)
    for seed in range(4):
        content = literals(size, seed)
        frame = treeless(content, four)
        assert codec.decompress(frame, DICTIONARY) == content
        assert libzstd().decompress(frame, libzstd().ZstdDict(DICTIONARY.dict_content)) == content


@pytest.mark.parametrize("level", [1, 3, 5])
def test_what_it_compresses(codec: ModuleType, level: int) -> None:
    """Both encoders use the tree where it is efficient, and each decoder reads the other's output."""
    library = libzstd()
    reader = library.ZstdDict(DICTIONARY.dict_content)
    for size in (40, 300, 900, 20_000):
        for content in (literals(size, size), bytes([200]) * 20 + bytes([0, 3]) * (size // 2)):
            assert codec.decompress(library.compress(content, level, zstd_dict=reader), DICTIONARY) == content
            assert library.decompress(codec.compress(content, level, zstd_dict=DICTIONARY), reader) == content


def test_a_frame_has_no_such_tree(codec: ModuleType) -> None:
    frame = header(17) + block(coded_literals(13, TREE + stream(bytes(range(13)))) + b"\0")
    pytest.raises(ZstdError, codec.decompress, frame).match("Huffman weight 12 of symbol 0 exceeds the maximum of 11")


def test_corrupt_dictionary_is_an_error_in_both_directions(codec: ModuleType) -> None:
    corrupt = ZstdDict(DICTIONARY_MAGIC + ID + weights(13) + bytes(40))
    for call in (codec.compress, codec.decompress):
        with pytest.raises(
            ZstdError, match=r"^Unable to load the Zstandard dictionary: Dictionary is corrupted: "
        ) as e:
            call(b"(\xb5/\xfd\0\0\1\0\0", zstd_dict=corrupt)
        assert "compress" not in str(e.value)
        assert (e.value.code, e.value.offset) == (30, 8)


# --- small dictionaries ----------------------------------------------------------------------------------------------

# Section 5: magic number, id, a tree of one bit, three tables with two codes each, repeat offsets, content.
SMALL = DICTIONARY_MAGIC + ID + weights(1) + TABLE * 3 + REPEATS + b"content of a dictionary"


TEN = compressed(raw_literals(b"0123456789") + b"\0")
CORRUPT = json.loads(Path(__file__).with_name("corrupt_dictionaries.json").read_text(encoding="utf-8"))


def test_dictionary(codec: ModuleType) -> None:
    """A dictionary built by hand works for frames that name it and for frames that name none."""
    zstd_dict = codec.ZstdDict(SMALL)
    assert codec.decompress(TEN, zstd_dict) == b"0123456789"
    frame = header(descriptor=1, more=b"\x4d") + block(b"a", RAW)
    assert codec.decompress(frame, zstd_dict) == b"a"
    with pytest.raises(ZstdError, match="needs the dictionary with the id 78; the dictionary given has the id 77"):
        codec.decompress(header(descriptor=1, more=b"\x4e") + block(b"a", RAW), zstd_dict)


@pytest.mark.parametrize("row", CORRUPT)
def test_corrupt_dictionary(codec: ModuleType, row: dict[str, Any]) -> None:
    zstd_dict = codec.ZstdDict(bytes.fromhex(row["dictionary"]))
    with pytest.raises(ZstdError, match="Dictionary is corrupted: " + row["text"]) as caught:
        codec.decompress(TEN, zstd_dict)
    assert (caught.value.code, caught.value.offset) == (30, row["offset"])
    # As a prefix, it is content like any other.
    assert codec.decompress(TEN, zstd_dict.as_prefix) == b"0123456789"


def test_dictionary_out_of_reach(codec: ModuleType) -> None:
    """The dictionary is history until the output is longer than the window (section 5), as in libzstd's encoder."""
    zstd_dict = codec.ZstdDict(b"raw content of 26 characters"[:26], is_raw=True)
    start = header(10) + block(b"x", RLE, 1000, last=False)
    # 24 more bytes fill the window; the match then reaches 1024 + 26 bytes back, to the dictionary's first byte.
    section = rle_sequences(1, (20, 10, 0), (29, 10), (0, 2))
    frame = start + block(raw_literals(bytes(24)) + section)
    assert codec.decompress(frame, zstd_dict) == b"x" * 1000 + bytes(24) + b"raw"
    beyond = start + block(raw_literals(bytes(25)) + rle_sequences(1, (20, 10, 0), (29, 10), (1, 2)))
    pytest.raises(ZstdError, codec.decompress, beyond, zstd_dict).match("exceeds the 1024 bytes of available history")
