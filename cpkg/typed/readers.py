# SPDX-License-Identifier: Apache-2.0
"""
Functions that read one value directly from bytes, for the decoding functions.

A reader only detects that a value is wrong, and raises Mismatch or another exception that the Decoder expects, such as
IndexError. It may read past the end of a message, into PADDING.
"""

from __future__ import annotations

import struct
import sys
from array import array

from cpkg.objects import types_written
from cpkg.typed.nodes import MISSING, REFUSING, unchecked_by
from purepy.base.errors import LimitError
from purepy.base.lazy import Later
from purepy.base.pypy import JIT, read_f32, read_f64, read_u16, read_u32
from purepy.msgpack.formats import LENGTH_BYTES, LENGTHS, TIMESTAMP_CODE
from purepy.msgpack.interface import METERED_NUMBERS, METERED_PAIRS, NUMBER_TYPES
from purepy.msgpack.key_meter import KeyMeters
from purepy.msgpack.plain_reader import NUMBERS, Unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    from cpkg.objects import extension_values
    from purepy.base.types import Named, Value
else:
    extension_values = Later("cpkg.objects.extension_values")

PADDING: Final = b"\xc1" * 24
"""The bytes after a message: no value begins with 0xc1, and comparing a key by words does not read beyond them."""


class Mismatch(Exception):
    """A message is damaged, or does not have the requested type; the walker finds the reason."""


class UnfitError(ValueError):
    """An array does not have the requested type. The text describes the array that was found."""


class Refused(Exception):
    """
    The caller's code refused a value, or failed.

    `exc` is the exception that the code raised, or a text that describes the problem if it raised none. `offset` is
    where the value begins. `role` names the code: "build" (a constructor, `__post_init__` or a default's factory),
    "hook" (dec_hook), "check" (a constraint, which refused `value`), "hash" (of a key or of a set's item) or "enum"
    (`_missing_`). The role "extra" is different: bytes follow the message's object, `value`, which ends at `offset`.
    """

    def __init__(self, exc: Exception | str, offset: int, role: str, value: object = MISSING) -> None:
        super().__init__(exc, offset, role)
        self.exc = exc
        self.offset = offset
        self.role = role
        self.value = value


class Meter:
    """Counts, during one call, the memory that headers do not show, and the keys whose hashes may collide."""

    __slots__ = ("ends", "keys", "room")

    def __init__(self, room: int = -1) -> None:
        self.room = room  # the bytes that values may take beyond those that headers show; -1 for no limit
        self.keys: KeyMeters | None = None
        self.ends: dict[int, int] = {}  # the ends of containers that were skipped, by their offsets

    def take(self, size: int, offset: int) -> None:
        """Count `size` bytes that headers do not show; raise LimitError, without a text, if they exceed the room."""
        if self.room < size:
            if self.room < 0:
                return
            error = LimitError()
            error.offset = offset
            raise error
        self.room -= size

    def enter(self, key: object, offset: int, into: Value, level: int) -> None:
        """
        Count a key, or a set's item, that will be put into a container; raise LimitError if too many keys collide.

        `level` is different for each open container.
        """
        if self.keys is None:
            self.keys = KeyMeters()
        if not self.keys.add(level, into, key):
            error = LimitError("too many keys with colliding hashes")
            error.offset = offset
            raise error

    def are_apart(self, keys: list[Value]) -> bool:
        """
        Count int keys, or a set's int items, and return True, if they lie so close together that no hashes collide.

        Otherwise counts nothing and returns False.
        """
        if self.keys is None:
            self.keys = KeyMeters()
        return self.keys.add_apart(keys)

    def set_of(self, items: list[Value], offset: int, level: int, are_ints: bool) -> set[object]:
        """Return a set of items with hashes that a sender can choose; raise LimitError if too many of them collide."""
        if are_ints and self.are_apart(items):
            return set(items)
        made: set[object] = set()
        for item in items:
            self.enter(item, offset, made, level)
            made.add(item)
        return made

    def dict_of(
        self, keys: list[Value], values: list[object], offset: int, level: int, are_ints: bool
    ) -> dict[object, object]:
        """
        Return the dict of `keys` and `values`; raise LimitError if too many keys collide.

        This is for keys whose hashes a sender can choose.
        """
        if are_ints and self.are_apart(keys):
            return dict(zip(keys, values))
        made: dict[object, object] = {}
        for key, value in zip(keys, values):
            self.enter(key, offset, made, level)
            made[key] = value
        return made

    def hashable(self, key: Value, offset: int, into: Value, count: int, level: int) -> Value:
        """
        Return a key, or a set's item, in a hashable form; the container `into` will have `count` of them.

        Untyped arrays become tuples, as in the keys of `loads`. `level` is different for each open container. Raises
        Refused for a key that is unhashable, and LimitError if too many keys collide.
        """
        kind = type(key)
        if kind is str or kind is bytes:
            return key
        try:
            try:
                hash(key)
            except TypeError:
                if kind is not list and kind is not tuple:
                    raise
                key = as_tuples(key)
                hash(key)
            if count >= (METERED_NUMBERS if kind in NUMBER_TYPES else METERED_PAIRS):
                self.enter(key, offset, into, level)
        except LimitError:
            raise
        except Exception as exc:
            raise Refused(exc, offset, "hash") from exc
        return key


def check(problem: Callable[[Value], str | None], value: Value, offset: int) -> None:
    """Raise Refused if `problem(value)` returns a text that describes the expected value, or raises an exception."""
    try:
        expected = problem(value)
    except Exception as exc:
        raise Refused(exc, offset, "check", value) from exc
    if expected is not None:
        raise Refused(expected, offset, "check", value)


def unchecked(error: Exception, offset: int, value: object) -> Refused:
    """Return a Refused for the value at `offset`, whose check raised `error`."""
    return Refused(unchecked_by(error) if isinstance(error, REFUSING) else error, offset, "check", value)


def as_tuples(value: Value) -> object:
    """Return a list or tuple, and all lists and tuples inside it, as tuples; return another value unchanged."""
    if type(value) in (list, tuple):
        return tuple([as_tuples(item) for item in value])
    return value


def read_int(d: bytes, p: int) -> tuple[int, int]:
    byte = d[p]
    if byte < 0x80 or byte >= 0xE0:
        return byte if byte < 0x80 else byte - 256, p + 1
    if not 0xCC <= byte <= 0xD3:
        raise Mismatch
    reader, length = NUMBERS[byte - 0xCA]
    return reader(d, p + 1)[0], p + 1 + length


def read_float(d: bytes, p: int) -> tuple[float, int]:
    byte = d[p]
    if byte == 0xCB:
        return read_f64(d, p + 1)[0], p + 9
    if byte == 0xCA:
        return read_f32(d, p + 1)[0], p + 5
    value, p = read_int(d, p)
    return float(value), p


def _sized(d: bytes, p: int, first: int) -> tuple[int, int]:
    """
    Return the offsets of the start and end of the content of a str or bin; raise Mismatch for anything else.

    A fixstr and a truncated value also raise Mismatch. `first` is the first byte of the format with a 1-byte length.
    """
    byte = d[p]
    if byte == first:
        p += 2
        end = p + d[p - 1]
    elif byte == first + 1:
        p += 3
        end = p + read_u16(d, p - 2)[0]
    elif byte == first + 2:
        p += 5
        end = p + read_u32(d, p - 4)[0]
    else:
        raise Mismatch
    if end > len(d):
        raise Mismatch
    return p, end


def read_str(d: bytes, p: int) -> tuple[str, int]:
    byte = d[p]
    if 0xA0 <= byte < 0xC0:
        p += 1
        end = p + byte - 0xA0
    else:
        p, end = _sized(d, p, 0xD9)
    return d[p:end].decode(), end


def read_bytes(d: bytes, p: int) -> tuple[bytes, int]:
    p, end = _sized(d, p, 0xC4)
    return d[p:end], end


def _make_count_reader(short: int, long: int) -> Callable[[bytes, int], tuple[int, int]]:
    """
    Return a function (data, position) that returns the length in an array or map header, and the header's end.

    `short` is the first byte of an empty container, and `long` that of a header of 3 bytes.
    """

    def read_count(d: bytes, p: int) -> tuple[int, int]:
        byte = d[p]
        if byte & 0xF0 == short:
            return byte & 15, p + 1
        if byte == long:
            return read_u16(d, p + 1)[0], p + 3
        if byte == long + 1:
            return read_u32(d, p + 1)[0], p + 5
        raise Mismatch

    return read_count


read_array: Final = _make_count_reader(0x90, 0xDC)
read_map: Final = _make_count_reader(0x80, 0xDE)


def read_ext(d: bytes, p: int, first: int, last: int) -> tuple[object, int]:
    """
    Return the object in an extension value whose code byte is `first` or `last`, and its end.

    Raises Unread for any other value, and for one that `extension_values.read_ext` does not read; the caller then lets
    the walker read it.
    """
    byte = d[p]
    if byte == 0xC7:
        start = p + 2
        end = start + 1 + d[p + 1]
    elif 0xD4 <= byte <= 0xD8:
        start = p + 1
        end = start + 1 + LENGTHS[byte]
    else:
        raise Unread
    code = d[start]
    if code != first and code != last:
        raise Unread
    return extension_values.read_ext(d, start, end), end


CODES: Final = {
    "datetime": (types_written.LOCAL_DATETIME, TIMESTAMP_CODE & 0xFF),
    "date": (types_written.DATE, types_written.DATE),
    "time": (types_written.TIME, types_written.TIME),
    "timedelta": (types_written.DURATION, types_written.DURATION),
    "decimal": (types_written.DECIMAL, types_written.DECIMAL),
    "uuid": (types_written.UUID, types_written.UUID),
}
"""The code bytes of the two extension types that each kind accepts; both are the same if it accepts only one."""


def skip(d: bytes, p: int) -> int:
    """Return the end of the value at a position, which may be beyond the data; raise Mismatch for the byte 0xc1."""
    left = 1
    while left:
        left -= 1
        byte = d[p]
        p += 1
        if byte < 0x80 or byte >= 0xE0:
            continue
        if byte < 0xC0:
            if byte >= 0xA0:
                p += byte - 0xA0
            else:
                left += byte & 15 if byte >= 0x90 else (byte & 15) * 2
        elif byte == 0xC1:
            raise Mismatch
        elif byte >= 0xDC:
            field = LENGTH_BYTES[byte]
            length = int.from_bytes(d[p : p + field], "big")
            p += field
            left += length if byte < 0xDE else 2 * length
        else:
            field = LENGTH_BYTES[byte]
            p += (int.from_bytes(d[p : p + field], "big") if field else LENGTHS[byte]) + field
            if 0xC7 <= byte <= 0xC9 or 0xD4 <= byte <= 0xD8:
                p += 1
    return p


def number_run(d: bytes, p: int, count: int, formats: str = "fdBHIQbhiq") -> tuple[array[Value] | None, int]:
    """
    Return `count` numbers and their end if all of them have the same MessagePack format; else None and the position.

    `formats` holds the accepted formats, as type codes of `array.array`. Numbers packed in one byte are never accepted.
    """
    first = d[p]
    code = "fdBHIQbhiq"[first - 0xCA] if 0xCA <= first <= 0xD3 else " "
    if code not in formats:
        return None, p
    numbers = array(code)
    size = numbers.itemsize + 1
    end = p + count * size
    if end > len(d) or d[p:end:size] != d[p : p + 1] * count:
        return None, p
    content = bytearray(d[p:end])
    del content[::size]
    numbers.frombytes(content)
    if sys.byteorder == "little":
        numbers.byteswap()
    return numbers, end


def read_run(d: bytes, p: int, count: int, formats: str) -> tuple[list[int] | list[float] | None, int]:
    """
    Return a list of `count` numbers and their end if all of them have the same format; else None and the position.

    `formats` is the same as for `number_run`; "B" also accepts ints from 0 to 127 that are packed in one byte.
    """
    if d[p] < 0x80 and "B" in formats:
        found = d[p : p + count]  # PADDING is not ASCII
        return (list(found), p + count) if found.isascii() else (None, p)
    numbers, p = number_run(d, p, count, formats)
    return (None if numbers is None else numbers.tolist()), p


RUNS: Final[dict[str, str]] = {} if JIT else {"int": "BHIQbhiq", "float": "d"}
"""The formats that `read_run` reads at once, by the kind of item; with a JIT the loops are fast enough."""
SHORTEST_RUN: Final = 4

HELPERS: Final[dict[str, Named]] = {
    "MISSING": MISSING,
    "Meter": Meter,
    "Mismatch": Mismatch,
    "Refused": Refused,
    "Unread": Unread,
    "check": check,
    "new": object.__new__,
    "read_array": read_array,
    "read_bytes": read_bytes,
    "read_ext": read_ext,
    "read_f64": read_f64,
    "read_float": read_float,
    "read_int": read_int,
    "read_map": read_map,
    "read_run": read_run,
    "read_str": read_str,
    "skip": skip,
    "unchecked": unchecked,
    "unpack_from": struct.unpack_from,
}
