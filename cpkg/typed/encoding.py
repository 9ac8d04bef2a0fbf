# SPDX-License-Identifier: Apache-2.0
"""
Generate functions that encode one class each, with inline code for the values that its annotations predict.

The actual type of a value decides how it is packed, not its annotation: values that are not of the predicted type go to
`Encoding.write`.
"""

from __future__ import annotations

from contextlib import nullcontext

from cpkg.typed.nodes import STR, is_default
from cpkg.typed.source import Names, Source, attribute, identifier, packed_key
from purepy.base.pypy import finish, new_builder, utf8, write_f64
from purepy.msgpack.plain_writer import (
    FIXINT,
    array_header,
    bin_header,
    changed,
    int_bytes,
    map_header,
    str_header,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final, Protocol

    from cpkg.typed.nodes import Field, Node
    from purepy.base.types import Builder, Value
    from purepy.msgpack.forms import Forms

    class Cache(Protocol):
        """The data kept with a class with fields: its node, and its encoding function once that exists."""

        node: Node | None
        function: Callable[..., None] | None


def too_deep() -> ValueError:
    """Return the ValueError for objects that are nested too deep; packers use the same text."""
    return ValueError("recursion limit exceeded.")


_HELPERS: Final = {
    "FIXINT": FIXINT,
    "array_header": array_header,
    "bin_header": bin_header,
    "changed": changed,
    "int_bytes": int_bytes,
    "is_default": is_default,
    "map_header": map_header,
    "str_header": str_header,
    "too_deep": too_deep,
    "utf8": utf8,
    "write_f64": write_f64,
}


class Encoding:
    """Packs objects. Objects of a class with fields are packed by a function that is compiled once for the class."""

    def __init__(
        self, cache_of: Callable[[type], Cache | None], forms: Forms, pack: Callable[[object, int], bytes]
    ) -> None:
        """
        Store the functions that pack objects.

        `cache_of` returns the cache of a class with fields, or None. `forms` finds the functions that pack objects of
        other types directly (see `purepy.msgpack.forms`). `pack(obj, depth)` packs objects that have no such function,
        or for which it returns None.
        """
        self._cache_of = cache_of
        self._forms = forms
        self._pack = pack

    def encode(self, obj: object, depth: int) -> bytes:
        """Return the packed form of an object; raise ValueError if its containers are nested more than `depth` deep."""
        out = new_builder(1024)
        try:
            self.write(out, obj, depth)
        except RecursionError:
            raise too_deep() from None
        packed: bytes = finish(out)
        return packed

    def write(self, out: Builder, value: Value, depth: int) -> None:
        """Append the packed form of an object, whose containers may be nested `depth` deep."""
        kind = type(value)
        if kind is str:
            packed = utf8(value)
            out.append(str_header(len(packed)))
            out.append(packed)
        elif kind is int and -(2**63) <= value < 2**64:
            out.append(int_bytes(value))
        elif kind is list or kind is tuple:
            self._list(out, value, depth)
        elif kind is dict:
            self._dict(out, value, depth)
        else:
            # first look up enums here: they usually have no fields, and looking for fields takes long
            form = self._forms.find(kind) if type(kind) is not type else None
            if form is None:
                cache = self._cache_of(kind)
                if cache is not None:
                    (cache.function or make_function(cache))(out, value, depth, self.write)
                    return
                form = self._forms.find(kind)
            made = None if form is None or depth < 1 else form(value)
            out.append(self._pack(value, depth) if made is None else made)

    def _list(self, out: Builder, value: list[object] | tuple[object, ...], depth: int) -> None:
        if depth < 1:
            raise too_deep()
        length = len(value)
        out.append(array_header(length))
        for item in value:
            self.write(out, item, depth - 1)
        if len(value) != length:
            raise changed("list")

    def _dict(self, out: Builder, value: dict[object, object], depth: int) -> None:
        if depth < 1:
            raise too_deep()
        length = len(value)
        out.append(map_header(length))
        for key, item in value.items():
            self.write(out, key, depth - 1)
            self.write(out, item, depth - 1)
            length -= 1
        if length:
            raise changed("dictionary")


def make_function(cache: Cache) -> Callable[..., None]:
    """
    Compile the function (out, object, depth, write) that packs objects of a class; return it and keep it in `cache`.
    """
    node = cache.node
    assert node is not None
    name = f"encode_{identifier(node.name)}"
    source = _EncodingSource(Names(_HELPERS))
    source.object(node, name)
    function = cache.function = source.compile(name)
    return function


class _EncodingSource(Source):
    """The source of an encoding function."""

    def object(self, node: Node, name: str) -> None:
        with self.block(f"def {name}(out, o, depth, write):"):
            self.line("if depth < 1:", "    raise too_deep()", "depth -= 1", "append = out.append")
            lead = b""
            if node.omitted:
                self.line(f"n = {len(node.written) - len(node.omitted)}")
                for index, field in enumerate(node.written):
                    self.line(f"v{index} = {attribute('o', field.name)}")
                    if field in node.omitted:
                        self.line(f"has{index} = {self._differs(field, f'v{index}')}")
                        self.line(f"n += has{index}")
                self.line("append(map_header(n))")
            elif node.array_like:
                lead = array_header(len(node.written))
            else:
                lead = map_header(len(node.written))
            for index, field in enumerate(node.written):
                key = lead if node.array_like else lead + packed_key(field.key)
                lead = b""
                if not node.omitted:
                    self.line(f"v{index} = {attribute('o', field.name)}")
                with self.block(f"if has{index}:") if field in node.omitted else nullcontext():
                    self.value_of(field.node, f"v{index}", key, 0)
            if lead:
                self.line(f"append({lead!r})")
            self.line("return")

    def _differs(self, field: Field, value: str) -> str:
        """
        Return the source of a test that is false if a field has its default; `value` is the source of its value.

        Frequent kinds of default have an inline comparison; for other defaults, the test calls `is_default`.
        """
        default: Value = field.default
        kind = type(default)
        if field.factory in (list, dict):
            return f"type({value}) is not {field.factory.__name__} or len({value}) > 0"
        if field.factory is None and default is None:
            return f"{value} is not None"
        # among floats, 0.0 equals -0.0, and NaN equals nothing
        if field.factory is None and (kind in (bool, int, str, bytes) or (kind is float and abs(default) > 0)):
            name = self.names.constant("default", default)
            return f"{value} is not {name} and (type({value}) is not {kind.__name__} or {value} != {name})"
        return f"not is_default({self.names.constant('field', field)}, {value})"

    def value_of(self, node: Node, value: str, key: bytes, level: int) -> None:
        """Write lines that append a packed key and its value, with inline code for frequent types in the annotation."""
        test = "if"
        for part in node.alternatives():
            kind = "str" if part.kind == "literal" and part.families == (STR,) else part.kind
            writer = getattr(self, "_put_" + kind, None)
            if writer is None or (part.kind == "array" and part.cls is not list) or level > 2:
                continue
            with self.block(f"{test} {_TYPE_TESTS[kind].format(value)}:"):
                writer(part, value, key, level)
            test = "elif"
        with self.block("else:") if test == "elif" else nullcontext():
            self._append(key)
            self._write(value, level)

    def _write(self, value: str, level: int) -> None:
        self.line(f"write(out, {value}, depth{f' - {level}' if level else ''})")

    def _append(self, packed: bytes) -> None:
        if packed:
            self.line(f"append({packed!r})")

    def _put_none(self, node: Node, value: str, key: bytes, level: int) -> None:
        self._append(key + b"\xc0")

    def _put_bool(self, node: Node, value: str, key: bytes, level: int) -> None:
        yes, no = key + b"\xc3", key + b"\xc2"
        self.line(f"append({yes!r} if {value} else {no!r})")

    def _put_int(self, node: Node, value: str, key: bytes, level: int) -> None:
        self._append(key)
        self.line("try:", f"    append(FIXINT[{value}] if -0x20 <= {value} < 0x80 else int_bytes({value}))")
        with self.block("except OverflowError:"):
            self._write(value, level)

    def _put_float(self, node: Node, value: str, key: bytes, level: int) -> None:
        self._append(key + b"\xcb")
        self.line(f"append(write_f64({value}))")

    def _put_str(self, node: Node, value: str, key: bytes, level: int) -> None:
        headers = self.names.constant("headers", [key + str_header(length) for length in range(32)])
        self.line(f"packed = utf8({value})", "n = len(packed)")
        self.line(f"append({headers}[n] if n < 32 else {f'{key!r} + ' if key else ''}str_header(n))")
        self.line("append(packed)")

    def _put_bytes(self, node: Node, value: str, key: bytes, level: int) -> None:
        self.line(f"append({f'{key!r} + ' if key else ''}bin_header(len({value})))", f"append({value})")

    def _put_array(self, node: Node, value: str, key: bytes, level: int) -> None:
        self.line(f"if depth < {level + 1}:", "    raise too_deep()")
        self.line(f"n{level} = len({value})")
        self.line(f"append({f'{key!r} + ' if key else ''}array_header(n{level}))")
        with self.block(f"for i{level} in {value}:"):
            self.value_of(node.item, f"i{level}", b"", level + 1)
        self.line(f"if len({value}) != n{level}:", "    raise changed('list')")


_TYPE_TESTS: Final = {
    "none": "{0} is None",
    "bool": "{0} is True or {0} is False",
    "int": "type({0}) is int",
    "float": "type({0}) is float",
    "str": "type({0}) is str",
    "bytes": "type({0}) is bytes",
    "array": "type({0}) is list",
}
