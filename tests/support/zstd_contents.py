# SPDX-License-Identifier: Apache-2.0
"""Random content whose structures make compressors and decompressors use different parts of the format."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import strategies as st

KINDS = ("noise", "run", "words", "period", "letters", "skewed", "numbers", "walk", "copies")


def structured(rng: random.Random, size: int, kinds: Sequence[str]) -> bytes:
    """Return `size` bytes, in equal parts of each kind."""
    words = [rng.randbytes(rng.randrange(1, 20)) for _ in range(rng.choice((3, 40, 500)))]
    makers = {
        "noise": lambda: rng.randbytes(50),
        "run": lambda: rng.randbytes(1) * rng.randrange(1, 5000),
        "words": lambda: rng.choice(words),
        "period": lambda: rng.randbytes(rng.randrange(1, 40)) * rng.randrange(1, 500),
        "letters": lambda: bytes(rng.choices(b"etaoinshrdlu", k=100)),
        "skewed": lambda: bytes(min(255, int(rng.expovariate(0.1))) for _ in range(100)),
        "numbers": lambda: (rng.randrange(1000) * 3).to_bytes(4, "little"),
        "walk": lambda: (int(rng.gauss(0, 300)) & 0xFFFF).to_bytes(2, "little"),
    }
    out = bytearray()
    for kind in kinds:
        goal = len(out) + size // len(kinds)
        while len(out) < goal:
            if kind == "copies":
                out += rng.choice(words)
                start = rng.randrange(len(out))
                out += out[start : start + rng.choice((3, 4, 8, 30, 300))]
            else:
                out += makers[kind]()
    return bytes(out[:size])


@st.composite
def contents(draw: st.DrawFn, largest: int = 60_000) -> bytes:
    """Draw content of up to `largest` bytes in some of the kinds, followed by arbitrary bytes."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    size = draw(st.sampled_from((0, 1, 5, 50, 600, 5000, largest)))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=6))
    return structured(rng, size, kinds) + draw(st.binary(max_size=40))
