# SPDX-License-Identifier: Apache-2.0
"""Find the end of a value without decoding it, for `skip`, `unpack_raw` and `raw_depth`."""

from __future__ import annotations

from purepy.base.errors import FormatError, StackError, too_deep
from purepy.msgpack.formats import ARRAY, BIN, FAMILY, IMMEDIATE, INVALID, LENGTH_BYTES, LENGTHS, NUMBER, STR
from purepy.msgpack.plain_reader import LENGTH_READERS


class Skimmer:
    """
    Skip one value, in several steps if the data ends within it.

    `depth` is the largest number of nested containers in the value, and `start` the stream offset of the value.
    `max_depth`, the limit for the whole message, is only used in the text of the error. `run` reads the data from a
    position and returns whether the value is complete. If it is, `position` is after the value and, if `keep` is true,
    `fragment()` returns the value's bytes. Otherwise `position`, `consumed` and `needed` describe the inner value that
    is cut (see Decoder). The depth and the byte 0xc1 are checked, but not text, keys or lengths.
    """

    __slots__ = ("consumed", "depth", "keep", "max_depth", "needed", "open", "parts", "position", "size", "start")

    def __init__(self, depth: int, max_depth: int, start: int, keep: bool = True) -> None:
        self.depth = depth
        self.max_depth = max_depth
        self.start = start
        self.keep = keep
        self.open = [1]  # the missing values of each open container; the first entry stands for the value itself
        self.parts: list[bytes] = []
        self.size = 0
        self.position = 0
        self.consumed = 0
        self.needed = 1

    def fragment(self) -> bytes:
        """Return the packed bytes of the value; b"" without `keep`."""
        return self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)

    def run(self, data: bytes, begin: int, base: int) -> bool:
        """
        Continue at `begin`; return whether the value is complete. `base` is the stream offset of the data's first byte.

        Raises FormatError for the byte 0xc1, and StackError for a container that is too deep.
        """
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
                raise self.fail(FormatError("byte 0xc1 is not a MessagePack format"), base + pos)
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
