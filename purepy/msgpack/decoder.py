# SPDX-License-Identifier: Apache-2.0
"""
From packed bytes to objects: a machine that can stop at any byte and go on when more bytes are there.

It has two loops over one state. `Decoder.run` decodes everything, one value at a time, under every option, and raises
every error; `read_plain` decodes plain values fast, where no option forbids it. Neither recurses: containers that
are still open wait on a stack, so that depth is bounded by `max_depth` alone.

A container is stored into the one around it when it is complete, after its hook. The outermost value is the one
item of a list that stands for the message.
"""

from __future__ import annotations

from purepy._jit import newlist_hint
from purepy.errors import FormatError, LimitError, StackError
from purepy.msgpack.ext import ExtType, Raw, Timestamp
from purepy.msgpack.formats import (
    ARRAY,
    BIN,
    FAMILY,
    IMMEDIATE,
    IMMEDIATES,
    INVALID,
    LENGTH_BYTES,
    LENGTHS,
    MAP,
    NUMBER,
    STR,
    TIMESTAMP_CODE,
)
from purepy.msgpack.keys import KEYS, LONGEST
from purepy.msgpack.options import as_depth, as_limit, as_size
from purepy.msgpack.plain_reader import ITEM, KEY, LENGTH_READERS, NUMBERS, PREALLOCATE, VALUE, Frame, read_plain
from purepy.msgpack.skimmer import Skimmer, too_deep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Final

KEY_DEPTH: Final = 32
"""Containers in a map key may nest so deep: hashing and comparing them recurses, on stacks as small as 64 KiB."""

UNLIMITED: Final = 2**63 - 1
"""Longer than anything: what a limit of -1 means where the input's size does not bound it."""

_HASHABLE: Final = (int, float, bool, type(None))
"""Types of keys, beside str and bytes, whose hash never fails."""

_CONVERT_TIMESTAMP: Final[tuple[Callable[[Timestamp], Any] | None, ...]] = (
    None,
    Timestamp.to_unix,
    Timestamp.to_unix_nano,
    Timestamp.to_datetime,
)


def at(exc: BaseException, offset: int) -> BaseException:
    """Note in an exception at which byte the input is wrong."""
    exc.offset = offset  # type: ignore[attr-defined]
    return exc


def _callable(name: str, hook: Any) -> Any:
    if hook is not None and not callable(hook):
        raise TypeError(f"{name} must be a callable.")
    return hook


class Decoder:
    """
    Decode one message after the other from `bytes`, stopping where the data ends.

    `run` returns whether the message is complete. `position` is then behind it, and `result` holds it. Otherwise
    `position` is at the header of the value that is cut, `consumed` bytes of which (a header, and a length field that
    is complete) count as read, and `needed` says how many bytes from `position` on it takes at least to go on. After
    an error, `position` is where the next message could begin. `base` is the stream offset of the first byte of
    the data, which the errors' offsets count from.
    """

    __slots__ = (
        "base",
        "bin_view",
        "consumed",
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
        "result",
        "skimmer",
        "stack",
        "strict_map_key",
        "timestamp",
        "tuple_keys",
        "unicode_errors",
        "use_list",
    )

    def __init__(self, options: Any, longest: int, most: int) -> None:
        """
        Take the values of UNPACKING.

        A limit of -1 means `longest` bytes of str, bin and ext, `most` items of an array, and half as many pairs.
        """
        if options.object_hook is not None and options.object_pairs_hook is not None:
            raise TypeError("object_pairs_hook and object_hook are mutually exclusive.")
        self.pairs = options.object_pairs_hook is not None
        object_hook = _callable("object_hook", options.object_hook)
        object_pairs_hook = _callable("object_pairs_hook", options.object_pairs_hook)
        self.map_hook = object_pairs_hook if self.pairs else object_hook
        self.list_hook = _callable("list_hook", options.list_hook)
        self.ext_hook = _callable("ext_hook", options.ext_hook)
        timestamp = as_size(options.timestamp)
        if not 0 <= timestamp <= 3:
            raise ValueError("timestamp must be 0..3")
        if options.unicode_errors is not None and not isinstance(options.unicode_errors, str):
            raise TypeError(f"unicode_errors must be a str or None, not {type(options.unicode_errors).__name__}")
        self.use_list = bool(options.use_list)
        self.raw = bool(options.raw)
        self.timestamp = _CONVERT_TIMESTAMP[timestamp]
        self.strict_map_key = bool(options.strict_map_key)
        self.unicode_errors = options.unicode_errors or "strict"
        self.max_str_len = as_limit(options.max_str_len, longest)
        self.max_bin_len = as_limit(options.max_bin_len, longest)
        self.max_array_len = as_limit(options.max_array_len, most)
        self.max_map_len = as_limit(options.max_map_len, most // 2)
        self.max_ext_len = as_limit(options.max_ext_len, longest)
        self.max_depth = as_depth(options.max_depth)
        self.max_total_items = as_size(options.max_total_items)
        self.max_total_bytes = as_size(options.max_total_bytes)
        self.tuple_keys = bool(options.tuple_keys)
        self.bin_view = bool(options.bin_view)
        self.raw_depth = as_size(options.raw_depth)
        self.plain_text = not self.raw and self.unicode_errors == "strict"
        # read_plain does not measure text and bytes: data no longer than this holds none that is too long
        self.plain = -1
        if (
            self.plain_text
            and self.use_list
            and self.map_hook is None
            and self.list_hook is None
            and self.max_total_items < 0
            and self.max_total_bytes < 0
            and not self.bin_view
            and self.raw_depth < 0
        ):
            self.plain = min(self.max_str_len, self.max_bin_len)
        self.base = 0
        self.position = 0
        self.reset()

    def reset(self) -> None:
        """Forget the message that is being read, if any."""
        self.result: Any = None
        self.consumed = 0
        self.needed = 1
        self.next_ = ITEM
        self.node: Any = []
        self.left = 1
        self.key: Any = None
        self.key_hint = 0  # the slot in KEYS of the last key
        self.stack: list[Frame] = []
        self.key_level = -1  # how many containers are open around the key that is being built, -1 outside of keys
        self.key_starts: list[int] = []  # stream offsets of the containers that are being built as keys
        self.skimmer: Skimmer | None = None
        self.items = 1
        self.payload = 0

    def resume(self, position: int, next_: int, node: Any, left: int, stack: list[Frame]) -> None:
        """Take over a message from `read_plain`."""
        self.position = position
        self.next_ = next_
        self.node = node
        self.left = left
        self.stack = stack

    def fail(self, exc: BaseException, position: int) -> BaseException:
        """Return `exc` with its offset, having noted that the value at `position` is wrong."""
        self.position = max(0, position)  # what came in earlier pieces is gone
        return at(exc, self.base + position)

    def cut(self, position: int, consumed: int, needed: int) -> bool:
        """Note that the value at `position` is cut; return False for "not complete"."""
        self.position = position
        self.consumed = consumed
        self.needed = needed
        return False

    def run(self, data: bytes, view: memoryview | None = None) -> bool:
        """Decode from `position` on; return whether the message is complete. `view` shows what bin_view slices."""
        self.consumed = 0
        plain = self.plain >= len(data)
        while True:
            if self.skimmer is not None:
                if not self.finish_fragment(data):
                    return False
            elif plain and self.key_level < 0 and self.next_ != VALUE and self.starts_plain(data):
                self.position, self.next_, self.node, self.left = read_plain(
                    data,
                    self.position,
                    self.next_,
                    self.node,
                    self.left,
                    self.stack,
                    self.max_depth,
                    self.max_array_len,
                    self.max_map_len,
                )
                if self.left == 0:
                    self.result = self.node[0]
                    return True
                if not self.read_value(data, view):
                    return False
            elif not self.read_value(data, view):
                return False
            if self.left == 0:
                self.result = self.node[0]
                return True

    def starts_plain(self, data: bytes) -> bool:
        """Tell whether it is worth asking read_plain: a key that it cannot read, say an int, it would only refuse."""
        if self.next_ == ITEM:
            return True
        byte = data[self.position] if self.position < len(data) else 0
        return 0xA0 <= byte <= 0xBF or byte == 0xD9

    # --- one value ------------------------------------------------------------------------------------------------

    def read_value(self, data: bytes, view: memoryview | None) -> bool:
        """Decode the one value at `position`, or open the container; return False if it is cut."""
        size = len(data)
        start = self.position
        if start >= size:
            return self.cut(start, 0, 1)
        next_ = self.next_
        if self.max_total_items == 0:
            raise self.fail(LimitError("1 exceeds max_total_items(0)"), start)
        if self.raw_depth == len(self.stack) and next_ != KEY and self.key_level < 0:
            self.skimmer = Skimmer(self.max_depth - len(self.stack), self.max_depth, self.base + start)
            return self.finish_fragment(data)
        byte = data[start]
        family = FAMILY[byte]
        pos = start + 1
        value: Any
        if family == IMMEDIATE:
            value = IMMEDIATES[byte]
        elif family == NUMBER:
            reader, length = NUMBERS[byte - 0xCA]
            if pos + length > size:
                return self.cut(start, 1, 1 + length)
            value = reader(data, pos)[0]
            pos += length
        elif family == INVALID:
            raise self.fail(FormatError("byte 0xc1 starts no MessagePack type"), start)
        else:
            length = LENGTHS[byte]
            field = LENGTH_BYTES[byte]
            if field:
                if pos + field > size:
                    return self.cut(start, 1, 1 + field)
                length = LENGTH_READERS[field](data, pos)[0]
                pos += field
            if family >= ARRAY:
                self.open(family, length, start)
                self.position = pos
                if length == 0:
                    self.deliver_closed()
                return True
            # the payload, of an ext with its type in front
            end = pos + length + (family != STR and family != BIN)
            self.check_payload(family, length, start)
            if end > size:
                return self.cut(start, pos - start, end - start)
            self.payload += length
            if family == STR:
                value = self.text(data, start, pos, end)
            elif family == BIN:
                if view is not None and self.bin_view and next_ != KEY and self.key_level < 0:
                    value = view[pos:end]
                else:
                    value = data[pos:end]
            else:
                code = data[pos]
                value = self.extension(code - 0x100 if code >= 0x80 else code, data[pos + 1 : end], start, end)
            pos = end
        self.position = pos
        self.deliver(value, start)
        return True

    def check_payload(self, family: int, length: int, start: int) -> None:
        """Raise LimitError for a payload that is too long, before it is awaited."""
        if family == STR:
            limit, name = self.max_str_len, "max_str_len"
        elif family == BIN:
            limit, name = self.max_bin_len, "max_bin_len"
        else:
            limit, name = self.max_ext_len, "max_ext_len"
        if length > limit:
            raise self.fail(LimitError(f"{length} exceeds {name}({limit})"), start)
        if 0 <= self.max_total_bytes < self.payload + length:
            total = self.payload + length
            raise self.fail(LimitError(f"{total} exceeds max_total_bytes({self.max_total_bytes})"), start)

    def text(self, data: bytes, start: int, pos: int, end: int) -> Any:
        """Return a str; a key comes from the key table."""
        if self.raw:
            return data[pos:end]
        try:
            if self.next_ == KEY and self.plain_text and end - start <= LONGEST:
                slot = KEYS.find(data[start:end], pos - start, self.key_hint)
                self.key_hint = slot
                return KEYS.slots[slot][2]
            return data[pos:end].decode("utf-8", self.unicode_errors)
        except UnicodeDecodeError as exc:
            raise self.fail(exc, start)  # noqa: B904 - the same exception

    def extension(self, code: int, payload: bytes, start: int, end: int) -> Any:
        """Return what an extension stands for."""
        if code == TIMESTAMP_CODE:
            try:
                value = Timestamp.from_bytes(payload)
                return value if self.timestamp is None else self.timestamp(value)
            except (ValueError, OverflowError) as exc:
                raise self.fail(exc, start)  # noqa: B904 - the same exception
        if self.ext_hook is None:
            raise self.fail(ValueError(f"no ext_hook for ext type {code}"), start)
        self.position = end
        try:
            return self.ext_hook(code, payload)
        except ValueError as exc:
            # ExtType refuses the negative codes: that is the input's fault, not a hook's
            if self.ext_hook is ExtType:
                raise self.fail(exc, start)  # noqa: B904 - the same exception
            raise

    # --- containers -----------------------------------------------------------------------------------------------

    def open(self, family: int, length: int, start: int) -> None:
        """Begin a container of `length` items or pairs."""
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
                raise self.fail(StackError(f"a map key nested deeper than {KEY_DEPTH} containers"), start)
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
        """Close the container just opened, which is empty, and store it."""
        value, start = self.close()
        self.deliver(value, start)

    def close(self) -> tuple[Any, int]:
        """Return the container that is complete, after its hook, and where it started if it is a key."""
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

    def deliver(self, value: Any, start: int) -> None:
        """Store a value that is complete, and close the containers that it completes."""
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

    def check_key(self, key: Any, start: int) -> None:
        """Raise the error of a key that the options or Python do not allow."""
        kind = type(key)
        if kind is str or kind is bytes:
            return
        if self.strict_map_key:
            message = f"{kind.__name__:.100} is not allowed for map key when strict_map_key=True"
            raise self.fail(ValueError(message), start)
        if not self.pairs and kind not in _HASHABLE:
            try:
                hash(key)
            except TypeError as exc:
                raise self.fail(exc, start)  # noqa: B904 - the same exception

    # --- fragments ------------------------------------------------------------------------------------------------

    def finish_fragment(self, data: bytes) -> bool:
        """Go on with a value that is wanted undecoded; return False if it is cut."""
        skimmer = self.skimmer
        assert skimmer is not None
        if not self.skim(skimmer, data, limited=True):
            return False
        self.skimmer = None
        self.deliver(Raw(skimmer.fragment()), 0)
        return True

    def skim(self, skimmer: Skimmer, data: bytes, *, limited: bool) -> bool:
        """Let a skimmer walk on from `position`; return False if its value is cut. `limited`: its bytes count."""
        try:
            complete = skimmer.run(data, self.position, self.base)
        except (FormatError, StackError) as exc:
            self.position = max(0, (exc.offset or 0) - self.base)
            raise
        total = self.payload + skimmer.size
        if limited and 0 <= self.max_total_bytes < total:
            message = f"{total} exceeds max_total_bytes({self.max_total_bytes})"
            # a fragment that came in pieces cannot be stepped back over
            self.position = max(0, skimmer.start - self.base)
            raise at(LimitError(message), skimmer.start)
        if not complete:
            return self.cut(skimmer.position, skimmer.consumed, skimmer.needed)
        if limited:
            self.payload = total
        self.position = skimmer.position
        return True
