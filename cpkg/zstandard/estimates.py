# SPDX-License-Identifier: Apache-2.0
"""
Estimate the memory that libzstd 1.5.7 takes to compress in one call, from the parameters of its workspace.

Replaces ZSTD_estimateCCtxSize_usingCCtxParams, which other versions of libzstd answer by a few bytes otherwise.
"""

from __future__ import annotations

from cpkg.zstandard.constants import (
    BLOCKSIZE_MAX,
    HASHLOG_MIN,
    MINMATCH_MIN,
    STRATEGY_BTOPT,
    STRATEGY_BTULTRA,
    STRATEGY_FAST,
    STRATEGY_GREEDY,
    STRATEGY_LAZY2,
)
from cpkg.zstandard.levels import MATCH_FIELDS, match_parameters

_FIXED = 25592
"""The context itself, the entropy tables of two blocks, and room to work in."""
_OVERLENGTH = 32
"""Bytes behind a block's literals that copying whole words may write."""
_SEQUENCE_SIZE, _CODES_PER_SEQUENCE = 8, 3
_INDEX_SIZE = 4
_HASH3_LOG_MAX = 17
_OPTIMAL_SPACE = 149248
"""Prices and statistics of the strategies that weigh parsings against each other."""
_ROWS_FROM_WINDOW_LOG = 15
"""From here on the strategies with hash chains use rows with tags of a byte instead."""

_LDM_WINDOW_LOG = 27
_LDM_HASH_RATE_LOG = 7
_LDM_BUCKET_SIZE_LOG = 3
_LDM_MIN_MATCH = 64
_LDM_ENTRY_SIZE, _LDM_SEQUENCE_SIZE = 8, 12


def _aligned(size: int) -> int:
    return -(-size // 64) * 64


def compression_context_size(values: dict[str, int]) -> int:
    """Return the bytes of memory that compressing with values of parameters takes, without threads."""
    row = dict(zip(MATCH_FIELDS, match_parameters(values["compression_level"], 0, 0)))
    if values["enable_ldm"] == 1:
        row["window_log"] = _LDM_WINDOW_LOG
    for name in MATCH_FIELDS:
        if values[name]:
            row[name] = values[name]
    strategy, window_log = row["strategy"], row["window_log"]
    block_size = min(BLOCKSIZE_MAX, 1 << window_log)
    sequences = block_size // (3 if row["min_match"] == MINMATCH_MIN else 4)
    size = _FIXED + _OVERLENGTH + block_size
    size += _aligned(sequences * _SEQUENCE_SIZE) + sequences * _CODES_PER_SEQUENCE
    size += _INDEX_SIZE << row["hash_log"]
    if STRATEGY_GREEDY <= strategy <= STRATEGY_LAZY2 and window_log >= _ROWS_FROM_WINDOW_LOG:
        size += 1 << row["hash_log"]
    elif strategy != STRATEGY_FAST:
        size += _INDEX_SIZE << row["chain_log"]
    if row["min_match"] == MINMATCH_MIN:
        size += _INDEX_SIZE << min(_HASH3_LOG_MAX, window_log)
    if strategy >= STRATEGY_BTOPT:
        size += _OPTIMAL_SPACE
    if values["enable_ldm"] == 1:
        size += _long_distance_size(values, window_log, strategy, block_size)
    return size


def _long_distance_size(values: dict[str, int], window_log: int, strategy: int, block_size: int) -> int:
    rate_log = values["ldm_hash_rate_log"] or _LDM_HASH_RATE_LOG
    hash_log = values["ldm_hash_log"] or max(HASHLOG_MIN, window_log - rate_log)
    bucket_log = min(values["ldm_bucket_size_log"] or _LDM_BUCKET_SIZE_LOG, hash_log)
    min_match = values["ldm_min_match"] or (_LDM_MIN_MATCH // 2 if strategy >= STRATEGY_BTULTRA else _LDM_MIN_MATCH)
    sequences = block_size // min_match
    return (1 << (hash_log - bucket_log)) + (_LDM_ENTRY_SIZE << hash_log) + _aligned(sequences * _LDM_SEQUENCE_SIZE)
