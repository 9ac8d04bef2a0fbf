# SPDX-License-Identifier: Apache-2.0
"""The names of this package for one backend: types derived from the backend's presets, and functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpkg.zstandard import compressor, decompressor
from cpkg.zstandard.compressor import level_too_high
from cpkg.zstandard.constants import FRAME_HEADER, MAX_COMPRESSION_LEVEL
from cpkg.zstandard.file_opening import make_open
from cpkg.zstandard.training import make_train_dictionary
from purepy.base.lazy import imported
from purepy.zstd.format.rules import LEVEL_MIN

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from cpkg._backend_protocols import ZstdBackend
    from purepy.base.types import Named


def names_over(codec: ZstdBackend, module: str = "cpkg.zstandard") -> dict[str, object]:
    """
    Return types, functions and two constants of this package for the backend `codec`, by name.

    `module` becomes the `__module__` of the types and functions.
    """
    presets = imported("cpkg._native.zstd.presets" if codec.IS_WRAPPED else "purepy.zstd.pure.presets")
    of_compression, of_decompression = presets.preset_types(codec)

    def derive(base: type, preset: type) -> Named:
        # the preset comes first, because its methods (perhaps in C) override the base's methods
        return type(base.__name__, (preset, base), {"__module__": module, "__doc__": base.__doc__, "_codec": codec})

    compressor_type = derive(compressor.ZstdCompressor, of_compression)
    decompressor_type = derive(decompressor.ZstdDecompressor, of_decompression)

    compress_at, default = codec.compress, decompressor_type()

    def compress(data: Buffer, level: int = 3) -> bytes:
        """Compress `data`, a buffer, into one frame and return it as bytes; `level` is that of ZstdCompressor."""
        if level > MAX_COMPRESSION_LEVEL:
            raise level_too_high(level)
        frame: bytes = compress_at(data, level if level > LEVEL_MIN else LEVEL_MIN)
        return frame

    def decompress(data: Buffer, max_output_size: int = 0) -> bytes:
        """
        Decompress the frame at the start of `data`, a buffer, and return its content as bytes.

        `max_output_size` is the same as for `ZstdDecompressor.decompress`.
        """
        content: bytes = default.decompress(data, max_output_size)
        return content

    def estimate_decompression_context_size() -> int:
        """Return about how many bytes of memory a ZstdDecompressor needs, without the window."""
        size: int = decompressor_type().memory_size()
        return size

    made: dict[str, object] = {
        "ZstdCompressor": compressor_type,
        "ZstdDecompressor": decompressor_type,
        "ZSTD_VERSION": codec.zstd_version_info,
        "FRAME_HEADER": FRAME_HEADER,
    }
    functions = (compress, decompress, estimate_decompression_context_size)
    for function in (*functions, make_open(compressor_type, decompressor_type), make_train_dictionary(codec)):
        function.__module__ = module
        function.__qualname__ = function.__name__
        made[function.__name__] = function
    return made
