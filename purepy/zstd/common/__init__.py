# SPDX-License-Identifier: Apache-2.0
"""The parts of Zstandard that every backend uses: parameters, dictionaries, locks, files, tables."""

from __future__ import annotations

SHARED = {
    "COMPRESSION_LEVEL_DEFAULT": "purepy.zstd.common.parameters",
    "CompressionParameter": "purepy.zstd.common.parameters",
    "DecompressionParameter": "purepy.zstd.common.parameters",
    "FrameInfo": "purepy.zstd.common.parameters",
    "SeekableFormatError": "purepy.errors",
    "Strategy": "purepy.zstd.common.parameters",
    "ZstdDict": "purepy.zstd.common.zdict",
    "ZstdError": "purepy.errors",
    "ZstdLimitError": "purepy.errors",
}
"""The public names that all backends share, and the module of each."""
