# SPDX-License-Identifier: Apache-2.0
"""Small messages that become large objects, and keys that collide."""

from __future__ import annotations

import cpkg
from purepy.msgpack.weigher import find_excess


def array(item: bytes, count: int) -> bytes:
    return b"\xdd" + count.to_bytes(4, "big") + item * count


# each of these items is small in a message, and large in memory for a different reason
ITEMS = {
    "empty lists": b"\x90",
    "empty maps": b"\x80",
    "maps": b"\x81\xc0\xc0",
    "maps in maps": b"\x81\x01" * 50 + b"\x01",
    "lists in lists": b"\x91" * 50 + b"\x01",
    "keys that are tuples": b"\x81\x92\x01\x02\x03",
    "text of one wide character": cpkg.packb("a" * 25 + "\U0001f600"),
    "small numbers": b"\x01",
    "Decimals": b"\xd4N1",
    "long Decimals": b"\xc8\x10\x00N" + b"7" * 4096,
}


def heaviest_below(item: bytes, limit: int) -> int:
    """Return the largest number of copies of an item whose estimated memory is at most `limit` bytes."""
    sample = array(item, 10)
    low, high = 0, 100 * len(sample)
    while low < high:
        middle = (low + high) // 2
        if find_excess(sample, middle, 1024) < 0:
            high = middle
        else:
            low = middle + 1
    return (limit - 64) // -(-(low - 64) // 10)


def on_one_way(count: int) -> list[int]:
    """Return keys that collide: one half occupies the slots that the probes for the other half visit."""
    size = 1 << (count * 3 // 2).bit_length()
    way, slot = [], 3
    for _ in range(count // 2):
        way.append(slot)
        slot = (slot * 5 + 1) % size
    return way + [way[n % 1000] + size * (n + 1) for n in range(count // 2)]
