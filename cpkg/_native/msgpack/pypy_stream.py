# SPDX-License-Identifier: Apache-2.0
"""
Unpacking streams on PyPy: the beginning of a message that is not whole yet goes to the token tape in large parts.

The pure decoder makes the objects of each piece as it comes, which costs it most at the pieces' ends. Here C walks over
the pieces (`ffi_build/msgpack/pypy/scan.c` says what it finds), and the tape makes the objects of many of them at once.
Where C is unsure, the pure decoder goes on in the same call: so the errors are its own, and the same bytes of the
stream count as read at each moment.
"""

from __future__ import annotations

from cpkg._native._msgpack_ffi import ffi, lib
from cpkg._native.msgpack import pypy_checks, pypy_unpack
from purepy.msgpack.async_reading import make_unpack_async
from purepy.msgpack.decoder import Decoder
from purepy.msgpack.ext import ExtType
from purepy.msgpack.plain_reader import ITEM, KEY, VALUE, Frame
from purepy.msgpack.unpacker import Unpacker as PureUnpacker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Final

_LARGE: Final = 4096
"""Messages in one piece of so many bytes go to the tape; shorter ones need no more time in the pure decoder."""

_FIRST: Final = 64 * 1024
"""So many bytes of a message wait for a tape, which takes 400 KiB: an Unpacker with less of one has none."""

_PART: Final = 2048
"""Later parts wait until they have so many bytes: a tape is quicker with more than with less, but not by much."""

_ANY_SIZE: Final = 2**62

# what the scanner answers, as in msgpack/pypy/scan.c
CUT: Final = 0
DONE: Final = 1

_scan = lib.cpkg_scan_run


class ScanningDecoder(Decoder):
    """
    The pure decoder, except for messages that are probably not whole yet.

    Those are the messages that the data at hand would not hold if they were twice as long as those before. Others are
    decoded as they come, so that short messages do not have to wait for C.
    """

    __slots__ = (
        "eager",
        "expected",
        "limits",
        "reading",
        "scanner",
        "seen",
        "timestamp_option",
        "waiting",
        "waiting_size",
    )

    def __init__(self, options: Any, longest: int, most: int) -> None:
        self.expected = _ANY_SIZE  # how long the next message may well be, in bytes
        self.scanner: Any = None
        super().__init__(options, longest, most)
        self.timestamp_option: int = options.timestamp
        self.limits: pypy_checks.Options | None = None
        if self.plain >= 0 and not self.tuple_keys and self.ext_hook is ExtType:
            self.limits = pypy_checks.make_options(self)  # its own limits: -1 is resolved in them

    def reset(self) -> None:
        """Forget the message that is being read, if any."""
        super().reset()
        self.eager = False  # whether the message that has begun is the pure decoder's
        self.seen = 0  # how much of it the scanner has passed, in bytes; otherwise ...
        self.reading: pypy_unpack.Reading | None = None  # ... the tape that has the beginning, once it is long
        self.waiting: list[bytes] = []  # ... and what waits for the tape: whole values
        self.waiting_size = 0  # of that, in bytes

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
        if found == CUT:
            if end > begin:
                self.wait(data, begin, end)
            return self.cut(end, scanner.consumed, scanner.needed)
        if found == DONE:
            size = self.seen + end - begin
            self.learn(size)
            if fresh:
                if size >= _LARGE:
                    read = pypy_unpack.read(data, begin, limits, self.timestamp_option)
                    if read is not None:
                        self.result, self.position = read
                        return True
                return super().run(data)
            self.wait(data, begin, end)
            reading = self.flush()
            self.result = reading.containers[0][0]
            self.position = end
            reading.release()
            return True
        self.eager = True
        if not fresh:
            self.wait(data, begin, end)
            self.take_over(self.flush())
            self.position = end
        return super().run(data)

    def learn(self, size: int) -> None:
        """Note the size of a message in bytes: a long one is remembered for some time."""
        self.expected = 2 * size if self.expected == _ANY_SIZE else max(2 * size, self.expected >> 1)

    def wait(self, data: bytes, begin: int, end: int) -> None:
        """Let the whole values in data[begin:end] wait for the tape, or give it those that do if they are enough."""
        size = end - begin
        self.seen += size
        enough = _FIRST if self.reading is None else _PART
        if size >= enough and not self.waiting:
            self.give(data, begin, end)
            return
        self.waiting.append(data[begin:end])
        self.waiting_size += size
        if self.waiting_size >= enough:
            self.flush()

    def flush(self) -> pypy_unpack.Reading:
        """Give the tape what waits for it."""
        part = b"".join(self.waiting)
        self.waiting = []
        self.waiting_size = 0
        return self.give(part, 0, len(part))

    def give(self, data: bytes, begin: int, end: int) -> pypy_unpack.Reading:
        """Let the tape make the objects of data[begin:end]."""
        reading = self.reading
        if reading is None:
            assert self.limits is not None
            self.reading = reading = pypy_unpack.Reading(self.limits, self.timestamp_option)
        if end > begin and reading.read(data, begin, end) == pypy_unpack.REFUSED:
            raise AssertionError("the tape refused what the scanner passed")
        return reading

    def take_over(self, reading: pypy_unpack.Reading) -> None:
        """Let the pure decoder go on with what the tape has made, from where the scanner stopped."""
        containers = reading.containers
        node = containers[-1]
        stack: list[Frame] = []
        for level, (outer, inner) in enumerate(zip(containers, containers[1:])):
            outer_next, left = self.lacking(level, outer)
            if outer_next == ITEM:
                outer.pop()  # the pure decoder stores a container when it is complete
                stack.append((ITEM, outer, left, None))
            else:
                stack.append((VALUE, outer, left, next(key for key in reversed(outer) if outer[key] is inner)))
        next_, left = self.lacking(len(stack), node)
        self.resume(self.position, next_, node, left, stack)
        if next_ == VALUE:
            self.key = reading.key()
        self.reading = None
        reading.release()

    def lacking(self, level: int, node: Any) -> tuple[int, int]:
        """Return what the container that `level` others are around reads next, and how many items or pairs it lacks."""
        values = self.scanner.frames[level] >> 1
        if type(node) is list:
            return ITEM, values
        return (VALUE if values & 1 else KEY), (values + 1) >> 1


class Unpacker(PureUnpacker):
    """Unpack objects from a stream of bytes (see `purepy.msgpack.Unpacker`)."""

    _decoder_type: ClassVar[type[Decoder]] = ScanningDecoder


Unpacker.__doc__ = PureUnpacker.__doc__

unpack_async = make_unpack_async(Unpacker)
