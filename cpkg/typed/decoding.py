# SPDX-License-Identifier: Apache-2.0
"""
Functions that decode one type each, written for it: straight from bytes, with the next key guessed.

An object is read in the order of its fields by the first function, which hands on to a second one, that takes any
order, where a key is another one; each is compiled when it is first called. The functions know that something is
wrong, not what: they raise, and `cpkg.typed.walker` finds out.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext

from cpkg.typed.nodes import ARRAY, BIN, BOOL, EXT, FLOAT, INT, MAP, MISSING, NIL, STR, TEXT_KINDS
from cpkg.typed.readers import RUNS, SHORTEST_RUN
from cpkg.typed.source import Source, identifier, packed_key
from purepy.base.pypy import JIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    from cpkg.typed.functions import Functions
    from cpkg.typed.nodes import Family, Node

_WORDS: Final = JIT and sys.byteorder == "little"
"""Keys are compared as numbers of eight bytes, which a JIT makes one load of; slices take CPython less time."""

_MANY: Final = 100
"""Objects of more fields are read in any order alone."""
_INLINED: Final = 6
_NESTED: Final = 6
"""So many objects, so deep in each other, are read by one function; more have their own."""
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


def decode_function(functions: Functions, node: Node) -> Callable[[bytes, int], tuple[object, int]]:
    """Return the function (data, depth) that decodes a type; data is padded."""
    functions.loops = node.loops()
    name = f"decode_{identifier(node.name)}"
    return _Source(functions).decode(node, name, "d, depth, p=0").compile(name)


class _Source(Source):
    """The lines of a function that decodes."""

    def __init__(self, functions: Functions) -> None:
        super().__init__(functions)
        self.functions = functions
        self.objects = 0  # whose fields the function has in variables

    def refuse(self, test: str) -> None:
        """Write what ends the function where a test is true."""
        self.line(f"if {test}:", "    raise Mismatch")

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

    # --- whole functions ------------------------------------------------------------------------------------------

    def decode(self, node: Node, name: str, parameters: str = "d, p, depth") -> Source:
        """Write the function that decodes a type."""
        with self.block(f"def {name}({parameters}):"):
            self.value(node, "value", 0, own=True)
            self.line("return value, p")
        return self

    def decode_any_order(self, node: Node, name: str) -> Source:
        """Write the function that reads fields in any order, and adds those that are not there."""
        fields = node.fields
        given = "".join([f", f{index}=MISSING" for index in range(len(fields))])
        order = self.functions.constant("order", {field.key: index for index, field in enumerate(fields)})
        with self.block(f"def {name}(d, p, depth, left{given}):"):
            self.refuse("depth < 1")
            with self.block("while left:"):
                self.line("left -= 1", "key, p = read_str(d, p)", f"index = {order}.get(key, -1)")
                for index, field in enumerate(fields):
                    with self.block(f"{'elif' if index else 'if'} index == {index}:"):
                        self.value(field.node, f"f{index}", 1)
                with self.block("else:") if fields else nullcontext():
                    self.line("raise Mismatch" if node.forbid else "p = skip(d, p)")
            self._defaults(node)
            self.build(node, "value", "f")
            self.line("return value, p")
        return self

    def decode_array(self, node: Node, name: str) -> Source:
        """Write the function of an object that is an array."""
        fields = node.fields
        least = sum(field.required for field in fields)
        with self.block(f"def {name}(d, p, depth):"):
            self.refuse("depth < 1")
            self.line("left, p = read_array(d, p)")
            fixed = node.forbid or node.style == "namedtuple"
            self.refuse(f"left < {least}{f' or left > {len(fields)}' if fixed else ''}")
            for index, field in enumerate(fields):
                if index >= least:
                    self.line(f"if left <= {index}:", f"    f{index} = MISSING")
                with self.block("else:") if index >= least else nullcontext():
                    self.value(field.node, f"f{index}", 1)
            if not fixed:
                self.line(f"for _ in range(left - {len(fields)}):", "    p = skip(d, p)")
            self._defaults(node, least)
            self.build(node, "value", "f")
            self.checks(node, "value")
            self.line("return value, p")
        return self

    def _defaults(self, node: Node, begin: int = 0) -> None:
        """Write what gives their defaults to fields that the message does not have."""
        for index, field in enumerate(node.fields[begin:], begin):
            if field.required:
                self.refuse(f"f{index} is MISSING")
            elif field.factory is not None:
                made = self.functions.constant("factory", field.factory)
                self.line(f"if f{index} is MISSING:", f"    f{index} = {made}()")
            elif field.default is not MISSING:
                default = self.functions.constant("default", field.default)
                self.line(f"if f{index} is MISSING:", f"    f{index} = {default}")

    # --- objects --------------------------------------------------------------------------------------------------

    def _object(self, node: Node, to: str, level: int) -> None:
        """Write what reads an object whose keys come in the order of its fields, and hands on where they do not."""
        fields = node.fields
        rest = self._function("decode_any_order", node, _Source.decode_any_order)
        depth = f"depth - {level}" if level else "depth"
        self.refuse(f"depth < {level + 1}")
        if not fields or len(fields) > _MANY:
            self.line("n, p = read_map(d, p)", f"{to}, p = {rest}(d, p, {depth}, n)")
            return
        self.objects += 1
        mine = f"x{self.objects}_"
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
                        self.line(f"{to}, p = {rest}(d, p, {depth}, {left}{got})", "break")
                    self.line(f"p += {len(key)}")
                    if begin:
                        self.line(otherwise)
                    else:
                        self.value(field.node, value, level + 1)
                if begin:
                    with self.block("else:"):
                        self.line(f"p += {len(key + begin)}", *read)
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
                with nullcontext() if field.required else self.block(f"if {value} is not MISSING:"):
                    self.line(f"{to}[{field.name!r}] = {value}")
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

    # --- values ---------------------------------------------------------------------------------------------------

    def _function(self, prefix: str, node: Node, write: Callable[[_Source, Node, str], Source]) -> str:
        """Return the name of a further function, with lines of its own."""
        return self.functions.function(prefix, node, lambda name: write(_Source(self.functions), node, name))

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
            write = _Source.decode_array if node.array_like else _Source.decode
            decode = self._function("decode", node, write)
            self.line(f"{to}, p = {decode}(d, p, depth - {level})")
        else:
            write(node, to, level)
            self.checks(node, to)

    def checks(self, node: Node, value: str) -> None:
        """Write the constraints of a type."""
        checks = node.checks
        if checks is None:
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
        tests.extend([f"not {self.functions.constant('predicate', item)}({value})" for item in checks.predicates])
        self.refuse(" or ".join(tests))

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
        self.line(f"{to}, p = read_bytes(d, p)")
        if node.cls is not bytes:
            self.line(f"{to} = {node.cls.__name__}({to})")

    def _array(self, node: Node, to: str, level: int) -> None:
        self._header(level, "array", 0x90)
        items = to if node.cls is list else f"items{level}"
        run = RUNS.get(node.item.kind) if node.item.checks is None else None
        if run:
            self.line(f"{items}, p = read_run(d, p, n{level}, {run!r}) if n{level} >= {SHORTEST_RUN} else (None, p)")
        with self.block(f"if {items} is None:") if run else nullcontext():
            self.line(f"{items} = []")
            with self.block(f"for _ in range(n{level}):"):
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
        with self.block(f"for _ in range(n{level}):"):
            self.value(node.key, f"k{level}", level + 1)
            self.value(node.item, f"v{level}", level + 1)
            self.line(f"{items}[k{level}] = v{level}")
        if node.cls is not dict:
            self.line(f"{to} = {self.functions.constant('made', node.cls)}({items})")

    def _header(self, level: int, family: str, first: int) -> None:
        self.refuse(f"depth < {level + 1}")
        self.line("b = d[p]")
        self.line(f"if b & 0xF0 == {first}:", f"    n{level} = b & 15", "    p += 1")
        self.line("else:", f"    n{level}, p = read_{family}(d, p)")

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
        self.line(f"if {to} is MISSING:", f"    {to}, p = {walk}(d, p, depth - {level})")
        self.line("else:", "    p += len(b)")

    _enum = _literal

    def _union(self, node: Node, to: str, level: int) -> None:
        parts = [part for part in node.parts if part.kind != "none"]
        optional = len(parts) < len(node.parts)
        if len(parts) == 1:
            self.line("if d[p] == 0xC0:", f"    {to} = None", "    p += 1")
            with self.block("else:"):
                self.value(parts[0], to, level)
            return
        if any(part.kind in (*TEXT_KINDS, "ext", "custom") for part in parts):
            self.line(f"{to}, p = {self.functions.walk(node)}(d, p, depth - {level})")
            return
        self.line("b = d[p]")
        test = "if"
        if optional:
            self.line("if b == 0xC0:", f"    {to} = None", "    p += 1")
            test = "elif"
        for part in parts:
            if part in node.objects:
                continue
            families = [family for family, taken in node.by_family.items() if taken is part and family != EXT]
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
        """Write what finds out which object of a union a map is: by how it begins, where the tag comes first."""
        opening = _opening(parts[0][1], node.tag[0]) if parts and node.tag and len(node.objects) <= _NESTED else b""
        if not opening:
            self.line(f"b = {self.functions.chooser(node)}(d, p)")
            return
        with self.block(f"if {self.differs(opening)}:"):
            self._choose(node, parts[1:])
        self.line("else:", f"    b = {parts[0][0]}")


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
