# SPDX-License-Identifier: Apache-2.0
"""
Generate functions that decode one type each, directly from bytes, and predict the next key.

The first function of an object reads the keys in the order of the fields. At another key it calls a second function,
which accepts any order. Functions that are called by others are compiled at their first call. All functions only
detect that a message is wrong, and raise an exception; `cpkg.typed.walker` finds the reason.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext

from cpkg.typed.nodes import ARRAY, BIN, BOOL, EXT, FLOAT, INT, MAP, MISSING, NIL, STR, TEXT_KINDS, expected_by
from cpkg.typed.readers import CODES, RUNS, SHORTEST_RUN
from cpkg.typed.source import Source, identifier, is_plain, packed_key, packed_texts
from purepy.base.lazy import imported
from purepy.base.pypy import JIT
from purepy.msgpack.interface import METERED_NUMBERS, METERED_PAIRS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from cpkg.typed.functions import Functions
    from cpkg.typed.nodes import Family, Node

_WORDS: Final = JIT and sys.byteorder == "little"
"""Whether to compare keys as numbers of 8 bytes, which a JIT compiles to one load; on CPython slices are faster."""

_MANY: Final = 100
"""Objects with more fields are read only by the function that accepts any order."""
_INLINED: Final = 6
"""The most types of objects that one function reads; further types have separate functions."""
_COMPARED: Final = 8
"""With _WORDS, the most texts of an enum, literal or choice to compare one by one; more are looked up in a dict."""
_NESTED: Final = 6
"""
The deepest nesting of containers that one function reads; deeper containers have separate functions.

This is also the most objects of a union that are distinguished by their first bytes (see `_Source._choose`).
"""
_CONTAINERS: Final = ("array", "dict", "tuple", "object")
_SECRET: Final = ("str", "enum", "literal", "choice")
"""Kinds of keys, or items of sets, whose hashes a sender cannot choose."""
_HASHED: Final = {
    **dict.fromkeys(("none", "bool", "int", "float"), METERED_NUMBERS),
    **dict.fromkeys(TEXT_KINDS, METERED_PAIRS),
}
"""Kinds of keys and items whose hashes a sender can choose, each with the count from which collisions matter."""
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
"""The source of tests whether the first byte of a value, `b`, belongs to a family."""


def decode_function(
    functions: Functions, node: Node, *, weighs: bool = False, each: bool = False
) -> Callable[..., Any]:
    """
    Return a function (data, depth, room) that decodes a message of a type and returns (object, end).

    PADDING must follow the message in `data`. With `weighs`, the function counts the memory that headers do not
    show, and raises LimitError if this memory exceeds `room` bytes. For a wrong message it raises Mismatch, Refused or
    another exception in `codecs._FAILURES`.

    With `each`, the function has the parameters (data, depth, room, count, failures). It decodes up to `count`
    consecutive messages, stops before the first one that raises one of `failures`, and returns (objects, position,
    exception or None, room). The position is where the wrong message begins, or where the last message ends; it may be
    after the data, since functions may read the padding. The room in the result is the part of `room` that is left at
    that position; without `weighs` it is the argument.
    """
    functions.loops = node.loops()
    functions.weighs = weighs
    metered = [least for least in map(_metered_from, node.walk().values()) if least >= 0]
    functions.meter = ", m" if weighs or metered else ""
    functions.metered_from = 0 if weighs or JIT else min(metered, default=0)
    name = f"decode_{identifier(node.name)}_"  # the names of all other functions end with a number
    source = _Source(functions)
    return (source.decode_each if each else source.decode_whole)(node, name).compile(name)


class _Source(Source):
    """The source of a decoding function."""

    def __init__(self, functions: Functions) -> None:
        super().__init__(functions)
        self.functions = functions
        self.meter = functions.meter
        self.objects = 0  # the number of objects whose fields are variables of the function

    def refuse(self, test: str) -> None:
        """Write lines that raise Mismatch if a test is true."""
        self.line(f"if {test}:", "    raise Mismatch")

    def differs(self, packed: bytes) -> str:
        """Return the source of a test that is true unless the bytes `packed` follow at the current position."""
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

    # --- whole functions ------------------------------------------------------------------------------------------

    def decode_whole(self, node: Node, name: str) -> Source:
        """Write the function that decodes a type at the beginning of a message."""
        with self.block(f"def {name}(d, depth, room, p=0):"):
            if self.functions.meter:
                least = self.functions.metered_from
                self.line(f"m = Meter(room) if len(d) > {least} else None" if least else "m = Meter(room)")
            self.value(node, "value", 0, own=True)
            self.line("return value, p")
        return self

    def decode_each(self, node: Node, name: str) -> Source:
        """Write the function that decodes messages of a type, one after the other."""
        with self.block(f"def {name}(d, depth, room, count, failures, p=0):"):
            self.line("q = 0", "items = []")
            if self.functions.meter:
                self.line("m = Meter(room)")
            with self.block("try:"):
                self._fill("items", "count", node, "value", 0)
            self.line("except failures as exc:", "    return items, q, exc, room")
            self.line(f"return items, p, None, {'m.room' if self.functions.weighs else 'room'}")
        return self

    def _fill(self, items: str, count: str, node: Node, value: str, level: int) -> None:
        """
        Write lines that read `count` values of a type into the list `items`, inside `level` containers.

        `level` counts the containers that this function reads. At level 0 the values are messages: the lines keep the
        start of each message in `q`, and the room before it in `room`.
        """
        run = RUNS.get(node.kind) if node.checks is None else None
        if run:
            self.line(f"{items}, p = read_run(d, p, {count}, {run!r}) if {count} >= {SHORTEST_RUN} else (None, p)")
        with self.block(f"if {items} is None:") if run else nullcontext():
            self.line(f"{items} = []")
            with self.block(f"for _ in range({count}):"):
                if not level:
                    self.line("q = p")
                    if self.functions.meter:
                        self.line("m.keys = None")
                    if self.functions.weighs:
                        self.line("room = m.room")
                self.value(node, value, level)
                self.line(f"{items}.append({value})")

    def decode(self, node: Node, name: str) -> Source:
        """Write a function that decodes a type at any position of a message, for calls from other functions."""
        with self.block(f"def {name}(d, p, depth{self.meter}):"):
            self.value(node, "value", 0, own=True)
            self.line("return value, p")
        return self

    def decode_any_order(self, node: Node, name: str) -> Source:
        """
        Write the function that reads the remaining fields of an object in any order, and creates the object.

        Its parameters include the number of remaining keys and the fields that have already been read.
        """
        fields = node.fields
        given = "".join([f", f{index}=MISSING" for index in range(len(fields))])
        order = self.functions.constant("order", {field.key: index for index, field in enumerate(fields)})
        with self.block(f"def {name}(d, p, depth{self.meter}, at, left{given}):"):
            self.refuse("depth < 1")
            with self.block("while left:"):
                self.line("left -= 1", "key, p = read_str(d, p)", f"index = {order}.get(key, -1)")
                for index, field in enumerate(fields):
                    with self.block(f"{'elif' if index else 'if'} index == {index}:"):
                        self.value(field.node, f"f{index}", 1)
                with self.block("else:") if fields else nullcontext():
                    if node.forbid:
                        passed = self.functions.constant("passed", node.passed) if node.passed else "()"
                        self.refuse(f"key not in {passed}")
                    self.line("p = skip(d, p)")
            self._defaults(node)
            self.build(node, "value", "f", "at")
            self.line("return value, p")
        return self

    def decode_array(self, node: Node, name: str) -> Source:
        """Write the function that reads an object with `array_like` from an array."""
        fields = node.fields
        least = sum(field.required for field in fields)
        with self.block(f"def {name}(d, p, depth{self.meter}):"):
            self.refuse("depth < 1")
            self.line("at = p")
            self.take(node.extra, "at")
            self.line("left, p = read_array(d, p)")
            fixed = node.forbid or node.style == "namedtuple"
            most = len(fields) + len(node.passed)
            self.refuse(f"left < {least}{f' or left > {most}' if fixed else ''}")
            for index, field in enumerate(fields):
                if index >= least:
                    self.line(f"if left <= {index}:", f"    f{index} = MISSING")
                with self.block("else:") if index >= least else nullcontext():
                    self.value(field.node, f"f{index}", 1)
            if node.passed or not fixed:
                self.line(f"for _ in range(left - {len(fields)}):", "    p = skip(d, p)")
            self._defaults(node, least)
            self.build(node, "value", "f", "at")
            self.checks(node, "value", "at")
            self.line("return value, p")
        return self

    def decode_pairs(self, node: Node, name: str) -> Source:
        """Write the function that reads the pairs of a dict with many keys whose hashes a sender can choose."""
        with self.block(f"def {name}(d, p, depth, m, n, at):"):
            self.line(*(["made = {}"] if JIT else ["keys = []", "values = []"]))
            with self.block("for _ in range(n):"):
                self.value(node.key, "key", 1)
                self.value(node.item, "value", 1)
                if JIT:  # fast enough one by one
                    self.line("m.enter(key, at, made, depth)", "made[key] = value")
                else:
                    self.line("keys.append(key)", "values.append(value)")
            at_once = f"m.dict_of(keys, values, at, depth, {node.key.kind == 'int'})"
            self.line(f"return {'made' if JIT else at_once}, p")
        return self

    def _defaults(self, node: Node, begin: int = 0) -> None:
        """
        Write lines that set the defaults of missing fields from the index `begin` on.

        The lines raise Mismatch if a required field is missing.
        """
        missing = list(enumerate(node.fields))[begin:]
        for index, field in missing:
            if field.required:
                self.refuse(f"f{index} is MISSING")
        extras = [f"(f{index} is MISSING) * {field.extra}" for index, field in missing if field.extra]
        self.take(" + ".join(extras), "at")
        for index, field in missing:
            if field.factory is not None:
                made = f"{self.functions.constant('factory', field.factory)}()"
                with self.block(f"if f{index} is MISSING:"):
                    self.guard("build", "at", f"f{index} = {made}", is_safe=_is_builtin(field.factory))
            elif field.default is not MISSING:
                default = self.functions.constant("default", field.default)
                self.line(f"if f{index} is MISSING:", f"    f{index} = {default}")

    def take(self, size: int | str, at: str) -> None:
        """
        Write a line that counts `size` bytes of memory beyond those that the headers show, for a value at `at`.

        Writes nothing if there are no such bytes, or if the function does not count memory.
        """
        if size and self.functions.weighs:
            self.line(f"m.take({size}, {at})")

    def guard(self, role: str, at: str, *lines: str, is_safe: bool = False) -> None:
        """
        Write `lines`, which run code of cpkg's user, in a `try` statement that turns an Exception into a Refused.

        The value that the lines read begins at the position `at`. With `is_safe`, the lines run no code of the user and
        are written without `try`.
        """
        if is_safe:
            self.line(*lines)
            return
        with self.block("try:"):
            self.line(*lines)
        self.line("except Exception as exc:", f"    raise Refused(exc, {at}, {role!r}) from exc")

    # --- objects --------------------------------------------------------------------------------------------------

    def _object(self, node: Node, to: str, level: int) -> None:
        """
        Write lines that read an object whose keys are in the order of its fields.

        At any other key, they call the function of `decode_any_order`, which reads the remaining fields. If the object
        has no fields, or more than _MANY, that function reads the whole object.
        """
        fields = node.fields
        rest = self._function("decode_any_order", node, _Source.decode_any_order)
        depth = f"depth - {level}" if level else "depth"
        self.refuse(f"depth < {level + 1}")
        self.objects += 1
        mine = f"x{self.objects}_"
        at = "0"  # unless the position of the object is needed
        if self.functions.weighs or not _is_set(node) or not all(_is_builtin(field.factory) for field in fields):
            at = f"{mine}at"
            self.line(f"{at} = p")
        self.take(node.extra, at)
        if not fields or len(fields) > _MANY:
            self.line("n, p = read_map(d, p)", f"{to}, p = {rest}(d, p, {depth}{self.meter}, {at}, n)")
            return
        with self.block("while True:  # once"):
            for index, field in enumerate(fields):
                key = packed_key(field.key) if index else _header(node) + packed_key(field.key)
                got = "".join([f", {mine}{before}" for before in range(index)])
                value = f"{mine}{index}"
                begin, read, otherwise = self._expected(field.node, key, value, level + 1)
                with self.block(f"if {self.differs(key + begin)}:") if begin else nullcontext():
                    with self.block(f"if {self.differs(key)}:"):
                        if not index:
                            self.line("n, p = read_map(d, p)")
                        left = len(fields) - index if index else "n"
                        self.line(f"{to}, p = {rest}(d, p, {depth}{self.meter}, {at}, {left}{got})", "break")
                    self.line(f"p += {len(key)}")
                    if begin:
                        self.line(otherwise)
                    else:
                        self.value(field.node, value, level + 1)
                if begin:
                    with self.block("else:"):
                        self.line(f"p += {len(key + begin)}", *read)
                    self.checks(field.node, value, "")
            self.build(node, to, mine, at)
            self.line("break")

    def _expected(self, node: Node, key: bytes, to: str, level: int) -> tuple[bytes, list[str], str]:
        """
        Return the usual first bytes of a key's value, the lines that read its rest, and the line for another value.

        The bytes are b"" if none are to be compared; then there are no lines either.
        """
        if node.kind == "float" and not (_WORDS and len(key) > 15) and not _needs_position(node):
            return b"\xcb", [f"{to} = read_f64(d, p)[0]", "p += 8"], f"{to}, p = read_float(d, p)"
        texts = packed_texts(node.table) if len(node.table) == 1 and node.checks is node.item is None else {}
        for only, value in texts.items():
            read = f"{to} = {self.functions.constant('only', value)}"
            return only, [read], f"{to}, p = {self.functions.walk(node)}(d, p, depth - {level}{self.meter})"
        return b"", [], ""

    def build(self, node: Node, to: str, fields: str, at: str) -> None:
        """
        Write lines that create an object, which begins at `at`, and assign it to `to`.

        The fields are in variables: each name is `fields` followed by the index of the field.
        """
        functions = self.functions
        cls = functions.constant("class", node.cls)
        given = [(field, f"{fields}{index}") for index, field in enumerate(node.fields)]
        if node.style == "typeddict":
            self.line(f"{to} = {{}}")
            for field, value in given:
                with nullcontext() if field.required else self.block(f"if {value} is not MISSING:"):
                    self.line(f"{to}[{field.name!r}] = {value}")
        elif node.style == "namedtuple":
            self.guard("build", at, f"{to} = {cls}({', '.join([value for _, value in given])})")
        elif node.build == "set" and not JIT and node.cls.__setattr__ is object.__setattr__:
            # saves a call on CPython; a JIT inlines the constructor
            self.line(f"{to} = new({cls})")
            for field, value in given:
                plain = is_plain(field.name)
                self.line(f"{to}.{field.name} = {value}" if plain else f"setattr({to}, {field.name!r}, {value})")
            if node.post_init:
                self.guard("build", at, f"{to}.__post_init__()")
        elif all(field.required or field.factory is not None or field.default is not MISSING for field in node.fields):
            arguments = ", ".join([_argument(field.parameter, value) for field, value in given])
            self.guard("build", at, f"{to} = {cls}({arguments})", is_safe=_is_set(node))
        else:  # the constructor creates some defaults itself
            pairs = "".join([f"({field.parameter!r}, {value}), " for field, value in given])
            arguments = f"**{{name: item for name, item in ({pairs}) if item is not MISSING}}"
            self.guard("build", at, f"{to} = {cls}({arguments})")

    # --- values ---------------------------------------------------------------------------------------------------

    def _function(self, prefix: str, node: Node, write: Callable[[_Source, Node, str], Source]) -> str:
        """Return the name of a separate function for a type; `write` writes its lines at its first call."""
        return self.functions.function(prefix, node, lambda name: write(_Source(self.functions), node, name))

    def value(self, node: Node, to: str, level: int, *, own: bool = False) -> None:
        """
        Write lines that read a value into the variable `to`.

        The lines belong to a function that has begun to read `level` containers around the value. With `own`, this
        function was written for the value's type; otherwise the lines may call such a function. They always call one
        for an object with `array_like`, whose function `decode_array` writes.
        """
        write = getattr(self, "_" + node.kind, None)
        many = node.kind in _CONTAINERS and level >= _NESTED
        many |= node.kind == "object" and self.objects >= _INLINED
        if node.array_like or (not own and (many or id(node) in self.functions.loops)):
            write = _Source.decode_array if node.array_like else _Source.decode
            decode = self._function("decode", node, write)
            self.line(f"{to}, p = {decode}(d, p, depth - {level}{self.meter})")
        else:
            at = f"{to}_at" if _needs_position(node) else ""
            if at:
                self.line(f"{at} = p")
            if write is None:
                self._walk(node, to, level)
            else:
                write(node, to, level)
            self.checks(node, to, at)

    def _walk(self, node: Node, to: str, level: int) -> None:
        """Write a call that lets the walker read a value."""
        self.line(f"{to}, p = {self.functions.walk(node)}(d, p, depth - {level}{self.meter})")

    def checks(self, node: Node, value: str, at: str) -> None:
        """Write the tests of a type's constraints; `at` is the value's position if the constraints need it."""
        checks = node.checks
        if checks is None:
            return
        if not node.rechecks():
            self.line(f"check({self.functions.constant('problem', checks.problem)}, {value}, {at})")
            return
        tests = [
            f"not {value} {sign} {bound if type(bound) is int else self.functions.constant('bound', bound)}"
            for sign, bound in ((">", checks.gt), (">=", checks.ge), ("<", checks.lt), ("<=", checks.le))
            if bound is not None
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
        if tests:
            self.refuse(" or ".join(tests))
        for item in checks.predicates:
            with self.block("try:"):
                self.line(f"b = {self.functions.constant('predicate', item)}({value})")
            self.line("except Exception as exc:", f"    raise unchecked(exc, {at}, {value}) from exc")
            expected = self.functions.constant("expected", expected_by(item))
            self.line("if not b:", f"    raise Refused({expected}, {at}, 'check', {value})")

    # --- one for each kind ----------------------------------------------------------------------------------------

    def _any(self, node: Node, to: str, level: int) -> None:
        untyped = self.functions.constant("untyped", self.functions.untyped)
        self.line(f"{to}, p = {untyped}(d, p, depth - {level})")

    def _none(self, node: Node, to: str, level: int) -> None:
        self.refuse("d[p] != 0xC0")
        self.line(f"{to} = None", "p += 1")

    def _bool(self, node: Node, to: str, level: int) -> None:
        self.line("b = d[p]")
        self.line("if b == 0xC3:", f"    {to} = True")
        self.line("elif b == 0xC2:", f"    {to} = False")
        self.line("else:", "    raise Mismatch")
        self.line("p += 1")

    def _int(self, node: Node, to: str, level: int) -> None:
        self.line("b = d[p]")
        self.line("if b < 0x80:", f"    {to} = b", "    p += 1")
        self.line("elif b == 0xCD:", f"    {to} = d[p + 1] << 8 | d[p + 2]", "    p += 3")
        four = "d[p + 1] << 24 | d[p + 2] << 16 | d[p + 3] << 8 | d[p + 4]"
        self.line("elif b == 0xCE:", f"    {to} = {four}", "    p += 5")
        self.line("else:", f"    {to}, p = read_int(d, p)")

    def _float(self, node: Node, to: str, level: int) -> None:
        self.line("if d[p] == 0xCB:", f"    {to} = read_f64(d, p + 1)[0]", "    p += 9")
        self.line("else:", f"    {to}, p = read_float(d, p)")

    def _str(self, node: Node, to: str, level: int) -> None:
        self.line("b = d[p]")
        self.line("if 0xA0 <= b < 0xC0:", "    e = p + b - 0x9F", f"    {to} = d[p + 1:e].decode()", "    p = e")
        self.line("else:", f"    {to}, p = read_str(d, p)")

    def _bytes(self, node: Node, to: str, level: int) -> None:
        self.take(node.extra, "p")
        if node.cls is memoryview:
            self.line("b = d[p]", f"if not ({_TESTS[BIN]}):")
            read = self.functions.constant("view", imported("cpkg.typed.arrays").read_view)
            self.line(f"    {to}, p = {read}(d, p)")
            self.line("else:", f"    {to}, p = read_bytes(d, p)", f"    {to} = memoryview({to})")
            return
        self.line(f"{to}, p = read_bytes(d, p)")
        if node.cls is not bytes:
            self.line(f"{to} = {node.cls.__name__}({to})")

    def _numbers(self, node: Node, to: str, level: int) -> None:
        self.take(node.extra, "p")
        read = self.functions.constant("numbers", node.numbers.read)
        self.line(f"{to}, p = {read}(d, p, depth - {level})")

    def _array(self, node: Node, to: str, level: int) -> None:
        hashed = node.cls in (set, frozenset)
        if hashed or self.functions.weighs:
            self.line(f"a{level} = p")
        self._header(level, "array", 0x90)
        self.take(_size(node, f"n{level}"), f"a{level}")
        if hashed and node.item.kind not in (*_SECRET, *_HASHED):
            self._set(node, to, level)
            return
        items = to if node.cls is list else f"items{level}"
        self._fill(items, f"n{level}", node.item, f"v{level}", level + 1)
        if hashed and node.item.kind in _HASHED:
            with self.block(f"if n{level} >= {_HASHED[node.item.kind]}:"):
                are_ints = node.item.kind == "int"
                self.line(f"{items} = m.set_of({items}, a{level}, depth - {level}, {are_ints})")
        if node.cls is not list:
            self.line(f"{to} = {self.functions.constant('made', node.cls)}({items})")

    def _set(self, node: Node, to: str, level: int) -> None:
        """Write lines that read a set item by item, for items that `Meter.hashable` must make hashable and count."""
        self.line(f"{to} = set()")
        with self.block(f"for _ in range(n{level}):"):
            self.line(f"a{level} = p")
            self.value(node.item, f"v{level}", level + 1)
            self.line(f"v{level} = m.hashable(v{level}, a{level}, {to}, n{level}, depth - {level})")
            self.guard("hash", f"a{level}", f"{to}.add(v{level})", is_safe=not node.item.has("object", "custom"))
        if node.cls is frozenset:
            self.line(f"{to} = frozenset({to})")

    def _tuple(self, node: Node, to: str, level: int) -> None:
        self._header(level, "array", 0x90)
        self.refuse(f"n{level} != {len(node.parts)}")
        for index, part in enumerate(node.parts):
            self.value(part, f"v{level}_{index}", level + 1)
        self.line(f"{to} = ({''.join([f'v{level}_{index}, ' for index in range(len(node.parts))])})")

    def _dict(self, node: Node, to: str, level: int) -> None:
        kind = node.key.kind
        needs_position = kind not in (*_SECRET, *_HASHED)
        if kind in _HASHED or self.functions.weighs:
            self.line(f"a{level} = p")
        self._header(level, "map", 0x80)
        self.take(_size(node, f"n{level}"), f"a{level}")
        items = to if node.cls is dict else f"items{level}"
        self.line(f"{items} = {{}}")
        if kind in _HASHED:
            many = self._function("decode_pairs", node, _Source.decode_pairs)
            with self.block(f"if n{level} >= {_HASHED[kind]}:"):
                self.line(
                    f"{items}, p = {many}(d, p, depth - {level}{self.meter}, n{level}, a{level})", f"n{level} = 0"
                )
        with self.block(f"for _ in range(n{level}):"):
            if needs_position:
                self.line(f"a{level} = p")
            self.value(node.key, f"k{level}", level + 1)
            if needs_position:
                self.line(f"k{level} = m.hashable(k{level}, a{level}, {items}, n{level}, depth - {level})")
            self.value(node.item, f"v{level}", level + 1)
            is_safe = not node.key.has("object", "custom")
            self.guard("hash", f"a{level}", f"{items}[k{level}] = v{level}", is_safe=is_safe)
        if node.cls is not dict:
            self.line(f"{to} = {self.functions.constant('made', node.cls)}({items})")

    def _header(self, level: int, family: str, first: int) -> None:
        self.refuse(f"depth < {level + 1}")
        self.line("b = d[p]")
        self.line(f"if b & 0xF0 == {first}:", f"    n{level} = b & 15", "    p += 1")
        self.line("else:", f"    n{level}, p = read_{family}(d, p)")

    def _extension(self, node: Node, to: str, level: int) -> None:
        """Write lines that read an extension value of this type; the walker reads those that raise Unread, and text."""
        first, last = CODES[node.kind]
        self.line("try:", f"    {to}, p = read_ext(d, p, {first}, {last})")
        with self.block("except Unread:"):
            self._walk(node, to, level)

    _datetime = _date = _time = _timedelta = _decimal = _uuid = _extension

    def _literal(self, node: Node, to: str, level: int) -> None:
        """Write a lookup in a table of values that are text; the walker reads all others."""
        texts = packed_texts(node.table)
        if not texts:
            self._walk(node, to, level)
            return
        if _WORDS and len(texts) <= _COMPARED and max(map(len, texts)) <= 16:
            for index, (packed, value) in enumerate(texts.items()):
                with self.block(f"{'elif' if index else 'if'} not ({self.differs(packed)}):"):
                    self.line(f"{to} = {self.functions.constant('value', value)}", f"p += {len(packed)}")
            with self.block("else:"):
                self._walk(node, to, level)
            return
        long = max(map(len, texts)) > 32
        end = "p + (d[p] & 31) + 1"  # the end of a fixstr; no other value is in the table
        self.line(f"b = d[p:{f'{end} if d[p] < 0xC0 else p + d[p + 1] + 2' if long else end}]")
        self.line(f"{to} = {self.functions.constant('values', texts)}.get(b, MISSING)")
        with self.block(f"if {to} is MISSING:"):
            self._walk(node, to, level)
        self.line("else:", "    p += len(b)")

    _enum = _literal

    def _choice(self, node: Node, to: str, level: int) -> None:
        """Write a lookup of text in the values of enums and literals, then lines for other text, if that is allowed."""
        if node.item is None or node.families != (STR,):
            self._literal(node, to, level)
            return
        values = self.functions.constant("values", {value: result for (_, value), result in node.table.items()})
        self.line(f"n{level} = p", "b, p = read_str(d, p)", f"{to} = {values}.get(b, MISSING)")
        with self.block(f"if {to} is MISSING:"):
            self.line(f"p = n{level}")
            self.value(node.item, to, level)

    def _union(self, node: Node, to: str, level: int) -> None:
        parts = [part for part in node.parts if part.kind != "none"]
        optional = len(parts) < len(node.parts)
        if len(parts) == 1:
            self.line("if d[p] == 0xC0:", f"    {to} = None", "    p += 1")
            with self.block("else:"):
                self.value(parts[0], to, level)
            return
        if any(isinstance(family, int) or family == EXT for family in node.by_family):
            self._walk(node, to, level)
            return
        self.line("b = d[p]")
        test = "if"
        if optional:
            self.line("if b == 0xC0:", f"    {to} = None", "    p += 1")
            test = "elif"
        for part in parts:
            if part in node.objects:
                continue
            families = [family for family, taken in node.by_family.items() if taken is part]
            tests = [_TESTS[family] for family in families]
            if FLOAT in families and INT not in node.by_family:
                tests.append(_TESTS[INT])
            with self.block(f"{test} {' or '.join(tests)}:"):
                self.value(part, to, level)
            test = "elif"
        if node.objects:
            with self.block(f"{test} {_TESTS[MAP]}:"):
                self._choose(node, list(enumerate(node.objects)))
                for index, part in enumerate(node.objects):
                    with self.block(f"{'elif' if index else 'if'} b == {index}:"):
                        self.value(part, to, level)
        self.line("else:", "    raise Mismatch")

    def _choose(self, node: Node, parts: list[tuple[int, Node]]) -> None:
        """
        Write lines that set `b` to the index, in `node.objects`, of the type to read a map as.

        `parts` are the possible types, each as (index, type). The lines compare the first bytes of the map with the
        `_opening` of each type in turn, up to the first type without one. If none is equal, the lines call the
        `chooser`, a function that looks for the tag or the keys in the map.
        """
        opening = _opening(parts[0][1], node.tag[0]) if parts and node.tag and len(node.objects) <= _NESTED else b""
        if not opening:
            self.line(f"b = {self.functions.chooser(node)}(d, p, m)")
            return
        with self.block(f"if {self.differs(opening)}:"):
            self._choose(node, parts[1:])
        self.line("else:", f"    b = {parts[0][0]}")


def _metered_from(node: Node) -> int:
    """Return the size of a message from which this type needs a Meter: 0 is any size, -1 never."""
    hashed = node.key if node.kind == "dict" else node.item if node.cls in (set, frozenset) else None
    if node.objects:  # the Meter remembers the ends of containers
        return 0
    return -1 if hashed is None or hashed.kind in _SECRET else _HASHED.get(hashed.kind, 0)


def _size(node: Node, count: str) -> str:
    """
    Return the source of the number of bytes that an array or map takes beyond those that its header shows; "" if 0.

    `count` is the source of the number of its items.
    """
    return f"{node.extra} + {node.extra_item} * {count}" if node.extra else ""


def _needs_position(node: Node) -> bool:
    """Return whether the constraints of a type need the position of a value."""
    return node.checks is not None and bool(node.checks.predicates or not node.rechecks())


def _is_set(node: Node) -> bool:
    """Return whether objects of this type are created by setting attributes or keys alone, so no caller's code runs."""
    return (node.build == "set" and not node.post_init) or node.style == "typeddict"


def _is_builtin(factory: object) -> bool:
    """Return whether a factory runs no code of the caller: it is None, or a class of builtins or collections."""
    return factory is None or (isinstance(factory, type) and factory.__module__ in ("builtins", "collections"))


def _argument(parameter: str, value: str) -> str:
    """Return the source of a keyword argument: `parameter=value`, or `**{...}` for a name that is not valid there."""
    return f"{parameter}={value}" if is_plain(parameter) else f"**{{{parameter!r}: {value}}}"


def _header(node: Node) -> bytes:
    """Return the map header of an object with all its fields."""
    count = len(node.fields)
    return bytes((0x80 | count,)) if count < 16 else b"\xde" + count.to_bytes(2, "big")


def _opening(node: Node, key: str) -> bytes:
    """
    Return the first bytes of an object whose first field has this key and accepts only one text.

    Returns b"" for any other object, and for one with more than _MANY fields.
    """
    first = node.fields[0]
    texts = list(packed_texts(first.node.table))
    usual = first.key == key and len(first.node.table) == len(texts) == 1 and len(node.fields) <= _MANY
    return _header(node) + packed_key(key) + texts[0] if usual else b""
