# SPDX-License-Identifier: Apache-2.0
"""
Compression levels: the parameters of the match finder.

The table follows libzstd's for large inputs (`ZSTD_defaultCParameters` in clevels.h): with the level, the window, table
sizes and search depth grow, and the strategy changes.

| levels | strategy | match finder |
| --- | --- | --- |
| below 0 | fast | one hash table; level -n tries one position in n |
| 1, 2 | fast | one hash table |
| 3, 4 | dfast | two hash tables, for long keys and short keys |
| 5, 6 | greedy | hash chains; takes the best match of each position |
| 7, 8 | lazy | hash chains; also tries one position ahead |
| 9 to 12 | lazy2 | hash chains; also tries two positions ahead |
| 13 to 15 | btlazy2 | like lazy2, with deeper chains instead of libzstd's binary trees |
| 16 to 22 | btopt, btultra, btultra2 | like lazy2, with the deepest chains, and matches from 4 bytes on |

From level 16 on, libzstd searches for the cheapest way to divide a block into sequences. This encoder does not, so its
output is larger than libzstd's at those levels, by 3 to 6 % on source code and machine code.
"""

from __future__ import annotations

from collections import namedtuple

from purepy.zstd.format.rules import WINDOW_LOG_MIN

FAST, DFAST, GREEDY, LAZY, LAZY2, BTLAZY2, BTOPT, BTULTRA, BTULTRA2 = range(1, 10)

MIN_HASH_LOG = 6
# A window may be larger, but no match reaches further back, so that positions fit into four bytes.
MAX_HISTORY = 1 << 30


MatchParameters = namedtuple(
    "MatchParameters",
    ("window_log", "chain_log", "hash_log", "search_log", "min_match", "target_length", "strategy"),
)
"""The seven parameters of a match finder, as `CompressionParameter` names them."""


_LEVELS = (
    MatchParameters(19, 12, 13, 1, 6, 1, FAST),  # the base of negative levels
    MatchParameters(19, 13, 14, 1, 6, 0, FAST),
    MatchParameters(20, 15, 16, 1, 6, 0, FAST),
    MatchParameters(21, 16, 17, 1, 5, 0, DFAST),
    MatchParameters(21, 18, 18, 1, 5, 0, DFAST),
    MatchParameters(21, 18, 19, 3, 5, 2, GREEDY),
    MatchParameters(21, 19, 19, 4, 5, 4, GREEDY),
    MatchParameters(21, 19, 20, 4, 5, 8, LAZY),
    MatchParameters(21, 19, 20, 5, 5, 16, LAZY),
    MatchParameters(22, 20, 21, 5, 5, 16, LAZY2),
    MatchParameters(22, 21, 22, 5, 5, 16, LAZY2),
    MatchParameters(22, 21, 22, 6, 5, 16, LAZY2),
    MatchParameters(22, 22, 23, 6, 5, 32, LAZY2),
    MatchParameters(22, 22, 22, 7, 5, 32, BTLAZY2),
    MatchParameters(22, 22, 23, 7, 5, 48, BTLAZY2),
    MatchParameters(22, 23, 23, 7, 5, 64, BTLAZY2),
    MatchParameters(22, 22, 22, 7, 4, 48, BTOPT),
    MatchParameters(23, 23, 22, 7, 4, 64, BTOPT),
    MatchParameters(23, 23, 22, 8, 4, 64, BTULTRA),
    MatchParameters(23, 24, 22, 8, 4, 256, BTULTRA2),
    MatchParameters(25, 25, 23, 9, 4, 256, BTULTRA2),
    MatchParameters(26, 26, 24, 9, 4, 512, BTULTRA2),
    MatchParameters(27, 27, 25, 9, 4, 999, BTULTRA2),
)

# Size up to which short matches are worthwhile: literals cost more if there are few of them to build a code from.
_SMALL_INPUT = 16 << 10


def parameters_for(level: int, size: int | None, prefix_size: int = 0) -> MatchParameters:
    """
    Return the MatchParameters of a level for an input of `size` bytes; `size` is None if unknown.

    `level` must not be 0. `prefix_size` is the size in bytes of a dictionary's content. The window and the
    tables are no larger than input and dictionary can fill (replaces ZSTD_getCParams).
    """
    row = _LEVELS[max(0, level)]
    if level < 0:
        row = row._replace(target_length=-level)
    if size is not None and size + prefix_size <= _SMALL_INPUT and row.min_match > 4:
        row = row._replace(min_match=4)
    return fit(row, size, prefix_size)


def fit(parameters: MatchParameters, size: int | None, prefix_size: int = 0) -> MatchParameters:
    """
    Return parameters with a window and tables no larger than `size` bytes after `prefix_size` bytes can use.

    If `size` is None (unknown), the window stays, and the tables are no larger than window and prefix can use. Replaces
    ZSTD_adjustCParams.
    """
    window_log = parameters.window_log
    if size is not None:
        needed = max(MIN_HASH_LOG, (size + prefix_size - 1).bit_length())
        window_log = max(WINDOW_LOG_MIN, min(window_log, needed))
        reach = window_log if not prefix_size else max(window_log, needed)
    else:
        reach = max(window_log, prefix_size.bit_length())
    return parameters._replace(
        window_log=window_log,
        hash_log=min(parameters.hash_log, reach + 1),
        chain_log=min(parameters.chain_log, reach if parameters.strategy != DFAST else reach + 1),
    )
