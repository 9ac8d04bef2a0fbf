# SPDX-License-Identifier: Apache-2.0
"""Base of the decoder: the checked options, and the containers that are open around the current value."""

from __future__ import annotations

from purepy.base.errors import LimitError, StackError, too_deep
from purepy.base.lazy import imported
from purepy.base.pypy import newlist_hint
from purepy.msgpack.ext import Timestamp
from purepy.msgpack.formats import (
    ARRAY,
    MAP,
)
from purepy.msgpack.interface import METERED_NUMBERS, METERED_PAIRS, NUMBER_TYPES
from purepy.msgpack.options import UNPACKING, as_count, as_error_handler, as_limit, as_size, hook_attribute
from purepy.msgpack.plain_reader import ITEM, KEY, PREALLOCATE, VALUE, Frame
from purepy.msgpack.skimmer import Skimmer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Final

    from purepy.base.types import OptionValues, Value
    from purepy.msgpack.key_meter import KeyMeters
    from purepy.msgpack.plain_reader import ReadExt

KEY_DEPTH: Final = 32
"""The deepest nesting within a map key: hashing and comparing it recurse, on a stack that may have only 64 KiB."""

UNLIMITED: Final = 2**63 - 1
"""The limit for str, bin and ext that -1 means for a whole message, whose end bounds their lengths anyway."""

_CONVERT_TIMESTAMP: Final[tuple[Callable[[Timestamp], object] | None, ...]] = (
    None,
    Timestamp.to_unix,
    Timestamp.to_unix_nano,
    Timestamp.to_datetime,
)


def ext_reader(options: OptionValues) -> ReadExt | None:
    """
    Return the attribute `read_ext` of the ext hook, with which the fast loop reads extension values.

    Returns None if the hook has no such attribute, or if `timestamp` is not 3: the reader returns aware datetimes.
    """
    return hook_attribute(options.ext_hook, "read_ext") if options.timestamp == 3 else None


def at(exc: BaseException, offset: int) -> BaseException:
    """Set the attribute `offset` of an exception, the byte where the input is wrong; return the exception."""
    exc.offset = offset  # type: ignore[attr-defined]
    return exc


def _callable(name: str, hook: object) -> Callable[..., object] | None:
    if hook is not None and not callable(hook):
        raise TypeError(f"{name} must be a callable.")
    return hook


class DecoderBase:
    """The checked options of a Decoder, and the state of the current message with its open containers."""

    __slots__ = (
        "base",
        "bin_view",
        "consumed",
        "error",
        "ext_hook",
        "items",
        "key",
        "key_hint",
        "key_level",
        "key_starts",
        "left",
        "list_hook",
        "map_hook",
        "max_array_len",
        "max_bin_len",
        "max_depth",
        "max_ext_len",
        "max_map_len",
        "max_str_len",
        "max_total_bytes",
        "max_total_items",
        "meters",
        "needed",
        "next_",
        "node",
        "pairs",
        "payload",
        "plain",
        "plain_text",
        "position",
        "raw",
        "raw_depth",
        "read_ext",
        "result",
        "skimmer",
        "stack",
        "strict_map_key",
        "timestamp",
        "tuple_keys",
        "unicode_errors",
        "use_list",
        "viewed_code",
    )

    def __init__(self, options: OptionValues, longest: int, most: int) -> None:
        """
        Check and store the values of UNPACKING; raise TypeError, ValueError or OverflowError for wrong ones.

        A limit of -1 allows `longest` bytes in a str, bin or ext, `most` items in an array, and half as many pairs in a
        map.
        """
        if options.object_hook is not None and options.object_pairs_hook is not None:
            raise TypeError("object_pairs_hook and object_hook are mutually exclusive.")
        self.pairs = options.object_pairs_hook is not None
        object_hook = _callable("object_hook", options.object_hook)
        object_pairs_hook = _callable("object_pairs_hook", options.object_pairs_hook)
        self.map_hook = object_pairs_hook if self.pairs else object_hook
        self.list_hook = _callable("list_hook", options.list_hook)
        self.ext_hook = _callable("ext_hook", options.ext_hook)
        # the extension type whose data the hook receives as a view, without a copy
        self.viewed_code: int | None = hook_attribute(options.ext_hook, "viewed_code")
        timestamp = as_size("timestamp", options.timestamp)
        if not 0 <= timestamp <= 3:
            raise ValueError("timestamp must be 0..3")
        self.use_list = bool(options.use_list)
        self.raw = bool(options.raw)
        self.timestamp = _CONVERT_TIMESTAMP[timestamp]
        self.strict_map_key = bool(options.strict_map_key)
        unicode_errors = as_error_handler(options.unicode_errors)
        self.unicode_errors = "strict" if unicode_errors is None else unicode_errors
        self.max_str_len = as_limit("max_str_len", options.max_str_len, longest)
        self.max_bin_len = as_limit("max_bin_len", options.max_bin_len, longest)
        self.max_array_len = as_limit("max_array_len", options.max_array_len, most)
        self.max_map_len = as_limit("max_map_len", options.max_map_len, most // 2)
        self.max_ext_len = as_limit("max_ext_len", options.max_ext_len, longest)
        self.max_depth = as_count("max_depth", options.max_depth)
        self.max_total_items = as_limit("max_total_items", options.max_total_items)
        self.max_total_bytes = as_limit("max_total_bytes", options.max_total_bytes)
        self.tuple_keys = bool(options.tuple_keys)
        self.bin_view = bool(options.bin_view)
        self.raw_depth = as_size("raw_depth", options.raw_depth)
        self.plain_text = not self.raw and self.unicode_errors == "strict"
        # read_plain does not check the length of text and bytes: in data of at most this size none can be too long
        self.plain = -1
        if UNPACKING.are_plain(options):
            self.plain = min(self.max_str_len, self.max_bin_len)
        self.read_ext = ext_reader(options) if self.max_ext_len >= self.plain else None
        self.base = 0
        self.position = 0
        self.reset()

    def reset(self) -> None:
        """Drop the current message, if any."""
        self.result: Value = None
        self.error: BaseException | None = None
        self.consumed = 0
        self.needed = 1
        self.next_ = ITEM
        self.node: Value = []
        self.left = 1
        self.key: object = None
        self.key_hint = 0  # the slot in KEYS of the last key
        self.stack: list[Frame] = []
        self.key_level = -1  # the number of containers open around the current key, -1 outside keys
        self.key_starts: list[int] = []  # stream offsets of the open containers that are keys
        self.skimmer: Skimmer | None = None
        self.meters: KeyMeters | None = None
        self.items = 1
        self.payload = 0

    def resume(self, position: int, next_: int, node: object, left: int, stack: list[Frame]) -> None:
        """Take over the state in which `read_plain` left a message, so that `run` can continue the message."""
        self.position = position
        self.next_ = next_
        self.node = node
        self.left = left
        self.stack = stack

    def fail(self, exc: BaseException, position: int) -> BaseException:
        """Return `exc` with its offset; note that the input caused it and that the value at `position` is wrong."""
        self.position = max(0, position)  # earlier pieces are no longer in the data
        self.error = exc
        return at(exc, self.base + position)

    # --- containers -----------------------------------------------------------------------------------------------

    def open(self, family: int, length: int, start: int) -> None:
        """Begin a container of `length` items or pairs; raise LimitError or StackError if a limit forbids it."""
        level = len(self.stack)
        if level >= self.max_depth:
            raise self.fail(too_deep(self.max_depth), start)
        if family == ARRAY:
            if length > self.max_array_len:
                raise self.fail(LimitError(f"{length} exceeds max_array_len({self.max_array_len})"), start)
            items = length
        else:
            if length > self.max_map_len:
                raise self.fail(LimitError(f"{length} exceeds max_map_len({self.max_map_len})"), start)
            items = 2 * length
        self.items += items
        if 0 <= self.max_total_items < self.items:
            raise self.fail(LimitError(f"{self.items} exceeds max_total_items({self.max_total_items})"), start)
        if self.next_ == KEY or self.key_level >= 0:
            if self.key_level < 0:
                self.key_level = level
            if level - self.key_level >= KEY_DEPTH:
                raise self.fail(StackError(f"map key nested deeper than {KEY_DEPTH} containers"), start)
            if self.next_ == KEY:
                self.key_starts.append(self.base + start)
        self.stack.append((self.next_, self.node, self.left, self.key))
        self.left = length
        if family == MAP:
            self.next_ = KEY
            self.node = [] if self.pairs else {}
        else:
            self.next_ = ITEM
            self.node = newlist_hint(min(length, PREALLOCATE))

    def deliver_closed(self) -> None:
        """Close and store the container that was just opened, which is empty."""
        value, start = self.close()
        self.deliver(value, start)

    def close(self) -> tuple[object, int]:
        """Close the complete container; return it or its hook's result, and its offset if it is a map key, else 0."""
        node = self.node
        was_array = self.next_ == ITEM
        self.next_, self.node, self.left, self.key = self.stack.pop()
        start = self.key_starts.pop() - self.base if self.next_ == KEY else 0
        if was_array:
            if not self.use_list or (self.tuple_keys and self.key_level >= 0):
                node = tuple(node)
            if self.list_hook is not None:
                node = self.list_hook(node)
        elif self.map_hook is not None:
            node = self.map_hook(node)
        if self.key_level == len(self.stack):
            self.key_level = -1
        return node, start

    def deliver(self, value: object, start: int) -> None:
        """Store a complete value, and close the containers that it completes."""
        while True:
            if self.next_ == KEY:
                self.check_key(value, start)
                self.key = value
                self.next_ = VALUE
                return
            if self.next_ == ITEM:
                self.node.append(value)
            else:
                if self.pairs:
                    self.node.append((self.key, value))
                else:
                    self.node[self.key] = value
                self.next_ = KEY
            self.left -= 1
            if self.left or not self.stack:
                return
            value, start = self.close()

    def check_key(self, key: object, start: int) -> None:
        """
        Raise an error for a key that is unhashable, has a type that is not allowed, or collides with too many others.

        With object_pairs_hook, which receives a list of pairs, only the type is checked.
        """
        kind = type(key)
        if kind is str or kind is bytes:
            return
        if self.strict_map_key:
            message = f"{kind.__name__:.100} is not allowed for map key when strict_map_key=True"
            raise self.fail(ValueError(message), start)
        if self.pairs:
            return
        if kind not in NUMBER_TYPES:
            try:
                hash(key)
            except TypeError as exc:
                raise self.fail(exc, start)  # noqa: B904 - the same exception
        if len(self.node) + self.left >= (METERED_NUMBERS if kind in NUMBER_TYPES else METERED_PAIRS):
            if self.meters is None:
                self.meters = imported("purepy.msgpack.key_meter").KeyMeters()
            assert self.meters is not None
            if not self.meters.add(len(self.stack), self.node, key):
                raise self.fail(LimitError("too many map keys with colliding hashes"), start)
