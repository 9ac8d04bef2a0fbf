# SPDX-License-Identifier: Apache-2.0
"""
The MessagePack values that Python has no type for: ExtType, Timestamp and Raw, shared by all backends.

ExtType is a named tuple. Importing collections.namedtuple takes as long as everything else that packing a first
message needs, so `Fields` implements the needed parts of namedtuple.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable
    from types import ModuleType
    from typing import NamedTuple

    from typing_extensions import Self

try:
    from _collections import _tuplegetter  # the C descriptor that namedtuple uses
except ImportError:
    _tuplegetter = None

_TIMESTAMP32 = struct.Struct(">I")
_TIMESTAMP64 = struct.Struct(">Q")
_TIMESTAMP96 = struct.Struct(">Iq")
_NANOSECONDS = 10**9
FIRST_SECOND = -62_135_596_800
LAST_SECOND = 253_402_300_799
"""The first and last second that datetime can represent in UTC, counted from 1970."""
EPOCH_ORDINAL = 719_163
"""The result of date.toordinal() for 1970-01-01."""

_epoch: datetime.datetime
_datetime: ModuleType | None = None
"""The module datetime, imported by the first conversion, because its import may take as long as this package's."""


def _load_datetime() -> ModuleType:
    global _datetime, _epoch
    import datetime

    _epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    _datetime = datetime
    return datetime


def field(index: int, doc: str) -> property:
    """Return a descriptor that reads the item of a tuple at an index."""
    return property(lambda self: self[index], doc=doc) if _tuplegetter is None else _tuplegetter(index, doc)


class Fields(tuple):  # type: ignore[type-arg]
    """Base of named tuples: a subclass defines `_fields`, and a `field` for each."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    @classmethod
    def _make(cls, iterable: Iterable[object]) -> Self:
        made = tuple.__new__(cls, iterable)
        if len(made) != len(cls._fields):
            raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
        return made

    def _replace(self, /, **changes: object) -> Self:
        made = self._make([changes.pop(name, value) for name, value in zip(self._fields, self)])
        if changes:
            raise TypeError(f"Got unexpected field names: {list(changes)!r}")
        return made

    __replace__ = _replace

    def _asdict(self) -> dict[str, object]:
        return dict(zip(self._fields, self))

    def __getnewargs__(self) -> tuple[object, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join([f'{name}={value!r}' for name, value in self._asdict().items()])})"


if TYPE_CHECKING:

    class _ExtFields(NamedTuple):
        code: int
        data: bytes
else:

    class _ExtFields(Fields):
        __slots__ = ()
        _fields = __match_args__ = ("code", "data")
        _field_defaults: dict[str, object] = {}  # noqa: RUF012 (other libraries evaluate these annotations)
        code: int = field(0, "Alias for field number 0")
        data: bytes = field(1, "Alias for field number 1")


class ExtType(_ExtFields):
    """
    Hold an extension value: an application's type code and its bytes (replaces `msgpack.ExtType`).

    A named tuple of `code`, an int in 0..127, and `data`, bytes. Raises TypeError for other types and ValueError
    for a code out of range (the negative codes belong to the MessagePack specification).
    """

    __module__ = "cpkg.msgpack"  # where callers find it
    __slots__ = ()

    def __new__(cls, code: int, data: bytes) -> ExtType:
        if not isinstance(code, int):
            raise TypeError("code must be int")
        if not isinstance(data, bytes):
            raise TypeError("data must be bytes")
        if not 0 <= code <= 127:
            raise ValueError("code must be 0~127")
        return tuple.__new__(cls, (code, data))


class Timestamp:
    """
    Hold a point in time in nanoseconds, extension type -1 (replaces `msgpack.Timestamp`).

    `seconds` is an int counted from 1970-01-01T00:00:00Z without leap seconds, negative before it; `nanoseconds`
    is an int in 0..999999999 that is always added, so that half a second before the epoch is (-1, 500000000).
    Raises TypeError for other types and ValueError for nanoseconds out of range. Instances compare by value and can be
    hashed; do not change their attributes.
    """

    __module__ = "cpkg.msgpack"
    __slots__ = ("nanoseconds", "seconds")

    seconds: int
    nanoseconds: int

    def __init__(self, seconds: int, nanoseconds: int = 0) -> None:
        if not isinstance(seconds, int):
            raise TypeError("seconds must be an integer")
        if not isinstance(nanoseconds, int):
            raise TypeError("nanoseconds must be an integer")
        if not 0 <= nanoseconds < _NANOSECONDS:
            raise ValueError("nanoseconds must be a non-negative integer not greater than 999999999.")
        self.seconds = seconds
        self.nanoseconds = nanoseconds

    def __repr__(self) -> str:
        return f"Timestamp(seconds={self.seconds}, nanoseconds={self.nanoseconds})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Timestamp) and type(other) is type(self):
            return self.seconds == other.seconds and self.nanoseconds == other.nanoseconds
        return False

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    def __hash__(self) -> int:
        return hash((self.seconds, self.nanoseconds))

    @staticmethod
    def from_bytes(b: bytes) -> Timestamp:
        """
        Read the data of an extension value with code -1.

        `b` has 4 bytes (seconds), 8 (30 bits of nanoseconds, 34 of seconds) or 12 (32 of nanoseconds, 64 of signed
        seconds): timestamp 32, 64 and 96 of the MessagePack specification. Raises ValueError for any other length
        and for nanoseconds above 999999999.
        """
        if len(b) == 4:
            return Timestamp(_TIMESTAMP32.unpack(b)[0])
        if len(b) == 8:
            both = _TIMESTAMP64.unpack(b)[0]
            return Timestamp(both & 0x3FFFFFFFF, both >> 34)
        if len(b) == 12:
            nanoseconds, seconds = _TIMESTAMP96.unpack(b)
            return Timestamp(seconds, nanoseconds)
        raise ValueError(f"invalid timestamp data (length {len(b)})")

    def to_bytes(self) -> bytes:
        """
        Return the data of an extension value with code -1, in the shortest of the three forms that can hold the time.

        Raises OverflowError if the seconds do not fit in 64 bits.
        """
        seconds = self.seconds
        if seconds >> 34 == 0:
            both = self.nanoseconds << 34 | seconds
            return _TIMESTAMP32.pack(both) if both <= 0xFFFFFFFF else _TIMESTAMP64.pack(both)
        if not -(2**63) <= seconds < 2**63:
            raise OverflowError("Timestamp seconds do not fit in 64 bits")
        return _TIMESTAMP96.pack(self.nanoseconds, seconds)

    @staticmethod
    def from_unix(unix_sec: float) -> Timestamp:
        """Return the Timestamp of `unix_sec` seconds since the epoch, an int, or a float (rounded down to ns)."""
        return Timestamp(int(unix_sec // 1), min(int((unix_sec % 1) * _NANOSECONDS), _NANOSECONDS - 1))

    def to_unix(self) -> float:
        """Return the seconds since the epoch as a float (precise to about a microsecond)."""
        return self.seconds + self.nanoseconds / 1e9

    @staticmethod
    def from_unix_nano(unix_ns: int) -> Timestamp:
        """Return the Timestamp of `unix_ns` nanoseconds since the epoch."""
        return Timestamp(*divmod(unix_ns, _NANOSECONDS))

    def to_unix_nano(self) -> int:
        """Return the nanoseconds since the epoch."""
        return self.seconds * _NANOSECONDS + self.nanoseconds

    def to_datetime(self) -> datetime.datetime:
        """Return an aware datetime in UTC, rounded down to microseconds; raise OverflowError if out of range."""
        module = _datetime or _load_datetime()
        when: datetime.datetime = _epoch + module.timedelta(seconds=self.seconds, microseconds=self.nanoseconds // 1000)
        return when

    @staticmethod
    def from_datetime(dt: datetime.datetime) -> Timestamp:
        """Return the Timestamp of the datetime `dt`; without a time zone, `dt` is local time."""
        if dt.tzinfo is None:
            dt = dt.astimezone()
        # the float from dt.timestamp() would lose microseconds far from the epoch
        if _datetime is None:
            _load_datetime()
        delta = dt - _epoch
        return Timestamp(delta.days * 86400 + delta.seconds, delta.microseconds * 1000)


def readable_timestamp(value: datetime.datetime) -> Timestamp:
    """Return the Timestamp of an aware datetime; raise OverflowError if no datetime in UTC can represent it."""
    timestamp = Timestamp.from_datetime(value)
    if not FIRST_SECOND <= timestamp.seconds <= LAST_SECOND:
        raise OverflowError(f"cannot pack {value!r}: in UTC its year is outside 1..9999")
    return timestamp


class Raw:
    """
    Hold one MessagePack value in its packed form.

    `data` is bytes, a bytearray or memoryview (otherwise TypeError), and is kept as bytes. Packing a Raw writes the
    bytes without a check, so they must be exactly one value. Unpacking returns Raw objects with `raw_depth` and from
    `Unpacker.unpack_raw()`; their bytes are well-formed. Instances compare by their bytes and can be hashed and
    pickled; do not change `data`.
    """

    __module__ = "cpkg.msgpack"
    __slots__ = ("data",)

    data: bytes

    def __init__(self, data: bytes | bytearray | memoryview) -> None:
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"Raw data must be bytes, bytearray or memoryview, not {type(data).__name__}")
        self.data = bytes(data)

    def __bytes__(self) -> bytes:
        return self.data

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"Raw({self.data!r})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Raw):
            return self.data == other.data
        return NotImplemented

    def __hash__(self) -> int:
        return hash((Raw, self.data))

    def __reduce__(self) -> tuple[type[Raw], tuple[bytes]]:
        return Raw, (self.data,)
