# SPDX-License-Identifier: Apache-2.0
"""
Keys that are chosen so that their hashes collide: refused before they take a time that grows with their square.

The hashes of str and bytes have a secret of the process. Those of numbers, tuples, UUIDs and so on have none: whoever
writes a message can choose thousands of keys that a dict probes the same slots for. So the probes are counted that the
dict will need, in a table that has its size. Keys that nobody has chosen need less than two each; regular ones, say
multiples of 3 * 2**42, up to 56 in a map of 87,381. Ints that are close to each other, such as the numbers of rows,
need no probes: nothing is kept about them. `ffi_build/msgpack/unpack/key_meter.c` does the same.
"""

from __future__ import annotations

from purepy.base.pypy import JIT, zeros

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from purepy.base.types import Value

_KEY_PROBES: Final = 40
_KEYS_PROBE: Final = 1 << 11
_MORE_PROBES_MAX: Final = 256
_SPARE_PROBES: Final = 1 << 14
"""Allowed for each key of a message, on an average; one more for so many of its map, up to so many; beyond that."""

_EQUAL_PROBES: Final = 8
"""What a key of the same hash counts, whose comparison may be Python code."""

_SHIFT: Final = 5
_SHIFTED: Final = 2**59 - 1
_UNSIGNED: Final = 2**64 - 1

_UNHASHED: Final = 2**61 - 1
"""Ints from 0 on are their own hashes, up to here."""

_TAGS: Final = 251
"""The number of tags that distinguish hashes."""


class KeyMeters:
    """The probes that a message's keys need, and the maps of it that are open."""

    __slots__ = ("allowed", "meters", "probes")

    def __init__(self) -> None:
        self.probes = 0
        self.allowed = _SPARE_PROBES
        self.meters: dict[int, _KeyMeter] = {}

    def add_apart(self, keys: list[int]) -> bool:
        """Count all keys of a map at once if they are so close to each other that none collide; else return False."""
        size, begin, count, first = 8, 0, len(keys), keys[0]
        if not 0 <= first < _UNHASHED - 4 * count:
            return False
        while begin < count:  # for each size that the table has while it grows
            part = keys[begin : 2 * size // 3]
            if min(part) < first or max(part) - first >= size:
                return False
            begin += len(part)
            size *= 2
        steps = range(1, count // _KEYS_PROBE + 1)
        more = [min(n, _MORE_PROBES_MAX) * min(count + 1 - n * _KEYS_PROBE, _KEYS_PROBE) for n in steps]
        self.allowed += _KEY_PROBES * count + sum(more)
        return True

    def add(self, level: int, node: dict[object, object] | set[object], key: object) -> bool:
        """Count a key that comes into the map that is open at `level`; return False if too many collide."""
        meter = self.meters.get(level)
        if meter is None or meter.node is not node:
            self.meters[level] = meter = _KeyMeter(node, key)
        meter.add(self, key)
        return self.probes <= self.allowed


class _KeyMeter:
    """The keys of one map that are neither str nor bytes. Those only make the dict's table larger."""

    __slots__ = ("bare", "base", "full", "hashes", "mask", "node", "probes", "tags")

    def __init__(self, node: dict[object, object] | set[object], key: object) -> None:
        self.node = node
        # while all keys are ints from here on, fewer than there are slots; -1 as soon as they are not
        self.base = key if type(key) is int else -1
        self.hashes: list[int] = []  # in the order of the keys
        self.tags = bytearray()  # of the keys in the table's slots; 0 is free
        self.mask = self.full = 0
        self.probes = 0  # since the table has its size
        self.bare = JIT  # whether PyPy stores the keys as bare ints, which are their own hashes

    def add(self, meters: KeyMeters, key: Value) -> None:
        used = len(self.node)
        more = (used + 1) // _KEYS_PROBE
        meters.allowed += _KEY_PROBES + (more if more < _MORE_PROBES_MAX else _MORE_PROBES_MAX)
        if self.base >= 0:
            if used >= self.full:
                self.grow(meters, used)
            if type(key) is int and 0 <= key - self.base <= self.mask and key < _UNHASHED:
                return
            self.base = -1
            self.hashes = [key for key in self.node if type(key) is int]
            self.full = 0
        hashes = self.hashes
        if self.bare and (type(key) is not int or not -(2**63) <= key < 2**63 or used != len(hashes)):
            self.bare = False
            self.hashes = hashes = [hash(key) for key in hashes]
            self.full = 0
        if used >= self.full or len(hashes) >= self.full:
            self.grow(meters, max(used, len(hashes)))
        value = key if self.bare else hash(key)
        hashes.append(value)
        slot = value & self.mask
        if not self.tags[slot]:
            self.tags[slot] = value % _TAGS + 1
            return
        slot = self.put(meters, value)
        if slot >= 0 and key in self.node:  # it has no place of its own
            hashes.pop()
            self.tags[slot] = 0

    def grow(self, meters: KeyMeters, used: int) -> None:
        """Give the table the size that the dict has when it has one more key than `used`."""
        if JIT:  # rordereddict.py, _ll_dict_resize
            size = 16
            if used >= 10:
                while size <= 2 * (used + min(used + 1, 30_000)):
                    size *= 2
            self.full = (2 * size - 1) // 3
        else:  # dictobject.c, GROWTH_RATE and USABLE_FRACTION
            size = 8
            while 2 * size // 3 <= used:
                size *= 2
            self.full = 2 * size // 3
        self.mask = size - 1
        if self.base >= 0:
            return
        self.tags = zeros(size)
        meters.probes -= self.probes  # those of the smaller table were fewer than these will be
        self.probes = 0
        for value in self.hashes:
            self.put(meters, value)

    def put(self, meters: KeyMeters, value: int) -> int:
        """Put a key of this hash into the table; return its slot if others may have that hash, else -1."""
        tags, mask = self.tags, self.mask
        tag = value % _TAGS + 1
        i = value & mask
        other = tags[i]
        if not other:
            tags[i] = tag
            return -1
        probes = same = 0
        if JIT:  # PyPy takes the next slot before it shifts
            perturb = value
            while other:
                probes += 1
                if other == tag:
                    same += 1
                i = (i * 5 + (perturb & mask) + 1) & mask
                perturb = perturb >> _SHIFT & _SHIFTED
                other = tags[i]
        else:
            perturb = value & _UNSIGNED
            while other:
                probes += 1
                if other == tag:
                    same += 1
                perturb >>= _SHIFT
                i = (i * 5 + perturb + 1) & mask
                other = tags[i]
        tags[i] = tag
        # around a table that is small the way comes by a key more than once
        probes = min(probes + (_EQUAL_PROBES - 1) * same, _EQUAL_PROBES * len(self.hashes))
        self.probes += probes
        meters.probes += probes
        return i if same else -1
