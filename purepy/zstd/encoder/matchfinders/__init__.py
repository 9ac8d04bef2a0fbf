# SPDX-License-Identifier: Apache-2.0
"""Match finders, which turn a block into sequences: one module for each family of strategies."""

from __future__ import annotations

from purepy.zstd.encoder.levels import DFAST, FAST, MatchParameters
from purepy.zstd.encoder.matchfinders.base import MatchFinder
from purepy.zstd.encoder.matchfinders.chain import ChainMatchFinder
from purepy.zstd.encoder.matchfinders.dfast import DoubleFastMatchFinder
from purepy.zstd.encoder.matchfinders.fast import FastMatchFinder

__all__ = ["MatchFinder", "make_match_finder"]


def make_match_finder(parameters: MatchParameters) -> MatchFinder:
    """Return a new match finder for the parameters' strategy."""
    if parameters.strategy == FAST:
        return FastMatchFinder(parameters)
    if parameters.strategy == DFAST:
        return DoubleFastMatchFinder(parameters)
    return ChainMatchFinder(parameters)
