# SPDX-License-Identifier: Apache-2.0
"""
A bounded table of the map keys met so far.

Messages repeat their keys. Sharing one str per key spares decoding it, and hashing it once per map: a str
remembers its hash. The table also guesses: it remembers which key followed which, so that in maps of one shape each
key is found by comparing bytes, without looking anything up. A wrong guess costs that comparison.

`msgpack` interns each key for good instead, which lets distinct keys grow memory without bound.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

SIZE: Final = 1024
"""Keys in the table; when it is full, it starts over."""

LONGEST: Final = 64
"""Longer keys, in packed bytes, are not kept."""

_EMPTY_KEY: Final = (b"\xa0", 1, "")


class KeyTable:
    """
    Hold up to SIZE keys, each as (its packed bytes, how many, the str), in `slots`.

    `following[i]` is the slot of the key that last followed the one of slot `i`. Slot 0 comes before the first
    key of a message; it holds the empty key, since a guess may end there too. Threads may share a table: what a slot
    holds is only ever replaced as a whole, and what is found there is used only if its bytes match. Two threads may
    take the same slot for their keys; one of these is not found then, and is added once more.
    """

    __slots__ = ("_index", "_used", "following", "slots")

    def __init__(self) -> None:
        self.slots: list[tuple[bytes, int, str]] = [_EMPTY_KEY] * SIZE
        self.following = [0] * SIZE
        self._index: dict[bytes, int] = {}
        self._used = 1

    def find(self, packed: bytes, header: int, last: int) -> tuple[int, str]:
        """
        Return the slot of a key and the key, adding it if it is new, and note that it came after slot `last`.

        `packed` is the whole packed key, no longer than LONGEST, and `header` the size of its header in bytes.
        Raises UnicodeDecodeError.
        """
        slot = self._index.get(packed, 0)
        kept, _, text = self.slots[slot]
        if kept != packed:
            text = packed[header:].decode()
            slot = self._used
            if slot >= SIZE:
                self._index = {}
                slot = 1
            self._used = slot + 1
            self.slots[slot] = (packed, len(packed), text)
            self._index[packed] = slot
        self.following[last] = slot
        return slot, text


KEYS: Final = KeyTable()
"""The table of the process."""
