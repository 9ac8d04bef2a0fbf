# SPDX-License-Identifier: Apache-2.0
"""The size of the output, compared with libzstd's and from level to level."""

from __future__ import annotations

import random

import pytest
from zstd_contents import KINDS, structured
from zstd_oracle import libzstd

from purepy.zstd import compress, decompress

pytestmark = pytest.mark.once

MIX = structured(random.Random(1), 70_000, [kind for kind in KINDS if kind not in ("noise", "run")])


@pytest.mark.parametrize("level", [1, 2, 3])
def test_at_most_a_tenth_larger_than_libzstd(level: int) -> None:
    library = libzstd()
    mine = compress(MIX, level)
    assert library.decompress(mine) == MIX
    assert len(mine) <= len(library.compress(MIX, level)) * 1.1


def test_no_level_is_larger_than_the_one_below() -> None:
    previous = len(MIX)
    for level in (-20, -5, -1, *range(1, 7), 9, 13, 19, 22):
        frame = compress(MIX, level)
        assert decompress(frame) == MIX
        assert len(frame) <= previous, f"level {level}"
        previous = len(frame)
