# SPDX-License-Identifier: Apache-2.0
"""
Unpack streams on PyPy: the start of an incomplete message waits until enough of it has arrived.

The pure decoder creates the objects of each piece as it arrives, and loses most time at the ends of pieces. Here C
scans the pieces (`ffi_build/msgpack/pypy/scan.c` describes its results), and the decoder creates the objects of many
pieces at once. If the scanner cannot decide, the decoder continues in the same call. So the decoder raises all errors,
and at each moment the same bytes of the stream count as read as with the pure decoder.
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
"""As soon as this many bytes of a message wait, they are decoded: more would cost memory and gain nothing."""

_ANY_SIZE: Final = 2**62

# the results of the scanner, as in msgpack/pypy/scan.c
CUT: Final = 0
DONE: Final = 1

_scan = lib.cpkg_scan_run


class ScanningDecoder(Decoder):
    """
    A decoder that lets C scan messages that are probably incomplete, and decodes their values later, many at once.

    A message is probably incomplete if fewer than `expected` bytes of data are available (see `learn`). All other
    messages are decoded at once, so that short messages need not wait for C. If `limits` is None, because an option
    prevents scanning, every message is decoded at once.
    """

    __slots__ = ("eager", "expected", "limits", "scanner", "seen", "waiting", "waiting_size")

    def __init__(self, options: OptionValues, longest: int, most: int) -> None:
        self.expected = _ANY_SIZE  # the likely largest size of the next message, in bytes
        self.scanner: CData | None = None
        super().__init__(options, longest, most)
        # the decoder's limits, in which -1 is already resolved; None if the options do not let C scan anything
        self.limits = limits_of(self) if self.plain >= 0 and not self.tuple_keys and self.ext_hook is ExtType else None

    def reset(self) -> None:
        """Drop the current message, if any."""
        super().reset()
        self.eager = False  # whether the current message is decoded as it arrives
        self.seen = 0  # the bytes of the message that were scanned
        self.waiting: list[bytes] = []  # the scanned whole values that wait for the decoder
        self.waiting_size = 0  # their size in bytes

    def run(self, data: bytes, view: memoryview | None = None) -> bool:
        """Decode or scan `data` from `position` on; return whether the current message is complete."""
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
        """
        Set `expected` to twice `size`, that of a complete message in bytes, but at least to half of its last value.

        So a long message has an effect on several messages after it.
        """
        self.expected = 2 * size if self.expected == _ANY_SIZE else max(2 * size, self.expected >> 1)

    def decode_waiting(self) -> bool:
        """Decode the values in `waiting` and empty it; return whether the current message is complete."""
        part = b"".join(self.waiting)
        self.waiting = []
        self.waiting_size = 0
        self.position = 0
        return super().run(part)


class Unpacker(PureUnpacker):
    """Unpack objects from a stream of bytes (see `purepy.msgpack.Unpacker`)."""  # replaced below by the full text

    _decoder_type: ClassVar[type[PureDecoder]] = ScanningDecoder


Unpacker.__doc__ = PureUnpacker.__doc__

unpack_async = make_unpack_async(Unpacker)
