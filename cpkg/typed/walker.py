# SPDX-License-Identifier: Apache-2.0
"""
The slow, general decoder: create a value of any type node by node, from a message or from objects.

The fast decoding functions only detect that a message does not have its type. The walker then explains the failure: it
reads the message again, and reports where the error is, what was expected and what was found, or all errors. It does
not run the caller's code again for that, because it knows how that code failed. The walker also implements `convert`
and `strict=False`. It reads whole messages while no functions are compiled, and the values that these leave to it.
"""

from __future__ import annotations

import struct
from functools import partial

from cpkg.typed.annotations import unique_keys
from cpkg.typed.errors import ValidationError
from cpkg.typed.inputs import located
from cpkg.typed.nodes import ARRAY, BIN, BOOL, EXT, FLOAT, INT, MAP, MISSING, NIL, STR, TEXT_KINDS
from cpkg.typed.readers import Mismatch, Refused, UnfitError, as_tuples
from cpkg.typed.texts import EPOCH, EXACT, FROM_TEXT, from_ext, usual_time
from purepy.base.errors import CodecError, StackError, exception_text, raise_if_from_handler, too_deep
from purepy.base.lazy import imported
from purepy.msgpack.ext import ExtType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Final

    from typing_extensions import TypeAlias

    from cpkg.typed.inputs import Message, Objects, Place
    from cpkg.typed.nodes import Hook, Node
    from cpkg.typed.readers import Meter
    from purepy.base.types import Value

    Path: TypeAlias = "tuple[Path, object] | None"
    """The path of the container, and the last step from there; None for the outermost value."""

_BAD: Final = (ValueError, TypeError, ArithmeticError)
"""The exceptions that the standard library raises for a value that it refuses."""
_REFUSING: Final[dict[str, tuple[type[Exception], ...]]] = {
    "build": (ValueError, TypeError),
    "hook": (ValueError, TypeError),
    "check": (),  # see `Checks.problem`
    "hash": (TypeError,),
    "enum": _BAD,
}
"""The exceptions by which the caller's code refuses a value, by the role of the code (see `Refused`)."""
_EXTENSIONS: Final = (*TEXT_KINDS, "ext")
"""The kinds of types whose extension values `Walker._extension` reads."""
_OF_CALLERS: Final = ("object", "custom")
"""The kinds of types whose values the caller's code creates."""
_EXACT: Final[dict[str, Callable[[Any], object]]] = {STR: EXACT[str], INT: EXACT[int], BIN: bytes}
"""Functions that convert the values of a family to its own class, from subclasses and mutable buffers."""
_STACK_ENDED: Final = (
    "the data is nested deeper than the interpreter's stack allows, or a constructor or hook recurses without end"
)


class _Unmade:
    """A placeholder for a value that the caller's code would create, while the walker explains an error."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"{self.name}(...)"


class _EnoughErrors(Exception):
    """There are more errors than `max_errors`."""


class Walker:
    """Reads values from a source, and creates objects of the types that nodes describe."""

    def __init__(
        self,
        source: Message | Objects,
        untyped: Callable[[Place, int], object],
        meter: Meter,
        *,
        hook: Hook | None = None,
        strict: bool = True,
        max_errors: int = 0,
        attributes: bool = False,
        is_part: bool = False,
        failure: Exception | None = None,
    ) -> None:
        """
        Create a walker over a source.

        `untyped(at, depth)` returns the untyped value at a place, and moves the source to the end of the value. If
        `max_errors` is not 0, reading continues after an error, and up to `max_errors` errors (-1 for no limit) are
        kept in `errors`. `attributes` allows objects with attributes instead of maps. If `is_part`, the walker is
        called from a decoding function: it raises Refused, as such functions do, and the paths in its ValidationErrors
        begin at the value that it reads. `failure` is the exception that a decoding function raised.
        """
        self.source = source
        self.untyped = untyped
        self.meter = meter
        self.hook = hook
        self.strict = strict
        self.max_errors = max_errors
        self.errors: list[ValidationError] = []
        self.attributes = attributes
        self.is_part = is_part
        self.failure = failure
        self.max_depth = 0

    def make(self, node: Node, at: Place, depth: int) -> object:
        """Return the value at a place; raise a ValidationError with the first error, or with all of them."""
        self.max_depth = depth
        try:
            value = self.walk(node, at, None, depth)
        except ValidationError as exc:
            if not self.max_errors:
                raise
            more = not self.keep(exc)
        except _EnoughErrors:
            more = True
        except RecursionError:
            raise StackError(_STACK_ENDED) from None
        else:
            more = False
        if self.errors:
            first = self.errors[0]
            first.errors = tuple(self.errors)
            first.more = more
            raise first
        return value

    def keep(self, error: ValidationError) -> bool:
        """Add an error to `errors`; return False instead if `errors` already holds `max_errors`."""
        # decoding functions stop at the first error: after that error, the walker runs the caller's code itself
        self.failure = None
        if len(self.errors) == self.max_errors:
            return False
        self.errors.append(error)
        return True

    def fail(self, expected: str, found: str, path: Path, at: Place) -> ValidationError:
        """Return the ValidationError for a value at a place; if `expected` is empty, `found` is the whole text."""
        steps = []
        while path is not None:
            path, step = path
            steps.append(step)
        return ValidationError(expected, found, tuple(reversed(steps)), at if self.source.has_offsets else None)

    def below(self, node: Node, at: Place, path: Path, depth: int) -> object:
        """Return a value inside a container; MISSING if it is wrong and errors are collected."""
        if not self.max_errors:
            return self.walk(node, at, path, depth)
        try:
            return self.walk(node, at, path, depth)
        except ValidationError as exc:
            if not self.keep(exc):
                raise _EnoughErrors from None
            self.source.skip(at)
            return MISSING

    def walk(self, node: Node, at: Place, path: Path, depth: int) -> object:
        """
        Return the value of a type at a place; raise ValidationError if it is wrong.

        Returns MISSING if a value inside it is wrong, and errors are collected.
        """
        family, value = self.source.look(at)
        if node.kind == "union":
            chosen = self._alternative(node, family, value, at, path)
            result = self.walk(chosen, at, path, depth)
        else:
            result = self._value(node, family, value, at, path, depth)
        if node.checks is not None and result is not MISSING:
            self._check(node, result, path, at)
        return result

    def _check(self, node: Node, value: object, path: Path, at: Place) -> None:
        """
        Raise ValidationError for a value that breaks a constraint; Refused if a decoding function calls the walker.
        """
        checks = node.checks
        assert checks is not None
        failure = self.failure
        if failure is None:
            problem = self._call("check", node, path, at, checks.problem, value)
            if problem is not None and self.is_part:
                raise Refused(problem, at, "check", value)
        elif type(failure) is Refused and (failure.offset, failure.role) == (at, "check"):
            if not isinstance(failure.exc, str):
                raise self._failed("check", node, failure.exc, path, at)
            problem, value = failure.exc, failure.value
        else:
            problem = checks.bound(value) if node.rechecks() else None
        if problem is not None:
            expected = problem if problem[0] not in "<>" else f"{node.name} {problem}"
            raise self.fail(expected, _shown(value), path, at)

    def _call(
        self, role: str, node: Node, path: Path, at: Place, function: Callable[..., object], *args: object
    ) -> Value:
        """
        Call `function`, which is the caller's code.

        While the walker explains a failure, it calls nothing: it raises the error of the failed call, or returns a
        placeholder for the result of any other call.
        """
        failure = self.failure
        if failure is not None:
            if type(failure) is not Refused or (failure.offset, failure.role) != (at, role):
                return _Unmade(node.name)
            raise self._failed(role, node, failure.exc, path, at)
        try:
            return function(*args)
        except Exception as exc:
            if self.is_part:
                raise Refused(exc, at, role) from exc
            error = self._failed(role, node, exc, path, at)
            if error is exc:
                raise
        raise error

    def _failed(self, role: str, node: Node, exc: Exception | str, path: Path, at: Place) -> Exception:
        """
        Return the error for `exc`: an exception that the caller's code raised, or a text that describes its result.

        This is a ValidationError for text and for an exception that refuses the value, a StackError for a
        RecursionError, and otherwise `exc` itself.
        """
        if isinstance(exc, str):
            return self.fail(node.name, exc, path, at)
        if isinstance(exc, RecursionError):
            return StackError(_STACK_ENDED)
        as_it_is = isinstance(exc, CodecError) and (role == "hook" or not isinstance(exc, ValidationError))
        if as_it_is or not isinstance(exc, _REFUSING[role]):
            return exc
        if role == "hash":
            error = self.fail("a hashable value", exception_text(exc), path, at)
        else:
            error = self.fail(node.name, f"{type(exc).__name__}: {exception_text(exc)}", path, at)
        error.__cause__ = exc
        return error

    def _value(self, node: Node, family: str, value: Value, at: Place, path: Path, depth: int) -> object:
        kind = node.kind
        if node.extra and self.failure is None:
            self.meter.take(node.extra, at)
        if kind == "any":
            return self._without_type(at, depth)
        if kind == "numbers":
            return self._numbers(node, family, value, at, path, depth)
        if kind == family and kind not in (ARRAY, MAP, EXT, BIN):
            return value
        if family == EXT and kind in _EXTENSIONS:
            return self._extension(node, value, path, at)
        if kind == "none" and family == NIL:
            return None
        if kind == "float" and family == INT:
            try:
                return float(value)
            except OverflowError:
                raise self.fail("float", "int outside the range of float", path, at) from None
        if not self.source.has_offsets and self.source.is_made(node, at):
            return at
        if kind == "object":
            return self._object(node, family, value, at, path, depth)
        if kind in (ARRAY, "tuple") and family == ARRAY:
            return self._items(node, value, at, path, depth)
        if kind == "dict" and family == MAP:
            return self._pairs(node, value, at, path, depth)
        if kind in ("literal", "enum", "choice"):
            return self._one_of(node, family, value, at, path, depth)
        if kind == "bytes" and family == BIN:
            return value if type(value) is node.cls else node.cls(value)
        if kind == "bytes" and family == EXT and value[0] in node.families:  # a memoryview
            return self._array_of(node, imported("cpkg.typed.arrays").view_of, value, path, at)
        if kind == "raw":
            try:
                return self.source.raw(at)
            except TypeError:
                raise self.fail("Raw", _found(family, value), path, at) from None
        if kind == "custom":
            return self._hooked(node, self._without_type(at, depth), path, at)
        if family == STR and kind in self.source.texts:
            try:
                found = self.source.texts[kind](value)
            except _BAD:
                found = MISSING if self.strict else _lax(kind, family, value)
                if found is MISSING:
                    raise self.fail(node.name, f"str {_shown(value)}", path, at) from None
            return found if kind != "bytes" or node.cls is bytes else node.cls(found)
        if not self.strict:
            result = _lax(kind, family, value)
            if result is not MISSING:
                return result
        raise self.fail(node.name, _found(family, value), path, at)

    def _alternative(self, node: Node, family: str, value: Value, at: Place, path: Path) -> Node:
        """
        Return the part of a union for values of this family; the part may still refuse the value.

        Raises ValidationError if the union has no such part.
        """
        if not self.source.has_offsets:
            for part in node.parts:
                if self.source.is_made(part, at):
                    return part
        by_family = node.by_family
        chosen = by_family.get(family)
        if family == EXT:
            chosen = by_family.get(value[0], chosen)
        elif chosen is None and family == INT:
            chosen = by_family.get(FLOAT)
        elif chosen is None or (
            family == STR and chosen.table and not chosen.item and (str, value) not in chosen.table
        ):
            for part in sorted(node.parts, key=lambda part: part.kind == "bytes"):  # other text may look like base64
                if part.kind == family or (family == STR and self._takes_text(part, value)):
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

    def _takes_text(self, node: Node, text: str) -> bool:
        """Return whether a type that is not packed as text accepts this text."""
        read = self.source.texts.get(node.kind)
        if node.kind == "union":
            return any(self._takes_text(part, text) for part in node.parts)
        if read is None:
            return self.source.member(node, text) is not MISSING
        try:
            read(text)
        except _BAD:
            return False
        return True

    def _object_of(self, node: Node, at: Place, path: Path) -> Node:
        """
        Return the object type of a union to read the map at a place as; the type may still refuse the map.

        The tag determines the type; in a union without a tag, the keys do. Raises ValidationError if the tag is missing
        or unknown.
        """
        keys = self.source.keys(at)
        if node.tag is None:
            return next((part for part, unique in unique_keys(node) if unique <= keys.keys()), node.objects[-1])
        key, values = node.tag
        if key not in keys:
            raise self.fail(f"{node.name}, distinguished by the key {key!r}", "a map without this key", path, at)
        before = self.source.end
        family, value = self.source.look(keys[key])
        self.source.end = before
        found: Node = _entry(values, family, value)
        if found is MISSING:
            expected = " or ".join([repr(tag) for _, tag in values])
            raise self.fail(expected, _found(family, value), (path, key), keys[key])
        return found

    def _one_of(self, node: Node, family: str, value: Value, at: Place, path: Path, depth: int) -> object:
        found: object = MISSING
        if node.kind == "enum" and node.item is not None:
            found = self._member(node, at, path, depth)
        elif family not in (ARRAY, MAP, EXT):
            found = _entry(node.table, family, value)
            if found is MISSING and not self.strict and family == STR:
                found = node.table.get((int, _lax("int", STR, value)), MISSING)
            if found is MISSING and node.kind == "enum" and family in node.families:
                try:
                    return self._call("enum", node, path, at, node.cls, value)
                except ValidationError:
                    pass
        if found is MISSING and family == STR:
            found = self.source.member(node, value)
            if found is MISSING and node.kind == "choice" and node.item is not None:
                return self.walk(node.item, at, path, depth)
        if found is not MISSING:
            return found
        expected = " or ".join([repr(key[1]) for key in list(node.table)[:20]]) or node.name
        is_shown = family in node.families and family not in (ARRAY, MAP)
        raise self.fail(expected, _shown(value) if is_shown else _found(family, value), path, at)

    def _member(self, node: Node, at: Place, path: Path, depth: int) -> object:
        """Return the member of an Enum with values such as times or tuples (see `Node.item`); MISSING if none fits."""
        try:
            value = as_tuples(self.walk(node.item, at, path, depth))
            found = node.table.get((type(value), value), MISSING)
        except (ValidationError, TypeError):  # another type, or unhashable
            return MISSING
        # 1 does not count as True
        return found if type(value) is not tuple or repr(getattr(found, "value", found)) == repr(value) else MISSING

    def _extension(self, node: Node, value: Value, path: Path, at: Place) -> object:
        code, data = value
        if node.kind == "ext":
            if code < 0:
                raise self.fail("ExtType with a code from 0 to 127", f"ext {code}", path, at)
            return ExtType(code, data)
        if code not in node.families:
            raise self.fail(node.name, f"ext {code}", path, at)
        try:
            return from_ext(node.kind, code, data)
        except _BAD as exc:
            raise self.fail(node.name, f"invalid ext {code} ({exc})", path, at) from exc

    def _numbers(self, node: Node, family: str, value: Value, at: Place, path: Path, depth: int) -> object:
        """Return the array of numbers at a place, from an extension value, a list or an array."""
        source, numbers = self.source, node.numbers
        if family == EXT and value[0] in node.families:
            read = partial(numbers.of_payload, strict=self.strict)
            return self._array_of(node, read, value, path, at)
        if not source.has_offsets and imported("cpkg.typed.arrays").is_array(at):
            try:
                return numbers.of_array(at, strict=self.strict)
            except UnfitError as exc:
                raise self.fail(node.name, str(exc), path, at) from None
        if family != ARRAY or node.item is None:
            raise self.fail(node.name, _found(family, value), path, at)
        if source.has_offsets:
            try:
                made, source.end = numbers.read(source.data, at, depth)  # type: ignore[union-attr]
            except (*_BAD, IndexError, struct.error, Mismatch):
                source.look(at)  # back to the first item
            else:
                return made
        items = self._items(node.item, value, at, path, depth)
        if items is MISSING:
            return items
        try:
            return numbers.of_values(items)
        except _BAD as exc:
            raise self.fail(node.name, str(exc), path, at) from exc

    def _array_of(
        self, node: Node, read: Callable[[memoryview], object], value: tuple[int, bytes], path: Path, at: Place
    ) -> object:
        """
        Return the array that `read` creates from the data of an extension value; raise ValidationError if it is wrong.
        """
        try:
            return read(memoryview(value[1]))
        except UnfitError as exc:
            raise self.fail(node.name, str(exc), path, at) from None
        except _BAD as exc:
            raise self.fail(node.name, f"invalid ext {value[0]} ({exc})", path, at) from exc

    def _hooked(self, node: Node, value: object, path: Path, at: Place) -> object:
        if self.hook is None:
            raise self.fail(node.name, type(value).__name__, path, at)
        result = self._call("hook", node, path, at, self.hook, node.cls, value)
        if type(result) is not _Unmade and not isinstance(result, node.cls):
            found = f"{type(result).__name__} from dec_hook"
            raise Refused(found, at, "hook") if self.is_part else self.fail(node.name, found, path, at)
        return result

    # --- containers -----------------------------------------------------------------------------------------------

    def _deeper(self, depth: int, at: Place) -> int:
        if depth <= 0:
            raise located(too_deep(self.max_depth), at if self.source.has_offsets else 0)
        return depth - 1

    def _without_type(self, at: Place, depth: int) -> object:
        """Return a value without a type. A StackError names the limit of the message, not the depth that is left."""
        try:
            return self.untyped(at, depth)
        except StackError as exc:
            if exc.args == too_deep(max(depth, 0)).args:
                exc.args = too_deep(self.max_depth).args
            raise

    def _items(self, node: Node, length: int, at: Place, path: Path, depth: int) -> object:
        depth = self._deeper(depth, at)
        before = len(self.errors)
        if node.kind == "tuple" and length != len(node.parts):
            raise self.fail(f"array of length {len(node.parts)}", f"array of length {length}", path, at)
        if node.extra_item and self.failure is None:
            self.meter.take(node.extra_item * length, at)
        hashed: set[object] | None = set() if node.cls in (set, frozenset) else None
        items: list[object] = []
        for index, child in enumerate(self.source.children(at, ARRAY, length)):
            part = node.item if node.kind == ARRAY else node.parts[index]
            step = (path, index)
            item = self.below(part, child, step, depth)
            if hashed is None:
                items.append(item)
            elif item is not MISSING:
                item = self._hashable(part, item, step, child, hashed, length, depth)
                self._put(part, step, child, hashed.add, item)
        if len(self.errors) > before:
            return MISSING
        found: object = items if hashed is None else hashed
        return found if type(found) is node.cls else node.cls(found)

    def _hashable(
        self, node: Node, key: object, path: Path, at: Place, into: set[object] | dict[object, object], count: int,
        depth: int,
    ) -> object:  # fmt: skip
        """
        Return the hashable form of a key or of a set's item; raise an error for one that `Meter.hashable` refuses.
        """
        failure = self.failure
        if type(failure) is Refused and (failure.offset, failure.role) == (at, "hash"):
            raise self._failed("hash", node, failure.exc, path, at)
        if type(key) is _Unmade:
            return key
        try:
            return self.meter.hashable(key, at if self.source.has_offsets else 0, into, count, depth)
        except Refused as exc:
            if self.is_part:
                raise
            error = self._failed("hash", node, exc.exc, path, at)
        raise error

    def _put(self, node: Node, path: Path, at: Place, put: Callable[..., None], key: object, *value: object) -> None:
        """Call `put`, which adds a key to a dict or a set, and may run the caller's code to compare keys."""
        if self.failure is None:
            self._call("hash", node, path, at, put, key, *value)
        else:
            put(key, *value)

    def _pairs(self, node: Node, length: int, at: Place, path: Path, depth: int) -> object:
        depth = self._deeper(depth, at)
        before = len(self.errors)
        if node.extra_item and self.failure is None:
            self.meter.take(node.extra_item * length, at)
        result: dict[object, object] = {}
        children = self.source.children(at, MAP, length)
        for child in children:
            step = (path, "key of the map")
            key = self.below(node.key, child, step, depth)
            if key is not MISSING:
                key = self._hashable(node.key, key, step, child, result, length, depth)
            shown = self._step(node.key, key, child)
            item = self.below(node.item, next(children), (path, shown), depth)
            if key is not MISSING:
                self._put(node.key, step, child, result.__setitem__, key, item)
        if len(self.errors) > before:
            return MISSING
        return result if node.cls is dict else node.cls(result)

    def _step(self, node: Node, key: object, at: Place) -> object:
        """
        Return how the path of an error shows a key of a map: a str or short int itself, another key as shortened text.

        For a key that could not be decoded (MISSING), the result shows what the source has there. The text of a key
        that may contain objects of the caller is only the name of its type.
        """
        if key is MISSING:
            end = self.source.end
            family, value = self.source.look(at)
            self.source.end = end
            key = family if family in (ARRAY, MAP, EXT) else value
        is_short = isinstance(key, str) or (isinstance(key, int) and key.bit_length() <= 64)
        if is_short:
            return key
        return _shown(_Unmade(node.name) if node.has(*_OF_CALLERS) else key)

    def _object(self, node: Node, family: str, length: int, at: Place, path: Path, depth: int) -> object:
        source = self.source
        before = len(self.errors)
        values: dict[str, object] = {}
        if node.array_like and family == ARRAY:
            depth = self._deeper(depth, at)
            least = sum(field.required for field in node.fields)
            most = len(node.fields) + len(node.passed)
            if length < least or (length > most and (node.forbid or node.style == "namedtuple")):
                raise self.fail(
                    f"array of length {least}{f' to {most}' * (most > least)}", f"length {length}", path, at
                )
            for index, child in enumerate(source.children(at, ARRAY, length)):
                if index < len(node.fields):
                    field = node.fields[index]
                    values[field.name] = self.below(field.node, child, (path, field.key), depth)
                else:
                    source.skip(child)
        elif family == MAP and not node.array_like:
            depth = self._deeper(depth, at)
            by_key = {field.key: field for field in node.fields}
            children = source.children(at, MAP, length)
            for child in children:
                key_family, key = source.look(child)
                if key_family != STR:
                    raise self.fail("a str key", _found(key_family, key), path, child)
                found = by_key.get(key)
                if found is not None:
                    values[found.name] = self.below(found.node, next(children), (path, found.key), depth)
                elif node.forbid and key not in node.passed:
                    raise self.fail("", f"unknown key {key!r} in {node.name}", path, child)
                else:
                    source.skip(next(children))
        elif self.attributes and not source.has_offsets and family not in (NIL, BOOL, INT, FLOAT, STR, BIN, EXT):
            for field in node.fields:
                if hasattr(at, field.name):
                    values[field.name] = self.below(field.node, getattr(at, field.name), (path, field.key), depth)
        else:
            raise self.fail(node.name, _found(family, length), path, at)
        for field in node.fields:
            if field.name not in values and field.required:
                problem = self.fail("", f"missing key {field.key!r} in {node.name}", path, at)
                if not self.max_errors:
                    raise problem
                if not self.keep(problem):
                    raise _EnoughErrors
        if len(self.errors) > before:
            return MISSING
        if self.failure is None:
            for field in node.fields:
                if field.extra and field.name not in values:
                    self.meter.take(field.extra, at)
        return self._call("build", node, path, at, build, node, values)


def build(node: Node, values: dict[str, object]) -> object:
    """Return an object with these values, by field name, and the defaults of other fields; a TypedDict has none."""
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
    if node.post_init:
        made.__post_init__()
    return made


def _lax(kind: str, family: str, value: Value) -> object:
    """Convert a value of another family to this kind, as `strict=False` does; return MISSING if that is impossible."""
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
        if kind in ("datetime", "time"):
            try:
                return FROM_TEXT[kind](usual_time(text.upper()))
            except _BAD:
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
            return EPOCH + datetime.timedelta(seconds=value)
        except _BAD:
            return MISSING
    return MISSING


def _entry(table: Mapping[tuple[type, Value], Value], family: str, value: Value) -> Value:
    """Return the entry of a table for a value of this family; MISSING if there is none."""
    exact = _EXACT.get(family)
    if exact is not None:
        value = exact(value)
    try:
        return table.get((type(value), value), MISSING)
    except TypeError:  # the value is unhashable
        return MISSING


def _found(family: str, value: Value) -> str:
    return f"ext {value[0]}" if family == EXT else family or type(value).__name__


def _shown(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > 200:
        return "a long int"
    try:
        text = repr(value)
    except Exception as exc:  # a long int in a container, or an error in the caller's code
        raise_if_from_handler(exc)
        text = type(value).__name__
    return text if len(text) <= 60 else text[:57] + "..."
