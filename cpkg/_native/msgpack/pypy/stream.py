# SPDX-License-Identifier: Apache-2.0
"""
Unpacking streams on PyPy: the beginning of a message that is not whole yet waits until there is much of it.

The pure decoder makes the objects of each piece as it comes, which costs it most at the pieces' ends. Here C walks over
the pieces (`ffi_build/msgpack/pypy/scan.c` says what it finds), and the decoder makes the objects of many of them at
once. Where C is unsure, the decoder goes on in the same call: so the errors are its own, and the same bytes of the
stream count as read at each moment.
"""

from __future__ import annotations

from cpkg._native._msgpack_ffi import ffi, lib
from cpkg._native.msgpack.pypy.checks import limits_of
from cpkg._native.msgpack.pypy.decoder import Decoder
from purepy.msgpack.async_reading import make_unpack_async
from purepy.msgpack.ext import ExtType
from purepy.msgpack.unpacker import Unpacker as PureUnpacker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar, Final

    from cpkg._native.cffi_types import CData
    from purepy.base.types import OptionValues
    from purepy.msgpack.decoder import Decoder as PureDecoder

_PART: Final = 256 * 1024
"""So many bytes of a message wait for the decoder: more would be memory for nothing."""

_ANY_SIZE: Final = 2**62

# what the scanner answers, as in msgpack/pypy/scan.c
CUT: Final = 0
DONE: Final = 1

_scan = lib.cpkg_scan_run


class ScanningDecoder(Decoder):
    """
    The decoder, except for messages that are probably not whole yet.

    Those are the messages that the data at hand would not hold if they were twice as long as those before. Others are
    decoded as they come, so that short messages do not have to wait for C.
    """

    __slots__ = ("eager", "expected", "limits", "scanner", "seen", "waiting", "waiting_size")

    def __init__(self, options: OptionValues, longest: int, most: int) -> None:
        self.expected = _ANY_SIZE  # how long the next message may well be, in bytes
        self.scanner: CData | None = None
        super().__init__(options, longest, most)
        # its own limits: -1 is resolved in them
        self.limits = limits_of(self) if self.plain >= 0 and not self.tuple_keys and self.ext_hook is ExtType else None

    def reset(self) -> None:
        """Forget the message that is being read, if any."""
        super().reset()
        self.eager = False  # whether the message that has begun is decoded as it comes
        self.seen = 0  # how much of it the scanner has passed, in bytes; of that ...
        self.waiting: list[bytes] = []  # ... what waits for the decoder: whole values
        self.waiting_size = 0  # of these, in bytes

    def run(self, data: bytes, view: memoryview | None = None) -> bool:
        """Decode or scan from `position` on; return whether the message is complete."""
        limits = self.limits
        if self.eager or limits is None:
            return super().run(data, view)
        begin = self.position
        fresh = self.seen == 0
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
        end = scanner.position
        if found == DONE:
            self.learn(self.seen + end - begin)
        if fresh and found != CUT:
            self.eager = True
            return super().run(data)
        if end > begin:
            self.seen += end - begin
            self.waiting.append(data[begin:end])
            self.waiting_size += end - begin
        if found == CUT:
            if self.waiting_size >= _PART:
                self.decode_waiting()
            return self.cut(end, scanner.consumed, scanner.needed)
        complete = self.decode_waiting()
        self.position = end
        if complete:
            return True
        self.eager = True
        return super().run(data)

    def learn(self, size: int) -> None:
        """Note the size of a message in bytes: a long one is remembered for some time."""
        self.expected = 2 * size if self.expected == _ANY_SIZE else max(2 * size, self.expected >> 1)

    def decode_waiting(self) -> bool:
        """Make the objects of what waits; return whether the message is complete."""
        part = b"".join(self.waiting)
        self.waiting = []
        self.waiting_size = 0
        self.position = 0
        return super().run(part)


class Unpacker(PureUnpacker):
    """Unpack objects from a stream of bytes (see `purepy.msgpack.Unpacker`)."""

    _decoder_type: ClassVar[type[PureDecoder]] = ScanningDecoder


Unpacker.__doc__ = PureUnpacker.__doc__

unpack_async = make_unpack_async(Unpacker)
