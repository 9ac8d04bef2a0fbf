# SPDX-License-Identifier: Apache-2.0
"""What the walker reads: a message, whose values are named by their offsets, or Python objects."""

from __future__ import annotations

from cpkg.typed.nodes import ARRAY, BIN, BOOL, EXT, FLOAT, INT, MAP, NIL, STR
from purepy.base.errors import CodecError, FormatError, TruncatedError
from purepy.msgpack import formats
from purepy.msgpack.ext import ExtType, Raw
from purepy.msgpack.plain_reader import NUMBERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Final

    from typing_extensions import TypeAlias

    from purepy.base.types import Value

    Place: TypeAlias = Any
    """Where a value is: its offset in a Message, or itself among Objects."""

_FAMILIES: Final = {formats.STR: STR, formats.BIN: BIN, formats.ARRAY: ARRAY, formats.MAP: MAP}


class Message:
    """A message as the walker reads it: values are named by the offset at which they begin."""

    has_offsets = True

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.end = 0  # of the value that was read last

    def look(self, at: int) -> tuple[str, Value]:
        """Return the family of the value at an offset, and itself; of a container, its length."""
        data = self.data
        if at >= len(data):
            raise located(TruncatedError("Unpack failed: incomplete input"), at)
        byte = data[at]
        family = formats.FAMILY[byte]
        self.end = at + 1
        if family == formats.INVALID:
            raise located(FormatError("byte 0xc1 starts no MessagePack type"), at)
        if family == formats.IMMEDIATE:
            value = formats.IMMEDIATES[byte]
            return NIL if value is None else BOOL if value is True or value is False else INT, value
        if family == formats.NUMBER:
            reader, size = NUMBERS[byte - 0xCA]
            return FLOAT if byte <= 0xCB else INT, reader(self._bytes(at, size), 0)[0]
        length = formats.LENGTHS[byte]
        if formats.LENGTH_BYTES[byte]:
            length = int.from_bytes(self._bytes(at, formats.LENGTH_BYTES[byte]), "big")
        if family == formats.EXT:
            payload = self._bytes(at, length + 1)
            return EXT, (payload[0] - 256 if payload[0] > 127 else payload[0], payload[1:])
        if family == formats.STR:
            try:
                return STR, self._bytes(at, length).decode()
            except UnicodeDecodeError as exc:
                raise located(FormatError(f"{exc} (in the object at byte {at})"), at) from exc
        return _FAMILIES[family], self._bytes(at, length) if family == formats.BIN else length

    def _bytes(self, at: int, size: int) -> bytes:
        found = self.data[self.end : self.end + size]
        if len(found) < size:
            raise located(TruncatedError("Unpack failed: incomplete input"), at)
        self.end += size
        return found

    def children(self, at: int, family: str, length: int) -> Iterator[int]:
        """Yield where each item, or key and value in turn, begins: after the one that was read last."""
        for _ in range(length if family == ARRAY else 2 * length):
            yield self.end

    def skip(self, at: int) -> None:
        """Go to the end of the value at an offset."""
        left = 1
        while left:
            left -= 1
            family, value = self.look(at)
            at = self.end
            if family in (ARRAY, MAP):
                left += value if family == ARRAY else 2 * value

    def keys(self, at: int) -> dict[object, int]:
        """Return where the values of a map begin, by their keys that are text; the map is read again after that."""
        _, length = self.look(at)
        inside = self.end
        found = {}
        for _ in range(length):
            begin = self.end
            family, key = self.look(begin)
            if family == STR:
                found[key] = self.end
            else:
                self.skip(begin)
            self.skip(self.end)
        self.end = inside
        return found

    def raw(self, at: int) -> Raw:
        self.skip(at)
        return Raw(self.data[at : self.end])


class Objects:
    """Python objects as the walker reads them: values are themselves."""

    has_offsets = False
    end = 0

    def look(self, value: Value) -> tuple[str, Value]:
        if value is None:
            return NIL, None
        if isinstance(value, bool):
            return BOOL, value
        if isinstance(value, int):
            return INT, value
        if isinstance(value, float):
            return FLOAT, value
        if isinstance(value, str):
            return STR, value
        if isinstance(value, (bytes, bytearray, memoryview)):
            return BIN, value
        if isinstance(value, ExtType):
            return EXT, (value.code, value.data)
        if isinstance(value, dict) or (hasattr(value, "keys") and hasattr(value, "__getitem__")):
            return MAP, len(value)
        if isinstance(value, (list, tuple, set, frozenset)) or hasattr(value, "__iter__"):
            return ARRAY, len(value) if hasattr(value, "__len__") else 0
        return type(value).__name__, value

    def children(self, value: Value, family: str, length: int) -> Iterator[Place]:
        if family == ARRAY:
            yield from value
        else:
            for key in value:
                yield key
                yield value[key]

    def keys(self, value: Value) -> dict[object, Place]:
        return {key: value[key] for key in value}

    def skip(self, value: object) -> None:
        """Do nothing: an object needs no reading."""

    def raw(self, value: object) -> Raw:
        if not isinstance(value, Raw):
            raise TypeError
        return value


def located(error: CodecError, offset: int) -> CodecError:
    """Return an error with the offset where it was found."""
    error.offset = offset
    return error
