# SPDX-License-Identifier: Apache-2.0
"""
The options of packing and unpacking: each declared once, what those that are numbers may be, and the functions that
take them.

PyPy's JIT does not look through `**options` (0.50 us a call against 0.13), so each function has to name its keywords.
They are generated from the declarations below, together with the test of whether a call has the defaults alone. Name,
type, default and order of an option stand here, in the stub for type checkers (`__init__.pyi`) and, for CPython's C, in
`ffi_build/msgpack/common/options.c`.
"""

from __future__ import annotations

import sys
from _operator import index  # without the rest of operator, which takes PyPy half a millisecond

from purepy._fields import Fields, field
from purepy.msgpack.ext import ExtType
from purepy.msgpack.interface import DOCUMENTATION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Final


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
    """Declare the options of packing; `Packer` documents them."""


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
) -> None:
    """Declare the options of unpacking; `Unpacker` documents them."""


class Options:
    """
    One set of options: `Values` is a named tuple of them all, `defaults` the one of the defaults.

    `kept` are those that the fast loops keep whatever their values are, or leave to other loops where they matter. If
    any other option has not its default, the fast loops must not be used: so an option that nobody thought of is slow,
    and none is skipped.
    """

    def __init__(self, name: str, declaration: Any, kept: str) -> None:
        declared: dict[str, Any] = declaration.__kwdefaults__
        self.types = {key: value for key, value in declaration.__annotations__.items() if key in declared}
        getters = {option: field(place, f"The option {option!r}.") for place, option in enumerate(declared)}
        self.Values: Any = type(name, (Fields,), {"__slots__": (), "_fields": tuple(declared), **getters})
        self.defaults: Any = self.Values(declared.values())
        self._fixed = [place for place, option in enumerate(declared) if option not in kept.split()]

    def are_plain(self, values: Any) -> bool:
        """Return whether the fast loops may be used with these values."""
        for place in self._fixed:  # noqa: SIM110 - what PyPy calls first is interpreted
            if values[place] is not self.defaults[place]:
                return False
        return True

    def taken_by(self, plain: Callable[..., Any] | None = None) -> Callable[[Any], Any]:
        """
        Make a function that takes these options out of one with the keyword-only parameter `options`.

        The result has the options as keywords in the place of `options`, and calls the function with their values.
        Where all of them have their defaults, it calls `plain` instead, if there is one, without options.
        It is documented as the function, or as DOCUMENTATION has it, where it says nothing.
        """

        def make(general: Any) -> Any:
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
                **{f"_default_{name}": value for name, value in self.defaults._asdict().items()},
            )
            exec("\n".join(lines), namespace)
            made = namespace[general.__name__]
            made.__doc__ = general.__doc__ or DOCUMENTATION.get(general.__name__)
            made.__qualname__ = general.__qualname__
            made.__annotations__ = {**general.__annotations__, **self.types}
            made.__annotations__.pop("options", None)
            return made

        return make

    def _have_defaults(self) -> str:
        """Spell the test: equality for integers, identity for what there is one object of."""
        tests = []
        for name, value in self.defaults._asdict().items():
            if type(value) is int:
                tests.append(f"{name} == {value}")
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


def as_size(value: Any) -> int:
    """Return an int of at most 64 bits, as the compiled backend takes it; TypeError and OverflowError for others."""
    value = index(value)
    if not -_LARGEST - 1 <= value <= _LARGEST:
        raise OverflowError("cannot fit 'int' into an index-sized integer")
    return int(value)


def as_limit(value: Any, default: int) -> int:
    """Return a limit, where -1 stands for `default`."""
    length = as_size(value)
    return default if length == -1 else length


def as_error_handler(value: Any) -> str | None:
    """Return the name of an error handler for text, or None."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f"unicode_errors must be a str or None, not {type(value).__name__}")
    if b"\0" in value.encode():
        raise ValueError("embedded null character")
    return value


def as_depth(value: Any) -> int:
    """Return how deep containers may nest."""
    levels = as_size(value)
    if levels < 0:
        raise ValueError(f"max_depth must be 0 or more, not {levels}")
    return levels
