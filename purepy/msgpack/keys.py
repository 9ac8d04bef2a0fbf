# SPDX-License-Identifier: Apache-2.0
"""
A bounded table of recent map keys.

Messages repeat their keys. While the table holds a key, it returns one shared str for it: the key is decoded once, and
hashed once, since a str remembers its hash. The table also remembers which key followed which. In maps of one shape
most keys are therefore found by comparing bytes with the predicted key, without a lookup. A wrong prediction costs only
that comparison.

`msgpack` interns each key instead; some versions of CPython never free an interned str.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

SIZE: Final = 1024
"""The number of slots in the table; a full table overwrites its keys, from slot 1 on."""

LONGEST: Final = 64
"""Keys with more packed bytes than this are not kept."""

_EMPTY_KEY: Final = (b"\xa0", 1, "")


class KeyTable:
    """
    Hold up to SIZE keys in `slots`, each as a tuple (packed bytes, number of these bytes, str).

    `following[i]` is the slot of the key that last followed the key in slot `i`, and `following[0]` the slot of the
    last message's first key. Slot 0 holds the empty key, since a prediction may also be 0. Threads may share a table: a
    slot is only replaced as a whole, and its str is used only if the bytes match. If two threads write to the same
    slot, one of the two keys is lost, and is added again when it next occurs.
    """

    __slots__ = ("_index", "_used", "following", "slots")

    def __init__(self) -> None:
        self.slots: list[tuple[bytes, int, str]] = [_EMPTY_KEY] * SIZE
        self.following = [0] * SIZE
        self._index: dict[bytes, int] = {}
        self._used = 1

    def find(self, packed: bytes, header: int, last: int) -> tuple[int, str]:
        """
        Return the slot of a key and the key. Add a new key, and note that it follows the key in slot `last`.

        `packed` is the whole packed key, of at most LONGEST bytes, and `header` the size of its header in bytes.
        Raises UnicodeDecodeError if the key is not valid UTF-8.
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
"""The table that the whole process shares."""
