# SPDX-License-Identifier: Apache-2.0
"""
The options of packing and unpacking: each declared once, what those that are numbers may be, and the functions that
take them.

PyPy's JIT does not look through `**options` (0.50 us a call against 0.13), so each function has to name its keywords.
They are generated from the declarations below, together with the test of whether a call has the defaults alone. Name,
type, default and order of an option are declared here and, for CPython's C, in `ffi_build/msgpack/common/options.c`;
the stub for type checkers, `__init__.pyi`, is written from them by a build. What `help()` and editors show on every
backend is DOCUMENTATION.
"""

from __future__ import annotations

import sys
from _operator import index  # without the rest of operator, which takes PyPy half a millisecond

from purepy.msgpack.ext import ExtType, Fields, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Final, SupportsIndex, TypeVar

    from purepy.base.types import OptionValues

    Result = TypeVar("Result")


def declare_packing(
    *,
    default: Callable[[Any], Any] | None = None,
    use_single_float: bool = False,
    autoreset: bool = True,
    use_bin_type: bool = True,
    strict_types: bool = False,
    datetime: bool = False,
    unicode_errors: str | None = None,
    buf_size: int = 256 * 1024,
    max_depth: int = 1024,
    max_total_bytes: int = -1,
    max_total_items: int = -1,
    sort_keys: bool = False,
    dataclass: bool = False,
    date: bool = False,
    uuid: bool = False,
    enum: bool = False,
    decimal: bool = False,
    numpy: bool = False,
) -> None:
    """Declare the options of packing."""


def declare_unpacking(
    *,
    object_hook: Callable[[dict[Any, Any]], Any] | None = None,
    list_hook: Callable[[list[Any]], Any] | None = None,
    use_list: bool = True,
    raw: bool = False,
    timestamp: int = 0,
    strict_map_key: bool = True,
    unicode_errors: str | None = None,
    object_pairs_hook: Callable[[list[tuple[Any, Any]]], Any] | None = None,
    ext_hook: Callable[[int, bytes], Any] = ExtType,
    max_str_len: int = -1,
    max_bin_len: int = -1,
    max_array_len: int = -1,
    max_map_len: int = -1,
    max_ext_len: int = -1,
    max_depth: int = 1024,
    max_total_items: int = -1,
    max_total_bytes: int = -1,
    tuple_keys: bool = False,
    bin_view: bool = False,
    raw_depth: int = -1,
    type: Any = None,
) -> None:
    """Declare the options of unpacking."""


_PACKING_OPTIONS: Final = """\
    default (Callable[[Any], Any] | None): called once with each object that no type and option here covers; returns
        what to pack instead.
    use_single_float (bool): pack floats in 4 bytes; OverflowError for those that do not fit.
    autoreset (bool): return the bytes of each call. If false, a Packer gathers them (see `Packer.bytes`) until
        `Packer.reset`, and functions return None.
    use_bin_type (bool): if false, pack bytes as str and never use str 8, for readers of the format's first version.
    strict_types (bool): pack exact types alone; subclasses and tuples go to `default`.
    datetime (bool): pack aware datetimes as timestamps; naive ones go to `default`, else ValueError.
    unicode_errors (str | None): error handler for text that is not valid Unicode; None for "strict".
    buf_size (int): a first guess at the size of messages in bytes, for `msgpack`'s sake: it changes nothing.
    max_depth (int): how deep arrays and maps may be nested; deeper is ValueError. Unpacking has the same default.
    max_total_bytes (int): the largest packed message, in bytes; LimitError. -1 for no limit.
    max_total_items (int): the most values in a message, each key, value and container counting 1; LimitError.
    sort_keys (bool): order the pairs of each map by the packed bytes of their keys: equal objects give equal bytes.
    dataclass (bool): pack instances of dataclasses and attrs classes as maps from field names to values.
    date (bool): pack `datetime.date` as its ISO format.
    uuid (bool): pack `uuid.UUID` as its text.
    enum (bool): pack members of an Enum as their values.
    decimal (bool): pack `decimal.Decimal` as its text.
    numpy (bool): pack numpy's bool, int and float scalars as such, its arrays and array.array as nested arrays."""

_PACKING_ERRORS: Final = """\
Raises TypeError for an object of another type, OverflowError for an int outside of -2**63 .. 2**64-1,
ValueError for a length of 2**32 and more, RuntimeError for a container that changes size while it is packed."""

_UNPACKING_OPTIONS: Final = """\
    object_hook (Callable[[dict[Any, Any]], Any] | None): called with each dict; what it returns takes the
        dict's place.
    list_hook (Callable[[list[Any]], Any] | None): called with each list (tuple); likewise.
    use_list (bool): give arrays as lists; if false, as tuples.
    raw (bool): give str as bytes.
    timestamp (int): give timestamps as 0 `Timestamp`, 1 float of seconds, 2 int of nanoseconds, 3 aware UTC
        datetime.
    strict_map_key (bool): refuse keys of other types than str and bytes (ValueError).
    unicode_errors (str | None): error handler for str that is not UTF-8; None for "strict".
    object_pairs_hook (Callable[[list[tuple[Any, Any]]], Any] | None): as `object_hook`, called with a list of
        pairs; TypeError for both.
    ext_hook (Callable[[int, bytes], Any]): called with type code and data of each extension value but timestamps.
    max_str_len (int): the longest str, in bytes; LimitError, as for the next four. -1 for the size of the input
        (Unpacker: for `max_buffer_size`).
    max_bin_len (int): the longest bin, in bytes.
    max_array_len (int): the longest array, in items.
    max_map_len (int): the longest map, in pairs; -1 for half of what it is for the others.
    max_ext_len (int): the longest data of an extension value, in bytes.
    max_depth (int): how deep arrays and maps may be nested; deeper is StackError.
    max_total_items (int): the most values in an object, each key, value and container counting 1; LimitError.
        -1 for no limit.
    max_total_bytes (int): the most bytes in the str, bin and ext of an object together; LimitError. -1 for no
        limit.
    tuple_keys (bool): give arrays that are map keys as tuples (with strict_map_key=False).
    bin_view (bool): give bin as read-only memoryviews, without a copy, except in map keys.
    raw_depth (int): give the values that lie below this many containers undecoded, as `Raw`; -1 for none.
    type (Any): the type that the object has to be of, say a dataclass, or a `cpkg.typed.Decoder`; a value that is
        not of it is a `cpkg.typed.ValidationError`. Of the other options only limits go with it (TypeError)."""

_UNPACKING_ERRORS: Final = """\
Raises FormatError for bytes that are no MessagePack, StackError, LimitError, UnicodeDecodeError, and ValueError for
keys and timestamps; each has the `offset` of the byte that it is about. What hooks raise passes as it is."""

_WHOLE_ERRORS: Final = f"""\
{_UNPACKING_ERRORS}
TruncatedError for input that ends within the object, ExtraData for further bytes (the object is its `unpacked`)."""

DOCUMENTATION: Final = {
    "packb": f"""\
Return the packed form of an object (replaces `msgpack.packb`).

Args:
    o (Any): what to pack.
{_PACKING_OPTIONS}

{_PACKING_ERRORS}""",
    "pack": f"""\
Pack an object and write it to a stream (replaces `msgpack.pack`).

Nothing is written if packing fails. A raw file that takes a part of the bytes is given the rest again; one that
would block is a BlockingIOError.

Args:
    o (Any): what to pack.
    stream (Writable): has `write(bytes)`.
{_PACKING_OPTIONS}

{_PACKING_ERRORS}""",
    "pack_into": f"""\
Pack an object into a writable buffer and return the offset of its end; write all of it or nothing.

`autoreset` changes nothing here.

Args:
    o (Any): what to pack.
    buffer (Buffer): where to; TypeError for a read-only one; ValueError for a short one, which says how many
        bytes the object needs.
    offset (int): how far from the start of the buffer, in bytes.
{_PACKING_OPTIONS}

{_PACKING_ERRORS}""",
    "Packer": f"""\
Pack objects, one after the other, under one set of options (replaces `msgpack.Packer`).

Args:
{_PACKING_OPTIONS}
    buffer (bytearray | None): where to append what is packed; the methods then return None. A call that fails
        leaves it as it was.

{_PACKING_ERRORS}
RuntimeError, too, for a call from within `default`. A `pack()` that fails drops what was gathered.

A Packer may be shared by threads.""",
    "unpackb": f"""\
Return the one object that a buffer holds (replaces `msgpack.unpackb`).

Args:
    packed (Buffer): the message, of one-byte items.
{_UNPACKING_OPTIONS}

{_WHOLE_ERRORS}""",
    "unpackb_from": f"""\
Unpack the object that begins somewhere in a buffer; return it and the offset of its end. Ignore what follows.

Args:
    buffer (Buffer): what the object stands in, of one-byte items.
    offset (int): where it begins, in bytes; those of errors and of the end count from the start of the buffer, too.
{_UNPACKING_OPTIONS}

{_UNPACKING_ERRORS}
TruncatedError for a buffer that ends within the object.""",
    "unpack": f"""\
Return the one object that the rest of a stream holds (replaces `msgpack.unpack`).

Args:
    stream (Readable): has `read() -> bytes`.
{_UNPACKING_OPTIONS}

{_WHOLE_ERRORS}""",
    "Unpacker": f"""\
Unpack objects from a stream of bytes: fed with `feed()`, or read from a file (replaces `msgpack.Unpacker`).

Iterate over it, or call `unpack()`, for the objects. Where the stream ends within an object, iteration stops and
`unpack()` raises OutOfData; both go on when more bytes are there, with the same method. Each byte is read once.

Args:
    file_like (Readable | None): has `read(size) -> bytes`; None for bytes that come with `feed()`.
{_UNPACKING_OPTIONS}
    read_size (int): what to ask of `file_like` at once, in bytes; 0 for 1 MiB (or `max_buffer_size`, if that is
        less).
    max_buffer_size (int): how many bytes may wait to be unpacked; BufferFull. 0 for 2**31-1.

{_UNPACKING_ERRORS}
Offsets count from the start of the stream. After an error of the input the Unpacker stands at the value that is
wrong, within an object. RuntimeError if called from within a hook, or by two threads at once.

After an exception of a hook, or any other that is not the input's (KeyboardInterrupt, MemoryError), either the
stream goes on exactly where it was, or every further call but `tell()` is a RuntimeError that names the byte
where the object begins that was not completed. Those of the file's `read()` change nothing.""",
}
"""What each function and type that takes options shows, on every backend."""


class Options:
    """
    One set of options: `Values` is a named tuple of them all, `defaults` the one of the defaults.

    `kept` are those that the fast loops keep whatever their values are, or leave to other loops where they matter. If
    any other option has not its default, the fast loops must not be used: so an option that nobody thought of is slow,
    and none is skipped.
    """

    def __init__(self, name: str, declaration: Callable[..., None], kept: str) -> None:
        declared: dict[str, object] = declaration.__kwdefaults__ or {}
        self.types = {key: value for key, value in declaration.__annotations__.items() if key in declared}
        getters = {option: field(place, f"The option {option!r}.") for place, option in enumerate(declared)}
        self.Values: type[OptionValues] = type(
            name, (Fields,), {"__slots__": (), "_fields": tuple(declared), **getters}
        )
        self.defaults: OptionValues = self.Values(declared.values())
        self._fixed = [place for place, option in enumerate(declared) if option not in kept.split()]

    def are_plain(self, values: OptionValues) -> bool:
        """Return whether the fast loops may be used with these values."""
        for place in self._fixed:  # noqa: SIM110 - what PyPy calls first is interpreted
            if values[place] is not self.defaults[place]:
                return False
        return True

    def taken_by(
        self, plain: Callable[..., object] | None = None
    ) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
        """
        Make a function that takes these options out of one with the keyword-only parameter `options`.

        The result has the options as keywords in the place of `options`, and calls the function with their values.
        Where all of them have their defaults, it calls `plain` instead, if there is one, without options.
        It is documented as DOCUMENTATION has it, or else as the function is.
        """

        def make(general: Callable[..., Result]) -> Callable[..., Result]:
            names = self.defaults._fields
            code = general.__code__
            positional = code.co_varnames[: code.co_argcount]
            own = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
            own = tuple(name for name in own if name != "options")
            defaults = {
                **dict(zip(positional[::-1], (general.__defaults__ or ())[::-1])),
                **(general.__kwdefaults__ or {}),
                **self.defaults._asdict(),
            }
            parameters = [
                f"{name}=_defaults[{name!r}]" if name in defaults else name for name in positional + names + own
            ]
            parameters.insert(len(positional), "*")
            passed = ", ".join([*positional, *(f"{name}={name}" for name in own)])
            lines = [f"def {general.__name__}({', '.join(parameters)}):"]
            if plain is not None:
                lines += [f"    if {self._have_defaults()}:", f"        return _plain({passed})"]
            lines.append(f"    return _general({passed}, options=_new(_Values, ({', '.join(names)})))")
            # the dict of a module: names in it are constants for PyPy's JIT
            module = type(sys)(general.__module__)
            namespace = module.__dict__
            namespace.update(
                _Values=self.Values,
                _defaults=defaults,
                _general=general,
                _new=tuple.__new__,
                _plain=plain,
                _type=type,  # an option has this name
                **{f"_default_{name}": value for name, value in self.defaults._asdict().items()},
            )
            exec("\n".join(lines), namespace)
            made: Callable[..., Result] = namespace[general.__name__]
            made.__doc__ = DOCUMENTATION.get(general.__name__, general.__doc__)
            made.__qualname__ = general.__qualname__
            made.__annotations__ = {**general.__annotations__, **self.types}
            made.__annotations__.pop("options", None)
            return made

        return make

    def _have_defaults(self) -> str:
        """Spell the test: identity, or an int that is equal, which a float is not."""
        tests = []
        for name, value in self.defaults._asdict().items():
            if type(value) is int:
                tests.append(f"({name} is _default_{name} or {name} == {value} and _type({name}) is int)")
            else:
                tests.append(f"{name} is {value if value in (None, True, False) else f'_default_{name}'}")
        return " and ".join(tests)


PACKING = Options(
    "PackingOptions",
    declare_packing,
    # types that the fast loop does not know go to `Encoder.write`
    kept="default autoreset strict_types datetime buf_size max_depth dataclass date uuid enum decimal numpy",
)
UNPACKING = Options(
    "UnpackingOptions",
    declare_unpacking,
    # extensions, keys of other types, and lengths that are too large are left to `Decoder.read_value`
    kept="timestamp strict_map_key ext_hook tuple_keys max_depth max_str_len max_bin_len max_array_len max_map_len "
    "max_ext_len",
)


_LARGEST: Final = 2**63 - 1


def as_size(value: SupportsIndex) -> int:
    """Return an int of at most 64 bits, as the compiled backend takes it; TypeError and OverflowError for others."""
    value = index(value)
    if not -_LARGEST - 1 <= value <= _LARGEST:
        raise OverflowError("cannot fit 'int' into an index-sized integer")
    return int(value)


def as_limit(value: SupportsIndex, default: int) -> int:
    """Return a limit, where -1 stands for `default`."""
    length = as_size(value)
    return default if length == -1 else length


def as_error_handler(value: object) -> str | None:
    """Return the name of an error handler for text, or None."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f"unicode_errors must be a str or None, not {type(value).__name__}")
    if b"\0" in value.encode():
        raise ValueError("embedded null character")
    return value


def hook_attribute(hook: object, name: str) -> Any:
    """Return an attribute of a hook, or None. Only functions have them: a Mock has attributes of all names."""
    return getattr(hook, name, None) if type(hook) is type(hook_attribute) else None


def as_depth(value: SupportsIndex) -> int:
    """Return how deep containers may nest."""
    levels = as_size(value)
    if levels < 0:
        raise ValueError(f"max_depth must be 0 or more, not {levels}")
    return levels
