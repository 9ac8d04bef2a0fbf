# SPDX-License-Identifier: Apache-2.0
"""
Refuse map keys that were chosen to collide, before they take quadratic time.

The hashes of str and bytes depend on a secret of the process. The hashes of numbers, tuples, UUIDs and so on do not: an
attacker can choose thousands of keys for which a dict probes the same slots. So this module counts the probes that the
dict will need, in a table of the dict's size. Ordinary keys need fewer than two probes each. Regular keys, for example
multiples of 3 * 2**42, need up to 56 in a map of 87,381. Ints close to each other, such as row numbers, need none, and
nothing is stored for them. `ffi_build/msgpack/unpack/key_meter.c` does the same in C.
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
"""
The probes allowed for the keys of a message together: _SPARE_PROBES, and _KEY_PROBES more for each key. A key of a
large map allows further probes: one for every _KEYS_PROBE keys in the map so far, but at most _MORE_PROBES_MAX.
"""

_EQUAL_PROBES: Final = 8
"""The probes counted for passing a key whose hash may be equal, since the comparison may run Python code."""

_SHIFT: Final = 5
_SHIFTED: Final = 2**59 - 1
_UNSIGNED: Final = 2**64 - 1

_UNHASHED: Final = 2**61 - 1
"""Ints from 0 to below this value are their own hashes."""

_TAGS: Final = 251
"""The number of tags that distinguish hashes."""


class KeyMeters:
    """The probes that the keys of a message need, and a meter for each of its open maps."""

    __slots__ = ("allowed", "meters", "probes")

    def __init__(self) -> None:
        self.probes = 0
        self.allowed = _SPARE_PROBES
        self.meters: dict[int, _KeyMeter] = {}

    def add_apart(self, keys: list[int]) -> bool:
        """
        Count all int keys of a map at once and return True, if they lie so close together that no hashes collide.

        Otherwise counts nothing and returns False. `keys` are in the order of the map and must not be empty.
        """
        size, begin, count, first = 8, 0, len(keys), keys[0]
        if not 0 <= first < _UNHASHED - 4 * count:
            return False
        while begin < count:  # for each size of the growing table
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
        """
        Count a key that will be added to `node`, the map open at `level`; return False if too many keys collide.
        """
        meter = self.meters.get(level)
        if meter is None or meter.node is not node:
            self.meters[level] = meter = _KeyMeter(node, key)
        meter.add(self, key)
        return self.probes <= self.allowed


class _KeyMeter:
    """The keys of one map that are neither str nor bytes; keys of these two types only enlarge the dict's table."""

    __slots__ = ("bare", "base", "full", "hashes", "mask", "node", "probes", "tags")

    def __init__(self, node: dict[object, object] | set[object], key: object) -> None:
        self.node = node
        # the first key while all keys are ints from `base` to `base + mask`; -1 as soon as one is not
        self.base = key if type(key) is int else -1
        self.hashes: list[int] = []  # in the order of the keys
        self.tags = bytearray()  # of the keys in the table's slots; 0 is free
        self.mask = self.full = 0
        self.probes = 0  # since the table grew
        self.bare = JIT  # True while PyPy stores the keys as unboxed ints, which are their own hashes

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
        if slot >= 0 and key in self.node:  # an equal key, which needs no slot
            hashes.pop()
            self.tags[slot] = 0

    def grow(self, meters: KeyMeters, used: int) -> None:
        """Resize the table to the size of the dict with `used` + 1 keys."""
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
        meters.probes -= self.probes  # the larger table counts its probes anew
        self.probes = 0
        for value in self.hashes:
            self.put(meters, value)

    def put(self, meters: KeyMeters, value: int) -> int:
        """
        Put a key with the hash `value` into the table.

        Returns the slot of the key if a key with the same tag is in its probe sequence, because that key may have the
        same hash; else -1.
        """
        tags, mask = self.tags, self.mask
        tag = value % _TAGS + 1
        i = value & mask
        other = tags[i]
        if not other:
            tags[i] = tag
            return -1
        probes = same = 0
        if JIT:  # PyPy computes the next slot before it shifts
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
        # in a small table the probe sequence passes a key more than once
        probes = min(probes + (_EQUAL_PROBES - 1) * same, _EQUAL_PROBES * len(self.hashes))
        self.probes += probes
        meters.probes += probes
        return i if same else -1
