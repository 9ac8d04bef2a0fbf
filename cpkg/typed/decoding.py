# SPDX-License-Identifier: Apache-2.0
"""
Functions that decode one type each, written for it: straight from bytes, with the next key guessed.

The source of a function appears in tracebacks under the file name `<cpkg.typed NAME>`. An object is read in the order
of its fields by the first function, which hands on to a second one, that takes any order, where a key is another one;
each is compiled when it is first called. The functions know that something is wrong, not what: they raise, and
`cpkg.typed.walker` finds out. They may read behind the end of a message, where PADDING follows.
"""

from __future__ import annotations

import keyword
import linecache
import struct
import sys
from array import array
from contextlib import nullcontext
from itertools import count

from cpkg.typed.annotations import unique_keys
from cpkg.typed.nodes import ARRAY, BIN, BOOL, EXT, FLOAT, INT, MAP, MISSING, NIL, STR, TEXT_KINDS
from cpkg.typed.walker import Message, Walker
from purepy._jit import JIT, read_f32, read_f64, read_u16, read_u32, utf8
from purepy.errors import CodecError, FormatError
from purepy.msgpack.formats import LENGTH_BYTES, LENGTHS
from purepy.msgpack.plain_reader import NUMBERS
from purepy.msgpack.plain_writer import str_header

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from cpkg.typed.nodes import Family, Hook, Node
    from purepy._types import Named

PADDING: Final = b"\xc1" * 24
"""What stands behind a message: no value begins with this byte, and the longest guess of a key stays within."""

_WORDS: Final = JIT and sys.byteorder == "little"
"""Keys are compared as numbers of eight bytes, which a JIT makes one load of; slices take CPython less time."""

_MANY: Final = 100
"""Objects of more fields are read in any order alone."""
_INLINED: Final = 6
_NESTED: Final = 6
"""So many objects, so deep in each other, are read by one function; more have their own."""


class Mismatch(Exception):
    """A message is not what the type asks for."""


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
    """Return where the content of a str or bin begins and ends; `first` is the byte of its shortest long format."""
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
    """Return what reads the header of an array or map: `short` is its first byte if it is empty, `long` in 3 bytes."""

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


def skip(d: bytes, p: int) -> int:
    """Return where the value at a position ends."""
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


def read_run(d: bytes, p: int, count: int, formats: str) -> tuple[list[int] | list[float] | None, int]:
    """
    Return as many numbers that are all of one format, and where they end; None if they are not.

    `formats` has the type codes of the arrays that serve.
    """
    first = d[p]
    if first < 0x80 and "B" in formats:
        found = d[p : p + count]  # where PADDING is reached, it is no ASCII
        return (list(found), p + count) if found.isascii() else (None, p)
    code = "dBHIQbhiq"[first - 0xCB] if 0xCB <= first <= 0xD3 else " "
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
    return numbers.tolist(), end


_RUNS: Final[dict[str, str]] = {} if JIT else {"int": "BHIQbhiq", "float": "d"}
"""What `read_run` reads at once, by the kind of item; a JIT's loops need no help."""
_SHORTEST_RUN: Final = 4

_HELPERS: Final = {
    "MISSING": MISSING,
    "Mismatch": Mismatch,
    "new": object.__new__,
    "read_array": read_array,
    "read_bytes": read_bytes,
    "read_f64": read_f64,
    "read_float": read_float,
    "read_int": read_int,
    "read_map": read_map,
    "read_run": read_run,
    "read_str": read_str,
    "skip": skip,
    "unpack_from": struct.unpack_from,
}
_TESTS: Final[dict[Family, str]] = {
    NIL: "b == 0xC0",
    BOOL: "b == 0xC2 or b == 0xC3",
    INT: "b < 0x80 or b >= 0xE0 or 0xCC <= b <= 0xD3",
    FLOAT: "b == 0xCB or b == 0xCA",
    STR: "0xA0 <= b < 0xC0 or 0xD9 <= b <= 0xDB",
    BIN: "0xC4 <= b <= 0xC6",
    ARRAY: "0x90 <= b < 0xA0 or b == 0xDC or b == 0xDD",
    MAP: "0x80 <= b < 0x90 or b == 0xDE or b == 0xDF",
}
"""Whether the first byte of a value, `b`, is of a family."""


class Functions:
    """The functions of one decoder, made as they are needed."""

    def __init__(self, untyped: Callable[[bytes, int, int], tuple[object, int]], hook: Hook | None) -> None:
        self.untyped = untyped  # (data, position, depth) -> value and where it ends
        self.hook = hook
        self.namespace: dict[str, Named] = {"__name__": __name__, **_HELPERS}
        self._names: dict[tuple[str, int], str] = {}
        self._numbers = count()  # threads that need a name at once get different ones
        self._kept: list[object] = []  # what the names are for, whose ids must stay theirs
        self.loops: set[int] = set()  # ids of types that have functions of their own: no type holds itself without one

    def root(self, node: Node) -> Callable[[bytes, int], tuple[object, int]]:
        """Return the function (data, depth) that decodes a type; data is padded."""
        self.loops = node.loops()
        source = _Source(self)
        name = f"decode_{_identifier(node.name)}"
        source.line(f"def {name}(d, depth):")
        with source:
            source.line("p = 0")
            source.value(node, "value", 0, own=True)
            source.line("return value, p")
        return source.compile(name, self.namespace)

    # --- names ----------------------------------------------------------------------------------------------------

    def _name(self, role: str, of: object, prefix: str, make: Callable[[str], object]) -> str:
        """Return the name of what stands for an object in a role; `make(name)` makes it."""
        name = self._names.get((role, id(of)))
        if name is None:
            name = f"{prefix}_{next(self._numbers)}"
            self._kept.append(of)
            self.namespace[name] = make(name)
            self._names[role, id(of)] = name  # last: an interrupt leaves no name without what it is for
        return name

    def _lazy(self, role: str, node: Node, prefix: str, write: Callable[[_Source, Node, str], None]) -> str:
        """Return the name of a function that is written and compiled when it is first called."""

        def make(name: str) -> object:
            def compile_first(*args: object) -> object:
                if self.namespace[name] is compile_first:  # another thread may have been here
                    source = _Source(self)
                    write(source, node, name)
                    source.compile(name, self.namespace)
                return self.namespace[name](*args)

            return compile_first

        return self._name(role, node, f"{prefix}_{_identifier(node.name)}", make)

    def constant(self, prefix: str, value: object) -> str:
        """Return a name for an object."""
        return self._name(prefix, value, prefix, lambda _: value)

    # --- functions ------------------------------------------------------------------------------------------------

    def value_function(self, node: Node) -> str:
        return self._lazy("value", node, "decode", self._write_array if node.array_like else self._write_value)

    def _write_value(self, source: _Source, node: Node, name: str) -> None:
        source.line(f"def {name}(d, p, depth):")
        with source:
            source.value(node, "value", 0, own=True)
            source.line("return value, p")

    def rest_function(self, node: Node) -> str:
        return self._lazy("rest", node, "decode_any_order", self._write_rest)

    def _write_rest(self, source: _Source, node: Node, name: str) -> None:
        """Write the function that reads fields in any order, and adds those that are not there."""
        fields = node.fields
        given = "".join([f", f{index}=MISSING" for index in range(len(fields))])
        order = self.constant("order", {field.key: index for index, field in enumerate(fields)})
        source.line(f"def {name}(d, p, depth, left{given}):")
        with source:
            source.refuse("depth < 1")
            source.line("while left:")
            with source:
                source.line("left -= 1")
                source.line("key, p = read_str(d, p)")
                source.line(f"index = {order}.get(key, -1)")
                test = "if"
                for index, field in enumerate(fields):
                    source.line(f"{test} index == {index}:")
                    with source:
                        source.value(field.node, f"f{index}", 1)
                    test = "elif"
                if fields:
                    source.line("else:")
                source.line(("    " if fields else "") + ("raise Mismatch" if node.forbid else "p = skip(d, p)"))
            self._write_defaults(source, node)
            source.build(node, "value", "f")
            source.line("return value, p")

    def _write_array(self, source: _Source, node: Node, name: str) -> None:
        """Write the function of an object that is an array."""
        fields = node.fields
        least = sum(field.required for field in fields)
        source.line(f"def {name}(d, p, depth):")
        with source:
            source.refuse("depth < 1")
            source.line("left, p = read_array(d, p)")
            fixed = node.forbid or node.style == "namedtuple"
            source.refuse(f"left < {least}{f' or left > {len(fields)}' if fixed else ''}")
            for index, field in enumerate(fields):
                if index >= least:
                    source.line(f"if left <= {index}:")
                    source.line(f"    f{index} = MISSING")
                    source.line("else:")
                    with source:
                        source.value(field.node, f"f{index}", 1)
                else:
                    source.value(field.node, f"f{index}", 1)
            if not fixed:
                source.line(f"for _ in range(left - {len(fields)}):")
                source.line("    p = skip(d, p)")
            self._write_defaults(source, node, least)
            source.build(node, "value", "f")
            source.checks(node, "value")
            source.line("return value, p")

    def _write_defaults(self, source: _Source, node: Node, begin: int = 0) -> None:
        for index, field in enumerate(node.fields[begin:], begin):
            if field.required:
                source.refuse(f"f{index} is MISSING")
            elif field.factory is not None:
                source.line(f"if f{index} is MISSING:")
                source.line(f"    f{index} = {self.constant('factory', field.factory)}()")
            elif field.default is not MISSING:
                source.line(f"if f{index} is MISSING:")
                source.line(f"    f{index} = {self.constant('default', field.default)}")

    # --- what is not written out ----------------------------------------------------------------------------------

    def walk(self, node: Node) -> str:
        """Return the name of a function (data, position, depth) that leaves a type to the walker."""

        def read(d: bytes, p: int, depth: int) -> tuple[object, int]:
            message = Message(d)
            value = self.walker(message).walk(node, p, (), depth)
            return value, message.end

        return self._name("walk", node, f"read_{_identifier(node.name)}", lambda _: read)

    def walker(self, message: Message, **options: bool) -> Walker:
        """Return a walker over a message."""

        def untyped(at: int, depth: int) -> object:
            try:
                value, message.end = self.untyped(message.data, at, depth)
            except CodecError:
                raise
            except (ValueError, OverflowError, TypeError) as exc:
                # bad UTF-8, bad keys and times beyond year 9999, as `loads` has them
                offset = getattr(exc, "offset", at)
                error = FormatError(f"{exc} (in the object at byte {offset})")
                error.offset = offset
                raise error from exc
            return value

        return Walker(message, untyped, hook=self.hook, **options)

    def chooser(self, union: Node) -> str:
        """Return the name of a function (data, position) that finds which object of a union a map is."""
        if union.tag is None:
            order = [(index, unique) for index, (_, unique) in enumerate(unique_keys(union))]

            def choose(d: bytes, p: int) -> int:
                keys = Message(d).keys(p).keys()
                return next((index for index, unique in order if unique <= keys), len(order) - 1)
        else:
            key, values = union.tag
            packed = packed_key(key)
            numbers = {value: union.objects.index(node) for value, node in values.items()}
            texts = {packed_key(value): number for (of, value), number in numbers.items() if of is str}

            def choose(d: bytes, p: int) -> int:
                first = d.startswith(packed, p + 1) and d[p] < 0x90
                at = p + 1 + len(packed) if first else Message(d).keys(p)[key]
                number = texts.get(d[at : at + (d[at] & 31) + 1], -1)
                if number >= 0:
                    return number
                value = Message(d).look(at)[1]
                return numbers[type(value), value]

        return self.constant("choose", choose)


class _Source:
    """The lines of one function."""

    def __init__(self, functions: Functions) -> None:
        self.functions = functions
        self.lines: list[str] = []
        self.indent = 0
        self.objects = 0  # whose fields the function has in variables

    def __enter__(self) -> None:
        self.indent += 1

    def __exit__(self, *error: object) -> None:
        self.indent -= 1

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def refuse(self, test: str) -> None:
        """Write what ends the function where a test is true."""
        self.line(f"if {test}:")
        self.line("    raise Mismatch")

    def compile(self, name: str, namespace: dict[str, Named]) -> Callable[..., Any]:
        text = "\n".join(self.lines) + "\n"
        file = f"<cpkg.typed {name}>"
        exec(compile(text, file, "exec", dont_inherit=True), namespace)
        # without a time, checkcache() keeps the lines
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        function: Callable[..., Any] = namespace[name]
        return function

    def differs(self, packed: bytes) -> str:
        """Return a test that is true unless these bytes follow."""
        size = len(packed)
        if not _WORDS or size > 16:
            return f"d[p:p + {size}] != {packed!r}"
        first = int.from_bytes(packed[:8], "little", signed=size >= 8)
        if size < 8:
            return f"unpack_from('<q', d, p)[0] & {(1 << 8 * size) - 1} != {first}"
        test = f"unpack_from('<q', d, p)[0] != {first}"
        if size > 8:
            test += (
                f" or unpack_from('<q', d, p + {size - 8})[0] != {int.from_bytes(packed[-8:], 'little', signed=True)}"
            )
        return test

    def _object(self, node: Node, to: str, level: int) -> None:
        """Write what reads an object whose keys come in the order of its fields, and hands on where they do not."""
        fields = node.fields
        rest = self.functions.rest_function(node)
        depth = f"depth - {level}" if level else "depth"
        self.refuse(f"depth < {level + 1}")
        if not fields or len(fields) > _MANY:
            self.line("n, p = read_map(d, p)")
            self.line(f"{to}, p = {rest}(d, p, {depth}, n)")
            return
        self.objects += 1
        mine = f"x{self.objects}_"
        self.line("while True:  # once")
        with self:
            for index, field in enumerate(fields):
                key = packed_key(field.key) if index else _header(node) + packed_key(field.key)
                got = "".join([f", {mine}{before}" for before in range(index)])
                value = f"{mine}{index}"
                begin, read, otherwise = self._expected(field.node, key, value, level + 1)
                if begin:
                    self.line(f"if {self.differs(key + begin)}:")
                with self if begin else nullcontext():
                    self.line(f"if {self.differs(key)}:")
                    with self:
                        if not index:
                            self.line("n, p = read_map(d, p)")
                        self.line(f"{to}, p = {rest}(d, p, {depth}, {len(fields) - index if index else 'n'}{got})")
                        self.line("break")
                    self.line(f"p += {len(key)}")
                    if begin:
                        self.line(otherwise)
                    else:
                        self.value(field.node, value, level + 1)
                if begin:
                    self.line("else:")
                    self.line(f"    p += {len(key + begin)}")
                    for line in read:
                        self.line(f"    {line}")
                    self.checks(field.node, value)
            self.build(node, to, mine)
            self.line("break")

    def _expected(self, node: Node, key: bytes, to: str, level: int) -> tuple[bytes, list[str], str]:
        """Return how the value behind a key begins as a rule, or nothing; what reads the rest; what reads another."""
        if node.kind == "float" and not (_WORDS and len(key) > 15):
            return b"\xcb", [f"{to} = read_f64(d, p)[0]", "p += 8"], f"{to}, p = read_float(d, p)"
        texts = packed_texts(node) if len(node.table) == 1 and node.checks is None else {}
        for only, value in texts.items():
            read = f"{to} = {self.functions.constant('only', value)}"
            return only, [read], f"{to}, p = {self.functions.walk(node)}(d, p, depth - {level})"
        return b"", [], ""

    def build(self, node: Node, to: str, fields: str) -> None:
        """Write what makes an object of its fields, which are in variables."""
        functions = self.functions
        cls = functions.constant("class", node.cls)
        given = [(field, f"{fields}{index}") for index, field in enumerate(node.fields)]
        if node.style == "typeddict":
            self.line(f"{to} = {{}}")
            for field, value in given:
                if not field.required:
                    self.line(f"if {value} is not MISSING:")
                self.line(f"{'' if field.required else '    '}{to}[{field.name!r}] = {value}")
        elif node.style == "namedtuple":
            self.line(f"{to} = {cls}({', '.join([value for _, value in given])})")
        elif node.build == "set" and not JIT and not node.cls.__dataclass_params__.frozen:
            # a JIT compiles the constructor with the rest; the interpreter is spared a call
            self.line(f"{to} = new({cls})")
            for field, value in given:
                self.line(f"{to}.{field.name} = {value}")
            if hasattr(node.cls, "__post_init__"):
                self.line(f"{to}.__post_init__()")
        elif all(field.required or field.factory is not None or field.default is not MISSING for field in node.fields):
            self.line(f"{to} = {cls}({', '.join([f'{field.parameter}={value}' for field, value in given])})")
        else:  # the constructor makes some defaults itself
            pairs = "".join([f"({field.parameter!r}, {value}), " for field, value in given])
            self.line(f"{to} = {cls}(**{{name: item for name, item in ({pairs}) if item is not MISSING}})")

    def value(self, node: Node, to: str, level: int, *, own: bool = False) -> None:
        """
        Write what reads a value into a variable, `level` containers below the function's own depth.

        With `own` the function is that of the type.
        """
        write = getattr(self, "_" + node.kind, None)
        many = node.kind == "object" and (self.objects >= _INLINED or level >= _NESTED)
        if write is None:
            self.line(f"{to}, p = {self.functions.walk(node)}(d, p, depth - {level})")
        elif node.array_like or (not own and (many or id(node) in self.functions.loops)):
            self.line(f"{to}, p = {self.functions.value_function(node)}(d, p, depth - {level})")
        else:
            write(node, to, level)
            self.checks(node, to)

    def checks(self, node: Node, value: str) -> None:
        """Write the constraints of a type."""
        checks = node.checks
        if checks is None:
            return
        names = ("gt", ">"), ("ge", ">="), ("lt", "<"), ("le", "<=")
        tests = [
            f"not {value} {sign} {self.functions.constant('bound', getattr(checks, name))}"
            if type(getattr(checks, name)) is not int
            else f"not {value} {sign} {getattr(checks, name)}"
            for name, sign in names
            if getattr(checks, name) is not None
        ]
        if checks.multiple_of is not None:
            tests.append(f"{value} % {self.functions.constant('step', checks.multiple_of)}")
        if checks.min_len is not None:
            tests.append(f"len({value}) < {checks.min_len}")
        if checks.max_len is not None:
            tests.append(f"len({value}) > {checks.max_len}")
        if checks.pattern is not None:
            tests.append(f"{self.functions.constant('search', checks.pattern.search)}({value}) is None")
        if checks.tz is not MISSING:
            tests.append(f"({value}.tzinfo is not None) is not {checks.tz}")
        tests.extend([f"not {self.functions.constant('predicate', item)}({value})" for item in checks.predicates])
        self.refuse(" or ".join(tests))

    # --- one for each kind ----------------------------------------------------------------------------------------

    def _any(self, node: Node, to: str, level: int) -> None:
        untyped = self.functions.constant("untyped", self.functions.untyped)
        self.line(f"{to}, p = {untyped}(d, p, depth - {level})")

    def _none(self, node: Node, to: str, level: int) -> None:
        self.refuse("d[p] != 0xC0")
        self.line(f"{to} = None")
        self.line("p += 1")

    def _bool(self, node: Node, to: str, level: int) -> None:
        self.line("b = d[p]")
        self.line("if b == 0xC3:")
        self.line(f"    {to} = True")
        self.line("elif b == 0xC2:")
        self.line(f"    {to} = False")
        self.line("else:")
        self.line("    raise Mismatch")
        self.line("p += 1")

    def _int(self, node: Node, to: str, level: int) -> None:
        self.line("b = d[p]")
        self.line("if b < 0x80:")
        self.line(f"    {to} = b")
        self.line("    p += 1")
        self.line("elif b == 0xCD:")
        self.line(f"    {to} = d[p + 1] << 8 | d[p + 2]")
        self.line("    p += 3")
        self.line("elif b == 0xCE:")
        self.line(f"    {to} = d[p + 1] << 24 | d[p + 2] << 16 | d[p + 3] << 8 | d[p + 4]")
        self.line("    p += 5")
        self.line("else:")
        self.line(f"    {to}, p = read_int(d, p)")

    def _float(self, node: Node, to: str, level: int) -> None:
        self.line("if d[p] == 0xCB:")
        self.line(f"    {to} = read_f64(d, p + 1)[0]")
        self.line("    p += 9")
        self.line("else:")
        self.line(f"    {to}, p = read_float(d, p)")

    def _str(self, node: Node, to: str, level: int) -> None:
        self.line("b = d[p]")
        self.line("if 0xA0 <= b < 0xC0:")
        self.line("    e = p + b - 0x9F")
        self.line(f"    {to} = d[p + 1:e].decode()")
        self.line("    p = e")
        self.line("else:")
        self.line(f"    {to}, p = read_str(d, p)")

    def _bytes(self, node: Node, to: str, level: int) -> None:
        self.line(f"{to}, p = read_bytes(d, p)")
        if node.cls is not bytes:
            self.line(f"{to} = {node.cls.__name__}({to})")

    def _array(self, node: Node, to: str, level: int) -> None:
        self._header(level, "array", 0x90)
        items = to if node.cls is list else f"items{level}"
        run = _RUNS.get(node.item.kind) if node.item.checks is None else None
        if run:
            self.line(f"{items}, p = read_run(d, p, n{level}, {run!r}) if n{level} >= {_SHORTEST_RUN} else (None, p)")
            self.line(f"if {items} is None:")
        with self if run else nullcontext():
            self.line(f"{items} = []")
            self.line(f"for _ in range(n{level}):")
            with self:
                self.value(node.item, f"v{level}", level + 1)
                self.line(f"{items}.append(v{level})")
        if node.cls is not list:
            self.line(f"{to} = {self.functions.constant('made', node.cls)}({items})")

    def _tuple(self, node: Node, to: str, level: int) -> None:
        self._header(level, "array", 0x90)
        self.refuse(f"n{level} != {len(node.parts)}")
        for index, part in enumerate(node.parts):
            self.value(part, f"v{level}_{index}", level + 1)
        self.line(f"{to} = ({''.join([f'v{level}_{index}, ' for index in range(len(node.parts))])})")

    def _dict(self, node: Node, to: str, level: int) -> None:
        self._header(level, "map", 0x80)
        items = to if node.cls is dict else f"items{level}"
        self.line(f"{items} = {{}}")
        self.line(f"for _ in range(n{level}):")
        with self:
            self.value(node.key, f"k{level}", level + 1)
            self.value(node.item, f"v{level}", level + 1)
            self.line(f"{items}[k{level}] = v{level}")
        if node.cls is not dict:
            self.line(f"{to} = {self.functions.constant('made', node.cls)}({items})")

    def _header(self, level: int, family: str, first: int) -> None:
        self.refuse(f"depth < {level + 1}")
        self.line("b = d[p]")
        self.line(f"if b & 0xF0 == {first}:")
        self.line(f"    n{level} = b & 15")
        self.line("    p += 1")
        self.line("else:")
        self.line(f"    n{level}, p = read_{family}(d, p)")

    def _enum(self, node: Node, to: str, level: int) -> None:
        self._literal(node, to, level)

    def _literal(self, node: Node, to: str, level: int) -> None:
        """Write a look into a table of values that are text; the walker has the others."""
        walk = self.functions.walk(node)
        texts = packed_texts(node)
        if node.checks is not None or not texts:
            self.line(f"{to}, p = {walk}(d, p, depth - {level})")
            return
        long = max(map(len, texts)) > 32
        end = "p + (d[p] & 31) + 1"  # of a short text; anything else is not in the table
        self.line(f"b = d[p:{f'{end} if d[p] < 0xC0 else p + d[p + 1] + 2' if long else end}]")
        self.line(f"{to} = {self.functions.constant('values', texts)}.get(b, MISSING)")
        self.line(f"if {to} is MISSING:")
        self.line(f"    {to}, p = {walk}(d, p, depth - {level})")
        self.line("else:")
        self.line("    p += len(b)")

    def _union(self, node: Node, to: str, level: int) -> None:
        parts = [part for part in node.parts if part.kind != "none"]
        optional = len(parts) < len(node.parts)
        if len(parts) == 1:
            self.line("if d[p] == 0xC0:")
            self.line(f"    {to} = None")
            self.line("    p += 1")
            self.line("else:")
            with self:
                self.value(parts[0], to, level)
            return
        if any(part.kind in (*TEXT_KINDS, "ext", "custom") for part in parts):
            self.line(f"{to}, p = {self.functions.walk(node)}(d, p, depth - {level})")
            return
        self.line("b = d[p]")
        test = "if"
        if optional:
            self.line("if b == 0xC0:")
            self.line(f"    {to} = None")
            self.line("    p += 1")
            test = "elif"
        for part in parts:
            if part in node.objects:
                continue
            families = [family for family, taken in node.by_family.items() if taken is part and family != EXT]
            tests = [_TESTS[family] for family in families]
            if FLOAT in families and INT not in node.by_family:
                tests.append(_TESTS[INT])
            self.line(f"{test} {' or '.join(tests)}:")
            with self:
                self.value(part, to, level)
            test = "elif"
        if node.objects:
            self.line(f"{test} {_TESTS[MAP]}:")
            with self:
                self._choose(node, list(enumerate(node.objects)))
                test = "if"
                for index, part in enumerate(node.objects):
                    self.line(f"{test} b == {index}:")
                    with self:
                        self.value(part, to, level)
                    test = "elif"
        self.line("else:")
        self.line("    raise Mismatch")

    def _choose(self, node: Node, parts: list[tuple[int, Node]]) -> None:
        """Write what finds out which object of a union a map is: by how it begins, where the tag comes first."""
        opening = _opening(parts[0][1], node.tag[0]) if parts and node.tag and len(node.objects) <= _NESTED else b""
        if not opening:
            self.line(f"b = {self.functions.chooser(node)}(d, p)")
            return
        self.line(f"if {self.differs(opening)}:")
        with self:
            self._choose(node, parts[1:])
        self.line("else:")
        self.line(f"    b = {parts[0][0]}")


def packed_key(key: str) -> bytes:
    packed = utf8(key)
    return str_header(len(packed)) + packed


def packed_texts(node: Node) -> dict[bytes, object]:
    """Return the values of an enum or literal that are text of at most 255 bytes, by what they are packed as."""
    packed = {}
    for (of, value), result in node.table.items():
        if of is str:
            try:
                key = packed_key(value)
            except UnicodeEncodeError:  # no message has it
                continue
            if len(key) < 258:
                packed[key] = result
    return packed


def _header(node: Node) -> bytes:
    """Return what the map of an object with all its fields begins with."""
    count = len(node.fields)
    return bytes((0x80 | count,)) if count < 16 else b"\xde" + count.to_bytes(2, "big")


def _opening(node: Node, key: str) -> bytes:
    """Return what an object begins with whose first field has this key and one value; nothing if it is another one."""
    first = node.fields[0]
    texts = list(packed_texts(first.node))
    usual = first.key == key and len(first.node.table) == len(texts) == 1 and len(node.fields) <= _MANY
    return _header(node) + packed_key(key) + texts[0] if usual else b""


def _identifier(name: str) -> str:
    text = "".join([character if character.isalnum() else "_" for character in name])
    return f"{text}_" if keyword.iskeyword(text) or not text.isidentifier() else text
