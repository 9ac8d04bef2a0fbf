# SPDX-License-Identifier: Apache-2.0
"""
The way that takes its time: makes a value of any type node by node, from a message or from objects.

What decodes fast only finds out that a message is not of its type. This then goes over it once more and says where,
what was expected and what was found, or all that is wrong. It also is what `convert` and `strict=False` do.
"""

from __future__ import annotations

from cpkg.typed.annotations import unique_keys
from cpkg.typed.errors import ValidationError
from cpkg.typed.inputs import located
from cpkg.typed.nodes import ARRAY, BIN, BOOL, EXT, FLOAT, INT, MAP, MISSING, NIL, STR, TEXT_KINDS
from cpkg.typed.texts import FROM_TEXT, from_ext
from purepy.base.errors import CodecError, StackError
from purepy.msgpack.ext import ExtType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    from typing_extensions import TypeAlias

    from cpkg.typed.inputs import Message, Objects, Place
    from cpkg.typed.nodes import Hook, Node
    from purepy.base.types import Value

    Path: TypeAlias = tuple[object, ...]

_BAD: Final = (ValueError, TypeError, OverflowError, ArithmeticError)
"""What a constructor or a hook may raise for a value that it refuses."""


class Walker:
    """Makes values from a source by their nodes."""

    def __init__(
        self,
        source: Message | Objects,
        untyped: Callable[[Place, int], object],
        *,
        hook: Hook | None = None,
        strict: bool = True,
        collect: bool = False,
        attributes: bool = False,
    ) -> None:
        """
        `untyped(at, depth)` makes a value without a type, and goes to its end in the source. With `collect` errors are
        kept in `errors`, and reading goes on. `attributes` allows objects with attributes in the place of maps.
        """
        self.source = source
        self.untyped = untyped
        self.hook = hook
        self.strict = strict
        self.errors: list[ValidationError] | None = [] if collect else None
        self.attributes = attributes

    def make(self, node: Node, at: Place, depth: int) -> object:
        """Return the value at a place; ValidationError, the first or that of all of them."""
        try:
            value = self.walk(node, at, (), depth)
        except ValidationError as exc:
            if self.errors is None:
                raise
            self.errors.append(exc)
        except RecursionError:
            raise StackError("nested deeper than the interpreter's stack allows") from None
        if self.errors:
            first = self.errors[0]
            first.errors = tuple(self.errors)
            raise first
        return value

    def fail(self, expected: str, found: str, path: Path, at: Place) -> ValidationError:
        return ValidationError(expected, found, path, at if self.source.has_offsets else None)

    def below(self, node: Node, at: Place, path: Path, depth: int) -> object:
        """Return a value inside of a container; MISSING if it is wrong and errors are collected."""
        if self.errors is None:
            return self.walk(node, at, path, depth)
        try:
            return self.walk(node, at, path, depth)
        except ValidationError as exc:
            self.errors.append(exc)
            self.source.skip(at)
            return MISSING

    def walk(self, node: Node, at: Place, path: Path, depth: int) -> object:
        family, value = self.source.look(at)
        if node.kind == "union":
            chosen = self._alternative(node, family, value, at, path)
            result = self.walk(chosen, at, path, depth)
        else:
            result = self._value(node, family, value, at, path, depth)
        if node.checks is not None and result is not MISSING:
            try:
                problem = node.checks.problem(result)
            except _BAD as exc:
                problem = f"a value that can be checked ({exc})"
            if problem is not None:
                raise self.fail(
                    problem if problem[0] not in "<>" else f"{node.name} {problem}", _shown(result), path, at
                )
        return result

    def _value(self, node: Node, family: str, value: Value, at: Place, path: Path, depth: int) -> object:
        kind = node.kind
        if kind == "any":
            return self.untyped(at, depth)
        if kind == family and kind not in (ARRAY, MAP, EXT, BIN):
            return value
        if kind == "none" and family == NIL:
            return None
        if kind == "float" and family == INT:
            try:
                return float(value)
            except OverflowError:
                raise self.fail("float", "int beyond a float's range", path, at) from None
        if kind == "object":
            return self._object(node, family, value, at, path, depth)
        if kind in (ARRAY, "tuple") and family == ARRAY:
            return self._items(node, value, at, path, depth)
        if kind == "dict" and family == MAP:
            return self._pairs(node, value, at, path, depth)
        if kind in ("literal", "enum"):
            return self._one_of(node, family, value, at, path)
        if kind == "bytes" and family == BIN:
            return value if type(value) is node.cls else node.cls(value)
        if kind == "raw":
            try:
                return self.source.raw(at)
            except TypeError:
                raise self.fail("Raw", _found(family, value), path, at) from None
        if kind == "custom":
            if not self.source.has_offsets and isinstance(value, node.cls):
                return value
            return self._hooked(node, self.untyped(at, depth), path, at)
        if family == EXT:
            return self._extension(node, value, path, at)
        if not self.source.has_offsets and type(value) is node.cls and kind in TEXT_KINDS:
            return value
        if family == STR and kind in FROM_TEXT:
            try:
                return FROM_TEXT[kind](value)
            except _BAD:
                raise self.fail(node.name, f"str {_shown(value)}", path, at) from None
        if family == STR and kind == "bytes" and not self.source.has_offsets:
            import base64

            try:
                return node.cls(base64.b64decode(value, validate=True))
            except ValueError:
                raise self.fail(f"{node.name} as base64", _shown(value), path, at) from None
        if not self.strict:
            result = _lax(kind, family, value)
            if result is not MISSING:
                return result
        raise self.fail(node.name, _found(family, value), path, at)

    def _alternative(self, node: Node, family: str, value: Value, at: Place, path: Path) -> Node:
        """Return the part of a union that a value is for."""
        by_family = node.by_family
        chosen = by_family.get(family)
        if family == EXT:
            chosen = by_family.get(value[0], chosen)
        elif chosen is None and family == INT:
            chosen = by_family.get(FLOAT)
        elif chosen is None:
            for part in node.parts:
                if family == STR and part.kind in TEXT_KINDS and _takes(FROM_TEXT[part.kind], value):
                    return part
                if not self.source.has_offsets and isinstance(part.cls, type) and isinstance(at, part.cls):
                    return part
                if not self.strict and _lax(part.kind, family, value) is not MISSING:
                    return part
            if self.attributes and node.objects and not self.source.has_offsets:
                chosen = by_family.get(MAP)
        if chosen is None:
            raise self.fail(node.name, _found(family, value), path, at)
        if family == MAP and node.objects:
            return self._object_of(node, at, path)
        return chosen

    def _object_of(self, node: Node, at: Place, path: Path) -> Node:
        """Return the object of a union that a map is for."""
        keys = self.source.keys(at)
        if node.tag is None:
            return next((part for part, unique in unique_keys(node) if unique <= keys.keys()), node.objects[-1])
        key, values = node.tag
        if key not in keys:
            raise self.fail(f"{node.name}, told apart by the key {key!r}", "a map without it", path, at)
        before = self.source.end
        family, value = self.source.look(keys[key])
        self.source.end = before
        try:
            return values[(type(value), value)]
        except (KeyError, TypeError):
            expected = " or ".join([repr(tag) for _, tag in values])
            raise self.fail(expected, _found(family, value), (*path, key), keys[key]) from None

    def _one_of(self, node: Node, family: str, value: object, at: Place, path: Path) -> object:
        if not self.source.has_offsets and node.kind == "enum" and isinstance(at, node.cls):
            return at
        if family not in (ARRAY, MAP, EXT):
            found = node.table.get((type(value), value), MISSING)
            if found is MISSING and not self.strict and family == STR:
                found = node.table.get((int, _lax("int", STR, value)), MISSING)
            if found is MISSING and node.kind == "enum" and family in node.families:
                try:
                    return node.cls(value)
                except _BAD:
                    pass
            if found is not MISSING:
                return found
        expected = " or ".join([repr(key[1]) for key in list(node.table)[:20]]) or node.name
        raise self.fail(expected, _shown(value) if family in node.families else _found(family, value), path, at)

    def _extension(self, node: Node, value: Value, path: Path, at: Place) -> object:
        code, data = value
        if node.kind == "ext":
            if code < 0:
                raise self.fail("ExtType of a code from 0 to 127", f"ext {code}", path, at)
            return ExtType(code, data)
        if code not in node.families:
            raise self.fail(node.name, f"ext {code}", path, at)
        try:
            return from_ext(node.kind, code, data)
        except _BAD as exc:
            raise self.fail(node.name, f"ext {code} that is none ({exc})", path, at) from exc

    def _hooked(self, node: Node, value: object, path: Path, at: Place) -> object:
        if self.hook is None:
            raise self.fail(node.name, type(value).__name__, path, at)
        try:
            result = self.hook(node.cls, value)
        except ValidationError:
            raise
        except (ValueError, TypeError) as exc:
            raise self.fail(node.name, f"{type(exc).__name__}: {exc}", path, at) from exc
        if not isinstance(result, node.cls):
            raise self.fail(node.name, f"{type(result).__name__} from dec_hook", path, at)
        return result

    # --- containers -----------------------------------------------------------------------------------------------

    def _deeper(self, depth: int, at: Place) -> int:
        if depth <= 0:
            raise located(StackError("nested deeper than max_depth"), at if self.source.has_offsets else 0)
        return depth - 1

    def _items(self, node: Node, length: int, at: Place, path: Path, depth: int) -> object:
        depth = self._deeper(depth, at)
        if node.kind == "tuple" and length != len(node.parts):
            raise self.fail(f"array of length {len(node.parts)}", f"array of length {length}", path, at)
        items = []
        for index, child in enumerate(self.source.children(at, ARRAY, length)):
            part = node.item if node.kind == ARRAY else node.parts[index]
            items.append(self.below(part, child, (*path, index), depth))
        if self.errors:
            return None
        if node.cls in (set, frozenset):
            for index, item in enumerate(items):
                items[index] = self._hashable(item, (*path, index), at)
        return items if node.cls is list else node.cls(items)

    def _hashable(self, value: object, path: Path, at: Place) -> object:
        """Return a value for a set or as a key: arrays without a type become tuples, as `loads` gives them for keys."""
        try:
            hash(value)
        except TypeError as exc:
            value = _as_tuples(value)
            try:
                hash(value)
            except TypeError:
                raise self.fail("a value that can be hashed", str(exc), path, at) from None
        return value

    def _pairs(self, node: Node, length: int, at: Place, path: Path, depth: int) -> object:
        depth = self._deeper(depth, at)
        result: dict[object, object] = {}
        children = self.source.children(at, MAP, length)
        for child in children:
            key = self.below(node.key, child, (*path, "key of the map"), depth)
            key = self._hashable(key, (*path, "key of the map"), at)
            shown = key if isinstance(key, (str, int, bool)) else _shown(key)
            result[key] = self.below(node.item, next(children), (*path, shown), depth)
        return result if node.cls is dict else node.cls(result)

    def _object(self, node: Node, family: str, length: int, at: Place, path: Path, depth: int) -> object:
        source = self.source
        values: dict[str, object] = {}
        if not source.has_offsets and node.style in ("dataclass", "attrs") and isinstance(at, node.cls):
            return at
        if node.array_like and family == ARRAY:
            depth = self._deeper(depth, at)
            least = sum(field.required for field in node.fields)
            most = len(node.fields)
            if length < least or (length > most and (node.forbid or node.style == "namedtuple")):
                raise self.fail(
                    f"array of length {least}{f' to {most}' * (most > least)}", f"length {length}", path, at
                )
            for index, child in enumerate(source.children(at, ARRAY, length)):
                if index < most:
                    field = node.fields[index]
                    values[field.name] = self.below(field.node, child, (*path, field.key), depth)
                else:
                    source.skip(child)
        elif family == MAP and not node.array_like:
            depth = self._deeper(depth, at)
            by_key = {field.key: field for field in node.fields}
            children = source.children(at, MAP, length)
            for child in children:
                key_family, key = source.look(child)
                if key_family != STR:
                    raise self.fail("str as a key", _found(key_family, key), path, child)
                found = by_key.get(key)
                if found is not None:
                    values[found.name] = self.below(found.node, next(children), (*path, found.key), depth)
                elif node.forbid:
                    raise self.fail(f"no key {key!r} in {node.name}", "it", path, child)
                else:
                    source.skip(next(children))
        elif self.attributes and not source.has_offsets and family not in (NIL, BOOL, INT, FLOAT, STR, BIN, EXT):
            for field in node.fields:
                if hasattr(at, field.name):
                    values[field.name] = self.below(field.node, getattr(at, field.name), (*path, field.key), depth)
        else:
            raise self.fail(node.name, _found(family, length), path, at)
        for field in node.fields:
            if field.name not in values and field.required:
                problem = self.fail(f"the key {field.key!r} of {node.name}", "a map without it", path, at)
                if self.errors is None:
                    raise problem
                self.errors.append(problem)
        if self.errors:
            return None
        try:
            return build(node, values)
        except (ValueError, TypeError) as exc:
            if isinstance(exc, CodecError) and not isinstance(exc, ValidationError):
                raise
            raise self.fail(node.name, f"{type(exc).__name__}: {exc}", path, at) from exc


def build(node: Node, values: dict[str, object]) -> object:
    """Return the object of those values of fields, with defaults for the others."""
    if node.style == "typeddict":
        return {field.name: values[field.name] for field in node.fields if field.name in values}
    for field in node.fields:
        if field.name not in values and (field.factory is not None or field.default is not MISSING):
            values[field.name] = field.make_default()
    if node.build == "call" or node.style == "namedtuple":
        return node.cls(**{field.parameter: values[field.name] for field in node.fields if field.name in values})
    made = object.__new__(node.cls)
    for name, value in values.items():
        object.__setattr__(made, name, value)
    if hasattr(node.cls, "__post_init__"):
        made.__post_init__()
    return made


def _takes(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except _BAD:
        return False
    return True


def _lax(kind: str, family: str, value: Value) -> object:
    """Return what `strict=False` makes of a value of another family, or MISSING."""
    if family == STR:
        text = value.strip().lower()
        if kind == "none":
            return None if text in ("null", "none") else MISSING
        if kind == "bool":
            return {"true": True, "1": True, "false": False, "0": False}.get(text, MISSING)
        if kind in ("int", "float") and len(text) <= 400 and "_" not in text and text.isascii():
            try:
                return int(text) if kind == "int" else float(text)
            except ValueError:
                return MISSING
    if kind == "bool" and family == INT and value in (0, 1):
        return bool(value)
    if kind == "int" and family == FLOAT and value.is_integer():
        return int(value)
    if family in (INT, FLOAT) and kind in ("datetime", "timedelta", "decimal"):
        import datetime

        try:
            if kind == "decimal":
                return FROM_TEXT["decimal"](str(value))
            if kind == "timedelta":
                return datetime.timedelta(seconds=value)
            return datetime.datetime.fromtimestamp(0, datetime.timezone.utc) + datetime.timedelta(seconds=value)
        except _BAD:
            return MISSING
    return MISSING


def _found(family: str, value: Value) -> str:
    return f"ext {value[0]}" if family == EXT else family


def _shown(value: object) -> str:
    text = repr(value) if not (isinstance(value, int) and value.bit_length() > 200) else "a long int"
    return text if len(text) <= 60 else text[:57] + "..."


def _as_tuples(value: Value) -> object:
    """Return a value with tuples in the place of lists, in tuples too."""
    if type(value) in (list, tuple):
        return tuple([_as_tuples(item) for item in value])
    return value
