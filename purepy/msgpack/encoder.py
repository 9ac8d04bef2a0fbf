# SPDX-License-Identifier: Apache-2.0
"""
Pack objects, under every option.

`Encoder.encode` packs a message. If no option changes how built-in types are packed, it calls `write_plain`, otherwise
`Encoder.write`. `write_plain` calls `write` for objects of other types, but `write` never calls `write_plain`. So
nothing recurses: open containers wait on a stack, and only `max_depth` bounds their depth.
"""

from __future__ import annotations

import sys
from _operator import index
from _thread import get_ident

from purepy.base.lazy import Later, imported
from purepy.base.locks import Lock
from purepy.base.pypy import finish, new_builder, utf8, write_f32, write_f64, write_u16, write_u32
from purepy.msgpack.builders import Metered, Sorted, unmetered
from purepy.msgpack.conversions import NOT_CONVERTED, Singles, conversion_flags, convert
from purepy.msgpack.ext import ExtType, Raw, Timestamp, readable_timestamp
from purepy.msgpack.formats import MAX_LENGTH, TIMESTAMP_CODE
from purepy.msgpack.options import PACKING, as_count, as_error_handler, as_limit, hook_attribute
from purepy.msgpack.plain_writer import (
    array_header,
    bin_header,
    changed,
    int_bytes,
    map_header,
    str_header,
    write_plain,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Callable, Final

    from typing_extensions import TypeAlias

    from purepy.base.types import Builder, OptionValues, Value
    from purepy.msgpack import forms as packing_forms
    from purepy.msgpack.plain_writer import Form

    # An open container: (the part that it writes next, its items, the number of items written, the number of all
    # items, the value of the current key, the pairs that wait to be sorted).
    Frame: TypeAlias = tuple[int, Iterator[object], int, int, object, Sorted | None]

else:
    packing_forms = Later("purepy.msgpack.forms")

if sys.version_info >= (3, 15):
    from builtins import frozendict

    _DICTS: Final[tuple[type, ...]] = (dict, frozendict)
else:
    _DICTS: Final[tuple[type, ...]] = (dict,)

_LARGEST_HINT: Final = 1 << 20
_LARGE: Final = 4096
_END: Final = object()

_HEAP_TYPE: Final = 1 << 9
_IMMUTABLE_TYPE: Final = 1 << 8
"""Flags of types: heap type (created at run time, in Python or by newer C modules); immutable from Python."""

# What an open container writes next.
_ITEM: Final = 0
_KEY: Final = 1
_VALUE: Final = 2


def content(buffer: bytes | bytearray) -> bytes:
    """Return the bytes of a bytes object or bytearray, even if a subclass overrides `__bytes__`."""
    with memoryview(buffer) as view:  # released at once: PyPy 8 frees a view only at the next garbage collection
        return view.tobytes()


def sequence(obj: Value, kind: type) -> tuple[int, object]:
    """Return the length and the items of an instance of a list or tuple subclass, as its iterator yields them."""
    base = list if issubclass(kind, list) else tuple
    if kind.__iter__ is base.__iter__:  # type: ignore[attr-defined]
        return base.__len__(obj), base.__iter__(obj)
    items = list(obj)
    return len(items), items


def ext_header(code: int, length: int) -> bytes:
    """
    Return the header of an extension value with `length` bytes of data.

    Raises OverflowError for a code outside -128..127, and ValueError for a length of 2**32 or more.
    """
    if not -0x80 <= code <= 0x7F:
        raise OverflowError("ext type code must be in -128..127")
    kind = bytes((code & 0xFF,))
    if length in (1, 2, 4, 8, 16):
        return bytes((0xD3 + length.bit_length(),)) + kind
    if length <= 0xFF:
        return bytes((0xC7, length)) + kind
    if length <= 0xFFFF:
        return b"\xc8" + write_u16(length) + kind
    if length > MAX_LENGTH:
        raise ValueError("EXT data is too large")
    return b"\xc9" + write_u32(length) + kind


def _old_raw_header(length: int) -> bytes:
    """Return the header of bytes or text in the first version of the format, which has neither bin nor str 8."""
    return str_header(length) if length <= 0x1F or length > 0xFF else b"\xda" + write_u16(length)


def _double(value: float) -> bytes:
    return b"\xcb" + write_f64(value)


def _single(value: float) -> bytes:
    return b"\xca" + write_f32(value)


def _type_name(kind: type) -> str:
    """Return a type's name as msgpack and C show it: with its module, unless it is a class defined in Python."""
    module = kind.__module__
    from_python = kind.__flags__ & _HEAP_TYPE and not kind.__flags__ & _IMMUTABLE_TYPE
    # PyPy implements these two modules in Python
    if module == "builtins" or (from_python and module not in ("datetime", "decimal")):
        return kind.__name__
    return f"{module}.{kind.__name__}"


def _is_datetime(kind: type) -> bool:
    """Return whether a type is datetime.datetime, without importing datetime: no such object exists before that."""
    module = sys.modules.get("datetime")
    return module is not None and kind is module.datetime


class Encoder:
    """
    Pack objects under the options of a Packer.

    Besides the options, an Encoder keeps a guess at the next message's size, the forms of types (found at the first
    use), and the locks that show which threads are within a hook.
    """

    __slots__ = (
        "any_plain",
        "bin_header",
        "conversions",
        "datetime",
        "default",
        "find_form",
        "form",
        "forms",
        "hooked",
        "max_depth",
        "max_total_bytes",
        "max_total_items",
        "size_hint",
        "sort_keys",
        "str_header",
        "strict",
        "unicode_errors",
        "use_bin_type",
        "write_float",
    )

    def __init__(self, options: OptionValues) -> None:
        """Check and store the values of PACKING; raise TypeError, ValueError or OverflowError for wrong ones."""
        if options.default is not None and not callable(options.default):
            raise TypeError("default must be a callable.")
        self.default = options.default
        self.use_bin_type = bool(options.use_bin_type)
        self.str_header = str_header if self.use_bin_type else _old_raw_header
        self.bin_header = bin_header if self.use_bin_type else _old_raw_header
        self.write_float = _single if options.use_single_float else _double
        self.strict = bool(options.strict_types)
        self.datetime = bool(options.datetime)
        self.unicode_errors = as_error_handler(options.unicode_errors)
        self.max_depth = as_count("max_depth", options.max_depth)
        self.max_total_bytes = as_limit("max_total_bytes", options.max_total_bytes)
        self.max_total_items = as_limit("max_total_items", options.max_total_items)
        self.sort_keys = bool(options.sort_keys)
        self.conversions = conversion_flags(options)
        self.any_plain = PACKING.are_plain(options)
        # finds the forms of objects that `default` packs
        self.find_form: packing_forms.Find | None = hook_attribute(options.default, "find_form")
        self.forms: packing_forms.Forms | None = None
        has_forms = bool(self.conversions or self.datetime or self.find_form is not None)
        self.form: Form | None = self.form_of if has_forms else None
        self.size_hint = 64
        self.hooked: dict[int, Lock] = {}  # for each thread, a lock held while `default` or a conversion runs there

    def encode(self, obj: object) -> bytes:
        """Return the packed form of one object."""
        if type(obj) is bytes and len(obj) >= _LARGE and self.any_plain:
            return bin_header(len(obj)) + obj  # a builder would copy the bytes twice
        out = new_builder(self.size_hint)
        if self.any_plain:
            write_plain(out, obj, 0, self.max_depth, list if self.strict else tuple, self.write, self.form)
        else:
            self.write(self._metered(out), obj, 0)
        return self._finish(out)

    def encode_pairs(self, pairs: object) -> bytes:
        """Return the packed form of a map that is given as a sequence of pairs."""
        out = new_builder(self.size_hint)
        self.write(self._metered(out), pairs, 0, pairs=True)
        return self._finish(out)

    def _metered(self, out: Builder) -> Builder:
        if self.max_total_bytes < 0 and self.max_total_items < 0:
            return out
        metered = Metered(out, self.max_total_bytes, self.max_total_items)
        metered.count(1)
        return metered

    def _finish(self, out: Builder) -> bytes:
        packed: bytes = finish(out)
        self.size_hint = min(len(packed), _LARGEST_HINT)
        return packed

    def write(self, out: Builder, obj: Value, depth: int, pairs: bool = False) -> None:
        """
        Append the packed form of any object, which is inside `depth` containers.

        `pairs`: the object is a sequence of pairs to pack as a map.
        """
        strict = self.strict
        stack: list[Frame] = []
        next_ = _ITEM
        items: Iterator[object] = iter((obj,))
        count, length = 0, 1
        value: object = None
        sorter: Sorted | None = None
        while True:
            if next_ == _VALUE:
                if sorter is not None:
                    sorter.key = b"".join(unmetered(out))
                    out = sorter.part()
                obj = value
                next_ = _KEY
            else:
                if sorter is not None and count:
                    sorter.pairs.append((sorter.key, unmetered(out)))
                obj = next(items, _END)
                if obj is _END:
                    if count != length:
                        raise changed("list" if next_ == _ITEM else "dictionary")
                    if sorter is not None:
                        sorter.write()
                        out = sorter.out
                    if not stack:
                        return
                    next_, items, count, length, value, sorter = stack.pop()
                    continue
                count += 1
                if count > length:
                    raise changed("list" if next_ == _ITEM else "dictionary")
                if next_ == _KEY:
                    obj, value = obj
                    next_ = _VALUE
                    if sorter is not None:
                        out = sorter.part()
            asked = converted = False
            while True:
                kind = type(obj)
                if pairs:
                    pairs = False
                    family, obj = _KEY, (len(obj), obj)
                elif obj is None:
                    out.append(b"\xc0")
                    break
                elif obj is True:
                    out.append(b"\xc3")
                    break
                elif obj is False:
                    out.append(b"\xc2")
                    break
                elif kind is str or (not strict and issubclass(kind, str)):
                    self.write_str(out, obj, kind)
                    break
                elif kind is int or (not strict and issubclass(kind, int)):
                    number = obj if kind is int else int.__add__(obj, 0)
                    if -0x8000000000000000 <= number <= 0xFFFFFFFFFFFFFFFF:
                        out.append(int_bytes(number))
                        break
                    if self.default is None or asked:
                        raise OverflowError("Integer value out of range")
                    obj, asked, converted = self.ask_default(obj), True, False
                    continue
                elif kind is float or (not strict and issubclass(kind, float)):
                    out.append(self.write_float(obj))
                    break
                elif kind is dict or (kind in _DICTS if strict else issubclass(kind, _DICTS)):
                    family, obj = _KEY, (len(obj), obj.items())
                elif kind is list or (not strict and kind is tuple):
                    family, obj = _ITEM, (len(obj), obj)
                elif not strict and issubclass(kind, (list, tuple)) and not issubclass(kind, ExtType):
                    family, obj = _ITEM, sequence(obj, kind)
                elif kind is Singles:
                    self.write_singles(out, obj, depth + len(stack))
                    break
                elif not self.write_special(out, obj, kind):
                    obj, asked, converted = self.replace(obj, kind, asked, converted)
                    continue
                else:
                    break
                # a container: `obj` is its length and an iterable of its items
                if depth + len(stack) >= self.max_depth:
                    raise ValueError("recursion limit exceeded.")
                stack.append((next_, items, count, length, value, sorter))
                next_ = family
                count, length = 0, obj[0]
                items = iter(obj[1])
                value = None
                out.append(array_header(length) if family == _ITEM else map_header(length))
                if type(out) is Metered:
                    out.count(length if family == _ITEM else 2 * length)
                sorter = Sorted(out) if self.sort_keys and family == _KEY else None
                break

    def form_of(self, obj: object) -> object:
        """
        Return the result of the form of an object's type: packed bytes, (name, value) pairs, or None.

        Also returns None if the type has no form.
        """
        forms = self.forms
        if forms is None:
            forms = self.forms = packing_forms.forms_of(self.conversions, self.datetime, self.find_form)
        form = forms.find(type(obj))
        return None if form is None else form(obj)

    def write_str(self, out: Builder, text: str, kind: type) -> None:
        """Append a packed str; `kind` is its type, str or a subclass."""
        if self.unicode_errors is not None:
            packed = str.encode(text, "utf-8", self.unicode_errors)
        else:
            packed = utf8(text) if kind is str else str.encode(text)
        out.append(self.str_header(len(packed)))
        out.append(packed)

    def write_special(self, out: Builder, obj: Value, kind: type) -> bool:
        """
        Append a bytes, bytearray, memoryview, ExtType, Timestamp, Raw or (with the option `datetime`) aware datetime.

        Without `strict_types`, also subclasses of bytes, bytearray and ExtType. Returns False for any other object.
        """
        strict = self.strict
        if kind is bytes or kind is bytearray or (not strict and issubclass(kind, (bytes, bytearray))):
            packed = obj if kind is bytes else content(obj)
            out.append(self.bin_header(len(packed)))
            out.append(packed)
        elif kind is ExtType or (not strict and issubclass(kind, ExtType)):
            code, data = index(obj.code), obj.data
            if not issubclass(type(data), bytes):
                raise TypeError(f"ExtType data must be bytes, not {type(data).__name__}")
            if type(data) is not bytes:
                data = content(data)
            out.append(ext_header(code, len(data)))
            out.append(data)
        elif kind is Timestamp:
            self.write_timestamp(out, obj)
        elif kind is Raw:
            if type(obj.data) is not bytes:
                raise TypeError(f"Raw data must be bytes, not {type(obj.data).__name__}")
            out.append(obj.data)
        elif kind is memoryview:
            if not obj.c_contiguous:
                raise imported("purepy.base.buffers").not_contiguous(obj)
            out.append(self.bin_header(obj.nbytes))
            out.append(obj.tobytes())
        elif self.datetime and _is_datetime(kind) and obj.tzinfo is not None:
            self.write_timestamp(out, readable_timestamp(obj))
        else:
            return False
        return True

    def write_singles(self, out: Builder, numbers: Singles, depth: int) -> None:
        """Append an array of floats of 4 bytes; ValueError if an array at this depth exceeds `max_depth`."""
        if depth >= self.max_depth:
            raise ValueError("recursion limit exceeded.")
        out.append(array_header(len(numbers)))
        if type(out) is Metered:
            out.count(len(numbers))
        numbers.write(out.append)

    def write_timestamp(self, out: Builder, timestamp: Timestamp) -> None:
        """Append a Timestamp as an extension value with code -1."""
        packed = timestamp.to_bytes()
        out.append(ext_header(TIMESTAMP_CODE, len(packed)))
        out.append(packed)

    def replace(self, obj: object, kind: type, asked: bool, converted: bool) -> tuple[object, bool, bool]:
        """
        Return the object to pack instead of `obj`, and the new values of `asked` and `converted`.

        Tries the conversions of the options unless `converted`, then `default` unless `asked`. `asked` is whether
        `default` was called; `converted` is whether an option has converted the object or, after the call, its result.
        If neither gives an object, raises ValueError for a naive datetime with the option `datetime`, else TypeError.
        """
        if self.conversions and not converted:
            replacement = self.hook(convert, self.conversions, obj)
            if replacement is not NOT_CONVERTED:
                return replacement, asked, True
        if self.default is not None and not asked:
            return self.ask_default(obj), True, False
        if self.datetime and _is_datetime(kind):
            raise ValueError(f"can not serialize '{_type_name(kind):.200}' object where tzinfo=None")
        raise TypeError(f"can not serialize '{_type_name(kind):.200}' object")

    def ask_default(self, obj: object) -> object:
        """Return the result of `default` for an object."""
        return self.hook(self.default, obj)

    def hook(self, function: Callable[..., object], *args: object) -> object:
        """Return function(*args), which may run the user's code; meanwhile this thread counts as within a hook."""
        thread = get_ident()
        lock = self.hooked.get(thread)
        if lock is None or lock.locked():
            self.hooked[thread] = lock = Lock()
        with lock:
            result = function(*args)
            return result

    def is_within_hook(self) -> bool:
        """Return whether this thread is within a hook."""
        lock = self.hooked.get(get_ident())
        return lock is not None and lock.locked()
