# SPDX-License-Identifier: Apache-2.0
"""
Unpacking streams on PyPy: messages that come in pieces are kept until they are whole, and then go to the token tape.

The pure decoder makes the objects of each piece as it comes, which costs it most at the pieces' ends. Here C walks over
the pieces (`ffi_build/msgpack_scan.h` says what it finds), and one pass makes all objects when the last one is there.
What C does not vouch for goes to the pure decoder, with all bytes of the message kept so far and in the same call: so
it raises what it would have raised, and how much of the stream was read is the same at each moment.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from cpkg._native import msgpack_tape
from cpkg._native._msgpack_ffi import ffi, lib
from purepy import msgpack as pure
from purepy.msgpack.decoder import Decoder
from purepy.msgpack.ext import ExtType
from purepy.msgpack.streams import make_unpack_async

_LARGE: Final = 4096
"""Messages of at least so many bytes go to the tape; shorter ones need no more time in the pure decoder."""

_PART: Final = 32 * 1024
"""Kept pieces are joined until they have so many bytes."""

_ANY_SIZE: Final = 2**62

# what the scanner answers, as in msgpack_scan.h (the third answer is 0: the message is cut)
DONE: Final = 1
DOUBT: Final = -1

_scan = lib.cpkg_scan_run


class ScanningDecoder(Decoder):
    """
    The pure decoder, except that it keeps the pieces of messages that are probably not whole yet.

    Those are the messages that the data at hand would not hold if they were twice as long as those before. Others are
    decoded as they come, so that short messages do not have to wait for C.
    """

    __slots__ = ("eager", "expected", "kept", "limits", "recent", "recent_size", "scanner", "size", "timestamp_option")

    def __init__(self, **options: Any) -> None:
        self.forget()
        self.eager = False  # whether the message that has begun is the pure decoder's
        self.expected = _ANY_SIZE  # how long the next message may well be
        self.scanner: Any = None
        super().__init__(**options)
        self.timestamp_option: int = options["timestamp"]
        self.limits: msgpack_tape.Options | None = None
        if self.plain >= 0 and not self.tuple_keys and self.ext_hook is ExtType:
            self.limits = msgpack_tape.make_options(
                self.strict_map_key,
                self.max_depth,
                self.max_str_len,
                self.max_bin_len,
                self.max_array_len,
                self.max_map_len,
                self.max_ext_len,
            )

    def reset(self) -> None:
        """Forget the message that is being read, if any."""
        super().reset()
        self.eager = False
        if self.size:
            self.forget()

    def forget(self) -> None:
        """Let go of what is kept."""
        self.kept: list[bytes] = []  # what the scanner has passed of the message, in parts of whole values
        self.recent: list[bytes] = []  # ... and behind it what is not one part yet
        self.recent_size = 0  # in bytes
        self.size = 0  # of all that, in bytes

    def run(self, data: bytes, view: memoryview | None = None) -> bool:
        """Decode or scan from `position` on; return whether the message is complete."""
        limits = self.limits
        if self.eager or limits is None:
            return super().run(data, view)
        begin = self.position
        fresh = self.size == 0
        if fresh and len(data) - begin >= self.expected:
            if super().run(data):
                self.learn(self.position - begin)
                return True
            self.eager = True
            self.expected = _ANY_SIZE
            return False
        scanner = self.scanner
        if scanner is None:
            self.scanner = scanner = ffi.new("cpkg_scan *")
            lib.cpkg_scan_configure(scanner, *limits)
        found = _scan(scanner, data, len(data), begin, fresh)
        if found == DOUBT:
            return self.decode(data)
        end = scanner.position
        if found != DONE:
            if end > begin:
                self.keep(data[begin:end])
            return self.cut(end, scanner.consumed, scanner.needed)
        size = self.size + end - begin
        self.learn(size)
        if size < _LARGE:
            return self.decode(data)
        if fresh:
            read = msgpack_tape.read(data, begin, limits, self.timestamp_option)
        else:
            self.keep(data[begin:end])
            self.position = end
            parts = [*self.kept, b"".join(self.recent)] if self.recent else self.kept
            read = msgpack_tape.read(parts[0], 0, limits, self.timestamp_option, parts[1:])
        if read is None:
            return self.decode(data)
        self.result = read[0]
        self.position = end
        return True

    def keep(self, passed: bytes) -> None:
        """Keep whole values; small pieces are joined, so that the tape is not filled and emptied for each of them."""
        recent = self.recent
        recent.append(passed)
        self.recent_size += len(passed)
        self.size += len(passed)
        if self.recent_size >= _PART:
            self.kept.append(b"".join(recent))
            self.recent = []
            self.recent_size = 0

    def learn(self, size: int) -> None:
        """Note the size of a message in bytes: a long one is remembered for some time."""
        self.expected = 2 * size if self.expected == _ANY_SIZE else max(2 * size, self.expected >> 1)

    def decode(self, data: bytes) -> bool:
        """Let the pure decoder have the message, with what was kept of it, and `data` from `position` on."""
        self.eager = True
        size = self.size
        if size == 0:
            return super().run(data)
        rest = self.position
        whole = b"".join((*self.kept, *self.recent, data[rest:]))
        self.forget()
        # while it decodes, positions count from the beginning of the message
        ahead = size - rest
        self.base -= ahead
        self.position = 0
        try:
            return super().run(whole)
        finally:
            self.base += ahead
            self.position = max(0, self.position - ahead)


class Unpacker(pure.Unpacker):
    """Unpack objects from a stream of bytes (see `purepy.msgpack.Unpacker`)."""

    _decoder_type: ClassVar[type[Decoder]] = ScanningDecoder


Unpacker.__doc__ = pure.Unpacker.__doc__

unpack_async = make_unpack_async(Unpacker)
