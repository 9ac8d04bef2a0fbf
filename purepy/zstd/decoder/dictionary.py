# SPDX-License-Identifier: Apache-2.0
"""The decoder's form of a dictionary (RFC 8878 section 5)."""

from __future__ import annotations

from purepy.base.errors import ZstdError
from purepy.base.pypy import JIT
from purepy.zstd.decoder.bits import PADDING_SIZE, padded
from purepy.zstd.decoder.fse import read_distribution
from purepy.zstd.decoder.huffman import MAX_DICTIONARY_CODE_LENGTH, HuffmanTable, read_tree
from purepy.zstd.decoder.sequence_tables import (
    FIELDS,
    LITERALS_LENGTHS,
    MATCH_LENGTHS,
    OFFSETS,
    Field,
    Table,
    make_table,
)
from purepy.zstd.format.error_codes import DICTIONARY_CORRUPTED, NAMES, coded_error, corruption
from purepy.zstd.format.rules import DICTIONARY_MAGIC
from purepy.zstd.format.zdict import ZstdDict


class DecodingDictionary:
    """
    A dictionary, read and ready for use.

    `content` precedes the output of a frame. `huffman`, `tables` and `repeats` are the state with which the first block
    begins. A raw dictionary has only content (`tables` is None) and the id 0. `distributions` are the probabilities and
    accuracy logs that the tables were built from, in the same order: literals lengths, offsets, match lengths. An
    encoder needs them.
    """

    __slots__ = ("content", "dict_id", "distributions", "huffman", "repeats", "tables")

    def __init__(
        self,
        content: bytes,
        dict_id: int = 0,
        huffman: HuffmanTable | None = None,
        tables: tuple[Table, ...] | None = None,
        repeats: tuple[int, ...] = (),
        distributions: tuple[tuple[list[int], int], ...] = (),
    ) -> None:
        self.content = content
        self.dict_id = dict_id
        self.huffman = huffman
        self.tables = tables
        self.repeats = repeats
        self.distributions = distributions


def load_dictionary(content: bytes) -> DecodingDictionary:
    """
    Return the decoding form of a dictionary: with tables if it begins with DICTIONARY_MAGIC, otherwise raw.

    Raises ZstdError if it has the magic number but is not well-formed; the error's offset counts from the dictionary's
    first byte.
    """
    if content[:4] != DICTIONARY_MAGIC:
        return DecodingDictionary(content)
    try:
        return _load_formatted(content)
    except ZstdError as exc:
        # Reading tables raises the same errors as in a frame. This error adds that the fault is in the dictionary, for
        # compression as well as decompression.
        message = f"Unable to load the Zstandard dictionary: {NAMES[DICTIONARY_CORRUPTED]}: {exc.detail}"
        raise coded_error(DICTIONARY_CORRUPTED, message, exc.offset) from exc


def _load_formatted(content: bytes) -> DecodingDictionary:
    # Section 5, in order: magic number, id, Huffman tree, tables of offsets, match lengths and literals lengths, three
    # repeat offsets, content.
    dict_id = int.from_bytes(content[4:8], "little")
    data = padded(content)
    end = len(data) - PADDING_SIZE
    origin = -PADDING_SIZE
    huffman, at = read_tree(data, PADDING_SIZE + 8, end, origin, MAX_DICTIONARY_CODE_LENGTH)

    def read(field: Field) -> tuple[list[int], int]:
        nonlocal at
        counts, log, at = read_distribution(data, at, end, field.max_symbol, field.max_log, origin)
        return counts, log

    offsets = read(OFFSETS)
    match_lengths = read(MATCH_LENGTHS)
    literals_lengths = read(LITERALS_LENGTHS)
    if at + 12 > end:
        raise corruption(origin + at, "repeat offsets are truncated")
    text = data[at + 12 : end]
    repeats = []
    for _ in range(3):
        repeat = int.from_bytes(data[at : at + 4], "little")
        if not 0 < repeat <= len(text):
            raise corruption(origin + at, f"repeat offset {repeat} is out of range for a content of {len(text)} bytes")
        repeats.append(repeat)
        at += 4
    distributions = (literals_lengths, offsets, match_lengths)
    tables = tuple(make_table(field, *distribution) for field, distribution in zip(FIELDS, distributions))
    return DecodingDictionary(text, dict_id, huffman, tables, tuple(repeats), distributions)


def digested(zstd_dict: ZstdDict) -> DecodingDictionary:
    """Return a dictionary's decoding form, created once and kept in it; raises ZstdError if it is corrupted."""
    loaded: DecodingDictionary = zstd_dict._digests.single(
        ("pure", JIT, "decompress"), lambda: load_dictionary(zstd_dict.dict_content)
    )
    return loaded
