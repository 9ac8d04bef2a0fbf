# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies for MessagePack: objects, with the smallest and largest of each format; damaged messages."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from purepy.msgpack.ext import ExtType, Timestamp

EDGES = sorted(
    {sign * 2**bits + step for bits in (0, 5, 7, 8, 15, 16, 31, 32, 39, 62) for step in (-1, 0, 1) for sign in (1, -1)}
    | {-(2**63), 2**63 - 1}
)
"""The first and last ints of each format that fit into 64 bits with a sign."""
WORDS = st.integers(-(2**63), 2**63 - 1) | st.integers(-200, 70_000) | st.sampled_from(EDGES)
INTS = WORDS | st.integers(2**63 - 2, 2**64 - 1)
LENGTHS = (("x", 31), ("x", 32), ("x", 33), ("é", 16), ("é", 17), ("y", 255), ("y", 256), ("€", 99))
TEXTS = st.text(max_size=40) | st.sampled_from(
    ["", "id", *(text * count for text, count in LENGTHS), "\ud7ff\ue000\U0010ffff"]
)
STAMPS = st.builds(Timestamp, st.integers(-(2**40), 2**40), st.integers(0, 999_999_999))
EXTENSIONS = st.builds(ExtType, st.integers(0, 127), st.binary(max_size=20)) | STAMPS
PLAIN = st.none() | st.booleans() | INTS | st.floats(allow_nan=False) | TEXTS | st.binary(max_size=40)
SCALARS = PLAIN | st.floats() | EXTENSIONS
STRICT_KEYS = TEXTS | st.binary(max_size=5)
ANY_KEYS = STRICT_KEYS | INTS | st.floats(allow_nan=False) | st.none() | st.booleans()


def objects(keys: st.SearchStrategy[Any], leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy for nested objects whose maps have keys from `keys`."""
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=12) | st.dictionaries(keys, inner, max_size=12), max_leaves=20
    )


def unpack_options(**more: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for options of unpacking, except hooks for containers; `more` adds strategies for others."""
    limits = {
        **{f"max_{kind}_len": st.sampled_from([-1, 0, 1, 3, 5, 40]) for kind in ("str", "bin", "array", "map", "ext")},
        "max_depth": st.sampled_from([0, 1, 2, 3, 5, 64, 65, 1024]),
        "max_total_items": st.integers(-1, 30),
        "max_total_bytes": st.integers(-1, 60),
    }
    flags = {name: st.booleans() for name in ("use_list", "raw", "strict_map_key", "tuple_keys", "bin_view")}
    others = {
        "timestamp": st.integers(0, 3),
        "unicode_errors": st.sampled_from([None, "strict", "ignore", "replace", "surrogateescape"]),
        "ext_hook": st.sampled_from([None, ExtType, lambda code, data: (code, data)]),
        "raw_depth": st.integers(-1, 3),
    }
    return st.fixed_dictionaries({}, optional={**limits, **flags, **others, **more})


@st.composite
def damaged(draw: st.DrawFn, messages: st.SearchStrategy[bytes]) -> bytes:
    """Draw messages with some changed bytes."""
    data = bytearray(draw(messages)[:3000])
    for _ in range(draw(st.integers(1, 4)) if data else 0):
        byte = draw(st.integers(0, 255) | st.sampled_from([0x91, 0x81, 0xC1, 0xC9, 0xDB, 0xDD, 0xDF]))
        data[draw(st.integers(0, len(data) - 1))] = byte
    return bytes(data)
