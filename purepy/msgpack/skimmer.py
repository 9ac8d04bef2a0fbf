# SPDX-License-Identifier: Apache-2.0
"""Finding where a value ends without decoding it: for `skip`, for `unpack_raw` and for fragments (`raw_depth`)."""

from __future__ import annotations

from purepy.base.errors import FormatError, StackError
from purepy.msgpack.formats import ARRAY, BIN, FAMILY, IMMEDIATE, INVALID, LENGTH_BYTES, LENGTHS, NUMBER, STR
from purepy.msgpack.plain_reader import LENGTH_READERS


def too_deep(max_depth: int) -> StackError:
    """Return the error of a container that is nested too deep."""
    return StackError(f"nested deeper than max_depth({max_depth})")


class Skimmer:
    """
    Walk over one value, resuming where the data ended.

    `depth` is how many levels of containers it may have, `start` its stream offset. `run` takes the data from a
    position on and returns whether the value is complete; then `position` is behind it and `fragment()` gives its
    bytes. Otherwise `position`, `consumed` and `needed` are those of the inner value that is cut (see Decoder).
    Checks depth and the byte 0xc1, not text, keys or lengths.
    """

    __slots__ = ("consumed", "depth", "keep", "max_depth", "needed", "open", "parts", "position", "size", "start")

    def __init__(self, depth: int, max_depth: int, start: int, keep: bool = True) -> None:
        self.depth = depth
        self.max_depth = max_depth
        self.start = start
        self.keep = keep
        self.open = [1]  # how many values each open container still lacks; the first is the value itself
        self.parts: list[bytes] = []
        self.size = 0
        self.position = 0
        self.consumed = 0
        self.needed = 1

    def fragment(self) -> bytes:
        """Return the bytes of the value walked over."""
        return self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)

    def run(self, data: bytes, begin: int, base: int) -> bool:
        """Walk on from `begin`; `base` is the stream offset of the data's first byte."""
        size = len(data)
        still = self.open
        pos = begin
        while still:
            self.consumed, self.needed = 0, 1
            if pos >= size:
                break
            byte = data[pos]
            family = FAMILY[byte]
            if family == IMMEDIATE:
                end = pos + 1
            elif family == INVALID:
                raise self.fail(FormatError("byte 0xc1 starts no MessagePack type"), base + pos)
            else:
                self.consumed = 1
                length = LENGTHS[byte]
                end = pos + 1 + LENGTH_BYTES[byte]
                if end > pos + 1:
                    if end > size:
                        self.needed = end - pos
                        break
                    length = LENGTH_READERS[end - pos - 1](data, pos + 1)[0]
                    self.consumed = end - pos
                if family >= ARRAY:
                    if len(still) > self.depth:
                        raise self.fail(too_deep(self.max_depth), base + pos)
                    if length:
                        still.append(length if family == ARRAY else 2 * length)
                        pos = end
                        continue
                else:
                    end += length + (family != STR and family != BIN and family != NUMBER)
                    if end > size:
                        self.needed = end - pos
                        break
            pos = end
            still[-1] -= 1
            while still and not still[-1]:
                still.pop()
                if still:
                    still[-1] -= 1
        self.position = pos
        self.size += pos - begin
        if self.keep and pos > begin:
            self.parts.append(data[begin:pos])
        return not still

    def fail(self, exc: FormatError | StackError, offset: int) -> FormatError | StackError:
        exc.offset = offset
        return exc
