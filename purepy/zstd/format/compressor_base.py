# SPDX-License-Identifier: Apache-2.0
"""
Base of the compressors of all backends: their modes, argument checks, and the pledged size.

Only the type of the native backend on CPython is written in C, without this base:
ffi_build/zstd/streams/compressor.c.
"""

from __future__ import annotations

from operator import index

from purepy.zstd.format import rules
from purepy.zstd.format.locks import ExclusiveStream
from purepy.zstd.format.parameters import pledge_argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Buffer


class CompressorBase(ExclusiveStream):
    """
    Compress data in pieces, into any number of frames (replaces `compression.zstd.ZstdCompressor`).

    Args:
        level (int | None): -131072 to 22; None and 0 mean 3.
        options (dict[int, int] | None): values of CompressionParameter, instead of `level`.
        zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.

    Raises TypeError and ValueError for wrong arguments, and ZstdError, now or at the first frame, for a corrupted
    dictionary. The pure backend also raises ZstdError for long-distance matching.

    A call with a wrong argument, or one that contradicts the pledged size, changes nothing. An error during compression
    resets the compressor: `last_mode` becomes FLUSH_FRAME and the current frame is lost. Calls from several threads
    wait for each other.
    """

    __slots__ = ("_last_mode",)

    CONTINUE = rules.CONTINUE
    """Mode: collect data; output is returned once there is enough."""
    FLUSH_BLOCK = rules.FLUSH_BLOCK
    """Mode: end the block, so that a reader can decompress all data given so far."""
    FLUSH_FRAME = rules.FLUSH_FRAME
    """Mode: end the frame; the next data begins a new one."""

    if TYPE_CHECKING:
        _last_mode: int

        def _compress(self, data: Buffer, mode: int) -> bytes:
            """Compress a buffer and return the output; takes the lock itself."""

        def _pledge(self, size: int | None) -> None:
            """Set the size of the next frame's content, None if unknown; called between frames, with the lock held."""

    @property
    def last_mode(self) -> int:
        """The mode of the last successful call to `compress` or `flush`; FLUSH_FRAME initially and after a reset."""
        return self._last_mode

    def compress(self, data: Buffer, mode: int = CONTINUE) -> bytes:
        """
        Compress `data`, a buffer, and return the bytes that are ready, perhaps b"".

        `mode` is CONTINUE (0), FLUSH_BLOCK (1) or FLUSH_FRAME (2). Raises ValueError for another mode. Raises ZstdError
        if the frame's size contradicts the pledged size, which changes nothing, or if compression fails, which loses
        the current frame.
        """
        mode = index(mode)
        if not self.CONTINUE <= mode <= self.FLUSH_FRAME:
            raise ValueError(
                "mode argument wrong value, it should be one of ZstdCompressor.CONTINUE, ZstdCompressor.FLUSH_BLOCK, "
                "ZstdCompressor.FLUSH_FRAME."
            )
        return self._compress(data, mode)

    def flush(self, mode: int = FLUSH_FRAME) -> bytes:
        """
        Return the remaining output for the data given so far.

        `mode` is FLUSH_FRAME (2), which ends the frame, or FLUSH_BLOCK (1). Raises ValueError for another mode, and
        ZstdError as `compress` does.
        """
        mode = index(mode)
        if not self.FLUSH_BLOCK <= mode <= self.FLUSH_FRAME:
            raise ValueError(
                "mode argument wrong value, it should be ZstdCompressor.FLUSH_FRAME or ZstdCompressor.FLUSH_BLOCK."
            )
        return self._compress(b"", mode)

    def set_pledged_input_size(self, size: int | None, /) -> None:
        """
        Pledge the `size` of the next frame's content, in bytes, so that its header declares it; None cancels a pledge.

        A pledge applies to one frame. A frame of another size raises ZstdError, unless a single call compresses the
        whole frame: the actual size then replaces the pledge. Raises ValueError for a size below 0 or above 2**64 - 3,
        and inside a frame.
        """
        size = pledge_argument(size)
        with self._turn():
            if self._last_mode != self.FLUSH_FRAME:
                raise ValueError("set_pledged_input_size() method must be called when last_mode == FLUSH_FRAME")
            self._pledge(size)
