# SPDX-License-Identifier: Apache-2.0
"""Builders that do more than append: one that enforces limits, and one that sorts the keys of a map."""

from __future__ import annotations

from purepy.base.errors import LimitError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from purepy.base.types import Builder


def too_long(limit: int) -> LimitError:
    """Return the error for a message that exceeds `max_total_bytes`; its full size is not known."""
    return LimitError(f"the packed object exceeds max_total_bytes({limit})")


class Metered:
    """A builder that enforces the limits on a message. `total`, the message's first builder, counts for all of them."""

    __slots__ = ("items", "max_bytes", "max_items", "size", "target", "total")

    def __init__(self, target: Builder, max_bytes: int, max_items: int) -> None:
        self.target = target
        self.max_bytes = max_bytes
        self.max_items = max_items
        self.size = 0
        self.items = 0
        self.total = self

    def part(self) -> Metered:
        """
        Return a builder that collects a part of the message separately; the part counts for the limits of the message.
        """
        part = Metered([], self.max_bytes, self.max_items)
        part.total = self.total
        return part

    def append(self, data: bytes) -> None:
        total = self.total
        total.size += len(data)
        if 0 <= self.max_bytes < total.size:
            raise too_long(self.max_bytes)
        self.target.append(data)

    def count(self, items: int) -> None:
        """
        Count the items of a container, before the first is packed; a pair of a map counts as two items.

        Raises LimitError if the message has too many items.
        """
        total = self.total
        total.items += items
        if 0 <= self.max_items < total.items:
            raise LimitError(f"{total.items} exceeds max_total_items({self.max_items})")


class Sorted:
    """The pairs of a map, collected to be written in the order of their packed keys."""

    __slots__ = ("key", "out", "pairs")

    def __init__(self, out: Builder) -> None:
        self.out = out
        self.key = b""
        self.pairs: list[tuple[bytes, list[bytes]]] = []

    def part(self) -> Builder:
        """Return a builder for a key or a value."""
        return self.out.part() if type(self.out) is Metered else []

    def write(self) -> None:
        """
        Append the pairs to the builder `out`, without counting their bytes, which the parts have already counted.

        Pairs with equal keys are ordered by their packed values.
        """
        pairs = self.pairs
        pairs.sort(key=lambda pair: pair[0])
        if any(first[0] == second[0] for first, second in zip(pairs, pairs[1:])):
            pairs.sort(key=lambda pair: (pair[0], b"".join(pair[1])))
        append = unmetered(self.out).append
        for key, value in pairs:
            append(key)
            for part in value:
                append(part)


def unmetered(out: Builder) -> Builder:
    """Return the builder that a Metered wraps, or the builder itself."""
    return out.target if type(out) is Metered else out
