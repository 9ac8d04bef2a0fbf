# SPDX-License-Identifier: Apache-2.0
"""
The parameters of libzstd 1.5.7's levels, and their adjustment to the sizes of input and dictionary.

Only `from_level` and `estimated_compression_context_size` of `ZstdCompressionParameters` use these tables. A
compressor that gets a level passes it to the backend, which has its own tables. A level has the fields window_log,
chain_log, hash_log, search_log, min_match, target_length and strategy of ZSTD_defaultCParameters in clevels.h.
"""

from __future__ import annotations

from cpkg.zstandard.constants import (
    HASHLOG_MIN,
    MAX_COMPRESSION_LEVEL,
    STRATEGY_BTLAZY2,
    WINDOWLOG_MAX,
    WINDOWLOG_MIN,
)
from purepy.zstd.format.rules import LEVEL_MIN

MATCH_FIELDS = ("window_log", "chain_log", "hash_log", "search_log", "min_match", "target_length", "strategy")
"""The fields in the order of libzstd's ZSTD_compressionParameters."""

LEVEL_DEFAULT = 3

_UNKNOWN = -1

_LEVELS = (  # columns: input of any size, up to 256, 128 and 16 KiB; row 0 is for negative levels, row N for level N
    ((19, 12, 13, 1, 6, 1, 1), (18, 12, 13, 1, 5, 1, 1), (17, 12, 12, 1, 5, 1, 1), (14, 12, 13, 1, 5, 1, 1)),
    ((19, 13, 14, 1, 7, 0, 1), (18, 13, 14, 1, 6, 0, 1), (17, 12, 13, 1, 6, 0, 1), (14, 14, 15, 1, 5, 0, 1)),
    ((20, 15, 16, 1, 6, 0, 1), (18, 14, 14, 1, 5, 0, 2), (17, 13, 15, 1, 5, 0, 1), (14, 14, 15, 1, 4, 0, 1)),
    ((21, 16, 17, 1, 5, 0, 2), (18, 16, 16, 1, 4, 0, 2), (17, 15, 16, 2, 5, 0, 2), (14, 14, 15, 2, 4, 0, 2)),
    ((21, 18, 18, 1, 5, 0, 2), (18, 16, 17, 3, 5, 2, 3), (17, 17, 17, 2, 4, 0, 2), (14, 14, 14, 4, 4, 2, 3)),
    ((21, 18, 19, 3, 5, 2, 3), (18, 17, 18, 5, 5, 2, 3), (17, 16, 17, 3, 4, 2, 3), (14, 14, 14, 3, 4, 4, 4)),
    ((21, 18, 19, 3, 5, 4, 4), (18, 18, 19, 3, 5, 4, 4), (17, 16, 17, 3, 4, 4, 4), (14, 14, 14, 4, 4, 8, 5)),
    ((21, 19, 20, 4, 5, 8, 4), (18, 18, 19, 4, 4, 4, 4), (17, 16, 17, 3, 4, 8, 5), (14, 14, 14, 6, 4, 8, 5)),
    ((21, 19, 20, 4, 5, 16, 5), (18, 18, 19, 4, 4, 8, 5), (17, 16, 17, 4, 4, 8, 5), (14, 14, 14, 8, 4, 8, 5)),
    ((22, 20, 21, 4, 5, 16, 5), (18, 18, 19, 5, 4, 8, 5), (17, 16, 17, 5, 4, 8, 5), (14, 15, 14, 5, 4, 8, 6)),
    ((22, 21, 22, 5, 5, 16, 5), (18, 18, 19, 6, 4, 8, 5), (17, 16, 17, 6, 4, 8, 5), (14, 15, 14, 9, 4, 8, 6)),
    ((22, 21, 22, 6, 5, 16, 5), (18, 18, 19, 5, 4, 12, 6), (17, 17, 17, 5, 4, 8, 6), (14, 15, 14, 3, 4, 12, 7)),
    ((22, 22, 23, 6, 5, 32, 5), (18, 19, 19, 7, 4, 12, 6), (17, 18, 17, 7, 4, 12, 6), (14, 15, 14, 4, 3, 24, 7)),
    ((22, 22, 22, 4, 5, 32, 6), (18, 18, 19, 4, 4, 16, 7), (17, 18, 17, 3, 4, 12, 7), (14, 15, 14, 5, 3, 32, 8)),
    ((22, 22, 23, 5, 5, 32, 6), (18, 18, 19, 4, 3, 32, 7), (17, 18, 17, 4, 3, 32, 7), (14, 15, 15, 6, 3, 64, 8)),
    ((22, 23, 23, 6, 5, 32, 6), (18, 18, 19, 6, 3, 128, 7), (17, 18, 17, 6, 3, 256, 7), (14, 15, 15, 7, 3, 256, 8)),
    ((22, 22, 22, 5, 5, 48, 7), (18, 19, 19, 6, 3, 128, 8), (17, 18, 17, 6, 3, 128, 8), (14, 15, 15, 5, 3, 48, 9)),
    ((23, 23, 22, 5, 4, 64, 7), (18, 19, 19, 8, 3, 256, 8), (17, 18, 17, 8, 3, 256, 8), (14, 15, 15, 6, 3, 128, 9)),
    ((23, 23, 22, 6, 3, 64, 8), (18, 19, 19, 6, 3, 128, 9), (17, 18, 17, 10, 3, 512, 8), (14, 15, 15, 7, 3, 256, 9)),
    ((23, 24, 22, 7, 3, 256, 9), (18, 19, 19, 8, 3, 256, 9), (17, 18, 17, 5, 3, 256, 9), (14, 15, 15, 8, 3, 256, 9)),
    ((25, 25, 23, 7, 3, 256, 9), (18, 19, 19, 10, 3, 512, 9), (17, 18, 17, 7, 3, 512, 9), (14, 15, 15, 8, 3, 512, 9)),
    ((26, 26, 24, 7, 3, 512, 9), (18, 19, 19, 12, 3, 512, 9), (17, 18, 17, 9, 3, 512, 9), (14, 15, 15, 9, 3, 512, 9)),
    ((27, 27, 25, 9, 3, 999, 9), (18, 19, 19, 13, 3, 999, 9), (17, 18, 17, 11, 3, 999, 9), (14, 15, 15, 10, 3, 999, 9)),
)


def match_parameters(level: int, source_size: int, dict_size: int) -> tuple[int, ...]:
    """Return a level's values of MATCH_FIELDS; a size in bytes of 0 means unknown (replaces ZSTD_getCParams)."""
    size = source_size or _UNKNOWN
    total = size + dict_size
    if size == _UNKNOWN:
        total = dict_size + 499 if dict_size else _UNKNOWN
    smaller = 0 if total == _UNKNOWN else (total <= 256 << 10) + (total <= 128 << 10) + (total <= 16 << 10)
    row = _LEVELS[max(0, min(level or LEVEL_DEFAULT, MAX_COMPRESSION_LEVEL))][smaller]
    window_log, chain_log, hash_log, search_log, min_match, target_length, strategy = row
    if level < 0:
        target_length = -max(level, LEVEL_MIN)
    if size != _UNKNOWN:
        window_log, chain_log, hash_log = _fitted(window_log, chain_log, hash_log, strategy, size, dict_size)
    return max(window_log, WINDOWLOG_MIN), chain_log, hash_log, search_log, min_match, target_length, strategy


def _fitted(
    window_log: int, chain_log: int, hash_log: int, strategy: int, size: int, dict_size: int
) -> tuple[int, int, int]:
    """
    Return the given window_log, chain_log and hash_log, reduced to what input and dictionary need.

    `size` and `dict_size` are in bytes. Replaces ZSTD_adjustCParams, which also allows larger tables for a dictionary
    that does not fit the window; no level has such tables.
    """
    largest = 1 << (WINDOWLOG_MAX - 1)
    if size <= largest and dict_size <= largest:
        window_log = min(window_log, max(HASHLOG_MIN, (size + dict_size - 1).bit_length()))
    hash_log = min(hash_log, window_log + 1)
    cycle_log = chain_log - (strategy >= STRATEGY_BTLAZY2)
    return window_log, chain_log - max(0, cycle_log - window_log), hash_log
