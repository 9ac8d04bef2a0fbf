# SPDX-License-Identifier: Apache-2.0
"""`Decoder`, `Encoder`, and the functions that use them."""

from __future__ import annotations

import struct
import typing
from collections import deque
from enum import Enum
from functools import partial

from cpkg import _backend
from cpkg.objects import dumps_loads, types_written
from cpkg.typed.annotations import Model
from cpkg.typed.encoding import Encoding
from cpkg.typed.errors import ValidationError
from cpkg.typed.fields import reader_of
from cpkg.typed.functions import Functions
from cpkg.typed.inputs import Message, Objects
from cpkg.typed.kept import ATTRIBUTE, Kept, found_with, kept_with
from cpkg.typed.nodes import Node, form_of
from cpkg.typed.readers import PADDING, Meter, Mismatch, Refused
from cpkg.typed.scopes import special_form
from cpkg.typed.walker import Walker
from purepy.base.buffers import memory_of
from purepy.base.cores import checked_int
from purepy.base.errors import CodecError, ExtraData, LimitError
from purepy.base.lazy import imported
from purepy.msgpack.conversions import ENUM
from purepy.msgpack.formats import ARRAY, BIN, EXT, MAP, STR, value_header
from purepy.msgpack.interface import HEAVIEST
from purepy.msgpack.options import as_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Final

    from cpkg._backend_protocols import MsgpackBackend
    from cpkg.typed.nodes import Annotation, Hook
    from purepy.base.types import Buffer, Value

MAX_DEPTH: Final = dumps_loads.MAX_DEPTH
_ANY_LENGTH: Final = 2**32 - 1
_WRONG: Final = (
    Mismatch, Refused, ValueError, TypeError, IndexError, KeyError, struct.error, ArithmeticError, RecursionError,
)  # fmt: skip
"""The exceptions that decoding functions raise for a wrong or refused message; the walker finds the reason."""
_FAILURES: Final = (CodecError, *_WRONG)
"""All exceptions that decoding functions raise because of a message, including those for exceeded limits."""

WALKED: Final = 16
"""Before functions are compiled, the walker decodes this many bytes for each key, item, part and field of a type."""


def msgpack_module() -> MsgpackBackend:
    """Return the backend that packs and unpacks untyped values."""
    return _backend.msgpack()


def _untyped(data: bytes, position: int, depth: int) -> tuple[object, int]:
    """Return the value at a position, decoded as by `cpkg.loads`, and the position of its end."""
    found: tuple[object, int] = msgpack_module().unpackb_from(
        data,
        position,
        ext_hook=types_written.unpack_ext,  # keywords instead of `**`, as in `loads`
        strict_map_key=False,
        tuple_keys=True,
        timestamp=types_written.TIMESTAMP,
        max_depth=max(depth, 0),
        max_str_len=_ANY_LENGTH,
        max_bin_len=_ANY_LENGTH,
        max_array_len=_ANY_LENGTH,
        max_map_len=_ANY_LENGTH,
        max_ext_len=_ANY_LENGTH,
    )
    return found


class Limits:
    """The limits on the messages of a Decoder, as in `loads` and `unpackb`; -1 is no limit, except for `max_depth`."""

    __slots__ = (
        "any_length", "counts_extras", "harmless", "heaviest", "lengths", "max_depth", "max_memory",
        "max_total_bytes", "max_total_items",
    )  # fmt: skip

    def __init__(
        self, max_depth: int, max_memory: int | None, totals: tuple[int, int], lengths: dict[int, int], heaviest: int
    ) -> None:
        """
        Check and store the limits; `heaviest` is the result of `Node.weigh`.

        `totals` is (max_total_items, max_total_bytes). `lengths` maps each family to its largest length.
        """
        self.max_depth = as_count("max_depth", max_depth)
        self.counts_extras = heaviest > 0
        self.heaviest = max(HEAVIEST, heaviest)
        checked_limit = dumps_loads.checked_limit
        self.max_memory = None if max_memory is None else checked_limit("max_memory", max_memory)
        self.max_total_items = checked_limit("max_total_items", totals[0])
        self.max_total_bytes = checked_limit("max_total_bytes", totals[1])
        self.lengths = {family: checked_limit(_LENGTHS[family], length) for family, length in lengths.items()}
        self.any_length = totals == (-1, -1) and all(length == -1 for length in lengths.values())
        # messages of at most this size need no check
        self.harmless = -1
        if max_memory is None and self.any_length:
            self.harmless = dumps_loads.MEMORY_FLOOR // self.heaviest

    def memory_allowed(self, size: int) -> int:
        """Return the memory in bytes that the objects of a message of `size` bytes may take; -1 is no limit."""
        return dumps_loads.memory_allowed(size, None) if self.max_memory is None else self.max_memory

    def check(self, data: bytes) -> int:
        """
        Raise LimitError for a message whose headers exceed a limit other than `max_depth`, before any object exists.

        Returns how many bytes of memory the objects may take beyond those that the headers show. Returns -1 if such
        bytes need not be counted: there is no limit, the message is too short to exceed it, or the type has none.
        """
        size = len(data)
        room = -1
        if self.max_memory is not None or size * self.heaviest > dumps_loads.MEMORY_FLOOR:
            allowed = self.memory_allowed(size)
            room = dumps_loads.check_memory(dumps_loads.chosen_codecs(), data, allowed, self.max_depth, self.heaviest)
            if not self.counts_extras:
                room = -1
        if self.any_length:
            return room
        position, items, payload = 0, 1, 0
        left = 1
        if self.max_total_items == 0 and data:
            raise _limit(items, "max_total_items", 0, position)
        while left and position < size:
            family, end, length = value_header(data, position)
            left -= 1
            if family in (ARRAY, MAP):
                more = length if family == ARRAY else 2 * length
                left += more
                items += more
                if 0 <= self.max_total_items < items:
                    raise _limit(items, "max_total_items", self.max_total_items, position)
            elif family in (STR, BIN, EXT):
                payload += length
                if 0 <= self.max_total_bytes < payload:
                    raise _limit(payload, "max_total_bytes", self.max_total_bytes, position)
            allowed = self.lengths.get(family, -1)
            if 0 <= allowed < length:
                raise _limit(length, _LENGTHS[family], allowed, position)
            position = end + (0 if family in (ARRAY, MAP) else length + (family == EXT))
        return room


_LENGTHS: Final = {
    STR: "max_str_len",
    BIN: "max_bin_len",
    ARRAY: "max_array_len",
    MAP: "max_map_len",
    EXT: "max_ext_len",
}


def _limit(found: int, name: str, allowed: int, offset: int) -> LimitError:
    error = LimitError(f"{found} exceeds {name}({allowed})")
    error.offset = offset
    return error


def _extra(value: object, data: bytes, end: int) -> ExtraData:
    error = ExtraData(value, data[end:])
    error.offset = end
    return error


class Decoder:
    """
    Decode messages of one type: `Decoder(list[User]).decode(data)`.

    `type` is the type; the default is Any. With `strict=False`, text that holds a number, bool or null is converted, 0
    and 1 are accepted as bools, whole floats as ints, and numbers as datetimes (seconds since 1970), timedeltas
    (seconds) and Decimals. `dec_hook(cls, value)` creates an instance of a class that cpkg does not support; a
    ValueError or TypeError that it raises becomes a ValidationError. With `all_errors` a ValidationError lists every
    error of a message, at most `max_errors` of them (-1 is no limit).

    `max_depth` limits the nesting of containers, and `max_memory` the memory in bytes that the objects of a message
    take (the default is 64 MiB or 100 times the size of the message, whichever is larger). `max_str_len`,
    `max_bin_len`, `max_array_len`, `max_map_len` and `max_ext_len` limit lengths. `max_total_items` limits the number
    of values in a message, including keys, and `max_total_bytes` the total length of its str, bin and ext values. -1 is
    no limit. All limits except `max_depth` are checked in the message's headers, before any object is created. Memory
    that headers do not show, for example of sets, is counted while objects are created.

    `namespace` maps names in annotations that are text to types, for example the local names of a function, or of a
    module that is imported only for type checkers. It takes precedence over the modules of the annotations.

    Raises TypeError for a type that cannot be decoded or is ambiguous, and TypeError or ValueError for another wrong
    argument.
    """

    __slots__ = (
        "__weakref__", "_decode", "_functions", "_has_union", "_limits", "_max_errors", "_node", "_options", "_walks",
        "all_errors", "dec_hook", "strict", "type",
    )  # fmt: skip

    def __init__(
        self,
        type: object = object,
        *,
        strict: bool = True,
        dec_hook: Hook | None = None,
        all_errors: bool = False,
        max_errors: int = 100,
        max_depth: int = MAX_DEPTH,
        max_memory: int | None = None,
        max_str_len: int = -1,
        max_bin_len: int = -1,
        max_array_len: int = -1,
        max_map_len: int = -1,
        max_ext_len: int = -1,
        max_total_items: int = -1,
        max_total_bytes: int = -1,
        namespace: Mapping[str, object] | None = None,
    ) -> None:
        self._options = {name: value for name, value in locals().items() if name not in ("self", "type")}
        types_written.checked_hook("dec_hook", dec_hook)
        max_errors = checked_int("max_errors", max_errors)
        if max_errors < 1 and max_errors != -1:
            raise ValueError(f"max_errors must be 1 or more, or -1 for no limit, not {max_errors}")
        self.type = type
        self.strict = strict
        self.dec_hook = dec_hook
        self.all_errors = all_errors
        self._has_union = False
        self._max_errors = max_errors if all_errors else 0
        self._node: Node = Model(dec_hook is not None, namespace).read(type)
        self._limits = Limits(
            max_depth,
            max_memory,
            (max_total_items, max_total_bytes),
            {STR: max_str_len, BIN: max_bin_len, ARRAY: max_array_len, MAP: max_map_len, EXT: max_ext_len},
            self._node.weigh(),
        )
        self._functions = Functions(_untyped, dec_hook)
        self._decode: Callable[..., Any] | None = None
        self._walks: int | None = None  # the bytes of messages that the walker may still decode

    def __reduce__(self) -> tuple[Callable[[], Decoder], tuple[()]]:
        """Pickle the type and the options; unpickling creates a new Decoder from them."""
        return partial(self.__class__, self.type, **self._options), ()

    def __class_getitem__(cls, item: object) -> type[Decoder]:
        """Return the class: `Decoder[User]` is for type checkers."""
        return cls

    def decode(self, data: Buffer) -> Any:
        """
        Return the object in the message `data`, a bytes-like object.

        Raises ValidationError for a message of another type, and other CodecErrors, like `cpkg.loads`, for a message
        that is damaged or exceeds a limit.
        """
        if type(data) is not bytes:
            data = memory_of(data).tobytes()
        limits = self._limits
        room = limits.check(data) if len(data) > limits.harmless else -1
        decode = self._decode or (self._make_decode(len(data)) if self.strict else None)
        failure: Exception | None = None
        if decode is not None:
            try:
                return decode(data, limits.max_depth, room)
            except LimitError as exc:
                self._name_limit(exc, len(data))
                raise
            except _WRONG as exc:
                failure = exc
        try:  # outside `except`: PyPy fails to chain exceptions at the stack limit
            return self._walk(data, Meter(room), failure)
        except LimitError as exc:
            self._name_limit(exc, len(data))
            raise
        finally:
            failure = None  # its traceback refers to this frame

    def _make_decode(self, size: int) -> Callable[..., Any] | None:
        """
        Return a function (data, depth, room) that decodes a message or raises one of _FAILURES, and keep the function.

        With a count as the fourth argument, the function decodes several messages, as `decode_all` does.

        Without the compiled module, returns None until the walker has spent about as much time on messages as compiling
        the function would take. The next message has `size` bytes.
        """
        table = msgpack_module().TypedTable
        if table is not None:
            self._decode = imported("cpkg.typed.native").make_table(table, self._node, self._functions).decode
            return self._decode
        if self._walks is None:
            self._walks = WALKED * (1 + sum([len(node.below()) for node in self._node.walk().values()]))
        self._walks -= size
        if self._walks >= 0:
            return None
        decode_function = imported("cpkg.typed.decoding").decode_function
        hook, node = self.dec_hook, self._node
        whole: Callable[..., tuple[object, int]] | None = None
        others: dict[tuple[bool, bool], Callable[..., Any]] = {}

        def other(weighs: bool, each: bool) -> Callable[..., Any]:
            if (weighs, each) not in others:
                functions = Functions(_untyped, hook)
                others[weighs, each] = decode_function(functions, node, weighs=weighs, each=each)
            return others[weighs, each]

        def decode(data: bytes, depth: int, room: int, count: int = -1) -> object:
            nonlocal whole
            padded, size = data + PADDING, len(data)
            if count >= 0:
                made, end, failure, left = other(room >= 0, True)(padded, depth, room, count, _FAILURES)
                if end > size:  # the last message is incomplete: part of its object was read from the padding
                    made.pop()
                return made, end, Mismatch() if failure is None and end != size else failure, left
            if whole is None:
                whole = decode_function(Functions(_untyped, hook), node)
            value, end = (whole if room < 0 else other(True, False))(padded, depth, room)
            if end != size:
                raise Refused("", end, "extra", value) if end < size else Mismatch
            return value

        self._decode = decode
        return decode

    def _walk(self, data: bytes, meter: Meter, failure: Exception | None) -> object:
        """
        Return the object in a message, read by the walker.

        If a decoding function raised `failure`, raises the error that explains it. If the message turns out to be
        right, raises `failure` itself, or the exception that a Refused contains.
        """
        if isinstance(failure, Refused) and failure.role == "extra":
            raise _extra(failure.value, data, failure.offset)
        message = Message(data, meter.ends)
        walker = Walker(
            message,
            self._functions.untyped_in(message),
            meter,
            hook=self.dec_hook,
            strict=self.strict,
            max_errors=self._max_errors,
            failure=failure,
        )
        try:
            value = walker.make(self._node, 0, self._limits.max_depth)
        except ValidationError as exc:
            exc.advice = imported("purepy.base.mistaken").advice_for(data)
            raise
        if failure is not None:  # the message is right: the exception came from elsewhere, such as a signal handler
            raise failure.exc if isinstance(failure, Refused) and isinstance(failure.exc, Exception) else failure
        if message.end < len(data):
            raise _extra(value, data, message.end)
        return value

    def _name_limit(self, error: LimitError, size: int) -> None:
        """Set the text of a LimitError without a text, which a meter raised for a message of `size` bytes."""
        if not error.args:
            dumps_loads.name_memory(error, size, self._limits.memory_allowed(size))

    def convert(self, obj: object, *, from_attributes: bool = False) -> Any:
        """Convert `obj` to this type, with `from_attributes` and errors as in `cpkg.typed.convert`."""
        source = Objects()
        walker = Walker(
            source,
            lambda value, _depth: value,
            Meter(),
            hook=self.dec_hook,
            strict=self.strict,
            max_errors=self._max_errors,
            attributes=from_attributes,
        )
        return walker.make(self._node, obj, self._limits.max_depth)


def decode_all(decoder: Decoder, data: bytes, count: int, room: int) -> tuple[list[Any], int, Exception | None, int]:
    """
    Return (objects, position, failure, room) for up to `count` consecutive messages, the first at the start of `data`.

    Decoding stops before the first wrong message. `position` is where that message begins, or where the last object
    ends; if a message is incomplete, `position` may be beyond the data. `failure` is the exception to pass to
    `decode_within`, or None. Of the limits, only `max_depth` and `room` are checked.

    The argument `room` is how many bytes of memory the objects may take beyond those that the headers show; the result
    `room` is how many of these bytes are left. -1 is no limit. The result is also -1 for a type whose objects take no
    such bytes. If the objects exceed the room, `failure` is a LimitError without a text.
    Returns no objects, no failure and position 0 for a decoder with `strict=False`, or before functions are compiled.
    """
    decode = decoder._decode or (decoder._make_decode(len(data)) if decoder.strict else None)
    if decode is None:
        return [], 0, None, room
    room = room if decoder._limits.counts_extras else -1
    return decode(data, decoder._limits.max_depth, room, count)  # type: ignore[no-any-return]


def decode_within(decoder: Decoder, data: bytes, room: int, failure: Exception | None = None) -> tuple[Any, int]:
    """
    Return (object, room) for `data`, which is exactly one message; for both meanings of `room` see `decode_all`.

    With the `failure` that `decode_all` returned for this message, raises the error that explains it; the error's
    offset counts from the start of the message. If the room is too small, the error is a LimitError without a text.
    """
    if failure is None:
        decoder._limits.check(data)
        made, _, failure, left = decode_all(decoder, data, 1, room)
        if made and failure is None:
            return made[0], left
    try:
        if isinstance(failure, LimitError) or not isinstance(failure, (*_WRONG, type(None))):
            raise failure
        meter = Meter(room)
        return decoder._walk(data, meter, failure), meter.room
    finally:
        failure = None  # its traceback refers to this frame


_decoders: dict[object, Decoder] = {}
"""Decoders by type, or by type and limits, of types without an `_anchor` or whose anchor accepts no attributes."""


def _class_cache(cls: Annotation) -> Kept | None:
    """Return the Kept, with `node` set, of a dataclass or attrs class that is packed by its fields; None for others."""
    kept = getattr(cls, ATTRIBUTE, None)
    if kept is not None and kept.cls is cls and kept.node is not None:
        return kept  # type: ignore[no-any-return]
    if not hasattr(cls, "__dataclass_fields__") and not hasattr(cls, "__attrs_attrs__"):
        return None
    found = reader_of(cls)
    if found is None or found[0] not in ("dataclass", "attrs"):
        return None
    kept = kept_with(cls) or Kept(cls)
    if kept.node is None:
        node = Model(lenient=True).describe(cls)
        if msgpack_module().TypedClass is not None and found_with(cls) is kept:
            cls.__typed_class__ = imported("cpkg.typed.native").make_class(msgpack_module(), node)
        kept.node = node
    return kept


def _form(obj: Value) -> object:
    """Return the dict or list to encode for a dataclass or attrs object, or for a deque; None for any other object."""
    cache = _class_cache(type(obj))
    if cache is None or cache.node is None:
        return list(obj) if type(obj) is deque else None
    return form_of(cache.node, obj)


def _converted(replacement: object) -> object:
    """Return the object to pack for the result of an `enc_hook`: packers do not call the hook again for that result."""
    form = _form(replacement)
    return types_written.converted(replacement) if form is None else form


_SHARED: Final = frozenset(
    ("array", "builtins", "collections", "collections.abc", "datetime", "decimal", "numpy", "typing", "uuid")
)
"""Modules whose classes outlive those of the caller."""


def _anchor(tp: object) -> object:
    """
    Return a class in a type that is not in a module of _SHARED, in `Page[User]` the class User, or None.

    `decoder_for` keeps the decoder with this class, if the class accepts attributes.
    """
    args = getattr(tp, "__args__", None)
    if isinstance(args, tuple):
        for part in (*args, getattr(tp, "__origin__", None)):
            found = _anchor(part)
            if found is not None:
                return found
        return None
    if isinstance(tp, type):
        return None if tp.__module__ in _SHARED else tp
    if isinstance(tp, Enum):  # of a Literal
        return type(tp)
    supertype = getattr(tp, "__supertype__", None)  # of a NewType
    return None if supertype is None else _anchor(supertype)


def _has_union(tp: object) -> bool:
    """Return whether a type contains a union: unions are equal in any order of their parts."""
    return special_form(typing.get_origin(tp)) == "Union" or any(map(_has_union, typing.get_args(tp)))


def _same(one: object, two: object) -> bool:
    """Return whether two types are equal, with the parts of unions in the same order."""
    if one is two:
        return True
    parts = typing.get_args(one)
    return one == two and all(map(_same, parts, typing.get_args(two)))


def decoder_for(tp: object, **limits: Any) -> Decoder:
    """
    Return a decoder of a type with the options in `limits`, and the defaults of all other options.

    The decoder is kept for the next call, unless a part of the type is unhashable. Returns `tp` itself if it is a
    Decoder and `limits` is empty.
    """
    anchor = _anchor(tp)
    cache = None if anchor is None else kept_with(anchor)
    kept = _decoders if cache is None else cache.decoders
    key = (tp, *sorted(limits.items())) if limits else tp
    try:
        decoder = kept.get(key)
    except TypeError:  # a part of the type is not hashable
        return Decoder(tp, **limits)
    if decoder is not None and decoder._has_union and not _same(decoder.type, tp):
        key = (key, repr(tp))
        decoder = kept.get(key)
    if decoder is None:
        if isinstance(tp, Decoder) and not limits:
            return tp
        if len(kept) >= 100:
            kept.clear()
        decoder = kept[key] = Decoder(tp, **limits)
        decoder._has_union = _has_union(tp)
    return decoder


def decode(data: Buffer, type: object = object, **options: Any) -> Any:
    """
    Return the object in a MessagePack message, validated against `type`: `typed.decode(data, list[User])`.

    `options` are those of `Decoder`. Without options the decoder is kept for the next call with this type. Raises the
    exceptions of `Decoder` and `Decoder.decode`.
    """
    decoder = Decoder(type, **options) if options else decoder_for(type)
    return decoder.decode(data)


def checked_decoder(tp: object, given: Mapping[str, Any]) -> Decoder:
    """Return a decoder of `tp` with the limits `given`, or `tp` if it is a Decoder; limits for it raise TypeError."""
    if not isinstance(tp, Decoder):
        return decoder_for(tp, **given)
    if given:
        raise TypeError(f"a Decoder has its own options: pass {', '.join(sorted(given))} to the Decoder instead")
    return tp


def decode_message(
    message: bytes | memoryview,
    tp: object,
    allowed: int | None,
    max_memory: int | None,
    max_total_items: int | None,
    max_depth: int,
    all_errors: bool,
) -> object:
    """
    Return the object in a message that `cpkg.loads` found in its data, validated against the type or Decoder `tp`.

    `allowed` is the memory limit for this message: -1 for no limit, and None if the message is too short to exceed the
    limit. A Decoder with its own `max_memory` ignores `allowed`. `max_memory` is the argument of `loads`.
    """
    if allowed is None and max_total_items is None and max_depth == MAX_DEPTH and not all_errors:
        return decoder_for(tp).decode(message)
    options: dict[str, Any] = {}
    if max_depth != MAX_DEPTH:
        options["max_depth"] = max_depth
    if max_total_items is not None:
        options["max_total_items"] = max_total_items
    if all_errors:
        options["all_errors"] = True
    if isinstance(tp, Decoder) and max_memory is not None:
        options["max_memory"] = max_memory
    decoder = checked_decoder(tp, options)
    if allowed is not None and decoder._limits.max_memory is None:
        most = len(message) * decoder._limits.heaviest
        if most > dumps_loads.MEMORY_FLOOR or (decoder is tp and 0 <= allowed < most):
            decoder = _limited(decoder, allowed, len(message))
        elif 0 <= allowed < most:  # else the message exceeds neither this limit nor the default
            decoder = decoder_for(tp, max_memory=allowed, **options)
    return decoder.decode(message)


def _limited(decoder: Decoder, max_memory: int, size: int) -> Decoder:
    """
    Return a decoder for one message of `size` bytes, with another memory limit and the functions of `decoder`.

    The limit depends on the size of the compressed message. A separate decoder for each limit would compile all
    functions again.
    """
    if decoder.strict and decoder._decode is None:
        decoder._make_decode(size)
    limited = object.__new__(Decoder)
    for name in _COPIED:
        setattr(limited, name, getattr(decoder, name))
    limits = decoder._limits
    limited._limits = Limits(
        limits.max_depth,
        max_memory,
        (limits.max_total_items, limits.max_total_bytes),
        limits.lengths,
        limits.heaviest if limits.counts_extras else 0,
    )
    return limited


_COPIED: Final = [name for name in Decoder.__slots__ if name not in ("__weakref__", "_limits")]


def convert(obj: object, type: object, *, from_attributes: bool = False, **options: Any) -> Any:
    """
    Convert `obj`, made of dicts, lists, numbers, text and so on, to an object of `type`.

    An instance of a dataclass, attrs class, Enum or class that `dec_hook` creates stays as it is where the type asks
    for that class.
    Times, UUIDs and Decimals may be text, as `to_builtins` writes them, and bytes may be base64 text. With
    `from_attributes`, the attributes of any object can supply fields.
    `options` are those of `Decoder`; of its limits, only `max_depth` has an effect. Raises the exceptions of `Decoder`;
    ValidationError, whose `offset` is None; StackError for objects nested too deep; and LimitError for a dict or set
    with too many keys whose hashes collide.
    """
    decoder = Decoder(type, **options) if options else decoder_for(type)
    return decoder.convert(obj, from_attributes=from_attributes)


def to_builtins(
    obj: object, *, builtin_types: Iterable[type] = (), enc_hook: Callable[[Any], object] | None = None
) -> Any:
    """
    Convert an object to dicts, lists, text, numbers, bools and None, for JSON and similar formats.

    Objects with fields become dicts, or lists with `array_like`. Sets, tuples and arrays of numbers become lists, Enum
    members become their values, times, UUIDs and Decimals become text, and bytes become base64 text. Instances of
    `builtin_types` are not converted. `enc_hook(obj)` returns a replacement for an object of another type; without a
    hook, such an object raises TypeError.
    Raises ValueError for objects nested more than 1024 deep and for a dict with two keys that become equal, TypeError
    for a key that becomes a dict, and OverflowError for a Timestamp outside the years 1 to 9999.
    """
    types_written.checked_hook("enc_hook", enc_hook)
    builtins_of = imported("cpkg.typed.builtin_types").builtins_of
    return builtins_of(obj, tuple(builtin_types), enc_hook, lambda cls: getattr(_class_cache(cls), "node", None))


class Encoder:
    """
    Encode objects: `Encoder().encode(obj)`.

    `enc_hook(obj)` returns an object to pack instead of an object of a type that cpkg does not support. Containers may
    be nested `max_depth` deep.
    """

    __slots__ = ("__weakref__", "_encode", "_pack_options", "enc_hook", "max_depth")

    def __init__(self, *, enc_hook: Callable[[Any], Any] | None = None, max_depth: int = MAX_DEPTH) -> None:
        types_written.checked_hook("enc_hook", enc_hook)
        self.enc_hook = enc_hook
        self.max_depth = as_count("max_depth", max_depth)
        other = types_written.default_of("enc_hook=") if enc_hook is None else types_written.with_default(enc_hook)

        def default(obj: Value) -> object:
            form = _form(obj)
            if form is not None:
                return form
            replacement = other(obj)
            form = _form(replacement)  # enc_hook may return an object with fields
            return replacement if form is None else form

        default.find_form = find_form = other.find_form  # type: ignore[attr-defined]
        self._pack_options = {**types_written.PACKING, "default": default, "dataclass": False}
        module = msgpack_module()
        pack = module.typed_packb
        if pack is not None:
            self._encode: Callable[[object, int], bytes] = lambda obj, depth: pack(
                obj, default, depth, enc_hook, _converted
            )
        else:
            forms = imported("purepy.msgpack.forms").forms_of(ENUM, True, find_form)
            self._encode = Encoding(_class_cache, forms, self._pack).encode

    def __reduce__(self) -> tuple[Callable[[], Encoder], tuple[()]]:
        return partial(self.__class__, enc_hook=self.enc_hook, max_depth=self.max_depth), ()

    def _pack(self, obj: object, depth: int) -> bytes:
        packed: bytes = msgpack_module().packb(obj, max_depth=depth, **self._pack_options)
        return packed

    def encode(self, obj: object) -> bytes:
        """
        Return `obj` as MessagePack, packed as by `cpkg.dumps`, but uncompressed and with the `options` of its classes.

        Raises the exceptions of `cpkg.dumps`: TypeError for an object that cannot be packed, OverflowError for an
        integer of more than 64 bits, ValueError for an object that is too deep or too large, and so on.
        """
        return self._encode(obj, self.max_depth)


_encoder: Encoder | None = None


def encode(obj: object, *, enc_hook: Callable[[Any], object] | None = None, max_depth: int = MAX_DEPTH) -> bytes:
    """
    Return `obj` as MessagePack.

    `enc_hook` and `max_depth` are the options of `Encoder`. Raises the exceptions of `Encoder.encode`.
    """
    global _encoder
    if enc_hook is not None or max_depth != MAX_DEPTH:
        return Encoder(enc_hook=enc_hook, max_depth=max_depth).encode(obj)
    if _encoder is None:
        _encoder = Encoder()
    return _encoder.encode(obj)
