# SPDX-License-Identifier: Apache-2.0
"""
Pack ordinary values of the standard library's types, enums, dataclasses and attrs classes, by one form per exact type.

`purepy.msgpack.conversions` and a packer's `default` define what is packed for an object that MessagePack has no type
for. A form is a function that has the same result for ordinary objects of one exact type, in one step and without
running the caller's code. It returns None for an unusual object, for example an object with an attribute of an
unexpected type, or with a time zone that runs other code. So conversions and `default` still handle rare cases and
errors.

This module is imported with the first object that needs a form.
"""

from __future__ import annotations

import sys
from keyword import iskeyword

from purepy.base.pypy import JIT, finish, new_builder, utf8, write_f64, write_i64, write_u32
from purepy.msgpack.conversions import DATACLASS, DATE, DECIMAL, ENUM, SLOT, UUID, field_names
from purepy.msgpack.ext import EPOCH_ORDINAL
from purepy.msgpack.plain_writer import array_header, bin_header, int_bytes, str_header, write_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    import datetime
    from collections.abc import Collection
    from typing import Any, Callable, Final

    from typing_extensions import TypeAlias

    from purepy.msgpack.plain_writer import Form

    Find: TypeAlias = "Callable[[type], Form | None]"

MOST: Final = 1024
"""The largest number of types in a table: the table keeps the types alive until it is cleared."""

TURNS: Final = 1 << 16
"""A full table is cleared after this many look-ups of types that it lacks. Until then they return no form."""

_FEW_MIN: Final = -(1 << 61)
_FEW_MAX: Final = 1 << 61
"""The bounds of ints whose differences fit in signed 64 bits."""

_NATIVE: Final = (str, bytes, bytearray, int, float, list, tuple, dict, memoryview)
"""Types that `Encoder` packs itself: they and their subclasses have no forms."""


class Forms(dict):  # type: ignore[type-arg]
    """A dict from types to their forms under the options of a packer; None for a type without a form."""

    def __init__(self, flags: int, datetime: bool, extensions: Find | None) -> None:
        """
        Store the options: `flags` are as in `convert`; `extensions` finds the forms of types that `default` packs.
        """
        super().__init__()
        self._flags = flags
        self._datetime = datetime
        self._extensions = extensions
        self._last: tuple[type, Form | None] = (type(None), None)
        self._before: tuple[type, Form | None] = self._last
        self._passed = 0

    def find(self, kind: type) -> Form | None:
        """Return the form of a type, a function that packs its objects; None if it has none or the table is full."""
        form: Form | None
        if not JIT:
            form = self[kind]
            return form
        # objects in a list often have one of the two types that came last: comparing them avoids a look-up of 15 ns
        last = self._last
        if last[0] is kind:
            return last[1]
        before = self._before
        if before[0] is kind:
            return before[1]
        form = self[kind]
        self._before, self._last = last, (kind, form)
        return form

    def __missing__(self, kind: type) -> Form | None:
        if len(self) >= MOST:
            self._passed += 1
            if self._passed < TURNS:
                return None
            self._passed = 0
            self.clear()
        form = self[kind] = self._find(kind)
        return form

    def _find(self, kind: type) -> Form | None:
        # While a module is not imported, no object can have one of its types. So nothing is imported here.
        modules = sys.modules
        flags = self._flags
        if issubclass(kind, _NATIVE):
            return None
        if flags & ENUM and "enum" in modules and issubclass(kind, modules["enum"].Enum):
            return _member_form(kind, modules["enum"].Enum) if field_names(kind) is None else None
        names = field_names(kind) if flags & DATACLASS else None
        if names is not None:
            return _pairs_form(kind, names)
        if flags & DATE and is_of(kind, "datetime", "date"):
            return _date_text
        if flags & UUID and is_of(kind, "uuid", "UUID"):
            return _uuid_text
        if flags & DECIMAL and is_of(kind, "decimal", "Decimal"):
            return _decimal_text
        form = None if self._extensions is None else self._extensions(kind)
        if self._datetime and is_of(kind, "datetime", "datetime"):
            return _datetime_form(modules["datetime"].timezone.utc, form)
        return form


_tables: Final[dict[tuple[int, bool, Find | None], Forms]] = {}


def forms_of(flags: int, datetime: bool, extensions: Find | None) -> Forms:
    """Return the table of forms of these options; equal options share one table."""
    key = (flags, datetime, extensions)
    found = _tables.get(key)
    if found is None:
        found = _tables.setdefault(key, Forms(*key))
    return found


def is_of(kind: type, module: str, name: str) -> bool:
    """Return whether a type is the class `name` of a module, without importing the module."""
    found = sys.modules.get(module)
    return found is not None and kind is getattr(found, name, None)


# --- enums and dataclasses --------------------------------------------------------------------------------------------


def _found_in(kind: type, name: str) -> tuple[type | None, object]:
    """Return the class that defines an attribute of a type, and the attribute itself; (None, None) if none does."""
    for base in kind.__mro__:
        if name in base.__dict__:
            return base, base.__dict__[name]
    return None, None


def _is_read_plainly(kind: type) -> bool:
    """
    Return whether a type defines neither `__getattribute__` nor `__getattr__`, which would run to read attributes.
    """
    return _found_in(kind, "__getattribute__")[0] is object and _found_in(kind, "__getattr__")[0] is None


def _member_form(kind: type, base: type) -> Form | None:
    """Return the form of an enum's members; None if reading `value` may run other code than Enum's own."""
    if _found_in(kind, "value")[0] is not base or not _is_read_plainly(kind):
        return None
    return _member


def _text(value: str) -> bytes:
    packed = utf8(value)
    return str_header(len(packed)) + packed


def _member(member: Any) -> bytes | None:
    value = member._value_
    kind = type(value)
    if kind is str:
        return _text(value)
    if kind is int:
        return int_bytes(value) if -0x8000000000000000 <= value <= 0xFFFFFFFFFFFFFFFF else None
    if kind is float:
        return b"\xcb" + write_f64(value)
    if kind is bytes:
        packed: bytes = bin_header(len(value)) + value
        return packed
    return b"\xc0" if value is None else b"\xc3" if value is True else b"\xc2" if value is False else None


def _pairs_form(kind: type, names: tuple[str, ...]) -> Form | None:
    """
    Return the form of a class with fields, which returns (name, value) pairs; None if its attributes may run code.
    """
    if not _is_read_plainly(kind):
        return None
    for name in names:
        found = _found_in(kind, name)[1]
        if type(found) is not SLOT and hasattr(type(found), "__get__"):
            return None
    pairs = [f"({name!r}, {_attribute(name)}), " for name in names]
    kept = "__dataclass_fields__" if hasattr(kind, "__dataclass_fields__") else "__attrs_attrs__"
    namespace: dict[str, Any] = {"fields": getattr(kind, kept)}
    # the decorator may be applied again, and find other fields
    exec(f"def pairs_of(o):\n    return ({''.join(pairs)}) if o.{kept} is fields else None", namespace)
    made: Form = namespace["pairs_of"]
    return made


def _attribute(name: str) -> str:
    """Return the source of an expression that reads the attribute `name` of the variable `o`."""
    is_plain = name.isascii() and name.isidentifier() and not iskeyword(name)
    return f"o.{name}" if is_plain else f"getattr(o, {name!r})"


# --- times ------------------------------------------------------------------------------------------------------------


def _datetime_form(utc: datetime.tzinfo, naive: Form | None) -> Form:
    """
    Return the form of datetimes: a datetime in UTC becomes a timestamp, one without a time zone `naive(value)`.

    The form returns None for other time zones, and for a datetime without a time zone if `naive` is None. `utc` is the
    only time zone object that counts as UTC.
    """

    def form(value: datetime.datetime) -> object:
        zone = value.tzinfo
        if zone is utc:
            return _timestamp(value)
        return naive(value) if zone is None and naive is not None else None

    return form


def _timestamp(value: datetime.datetime) -> bytes:
    """Return the packed extension value (code -1) of a time in UTC, with the data that `Timestamp.to_bytes` returns."""
    days = value.toordinal() - EPOCH_ORDINAL
    seconds = days * 86400 + value.hour * 3600 + value.minute * 60 + value.second
    nanoseconds = value.microsecond * 1000
    if not 0 <= seconds < 1 << 34:
        return b"\xc7\x0c\xff" + write_u32(nanoseconds) + write_i64(seconds)
    if nanoseconds or seconds >> 32:
        return b"\xd7\xff" + write_u32(nanoseconds << 2 | seconds >> 32) + write_u32(seconds & 0xFFFFFFFF)
    return b"\xd6\xff" + write_u32(seconds)


def _iso(value: Any) -> bytes:
    """Return the bytes of isoformat() of a date, or of a time or datetime without a time zone."""
    text: str = value.isoformat()
    return text.encode()


def _hex(packed: bytes) -> bytes:
    """Return the text form of a UUID, encoded, given its 16 bytes."""
    text = packed.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}".encode()


iso_date = iso_time = iso_datetime = _iso
uuid_hex = _hex

if JIT and not TYPE_CHECKING:
    # on PyPy, formatting by `%` and slicing text take as long as ten to thirty of these lines
    _PAIRS: Final = [b"%02d" % number for number in range(100)]
    _DASHED: Final = [b"-" + pair for pair in _PAIRS]
    _MINUTES: Final = [b":" + pair for pair in _PAIRS]
    _HEX: Final = [b"%02x" % number for number in range(256)]

    def iso_date(value):
        year = value.year
        return _PAIRS[year // 100] + _PAIRS[year % 100] + _DASHED[value.month] + _DASHED[value.day]

    def iso_time(value):
        text = _PAIRS[value.hour] + _MINUTES[value.minute] + _MINUTES[value.second]
        fraction = value.microsecond
        if not fraction:
            return text
        return text + b"." + _PAIRS[fraction // 10000] + _PAIRS[fraction // 100 % 100] + _PAIRS[fraction % 100]

    def iso_datetime(value):
        return iso_date(value) + b"T" + iso_time(value)

    def uuid_hex(packed):
        return (
            _HEX[packed[0]] + _HEX[packed[1]] + _HEX[packed[2]] + _HEX[packed[3]] + b"-"
            + _HEX[packed[4]] + _HEX[packed[5]] + b"-" + _HEX[packed[6]] + _HEX[packed[7]] + b"-"
            + _HEX[packed[8]] + _HEX[packed[9]] + b"-" + _HEX[packed[10]] + _HEX[packed[11]] + _HEX[packed[12]]
            + _HEX[packed[13]] + _HEX[packed[14]] + _HEX[packed[15]]
        )  # fmt: skip


def _date_text(value: datetime.date) -> bytes:
    return b"\xaa" + iso_date(value)


# --- UUIDs and Decimals -----------------------------------------------------------------------------------------------


def uuid_bytes(value: Any) -> bytes | None:
    """Return the 16 bytes of a UUID; None for a UUID whose attribute `int` is missing or wrong."""
    number = getattr(value, "int", None)
    return number.to_bytes(16, "big") if type(number) is int and 0 <= number < 1 << 128 else None


def _uuid_text(value: Any) -> bytes | None:
    packed = uuid_bytes(value)
    return None if packed is None else b"\xd9\x24" + uuid_hex(packed)


def _decimal_text(value: Any) -> bytes:
    return _text(str(value))


# --- sets -------------------------------------------------------------------------------------------------------------


def scalars(items: Collection[Any]) -> bytes | None:
    """
    Return the packed array of a set's items, sorted, if all are exactly of type str or all exactly of type int.

    Returns None for other items and for an int that is out of range. An empty set becomes an empty array.
    """
    members = list(items)
    return _few(members) if JIT and 0 < len(members) < 4 else _many(members)


def _many(members: list[Any]) -> bytes | None:
    kind = type(members[0]) if members else None
    if kind is not int and kind is not str:
        return None if members else b"\x90"
    for member in members:
        if type(member) is not kind:
            return None
    members.sort()
    if kind is int and not (members[0] >= -0x8000000000000000 and members[-1] <= 0xFFFFFFFFFFFFFFFF):
        return None
    out = new_builder(64)
    out.append(array_header(len(members)))
    write_run(out, iter(members), kind)
    packed: bytes = finish(out)
    return packed


def _few(members: list[Any]) -> bytes | None:
    """
    Return the packed array of one to three items, sorted, or None, as `_many` does.

    Uses no loops and no sort(), which take PyPy longer than the rest.
    """
    first = last = middle = members[0]
    if len(members) > 1:
        last = middle = members[1]
        if len(members) > 2:
            last = members[2]
    kind = type(first)
    if type(middle) is not kind or type(last) is not kind or (kind is not int and kind is not str):
        return None
    if kind is int:
        return _few_ints(first, middle, last, len(members))
    if first > middle:
        first, middle = middle, first
    if middle > last:
        middle, last = last, middle
        if first > middle:
            first, middle = middle, first
    if len(members) == 1:
        return b"\x91" + _text(first)
    if len(members) == 2:
        return b"\x92" + _text(first) + _text(last)
    return b"\x93" + _text(first) + _text(middle) + _text(last)


def _few_ints(first: int, middle: int, last: int, count: int) -> bytes | None:
    """
    Return the packed array of one to three ints, sorted; None if one of them is out of range.

    A single int is given three times; of two ints, the second is given twice. The ints are ordered by arithmetic,
    because PyPy would compile the rest of this function once for each outcome of a comparison.
    """
    if not (_FEW_MIN <= first <= _FEW_MAX and _FEW_MIN <= middle <= _FEW_MAX and _FEW_MIN <= last <= _FEW_MAX):
        return _many([first, middle, last][:count] if count != 2 else [first, last])
    lower = first - middle & first - middle >> 63  # their difference, below 0, if they must change places, else 0
    first, middle = middle + lower, first - lower
    lower = middle - last & middle - last >> 63
    middle, last = last + lower, middle - lower
    lower = first - middle & first - middle >> 63
    first, middle = middle + lower, first - lower
    if count == 1:
        return b"\x91" + int_bytes(first)
    if count == 2:
        return b"\x92" + int_bytes(first) + int_bytes(last)
    return b"\x93" + int_bytes(first) + int_bytes(middle) + int_bytes(last)
