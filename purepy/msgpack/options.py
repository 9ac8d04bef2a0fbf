# SPDX-License-Identifier: Apache-2.0
"""
The options of packing and unpacking: their declarations, their checks, and a decorator for functions that take them.

PyPy's JIT does not optimise `**options` (0.50 us a call instead of 0.13), so each function must name its keywords. The
functions are generated from the declarations below, with a test for calls that use only defaults. An option's name,
type, default and order are declared here and, for the C extension of CPython, in
`ffi_build/msgpack/common/options.c`. A build writes the stub for type checkers, `__init__.pyi`, from the declarations.
DOCUMENTATION holds the text that `help()` and editors show on every backend.
"""

from __future__ import annotations

import sys
from _operator import index  # importing operator itself takes PyPy half a millisecond more

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
    """Do nothing: the signature declares the options of packing."""


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
    """Do nothing: the signature declares the options of unpacking."""


_PACKING_OPTIONS: Final = """\
    default (Callable[[Any], Any] | None): called once with each object that neither a type nor an option covers;
        returns the object to pack instead.
    use_single_float (bool): pack floats in 4 bytes; OverflowError for a float that does not fit.
    autoreset (bool): return the bytes of each call. If false, a Packer collects them (see `Packer.bytes`) until
        `Packer.reset`, and functions return None.
    use_bin_type (bool): if false, pack bytes as str and never use str 8, for readers of the format's first version.
    strict_types (bool): pack only exact types; subclasses and tuples go to `default`.
    datetime (bool): pack aware datetimes as timestamps; naive datetimes go to `default`, or raise ValueError.
    unicode_errors (str | None): error handler for text that is not valid Unicode; None for "strict".
    buf_size (int): accepted for compatibility with `msgpack`, without effect.
    max_depth (int): the deepest nesting of arrays and maps; ValueError beyond it. The same default as for unpacking.
    max_total_bytes (int): the largest packed message, in bytes; LimitError beyond it. -1 for no limit.
    max_total_items (int): the largest number of values in a message (each key, value and container counts 1);
        LimitError beyond it. -1 for no limit.
    sort_keys (bool): order the pairs of each map by the packed bytes of their keys, so that equal objects give equal
        bytes.
    dataclass (bool): pack instances of dataclasses and attrs classes as maps from field names to values.
    date (bool): pack `datetime.date` in ISO format.
    uuid (bool): pack `uuid.UUID` as text.
    enum (bool): pack members of an Enum as their values.
    decimal (bool): pack `decimal.Decimal` as text.
    numpy (bool): pack numpy's bool, int and float scalars as bools and numbers, and numpy arrays and array.array as
        nested arrays."""

_PACKING_ERRORS: Final = """\
Raises TypeError for an object of another type, OverflowError for an int outside -2**63 .. 2**64-1, ValueError for a
length of 2**32 or more, UnicodeEncodeError for text that is not valid Unicode, BufferError for a strided memoryview,
RuntimeError for a container whose size changes while it is packed."""

_UNPACKING_OPTIONS: Final = """\
    object_hook (Callable[[dict[Any, Any]], Any] | None): called with each dict; its result replaces the dict.
    list_hook (Callable[[list[Any]], Any] | None): called with each list (or tuple); its result replaces the list.
    use_list (bool): return arrays as lists; if false, as tuples.
    raw (bool): return str as bytes.
    timestamp (int): the form of timestamps: 0 `Timestamp`, 1 float of seconds, 2 int of nanoseconds, 3 aware UTC
        datetime.
    strict_map_key (bool): allow only str and bytes as map keys; ValueError for other types.
    unicode_errors (str | None): error handler for str that is not UTF-8; None for "strict".
    object_pairs_hook (Callable[[list[tuple[Any, Any]]], Any] | None): like `object_hook`, but called with a list of
        pairs; TypeError if both are given.
    ext_hook (Callable[[int, bytes], Any]): called with the type code and data of each extension value except
        timestamps; by default ExtType, which raises ValueError for negative codes.
    max_str_len (int): the longest str, in bytes; LimitError beyond it, as for the next four. -1 for no limit (Unpacker:
        `max_buffer_size`).
    max_bin_len (int): the longest bin, in bytes; -1 as for str.
    max_array_len (int): the longest array, in items; -1 for the input's size in bytes (Unpacker: `max_buffer_size`).
    max_map_len (int): the longest map, in pairs; -1 for half of what -1 means for arrays.
    max_ext_len (int): the longest data of an extension value, in bytes; -1 as for str.
    max_depth (int): the deepest nesting of arrays and maps; StackError beyond it.
    max_total_items (int): the largest number of values in an object (each key, value and container counts 1);
        LimitError beyond it. -1 for no limit.
    max_total_bytes (int): the largest number of bytes in all str, bin and ext of an object together; LimitError
        beyond it. -1 for no limit.
    tuple_keys (bool): return arrays that are map keys as tuples (with strict_map_key=False).
    bin_view (bool): return bin as read-only memoryviews, without a copy, except in map keys.
    raw_depth (int): return the values inside this many containers undecoded, as `Raw`; -1 to decode all values.
    type (Any): the type of the object, for example a dataclass, or a `cpkg.typed.Decoder`. A value of another type
        raises `cpkg.typed.ValidationError`. Only limits may be combined with a type,
        and nothing with a Decoder; other options raise TypeError."""

_UNPACKING_ERRORS: Final = """\
Raises FormatError for bytes that are not MessagePack, StackError, LimitError, UnicodeDecodeError, ValueError for bad
keys and timestamps, TypeError for map keys that cannot be hashed, and OverflowError for timestamps outside of the range
of datetime. Each has the `offset` of the byte that is wrong. Exceptions of hooks pass unchanged."""

_WHOLE_ERRORS: Final = f"""\
{_UNPACKING_ERRORS}
TruncatedError if the input ends within the object, ExtraData if bytes follow it (`unpacked` holds the object)."""

DOCUMENTATION: Final = {
    "packb": f"""\
Return the packed form of an object (replaces `msgpack.packb`).

Args:
    o (Any): the object to pack.
{_PACKING_OPTIONS}

{_PACKING_ERRORS}""",
    "pack": f"""\
Pack an object and write it to a stream (replaces `msgpack.pack`).

Nothing is written if packing fails. If a raw file accepts only part of the bytes, further calls write the rest; if it
would block, BlockingIOError is raised.

Args:
    o (Any): the object to pack.
    stream (Writable): an object with a method `write(bytes)`.
{_PACKING_OPTIONS}

{_PACKING_ERRORS}""",
    "pack_into": f"""\
Pack an object into a writable buffer and return the offset of its end; write all of it or nothing.

`autoreset` has no effect here.

Args:
    o (Any): the object to pack.
    buffer (Buffer): the buffer to write to. Raises TypeError if it is read-only, and ValueError, with the number of
        bytes that the object needs, if it is too short.
    offset (int): the offset in the buffer to write at, in bytes.
{_PACKING_OPTIONS}

{_PACKING_ERRORS}""",
    "Packer": f"""\
Pack one object after the other with the same options (replaces `msgpack.Packer`).

Args:
{_PACKING_OPTIONS}
    buffer (bytearray | None): a buffer to append the packed bytes to; the methods then return None. A call that
        fails leaves the buffer unchanged.

{_PACKING_ERRORS}
Also raises RuntimeError for a call from within `default`. A `pack()` that fails drops the bytes collected so far.

Threads may share a Packer.""",
    "unpackb": f"""\
Return the one object that a buffer holds (replaces `msgpack.unpackb`).

Args:
    packed (Buffer): the message, a buffer of one-byte items; BufferError for larger items.
{_UNPACKING_OPTIONS}

{_WHOLE_ERRORS}""",
    "unpackb_from": f"""\
Unpack the object at an offset in a buffer; return the object and the offset of its end. Ignore the bytes after it.

Args:
    buffer (Buffer): the buffer that contains the object, of one-byte items; BufferError for larger items.
    offset (int): where the object begins, in bytes. All offsets count from the start of the buffer, also in errors.
{_UNPACKING_OPTIONS}

{_UNPACKING_ERRORS}
TruncatedError if the buffer ends within the object.""",
    "unpack": f"""\
Return the one object that the rest of a stream holds (replaces `msgpack.unpack`).

Args:
    stream (Readable): an object with a method `read() -> bytes`.
{_UNPACKING_OPTIONS}

{_WHOLE_ERRORS}""",
    "Unpacker": f"""\
Unpack objects from a stream of bytes: fed with `feed()`, or read from a file (replaces `msgpack.Unpacker`).

Iterate over the Unpacker, or call `unpack()`, to get the objects. If the stream ends within an object, iteration stops
and `unpack()` raises OutOfData. Both continue with the same method when more bytes are available; until then, another
method that reads raises ValueError. Each byte is read once.

Args:
    file_like (Readable | None): an object with a method `read(size) -> bytes`; None for input from `feed()`.
{_UNPACKING_OPTIONS}
    read_size (int): the number of bytes to request from `file_like` at once; 0 for 1 MiB or `max_buffer_size`,
        whichever is less.
    max_buffer_size (int): the largest number of bytes that may wait to be unpacked; BufferFull beyond it. 0 for
        2**31-1.

{_UNPACKING_ERRORS}
Offsets count from the start of the stream. After an error in the input, the Unpacker is positioned at the invalid
value, within an object. Raises RuntimeError if called from within a hook, or by two threads at once.

After an exception of a hook, or any other that the input did not cause (KeyboardInterrupt, MemoryError), an Unpacker
either resumes exactly where it was, or every call except `tell()` raises a RuntimeError that names the byte where the
incomplete object begins. An exception of the file's `read()` changes nothing.""",
}
"""The documentation of each function and type that takes options, on every backend."""


class Options:
    """
    One set of options: `Values` is the class of named tuples of all options, and `defaults` holds the defaults.

    `kept` names the options with which the fast loops may be used whatever their values: a fast loop honours such an
    option itself, or stops where the option matters and leaves the rest to slower code. If any other option differs
    from its default, the fast loops are not used. So a new option is slow until `kept` names it, but is never ignored.
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
        for place in self._fixed:  # noqa: SIM110 - PyPy's interpreter is slow at all()
            if values[place] is not self.defaults[place]:
                return False
        return True

    def taken_by(
        self, plain: Callable[..., object] | None = None
    ) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
        """
        Return a decorator that replaces the keyword-only parameter `options` by one keyword per option.

        The new function calls the decorated one with the values of the options. If all options have their defaults, it
        calls `plain` instead, if given, without options. Its docstring comes from DOCUMENTATION, or from the decorated
        function if DOCUMENTATION has none.
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
            # PyPy's JIT treats the names in a module's dict as constants
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
        """Return the source of the test for defaults: identity, or an equal int (but not an equal float)."""
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
    # the fast loop leaves other types to `Encoder.write`
    kept="default autoreset strict_types datetime buf_size max_depth dataclass date uuid enum decimal numpy",
)
UNPACKING = Options(
    "UnpackingOptions",
    declare_unpacking,
    # the fast loop leaves extensions, other keys and lengths beyond a limit to `Decoder.read_value`
    kept="timestamp strict_map_key ext_hook tuple_keys max_depth max_str_len max_bin_len max_array_len max_map_len "
    "max_ext_len",
)


_LARGEST: Final = 2**63 - 1


def as_size(name: str, value: SupportsIndex) -> int:
    """
    Return `value`, the value of the argument called `name`, as an int from -2**63 to 2**63-1.

    Raises TypeError unless it is an integer, and OverflowError outside this range, as the compiled backend does.
    """
    if type(value) is int and -_LARGEST - 1 <= value <= _LARGEST:
        return value
    try:
        value = index(value)
    except TypeError:
        if hasattr(type(value), "__index__"):
            raise  # its own __index__ raised this error
        raise TypeError(f"{name} must be an int, not {type(value).__name__}") from None
    if not -_LARGEST - 1 <= value <= _LARGEST:
        # in hexadecimal, because Python raises ValueError for a decimal text of too many digits
        raise OverflowError(f"{name} must be from -2**63 to 2**63-1, not {value:#x}")
    return int(value)


def as_limit(name: str, value: SupportsIndex, default: int = -1) -> int:
    """Return the limit called `name`, as `as_size` does; `default` for -1. Raise ValueError for a value below -1."""
    limit = as_size(name, value)
    if limit < -1:
        raise ValueError(f"{name} must be 0 or more, or -1 for no limit, not {limit}")
    return default if limit == -1 else limit


def as_error_handler(value: object) -> str | None:
    """Return `value`, the option `unicode_errors`; TypeError unless a str or None, ValueError for wrong characters."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f"unicode_errors must be a str or None, not {type(value).__name__}")
    if b"\0" in value.encode():
        raise ValueError("unicode_errors must not contain a null character")
    return value


def hook_attribute(hook: object, name: str) -> Any:
    """
    Return an attribute of a hook, or None; also None unless the hook is a Python function (a Mock has any attribute).
    """
    return getattr(hook, name, None) if type(hook) is type(hook_attribute) else None


def as_count(name: str, value: SupportsIndex) -> int:
    """Return `value`, the value of the argument `name`, as `as_size` does; raise ValueError if it is negative."""
    count = as_size(name, value)
    if count < 0:
        raise ValueError(f"{name} must be 0 or more, not {count}")
    return count
