# SPDX-License-Identifier: Apache-2.0
"""The sources that the walker reads: a message, whose values are identified by their offsets, or Python objects."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from enum import Enum

from cpkg.typed.nodes import ARRAY, BIN, BOOL, EXT, FLOAT, INT, MAP, MISSING, NIL, STR
from cpkg.typed.texts import FROM_TEXT, KINDS, from_base64, to_text
from purepy.base.errors import CodecError, FormatError, incomplete
from purepy.msgpack import formats
from purepy.msgpack.ext import ExtType, Raw
from purepy.msgpack.plain_reader import NUMBERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Final

    from typing_extensions import TypeAlias

    from cpkg.typed.nodes import Node
    from purepy.base.types import Value

    Place: TypeAlias = Any
    """The identity of a value: its offset in a Message, or the value itself in Objects."""

_FAMILIES: Final = {formats.STR: STR, formats.BIN: BIN, formats.ARRAY: ARRAY, formats.MAP: MAP}


class Message:
    """A message as a source of the walker: values are identified by their offsets."""

    has_offsets = True
    texts = FROM_TEXT

    def __init__(self, data: bytes, ends: dict[int, int]) -> None:
        """Create a source from a message; `ends` is the argument of `find_end`."""
        self.data = data
        self.ends = ends
        self.end = 0  # the end of the value that was read last

    def look(self, at: int) -> tuple[str, Value]:
        """
        Return (family, value) for an offset; for a container its length, and for an extension value (code, data).

        Moves `end` to the end of the value, or to the first item of a container.
        """
        data = self.data
        if at >= len(data):
            raise located(incomplete(len(self.data)), at)
        byte = data[at]
        family = formats.FAMILY[byte]
        self.end = at + 1
        if family == formats.INVALID:
            raise located(FormatError("byte 0xc1 is not a MessagePack format"), at)
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
            raise located(incomplete(len(self.data)), at)
        self.end += size
        return found

    def children(self, at: int, family: str, length: int) -> Iterator[int]:
        """
        Yield the offset of each item of an array, or of each key and value of a map in turn.

        The caller must read or skip the value at an offset before it asks for the next offset.
        """
        for _ in range(length if family == ARRAY else 2 * length):
            yield self.end

    def skip(self, at: int) -> None:
        """Move to the end of the value at an offset."""
        self.end = find_end(self.data, at, self.ends)

    def keys(self, at: int) -> dict[object, int]:
        """
        Return the offsets of a map's values by their keys, for keys that are text.

        Afterwards `end` is at the map's first key, so that the map can be read again.
        """
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

    def is_made(self, node: Node, at: int) -> bool:
        """Return False: a message contains no instances."""
        return False

    def member(self, node: Node, text: Value) -> object:
        """Return MISSING: in a message, a member of an Enum or Literal is text only if its value is text."""
        return MISSING

    def raw(self, at: int) -> Raw:
        self.skip(at)
        return Raw(self.data[at : self.end])


_FAMILIES_OF_CLASSES: Final[dict[object, str]] = {
    type(None): NIL,
    bool: BOOL,
    int: INT,
    float: FLOAT,
    str: STR,
    bytes: BIN,
    bytearray: BIN,
    memoryview: BIN,
    ExtType: EXT,
    list: ARRAY,
    tuple: ARRAY,
    set: ARRAY,
    frozenset: ARRAY,
    dict: MAP,
    Raw: "raw",
    **KINDS,
}
"""The family of each class's instances, or their kind if they belong to no family."""


class Objects:
    """Python objects as a source of the walker: values are identified by themselves."""

    has_offsets = False
    texts: Final[dict[str, Callable[[str], object]]] = {**FROM_TEXT, "bytes": from_base64}
    end = 0

    def __init__(self) -> None:
        self._items: dict[int, tuple[object, list[Value]]] = {}  # the items of iterables without a length

    def look(self, value: Value) -> tuple[str, Value]:
        """
        Return (family, value), as `Message.look` does, but a kind such as "date" or "raw" for values without a family.

        The family is "map" for other objects with `keys` and `[key]`, "array" for other iterables, and "" otherwise.
        """
        cls = type(value)
        family = _FAMILIES_OF_CLASSES.get(cls) or next(
            (_FAMILIES_OF_CLASSES[base] for base in cls.__mro__ if base in _FAMILIES_OF_CLASSES), None
        )
        if family is None:
            if not issubclass(cls, type) and hasattr(value, "keys") and hasattr(value, "__getitem__"):
                family = MAP
            else:
                # a numpy array without dimensions has no items
                family = ARRAY if isinstance(value, Iterable) and getattr(value, "shape", True) != () else ""
        if family in (ARRAY, MAP):
            return family, len(self._sized(value))
        return family, (value.code, value.data) if family == EXT else value

    def _sized(self, value: Value) -> Value:
        """Return a container with a length: the value itself, or a list of its items."""
        if isinstance(value, Sized):
            return value
        if id(value) not in self._items:
            self._items[id(value)] = (value, list(value))
        return self._items[id(value)][1]

    def is_made(self, node: Node, value: object) -> bool:
        """Return whether a value is an instance of the type: a dataclass, attrs class, Enum or class for `dec_hook`."""
        if node.kind == "object":
            return node.style in ("dataclass", "attrs") and isinstance(value, node.cls)
        if node.kind == "choice":
            return any(self.is_made(part, value) for part in node.parts)
        if node.kind == "literal":
            return isinstance(value, Enum) and any(value is found for found in node.table.values())
        return node.kind in ("enum", "custom") and isinstance(value, node.cls)

    def children(self, value: Value, family: str, length: int) -> Iterator[Place]:
        if family == ARRAY:
            yield from self._sized(value)
        else:
            for key in value.keys():  # noqa: SIM118 - database rows iterate over their values
                yield key
                yield value[key]

    def keys(self, value: Value) -> dict[object, Place]:
        return {key: value[key] for key in value.keys()}  # noqa: SIM118

    def skip(self, value: object) -> None:
        """Do nothing: objects have no position."""

    def member(self, node: Node, text: Value) -> object:
        """Return the member of an Enum or Literal whose value becomes this text in `to_builtins`, or MISSING."""
        of_text = [found for (cls, value), found in node.table.items() if cls is not str and to_text(value) == text]
        return of_text[0] if of_text else MISSING

    def raw(self, value: object) -> Raw:
        """Raise TypeError: an object is not packed."""
        raise TypeError


_REMEMBERED: Final = 32
"""The ends of containers with fewer bytes are not remembered."""


def find_end(data: bytes, at: int, ends: dict[int, int]) -> int:
    """
    Return the end of the value at an offset; text may be invalid UTF-8.

    `ends` has the ends of containers that were skipped before, and receives the ends of the containers in this value.
    So skipping the values of nested maps one after the other takes linear time.
    """
    size = len(data)
    stack: list[tuple[int, int]] = []  # for each open container: its offset, and the number of values after it
    left = 1
    while True:
        while left:
            left -= 1
            begin = at
            if begin in ends:
                at = ends[begin]
                continue
            if begin < size:
                family, at, length = formats.value_header(data, begin)
                if family < formats.ARRAY:
                    at += length + (family == formats.EXT)
                elif length:
                    stack.append((begin, left))
                    left = length if family == formats.ARRAY else 2 * length
            if begin >= size or at > size:
                raise located(incomplete(size), begin)
            if family == formats.INVALID:
                raise located(FormatError("byte 0xc1 is not a MessagePack format"), begin)
        if not stack:
            return at
        begin, left = stack.pop()
        if at - begin >= _REMEMBERED:
            ends[begin] = at


def located(error: CodecError, offset: int) -> CodecError:
    """Set the offset in the message at which an error is, and return the error."""
    error.offset = offset
    return error
