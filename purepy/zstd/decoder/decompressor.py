# SPDX-License-Identifier: Apache-2.0
"""
Decompression: one frame as a state machine that takes its input in pieces of any size, and what is built on it.

Input is kept until a whole unit (header, block, checksum) is there; output comes block by block. So what is held
between two calls is the window, one block of input at most beyond what the caller passed and could not have decoded
yet, and one block of output that `max_length` did not let out.
"""

from __future__ import annotations

import sys
from operator import index

from purepy.errors import ZstdError
from purepy.zstd.common.error_codes import (
    CHECKSUM_WRONG,
    CORRUPTION_DETECTED,
    DICTIONARY_WRONG,
    WINDOW_TOO_LARGE,
    decoding_error,
    limit_error,
    truncated_error,
)
from purepy.zstd.common.locks import ExclusiveStream
from purepy.zstd.common.parameters import (
    DECOMPRESSION_FORMAT,
    checked_options,
    size_argument,
    table_bounds,
    window_size_max,
)
from purepy.zstd.common.xxh64 import XXH64
from purepy.zstd.common.zdict import DIGESTED, PREFIX, as_bytes, parse_dict_argument
from purepy.zstd.decoder import block, frame
from purepy.zstd.decoder.bits import PADDING_SIZE, padded
from purepy.zstd.decoder.dictionary import DecodingDictionary, digested
from purepy.zstd.decoder.window import Window
from purepy.zstd_format import BLOCK_HEADER_SIZE, BLOCK_SIZE_MAX, CHECKSUM_SIZE, COMPRESSED, HEADER_SIZE_MAX, RAW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Settings:
    """The checked arguments `zstd_dict` and `options` of a decompressor."""

    __slots__ = ("dictionary", "magicless", "window_size_max")

    def __init__(self, zstd_dict: Any, options: Any) -> None:
        pairs = [] if options is None else checked_options(options, False, table_bounds)
        self.magicless = any(key == DECOMPRESSION_FORMAT and value for key, value in pairs)
        self.window_size_max = window_size_max(pairs)
        self.dictionary: DecodingDictionary | None = None
        if zstd_dict is not None:
            found, how = parse_dict_argument(zstd_dict, DIGESTED)
            # A prefix is raw whatever it begins with.
            self.dictionary = DecodingDictionary(found.dict_content) if how == PREFIX else digested(found)


class _Input:
    """The input not used up yet: `data[at:]` and then `more`, which is joined to it when a unit needs it."""

    __slots__ = ("at", "available", "data", "more", "offset")

    def __init__(self) -> None:
        self.data = b""
        self.at = 0
        self.more: list[bytes] = []
        self.available = 0
        self.offset = 0
        """Offset in the whole stream of `data[0]`."""

    def push(self, piece: bytes) -> None:
        if not piece:
            return
        if self.available:
            self.more.append(piece)
        else:
            self.offset += len(self.data)
            self.data = piece
            self.at = 0
        self.available += len(piece)

    def need(self, count: int) -> bool:
        """Return whether `count` bytes are there, and make sure that `data[at:]` holds them if so."""
        if self.available < count:
            return False
        if len(self.data) - self.at < count:
            self.offset += self.at
            self.data = b"".join((self.data[self.at :], *self.more))
            self.at = 0
            self.more = []
        return True

    def use(self, count: int) -> None:
        self.at += count
        self.available -= count

    def skip(self, count: int) -> int:
        """Use up to `count` bytes without looking at them; return how many there were."""
        count = min(count, self.available)
        if count:
            self.need(self.available)
            self.use(count)
        return count

    def rest(self) -> bytes:
        """Return all that is left."""
        self.need(self.available)
        return self.data[self.at :]


class FrameDecoder:
    """
    Decodes one frame, or skips a skippable one, from an `_Input` that others fill.

    `step()` does one unit of work: it returns a piece of output (b"" is possible), or None if it needs more input
    than there is. With `hold` output stays in the window, where it needs no second copy, as long as that has room;
    `rest()` returns it then, in between or at the end. `produced` is the size of all output so far, `done` tells that
    the frame has ended.
    """

    __slots__ = (
        "_blocks",
        "_checksum",
        "_header",
        "_input",
        "_last",
        "_settings",
        "_skip",
        "_window",
        "done",
        "produced",
    )

    def __init__(self, settings: Settings, source: _Input) -> None:
        self._settings = settings
        self._input = source
        self._header: frame.FrameHeader | None = None
        self._skip = 0
        self._last = False
        self._window: Window | None = None
        self._checksum: XXH64 | None = None
        self.produced = 0
        self.done = False

    def step(self, hold: bool = False) -> bytes | None:
        header = self._header
        if header is None:
            return self._begin()
        if header.skippable:
            self._skip -= self._input.skip(self._skip)
            if self._skip:
                return None
            self.done = True
            return b""
        if self._last:
            return self._end()
        return self._block(header, hold)

    def rest(self) -> bytes:
        """Return the output that was held."""
        window = self._window
        if window is None:
            return b""
        return window.finish() if self.done else window.take()

    def _begin(self) -> bytes | None:
        """Read the frame's header and check what it asks for."""
        source = self._input
        settings = self._settings
        source.need(min(source.available, HEADER_SIZE_MAX))
        offset = source.offset + source.at
        header = frame.read_header(source.data, source.at, len(source.data), offset, settings.magicless)
        if isinstance(header, int):
            return None
        if header.skippable:
            self._skip = header.content_size or 0
            self.done = not self._skip
        else:
            if header.window_size > settings.window_size_max:
                raise decoding_error(
                    WINDOW_TOO_LARGE,
                    offset,
                    f"window of {header.window_size} bytes exceeds the limit of {settings.window_size_max}",
                    advice="raise it with DecompressionParameter.window_log_max",
                )
            dictionary = settings.dictionary
            found = dictionary.dict_id if dictionary else 0
            if header.dictionary_id not in (0, found):
                has = f"the dictionary given has the id {found}" if dictionary else "no dictionary was given"
                raise decoding_error(
                    DICTIONARY_WRONG, offset, f"frame needs the dictionary with the id {header.dictionary_id}; {has}"
                )
            content = dictionary.content if dictionary else b""
            self._window = Window(header.window_size, header.block_size, header.content_size, content)
            self._blocks = block.BlockDecoder(dictionary)
            if header.checksum:
                self._checksum = XXH64()
        source.use(header.size)
        self._header = header
        return b""

    def _block(self, header: frame.FrameHeader, hold: bool) -> bytes | None:
        """Decode one block, once all of it is there."""
        source = self._input
        if not source.need(BLOCK_HEADER_SIZE):
            return None
        offset = source.offset + source.at
        last, kind, size, stored = block.read_block_header(source.data, source.at, offset)
        max_size = header.block_size
        if size > max_size:
            raise decoding_error(
                CORRUPTION_DETECTED, offset, f"block of {size} bytes exceeds the frame's maximum of {max_size}"
            )
        if not source.need(BLOCK_HEADER_SIZE + stored):
            return None
        at = source.at + BLOCK_HEADER_SIZE
        content = source.data[at : at + stored]
        window = self._window
        assert window is not None
        room = max_size if kind == COMPRESSED else size
        held = window.take() if hold and window.is_full(room) else b""
        window.reserve(room)
        before = window.end
        output = b""
        if kind == COMPRESSED:
            origin = offset + BLOCK_HEADER_SIZE - PADDING_SIZE
            self._blocks.decode(padded(content), PADDING_SIZE, PADDING_SIZE + size, origin, window, max_size)
            if self._checksum is not None or not hold:
                output = window.since(before)
        else:
            output = content if kind == RAW else content * size
            window.append(output)
        source.use(BLOCK_HEADER_SIZE + stored)
        self._last = last
        self.produced += window.end - before
        if header.content_size is not None and self.produced > header.content_size:
            raise decoding_error(
                CORRUPTION_DETECTED, offset, f"content is longer than the {header.content_size} bytes of its header"
            )
        if self._checksum is not None:
            self._checksum.update(output)
        if last:
            # before the checksum is waited for, as libzstd does
            if header.content_size is not None and self.produced != header.content_size:
                raise decoding_error(
                    CORRUPTION_DETECTED,
                    source.offset + source.at,
                    f"content of {self.produced} bytes is shorter than the {header.content_size} of its header",
                )
            self.done = self._checksum is None
        if hold:
            return held
        window.drop()
        return output

    def _end(self) -> bytes | None:
        """Compare the checksum behind the last block (section 3.1.1)."""
        source = self._input
        if not source.need(CHECKSUM_SIZE):
            return None
        assert self._checksum is not None
        stored = int.from_bytes(source.data[source.at : source.at + CHECKSUM_SIZE], "little")
        found = self._checksum.digest() & 0xFFFFFFFF
        if stored != found:
            raise decoding_error(
                CHECKSUM_WRONG,
                source.offset + source.at,
                f"content has the checksum {found:#010x}, the frame says {stored:#010x}",
            )
        source.use(CHECKSUM_SIZE)
        self.done = True
        return b""


class ZstdDecompressor(ExclusiveStream):
    """
    Decompress a frame that comes in pieces (replaces `compression.zstd.ZstdDecompressor`).

    `zstd_dict` is a ZstdDict or one of its `as_*` pairs, `options` a dict of DecompressionParameter. With
    `multi_frame=True` the object goes on from each frame to the next, skippable ones included: `eof` is then True
    whenever the input so far ends where a frame does, more may follow, and `unused_data` stays empty. A prefix
    (`ZstdDict.as_prefix`) goes before each of them. Of an error in a later frame the next call tells, after one that
    returned what the frames in front of it hold.

    An error resets the object; it can be used for another frame. Methods may be called from several threads, one
    waits for the other.
    """

    __slots__ = (
        "__weakref__",
        "_decoder",
        "_ended",
        "_eof",
        "_failure",
        "_goes_on",
        "_input",
        "_multi_frame",
        "_needs_input",
        "_output",
        "_output_at",
        "_settings",
    )

    def __init__(self, zstd_dict: Any = None, options: Any = None, *, multi_frame: bool = False) -> None:
        super().__init__()
        self._begin(Settings(zstd_dict, options), bool(multi_frame))

    @classmethod
    def _over(cls, settings: Settings, multi_frame: bool = False, frame_by_frame: bool = False) -> ZstdDecompressor:
        """
        Return a stream over settings made before (see purepy/zstd/presets.py).

        With `frame_by_frame` no call of one with `multi_frame` goes beyond the end of a frame, of which `_at_start`
        tells.
        """
        stream = cls.__new__(cls)
        ExclusiveStream.__init__(stream)
        stream._begin(settings, multi_frame, frame_by_frame)
        return stream

    def _begin(self, settings: Settings, multi_frame: bool, frame_by_frame: bool = False) -> None:
        self._settings = settings
        self._multi_frame = multi_frame
        self._goes_on = multi_frame and not frame_by_frame
        self._reset()

    def _reset(self) -> None:
        self._input = _Input()
        self._decoder: FrameDecoder | None = None
        self._failure: ZstdError | None = None
        self._ended = False
        self._output = b""
        self._output_at = 0
        self._eof = False
        self._needs_input = True

    @property
    def eof(self) -> bool:
        """True once the frame's end has been reached and all of its content returned."""
        return self._eof

    @property
    def needs_input(self) -> bool:
        """False if `decompress(b"")` may return more output, or at the end of the frame."""
        return self._needs_input

    def _memory_size(self) -> int:
        """Return about how many bytes decoding takes: a block, and the window."""
        window = None if self._decoder is None else self._decoder._window
        return BLOCK_SIZE_MAX + (0 if window is None else len(window.data))

    @property
    def _at_start(self) -> bool:
        """Whether what was returned so far ends where a frame does."""
        return self._decoder is None and not self._output

    @property
    def unused_data(self) -> bytes:
        """What follows the frame in the data passed; b"" before `eof`."""
        with self._turn():
            return self._input.rest() if self._eof and not self._multi_frame else b""

    def decompress(self, data: Any, max_length: int = -1) -> bytes:
        """
        Return the content that `data` and earlier input decode to, `max_length` bytes at most unless it is negative.

        What could not be decoded or returned yet is kept for the next call; `needs_input` is False if the latter.
        Raises EOFError at the end of the frame and ZstdError for data that is not Zstandard, corrupt, or needs
        another dictionary or a larger window than allowed.
        """
        max_length = index(max_length)
        piece = as_bytes(data)
        with self._turn():
            if self._eof and not self._multi_frame:
                raise EOFError("Already at the end of a Zstandard frame.")
            try:
                return self._decompress(piece, max_length)
            except BaseException:
                self._reset()
                raise

    def _decompress(self, piece: bytes, max_length: int) -> bytes:
        source = self._input
        source.push(piece)
        if self._multi_frame and source.available and not self._output:
            self._ended = False
        if self._failure is not None:
            if max_length:
                raise self._failure
            return b""
        pieces: list[bytes] = []
        hold = max_length < 0
        room = sys.maxsize if hold else max_length
        if self._output:
            room = self._give(pieces, self._output, self._output_at, room)
        whole = len(pieces) if self._decoder is None else 0  # how many of the pieces are of frames that have ended
        # At exactly `max_length` it goes on: only then is it known whether the frame ends here.
        while not self._output:
            decoder = self._decoder
            if decoder is None:
                if not source.available or (self._ended and not self._goes_on):
                    break
                decoder = self._decoder = FrameDecoder(self._settings, source)
                self._ended = False
            try:
                output = decoder.step(hold)
            except ZstdError as exc:
                if room:
                    del pieces[whole if self._multi_frame else 0 :]
                content = b"".join(pieces)
                if not content:
                    raise
                self._failure = exc.with_traceback(None)  # which would keep all that it went through
                self._eof = self._needs_input = False
                return content
            if output:
                room = self._give(pieces, output, 0, room)
            if hold and (output is None or decoder.done):
                pieces.append(decoder.rest())
            if output is None:
                break
            if decoder.done:
                self._decoder = None
                self._ended = True
                whole = len(pieces)
        self._eof = self._ended and not self._output and not (self._multi_frame and source.available)
        if self._eof:
            self._needs_input = self._multi_frame
        else:
            # at the end of one frame of several there may be input for the next
            self._needs_input = not self._output and room > 0 and not (self._ended and source.available)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _give(self, pieces: list[bytes], output: bytes, at: int, room: int) -> int:
        """Add `output[at:]` to the pieces as far as there is room, and keep the rest; return the room left."""
        size = len(output) - at
        if size <= room:
            pieces.append(output[at:] if at else output)
            self._output, self._output_at = b"", 0
            return room - size
        if room:
            pieces.append(output[at : at + room])
        self._output, self._output_at = output, at + room
        return 0


def _decode_all(data: Any, zstd_dict: Any, options: Any, limit: int | None, limit_name: str) -> list[bytes]:
    """Decode every frame in `data` to its end; return the pieces of the content, `limit` bytes of it at most."""
    settings = Settings(zstd_dict, options)
    source = _Input()
    source.push(as_bytes(data))
    pieces: list[bytes] = []
    size = 0
    while True:
        decoder = FrameDecoder(settings, source)
        while not decoder.done:
            output = decoder.step(hold=True)
            if output is None:
                raise truncated_error(source.offset + source.at + source.available)
            if limit is not None and size + decoder.produced > limit:
                raise limit_error(f"{limit_name} ({limit} bytes)", source.offset + source.at)
            if output:
                pieces.append(output)
        pieces.append(decoder.rest())
        size += decoder.produced
        if not source.available:
            return pieces


def decompress(
    data: Any,
    zstd_dict: Any = None,
    options: Any = None,
    *,
    max_output_size: int | None = None,
    size_hint: int | None = None,
    threads: int | None = None,
) -> bytes:
    """
    Return the content of all frames in `data`, one after the other (replaces `compression.zstd.decompress`).

    Skippable frames give nothing. More than `max_output_size` bytes of content: ZstdLimitError. `size_hint`, the size
    that the caller expects, is of use to other backends; this one allocates by what it has decoded. So are `threads`,
    but for where there is no GIL. Raises ZstdError for data that is cut, corrupt or followed by anything that is no
    frame.
    """
    limit = size_argument(max_output_size, "max_output_size")
    size_argument(size_hint, "size_hint")
    if threads is not None:
        from purepy.zstd.common import parallel

        content = parallel.decompress(
            sys.modules["purepy.zstd"],
            data,
            zstd_dict,
            options,
            threads,
            limit,
            Settings(zstd_dict, options).window_size_max,
            parallel.fill_nothing,
        )
        if content is not None:
            return content
    pieces = _decode_all(data, zstd_dict, options, limit, "max_output_size")
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def decompress_into(data: Any, buffer: Any, zstd_dict: Any = None, options: Any = None) -> int:
    """
    Decompress all frames in `data` into the writable `buffer`; return the number of bytes written.

    The buffer is written only once everything has been decoded. Raises ZstdError as `decompress` does, and
    ZstdLimitError if the content does not fit.
    """
    with memoryview(buffer) as whole:
        if whole.readonly:
            raise TypeError(f"a writable bytes-like object is required, not '{type(buffer).__name__}'")
        if not whole.c_contiguous:
            raise BufferError("memoryview: underlying buffer is not C-contiguous")
        pieces = _decode_all(data, zstd_dict, options, whole.nbytes, "the buffer")
        if not whole.nbytes:
            return 0
        at = 0
        with whole.cast("B") as view:
            for piece in pieces:
                view[at : at + len(piece)] = piece
                at += len(piece)
        return at
