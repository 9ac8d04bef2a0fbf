# SPDX-License-Identifier: Apache-2.0
"""
Settings that many frames share: the base of cpkg.zstandard's objects over the pure codec or the `stdlib` backend.

Unlike the presets in `cpkg/_native/zstd/presets.py`, these keep no context. A prepared dictionary is kept in its
ZstdDict.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from purepy.zstd.decoder.decompressor import ZstdDecompressor
from purepy.zstd.encoder.compressor import ZstdCompressor
from purepy.zstd.format.parameters import DECOMPRESSION_FORMAT
from purepy.zstd.format.rules import BLOCK_SIZE_MAX
from purepy.zstd.format.zdict import ZstdDict

if TYPE_CHECKING:
    from typing_extensions import Buffer


class CompressionPreset:
    """Parameters and a dictionary for any number of frames. `_configure` must be called before anything else."""

    _stream_type = ZstdCompressor
    _compress_at_once: ClassVar[Any]
    """The backend's function compress(), which may keep a compressor with the dictionary."""

    def _configure(self, pairs: list[tuple[int, int]], zstd_dict: ZstdDict | None, how: int) -> None:
        """Set checked parameters and a dictionary or None; `how` to load it is DIGESTED, UNDIGESTED or PREFIX."""
        self._options = dict(pairs)
        self._dictionary = None if zstd_dict is None else (zstd_dict, how)

    def compress(self, data: Buffer) -> bytes:
        """
        Compress `data`, a buffer, into one frame and return it as bytes.

        The header declares the content's size unless the parameters exclude it.
        """
        frame: bytes = self._compress_at_once(data, None, self._options, self._dictionary)
        return frame

    def _new_stream(self) -> ZstdCompressor:
        """Return a new compressor with these settings."""
        return self._stream_type(None, self._options, self._dictionary)

    def _memory_size(self) -> int:
        """Return about how many bytes a frame's tables and window need."""
        return self._new_stream()._memory_size()


class DecompressionPreset:
    """Limits and a dictionary for any number of frames. `_configure` must be called before anything else."""

    _stream_type = ZstdDecompressor

    def _configure(self, zstd_dict: ZstdDict | None, how: int, window_max: int | None, has_magic: bool) -> None:
        """
        Set a dictionary or None, `how` to load it (DIGESTED or PREFIX), the largest window, and the format.

        `window_max` is in bytes; None means the default. Without `has_magic`, frames have no magic number. Raises
        ZstdError for a corrupted dictionary.
        """
        options = {} if has_magic else {DECOMPRESSION_FORMAT: 1}
        pair = None if zstd_dict is None else (zstd_dict, how)
        self._settings = self._stream_type._settings_type(pair, options, window_max)

    def _whole_frame(self, data: bytes) -> bytes | None:
        """Return None, so that the caller uses a stream; only presets over cffi can decompress a frame at once."""
        return None

    def _new_stream(self, multi_frame: bool = False, frame_by_frame: bool = False) -> ZstdDecompressor:
        """
        Return a new decompressor with these settings; `multi_frame` means the same as for `ZstdDecompressor`.

        With `multi_frame` and `frame_by_frame`, each call of decompress() stops at the end of a frame.
        """
        return self._stream_type._over(self._settings, multi_frame, frame_by_frame)

    def _memory_size(self) -> int:
        """Return about how many bytes decoding a block needs, without the window."""
        return BLOCK_SIZE_MAX


def preset_types(codec: ModuleType) -> tuple[type, type]:
    """Return a CompressionPreset type and a DecompressionPreset type that use the streams of a backend's module."""
    return tuple(
        type(base.__name__, (base,), {"_stream_type": stream, "_compress_at_once": staticmethod(codec.compress)})
        for base, stream in (
            (CompressionPreset, codec.ZstdCompressor),
            (DecompressionPreset, codec.ZstdDecompressor),
        )
    )  # type: ignore[return-value]
