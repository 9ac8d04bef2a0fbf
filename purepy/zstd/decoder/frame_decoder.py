# SPDX-License-Identifier: Apache-2.0
"""
Decoding of one frame, as a state machine that takes its input in pieces of any size.

Input is kept until a whole unit (header, block, checksum) is available; output comes block by block. Between two calls,
a decompressor holds the window, the input that is not decoded yet (less than a unit, unless `max_length` has stopped
the decoding), and at most one block of output that `max_length` held back.
"""

from __future__ import annotations

from purepy.zstd.decoder import block
from purepy.zstd.decoder.bits import PADDING_SIZE, padded
from purepy.zstd.decoder.dictionary import DecodingDictionary, digested
from purepy.zstd.decoder.window import Window
from purepy.zstd.format.error_codes import (
    CHECKSUM_WRONG,
    DICTIONARY_WRONG,
    WINDOW_ADVICE,
    WINDOW_TOO_LARGE,
    corruption,
    decoding_error,
)
from purepy.zstd.format.header import Header, read_header
from purepy.zstd.format.parameters import DECOMPRESSION_FORMAT, checked_options, table_bounds, window_size_max
from purepy.zstd.format.rules import BLOCK_HEADER_SIZE, CHECKSUM_SIZE, COMPRESSED, HEADER_SIZE_MAX, RAW
from purepy.zstd.format.xxh64 import XXH64
from purepy.zstd.format.zdict import DIGESTED, PREFIX, parse_dict_argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from purepy.base.types import Parameters
    from purepy.zstd.format.zdict import DictArgument


class Settings:
    """The checked arguments `zstd_dict` and `options` of a decompressor; `window_max`, in bytes, overrides options."""

    __slots__ = ("_window_max", "dictionary", "magicless")

    def __init__(self, zstd_dict: DictArgument, options: Parameters, window_max: int | None = None) -> None:
        pairs = [] if options is None else checked_options(options, False, table_bounds)
        self.magicless = any(key == DECOMPRESSION_FORMAT and value for key, value in pairs)
        self._window_max = window_size_max(pairs) if window_max is None else window_max
        self.dictionary: DecodingDictionary | None = None
        if zstd_dict is not None:
            found, how = parse_dict_argument(zstd_dict, DIGESTED)
            # A prefix is always raw content.
            self.dictionary = DecodingDictionary(found.dict_content) if how == PREFIX else digested(found)

    def check(self, header: Header, offset: int) -> None:
        """
        Raise ZstdError if a frame needs a dictionary with another id, or ZstdLimitError if it needs a larger window.

        `offset` is the position of its header in the input, for the errors.
        """
        if header.window_size > self._window_max:
            raise decoding_error(
                WINDOW_TOO_LARGE,
                offset,
                f"window of {header.window_size} bytes exceeds the limit of {self._window_max}",
                advice=WINDOW_ADVICE,
            )
        dictionary = self.dictionary
        found = dictionary.dict_id if dictionary else 0
        if header.dictionary_id not in (0, found):
            has = f"the dictionary given has the id {found}" if dictionary else "no dictionary was given"
            raise decoding_error(
                DICTIONARY_WRONG, offset, f"frame needs the dictionary with the id {header.dictionary_id}; {has}"
            )


class Input:
    """The unused input: `data[at:]`, then the pieces in `more`, which are joined to `data` when a unit needs them."""

    __slots__ = ("at", "available", "data", "more", "offset")

    def __init__(self) -> None:
        self.data = b""
        self.at = 0
        self.more: list[bytes] = []
        self.available = 0
        self.offset = 0
        """The offset of `data[0]` in the whole stream."""

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
        """Return whether `count` bytes are available; if so, ensure that `data[at:]` contains them."""
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
        """Skip up to `count` bytes, as many as are available; return how many were skipped."""
        count = min(count, self.available)
        if count:
            self.need(self.available)
            self.use(count)
        return count

    def rest(self) -> bytes:
        """Return all of the unused input, which stays available."""
        self.need(self.available)
        return self.data[self.at :]


class FrameDecoder:
    """
    Decodes one frame, or skips a skippable one, from an `Input` that the caller fills.

    `step()` does one unit of work. It returns a piece of output, perhaps b"", or None if it needs more input. With
    `hold`, output stays in the window, which saves a copy, and `step()` returns only the output that must leave the
    window to make room. `rest()` returns the output that is held. `produced` is the size of all output so far, in
    bytes; `done` is whether the frame has ended.
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

    def __init__(self, settings: Settings, source: Input) -> None:
        self._settings = settings
        self._input = source
        self._header: Header | None = None
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
        if header.is_skippable:
            self._skip -= self._input.skip(self._skip)
            if self._skip:
                return None
            self.done = True
            return b""
        if self._last:
            return self._end()
        return self._block(header, hold)

    def rest(self) -> bytes:
        """Return the output that the window holds, perhaps b""; later calls do not return it again."""
        window = self._window
        if window is None:
            return b""
        return window.finish() if self.done else window.take()

    def _begin(self) -> bytes | None:
        """Read the frame's header and check its requirements; return b"", or None if the header is not complete yet."""
        source = self._input
        settings = self._settings
        source.need(min(source.available, HEADER_SIZE_MAX))
        offset = source.offset + source.at
        header = read_header(source.data, source.at, len(source.data), offset, settings.magicless)
        if isinstance(header, int):
            return None
        if header.is_skippable:
            self._skip = header.skipped_size
            self.done = not self._skip
        else:
            settings.check(header, offset)
            self._open(header)
        source.use(header.size)
        self._header = header
        return b""

    def _open(self, header: Header) -> None:
        """Create the window, the block decoder and, if needed, the checksum for a frame with this header."""
        dictionary = self._settings.dictionary
        content = dictionary.content if dictionary else b""
        self._window = Window(header.window_size, header.block_size, header.content_size, content)
        self._blocks = block.BlockDecoder(dictionary)
        if header.has_checksum:
            self._checksum = XXH64()

    def _block(self, header: Header, hold: bool) -> bytes | None:
        """
        Decode one block and return its output, or None if the block is not completely available yet.

        With `hold`, return only the output that must leave the window to make room, perhaps b"".
        """
        source = self._input
        if not source.need(BLOCK_HEADER_SIZE):
            return None
        offset = source.offset + source.at
        max_size = header.block_size
        last, kind, size, stored = block.read_block_header(source.data, source.at, offset, max_size)
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
        if self._checksum is not None:
            self._checksum.update(output)
        self._compare_sizes(header, offset)
        if last:
            self.done = self._checksum is None
        if hold:
            return held
        window.drop()
        return output

    def _compare_sizes(self, header: Header, offset: int) -> None:
        """Raise ZstdError if the content contradicts its declared size: like libzstd, before the checksum is read."""
        if header.content_size is not None and self.produced > header.content_size:
            raise corruption(offset, f"content is longer than the {header.content_size} bytes that the header declares")
        if self._last and header.content_size is not None and self.produced != header.content_size:
            raise corruption(
                self._input.offset + self._input.at,
                f"content of {self.produced} bytes is shorter than the {header.content_size} that the header declares",
            )

    def _end(self) -> bytes | None:
        """Verify the checksum after the last block (section 3.1.1); return b"", or None if it is not available yet."""
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
                f"content has the checksum {found:#010x}, the frame stores {stored:#010x}",
            )
        source.use(CHECKSUM_SIZE)
        self.done = True
        return b""
