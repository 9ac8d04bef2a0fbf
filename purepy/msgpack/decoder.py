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

from purepy.base.errors import FormatError, LimitError, StackError
from purepy.msgpack.decoder_base import DecoderBase
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
    NUMBER,
    STR,
    TIMESTAMP_CODE,
)
from purepy.msgpack.keys import KEYS, LONGEST
from purepy.msgpack.plain_reader import ITEM, KEY, LENGTH_READERS, NUMBERS, VALUE, read_plain, read_run
from purepy.msgpack.skimmer import Skimmer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from purepy.base.types import Value


class Decoder(DecoderBase):
    """
    Decode one message after the other from `bytes`, stopping where the data ends.

    `run` returns whether the message is complete. `position` is then behind it, and `result` holds it. Otherwise
    `position` is at the header of the value that is cut, `consumed` bytes of which (a header, and a length field that
    is complete) count as read, and `needed` says how many bytes from `position` on it takes at least to go on. After
    an error, `position` is where the next message could begin. `base` is the stream offset of the first byte of
    the data, which the errors' offsets count from.
    """

    __slots__ = ()

    read_run = staticmethod(read_run)

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
                    self.read_run,
                    self.read_ext,
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
        """Whether it is worth asking read_plain: a key that it cannot read, say an int, it would only refuse."""
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
        value: object
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
                code = data[pos] if data[pos] < 0x80 else data[pos] - 0x100
                payload: Value = memoryview(data) if code == self.viewed_code else data
                value = self.extension(code, payload[pos + 1 : end], start, end)
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

    def text(self, data: bytes, start: int, pos: int, end: int) -> str | bytes:
        """Return a str; a key comes from the key table."""
        if self.raw:
            return data[pos:end]
        try:
            if self.next_ == KEY and self.plain_text and end - start <= LONGEST:
                self.key_hint, text = KEYS.find(data[start:end], pos - start, self.key_hint)
                return text
            return data[pos:end].decode("utf-8", self.unicode_errors)
        except UnicodeDecodeError as exc:
            raise self.fail(exc, start)  # noqa: B904 - the same exception

    def extension(self, code: int, payload: Value, start: int, end: int) -> object:
        """Return the object of an extension value."""
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
            raise self.fail(exc, (exc.offset or 0) - self.base)  # noqa: B904 - the same exception
        total = self.payload + skimmer.size
        if limited and 0 <= self.max_total_bytes < total:
            message = f"{total} exceeds max_total_bytes({self.max_total_bytes})"
            raise self.fail(LimitError(message), skimmer.start - self.base)
        if not complete:
            return self.cut(skimmer.position, skimmer.consumed, skimmer.needed)
        if limited:
            self.payload = total
        self.position = skimmer.position
        return True
