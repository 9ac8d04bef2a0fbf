# SPDX-License-Identifier: Apache-2.0
"""The encoder's form of a dictionary (RFC 8878, section 5): content to refer to, and tables to repeat."""

from __future__ import annotations

from purepy.base.pypy import JIT
from purepy.zstd.encoder.block import BlockState
from purepy.zstd.encoder.fse import EncodingTable
from purepy.zstd.encoder.huffman import HuffmanTable
from purepy.zstd.encoder.levels import MAX_HISTORY, MatchParameters
from purepy.zstd.encoder.matchfinders import MatchFinder, make_match_finder
from purepy.zstd.encoder.sequences import SequenceTables
from purepy.zstd.format.zdict import Digests, ZstdDict

# A match finder with the indexed content is kept if each of its tables has at most 2**19 positions.
_KEPT_TABLES_LOG = 19


class EncodingDictionary:
    """
    A dictionary, ready for encoding.

    `content` precedes the data; `state` is the state with which the first block begins. A raw dictionary has only
    content and the id 0. If the content exceeds half a gibibyte, only its end is used.
    """

    __slots__ = ("_indexes", "content", "dict_id", "state")

    def __init__(self, content: bytes, dict_id: int, state: BlockState, keeps: bool) -> None:
        self.content = content[-MAX_HISTORY // 2 :]
        self.dict_id = dict_id
        self.state = state
        self._indexes = Digests() if keeps else None

    @classmethod
    def of(cls, zstd_dict: ZstdDict) -> EncodingDictionary:
        """Return a dictionary's encoding form, created once and kept in it; raises ZstdError if it is corrupted."""
        made: EncodingDictionary = zstd_dict._digests.single(("pure", JIT, "compress"), lambda: _load(zstd_dict))
        return made

    def match_finder(self, parameters: MatchParameters) -> MatchFinder:
        """Return a match finder for one frame that has indexed the content: a new finder, or a copy of a kept one."""
        if self._indexes is None or max(parameters.hash_log, parameters.chain_log) > _KEPT_TABLES_LOG:
            return self._indexed(parameters)
        # Match finders do not use the size of the window, so one finder serves frames with any window.
        alike = parameters._replace(window_log=0)
        kept: MatchFinder = self._indexes.one_of("finders", alike, lambda: self._indexed(alike))
        return kept.copy()

    def _indexed(self, parameters: MatchParameters) -> MatchFinder:
        finder = make_match_finder(parameters)
        finder.index(bytearray(self.content), 0, len(self.content))
        return finder


def prefix_only(zstd_dict: ZstdDict) -> EncodingDictionary:
    """Return the encoding form of a prefix: all of `zstd_dict`'s bytes are raw content, even with a magic number."""
    return EncodingDictionary(zstd_dict.dict_content, 0, BlockState(), False)


def _load(zstd_dict: ZstdDict) -> EncodingDictionary:
    from purepy.zstd.decoder.dictionary import load_dictionary  # loaded only when a dictionary is used

    loaded = load_dictionary(zstd_dict.dict_content)
    if loaded.huffman is None:
        return EncodingDictionary(loaded.content, 0, BlockState(), True)
    lengths = [0] * 256
    for entry in loaded.huffman.entries:
        lengths[entry & 255] = entry >> 8
    first, second, third = loaded.repeats
    tables = SequenceTables(*(EncodingTable(norm, log) for norm, log in loaded.distributions))
    state = BlockState(HuffmanTable(lengths), tables, (first, second, third))
    return EncodingDictionary(loaded.content, loaded.dict_id, state, True)
