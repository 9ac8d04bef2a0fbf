# SPDX-License-Identifier: Apache-2.0
"""ZstdCompressor of the pure codec."""

from __future__ import annotations

from purepy.base.buffers import as_bytes
from purepy.zstd.encoder.dictionary import EncodingDictionary, prefix_only
from purepy.zstd.encoder.frame_encoder import FrameEncoder
from purepy.zstd.encoder.matchfinders import make_match_finder
from purepy.zstd.encoder.options import EncoderOptions
from purepy.zstd.format.compressor_base import CompressorBase
from purepy.zstd.format.error_codes import (
    CANNOT_COMPRESS,
    DST_SIZE_TOO_SMALL,
    NAMES,
    coded_error,
    native_only,
    pledge_error,
)
from purepy.zstd.format.rules import BLOCK_SIZE_MAX
from purepy.zstd.format.zdict import PREFIX, UNDIGESTED, ZstdDict, parse_dict_argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from purepy.base.errors import ZstdError
    from purepy.base.types import Buffer, Parameters
    from purepy.zstd.format.zdict import DictArgument


class ZstdCompressor(CompressorBase):
    __doc__ = CompressorBase.__doc__
    __slots__ = (
        "__weakref__",
        "_dictionary",
        "_frame",
        "_given",
        "_options",
        "_pledged",
        "_prefix",
    )

    def __init__(self, level: int | None = None, options: Parameters = None, zstd_dict: DictArgument = None) -> None:
        super().__init__()
        self._prepare(level, options, zstd_dict)
        self._frame: FrameEncoder | None = None
        # For the current or next frame: the pledged size, and the size of the data given so far.
        self._pledged: int | None = None
        self._given = 0
        self._last_mode = self.FLUSH_FRAME

    def _prepare(self, level: int | None, options: Parameters, zstd_dict: DictArgument) -> None:
        """Check the arguments and store them; raises ZstdError for long-distance matching or a corrupted dictionary."""
        self._options = EncoderOptions(level, options)
        if self._options.long_distance:
            raise native_only("long-distance matching")
        self._dictionary: EncodingDictionary | None = None
        self._prefix: ZstdDict | None = None
        if zstd_dict is not None:
            found, how = parse_dict_argument(zstd_dict, UNDIGESTED)
            if how == PREFIX:
                self._prefix = found
            else:
                self._dictionary = EncodingDictionary.of(found)

    def _pledge(self, size: int | None) -> None:
        self._pledged = size

    def _memory_size(self) -> int:
        """Return about how many bytes a frame's tables and window need."""
        parameters = self._options.match_parameters(self._pledged)
        tables: int = 4 * ((1 << parameters.hash_log) + (1 << parameters.chain_log))
        window: int = 1 << parameters.window_log
        return tables + window + BLOCK_SIZE_MAX

    def _compress(self, data: Buffer, mode: int) -> bytes:
        data = as_bytes(data)
        with self._turn():
            given = self._given + len(data)
            if self._frame is None and mode == self.FLUSH_FRAME:
                # The whole frame in one call: its size is known, and replaces a pledged size.
                self._pledged = given
            # Checked before anything is done, so that no data is lost.
            pledged = self._pledged
            if pledged is not None and (given > pledged or (mode == self.FLUSH_FRAME and given < pledged)):
                raise pledge_error(abs(given - pledged), given > pledged)
            try:
                out = self._encode(data, mode)
            except BaseException:
                self._end_frame()
                self._last_mode = self.FLUSH_FRAME
                raise
            self._last_mode = mode
            return out

    def _encode(self, data: bytes, mode: int) -> bytes:
        out: list[bytes] = []
        frame = self._frame
        if frame is None:
            frame = self._frame = self._begin_frame()
        self._given += len(data)
        frame.write(data, out)
        if mode == self.FLUSH_BLOCK:
            frame.flush(out)
        elif mode == self.FLUSH_FRAME:
            frame.finish(out)
            self._end_frame()
        return out[0] if len(out) == 1 else b"".join(out)

    def _begin_frame(self) -> FrameEncoder:
        prefix, self._prefix = self._prefix, None
        dictionary = prefix_only(prefix) if prefix is not None else self._dictionary
        if dictionary is None:
            parameters = self._options.match_parameters(self._pledged)
            return FrameEncoder(self._options, parameters, self._pledged, make_match_finder(parameters))
        parameters = self._options.match_parameters(self._pledged, len(dictionary.content))
        return FrameEncoder(
            self._options,
            parameters,
            self._pledged,
            dictionary.match_finder(parameters),
            dictionary.content,
            dictionary.state,
            dictionary.dict_id,
        )

    def _end_frame(self) -> None:
        self._frame = None
        self._pledged = None
        self._given = 0


def too_small_error(size: int, room: int) -> ZstdError:
    """Return the ZstdError for a frame of `size` bytes that does not fit into a buffer of `room` bytes."""
    return coded_error(
        DST_SIZE_TOO_SMALL,
        f"{CANNOT_COMPRESS}: {NAMES[DST_SIZE_TOO_SMALL]}: the frame needs {size} bytes, the buffer has {room}",
    )
