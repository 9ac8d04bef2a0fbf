# SPDX-License-Identifier: Apache-2.0
"""The encoding of one frame: its window, blocks and checksum."""

from __future__ import annotations

from purepy.zstd.encoder.block import BlockState, encode_block
from purepy.zstd.encoder.frame import block_header, frame_header
from purepy.zstd.encoder.levels import MAX_HISTORY, MatchParameters
from purepy.zstd.encoder.matchfinders import MatchFinder
from purepy.zstd.encoder.options import EncoderOptions
from purepy.zstd.format.rules import CHECKSUM_SIZE, RAW
from purepy.zstd.format.xxh64 import XXH64

# The most bytes that the buffer holds, besides a prefix, the window and two blocks, before its content moves down.
MAX_ROOM = 32 << 20


class FrameEncoder:
    """
    Encodes one frame whose content arrives in pieces.

    The buffer holds the history that matches may refer to, followed by data that is not encoded yet. It is filled up to
    `_capacity`: a prefix, the window, as much again (at most MAX_ROOM), and two blocks. Then the content that matches
    can no longer reach is removed, and the rest moves down. So a byte is moved once per window, or per MAX_ROOM bytes,
    not once per block.
    """

    __slots__ = (
        "_buffer",
        "_capacity",
        "_checksum",
        "_encoded",
        "_finder",
        "_header",
        "_prefix_size",
        "_start",
        "_state",
        "_window_size",
        "block_size",
    )

    def __init__(
        self,
        options: EncoderOptions,
        parameters: MatchParameters,
        content_size: int | None,
        finder: MatchFinder,
        prefix: bytes = b"",
        state: BlockState = BlockState(),  # noqa: B008 - immutable
        dict_id: int = 0,
    ) -> None:
        self._header = frame_header(
            parameters.window_log,
            content_size if options.content_size else None,
            dict_id if options.dict_id else 0,
            checksum=options.checksum,
            magicless=options.magicless,
        )
        self._window_size = min(1 << parameters.window_log, MAX_HISTORY)
        self.block_size = min(1 << parameters.window_log, options.target_size)  # no block is larger than its content
        room = min(self._window_size, MAX_ROOM) + 2 * self.block_size
        self._prefix_size = len(prefix)
        self._capacity = len(prefix) + self._window_size + room
        self._buffer = bytearray(prefix)
        self._start = len(prefix)
        self._encoded = 0
        self._finder = finder
        self._state = state
        self._checksum = XXH64() if options.checksum else None

    def write(self, data: bytes, out: list[bytes]) -> None:
        """
        Add `data` to the frame; append encoded full blocks to `out`, except the last, which waits for more data.

        The frame's header is appended with its first block, which `flush` or `finish` may append.
        """
        at = 0
        size = len(data)
        while at < size:
            room = self._capacity - len(self._buffer)
            if not room:
                self._slide()
                continue
            piece = data[at : at + room]
            at += len(piece)
            self._buffer += piece
            if self._checksum is not None:
                self._checksum.update(piece)
            while len(self._buffer) - self._start > self.block_size:
                self._encode(self.block_size, False, out)

    def flush(self, out: list[bytes]) -> None:
        """Append the waiting data, if any, to `out` as one block; the frame may continue."""
        pending = len(self._buffer) - self._start
        if pending:
            self._encode(pending, False, out)

    def finish(self, out: list[bytes]) -> None:
        """Append the waiting data as the last block, which may be empty, and the checksum, if the frame has one."""
        pending = len(self._buffer) - self._start
        if pending:
            self._encode(pending, True, out)
        else:
            out.append((b"" if self._encoded else self._header) + block_header(RAW, 0, True))
        if self._checksum is not None:
            out.append((self._checksum.digest() & 0xFFFFFFFF).to_bytes(CHECKSUM_SIZE, "little"))

    def _encode(self, size: int, last: bool, out: list[bytes]) -> None:
        first = not self._encoded
        if first:
            out.append(self._header)
        start = self._start
        self._encoded += size
        # A dictionary can be referred to as long as at most one window has been decoded (section 5).
        distance = self._window_size
        if self._prefix_size and self._encoded <= self._window_size:
            distance += self._prefix_size
        block, self._state = encode_block(
            self._finder, self._buffer, start, start + size, distance, self._state, first=first, last=last
        )
        self._start = start + size
        out.append(block)

    def _slide(self) -> None:
        distance = self._start - self._window_size
        del self._buffer[:distance]
        self._start -= distance
        self._finder.slide(distance)
