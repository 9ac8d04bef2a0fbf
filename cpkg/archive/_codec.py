# SPDX-License-Identifier: Apache-2.0
"""The codec of archives over `cpkg.zstd`, whichever backend serves that."""

from __future__ import annotations

from collections.abc import Iterator

from cpkg import zstd
from cpkg.archive._inflate import CHUNK
from purepy.zstd.format.error_codes import truncated_error
from purepy.zstd.format.splitter import WholeFrame


class PureCodec:
    """Decompresses frames to bytes objects."""

    def __init__(self, window_log_max: int) -> None:
        self._reading: dict[int, int] = {zstd.DecompressionParameter.window_log_max: window_log_max}

    def inflate(self, frame: WholeFrame) -> bytes:
        """Return a frame's content."""
        return zstd.decompress(frame.data, options=self._reading, max_output_size=frame.bound)

    def inflate_pieces(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Return the content of a frame that comes in pieces, in chunks."""
        decompressor = zstd.ZstdDecompressor(options=self._reading)
        for piece in pieces:
            data = piece
            while True:
                chunk = decompressor.decompress(data, CHUNK)
                data = b""
                if chunk:
                    yield chunk
                if decompressor.eof or decompressor.needs_input:
                    break
        if not decompressor.eof:
            raise truncated_error()

    def close(self) -> None:
        """Do nothing: there is nothing that would stay open."""

    def view(self, chunk: bytes) -> bytes:
        """Return a chunk's bytes."""
        return chunk

    def give_back(self, chunk: bytes) -> None:
        """Do nothing: the chunk is freed when nobody holds it."""
