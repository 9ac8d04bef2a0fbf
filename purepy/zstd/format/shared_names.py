# SPDX-License-Identifier: Apache-2.0
"""The parts of Zstandard that every backend uses: parameters, dictionaries, locks, files, tables."""

from __future__ import annotations

SHARED = {
    "COMPRESSION_LEVEL_DEFAULT": "purepy.zstd.format.parameters",
    "CompressionParameter": "purepy.zstd.format.parameters",
    "DecompressionParameter": "purepy.zstd.format.parameters",
    "FrameInfo": "purepy.zstd.format.parameters",
    "SeekableFormatError": "purepy.errors",
    "Strategy": "purepy.zstd.format.parameters",
    "ZstdDict": "purepy.zstd.format.zdict",
    "ZstdError": "purepy.errors",
    "ZstdLimitError": "purepy.errors",
}
"""The public names that all backends share, and the module of each."""
