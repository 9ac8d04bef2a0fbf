# SPDX-License-Identifier: Apache-2.0
"""
Decode packed bytes into objects. Decoding can stop at any byte and continue when more bytes are available.

Two loops share one state. `Decoder.run` decodes any values, one at a time, under every option, and raises every error.
If no option prevents it, `run` calls `read_plain`, which decodes plain values fast. Neither loop recurses: open
containers wait on a stack, so that only `max_depth` bounds the depth.

A complete container is stored into the container around it after its hook has run. The outermost value is stored as
the only item of a list, which represents the message.
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
    Decode one message after the other from `bytes`, and stop where the data ends.

    `run` returns whether the message is complete. If it is, `position` is after the message, and `result` is the
    object. Otherwise `position` is at the header of the value that is cut: `consumed` bytes of the value (its first
    byte and a complete length field) count as read, and decoding needs at least `needed` bytes from `position` to
    continue. After an error in the input, `position` is at the wrong value, or 0 if the value began in earlier data.
    After an error of a hook, `position` is after the value for which the hook was called. After an error the caller
    must call `reset`, and the next message begins at `position`. `base` is the stream offset of the first byte of the
    data; the offsets of errors count from the start of the stream.
    """

    __slots__ = ()

    read_run = staticmethod(read_run)

    def cut(self, position: int, consumed: int, needed: int) -> bool:
        """Note that the value at `position` is cut; return False, for "incomplete"."""
        self.position = position
        self.consumed = consumed
        self.needed = needed
        return False

    def run(self, data: bytes, view: memoryview | None = None) -> bool:
        """
        Decode from `position`; return whether the message is complete.

        `view` is a view of the data. With the option bin_view, a bin becomes a slice of the view, otherwise bytes.
        """
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
        """
        Return whether read_plain can begin at the next value: an item, or a key that is a str of up to 255 bytes.

        Must not be called before the value of a pair.
        """
        if self.next_ == ITEM:
            return True
        byte = data[self.position] if self.position < len(data) else 0
        return 0xA0 <= byte <= 0xBF or byte == 0xD9

    # --- one value ------------------------------------------------------------------------------------------------

    def read_value(self, data: bytes, view: memoryview | None) -> bool:
        """Decode one value at `position`, or open a container; return False if the value is cut."""
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
            raise self.fail(FormatError("byte 0xc1 is not a MessagePack format"), start)
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
            # the payload; the payload of an ext begins with its type code
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
        """Raise LimitError if a payload, or the total with earlier payloads, is too long; its bytes may be missing."""
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
        """Return the text at `pos` as a str, or as bytes with the option `raw`; find a short key in the key table."""
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
        """Return the object that an extension value decodes to: a timestamp, or the result of `ext_hook`."""
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
            # ExtType refuses negative codes: the input is wrong, not a hook
            if self.ext_hook is ExtType:
                raise self.fail(exc, start)  # noqa: B904 - the same exception
            raise

    # --- fragments ------------------------------------------------------------------------------------------------

    def finish_fragment(self, data: bytes) -> bool:
        """Continue to skip a value that stays undecoded, and store it as a Raw; return False if the value is cut."""
        skimmer = self.skimmer
        assert skimmer is not None
        if not self.skim(skimmer, data, limited=True):
            return False
        self.skimmer = None
        self.deliver(Raw(skimmer.fragment()), 0)
        return True

    def skim(self, skimmer: Skimmer, data: bytes, *, limited: bool) -> bool:
        """
        Run a skimmer from `position`; return False if the value is cut.

        With `limited`, all bytes of the value count for `max_total_bytes`, and LimitError is raised beyond it.
        """
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
