# SPDX-License-Identifier: Apache-2.0
"""The encoder of the pure Zstandard codec, one file for each part of the format that it writes."""

from __future__ import annotations

from purepy.zstd.encoder.compressor import ZstdCompressor, compress, compress_into

__all__ = ["ZstdCompressor", "compress", "compress_into"]
