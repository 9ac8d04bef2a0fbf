# SPDX-License-Identifier: Apache-2.0
"""Files and whole streams over the pure codec."""

from __future__ import annotations

from purepy.zstd.decoder.decompressor import ZstdDecompressor
from purepy.zstd.encoder.compressor import ZstdCompressor
from purepy.zstd.files import streams as _streams
from purepy.zstd.files import zstd_file
from purepy.zstd.files.opening import make_open


class ZstdFile(zstd_file.ZstdFile):
    __doc__ = zstd_file.ZstdFile.__doc__
    __module__ = _backend = "purepy.zstd"
    _compressor_type = ZstdCompressor
    _decompressor_type = ZstdDecompressor


open = make_open(ZstdFile)
_functions = _streams.Streams("purepy.zstd", ZstdCompressor, ZstdDecompressor)
compress_iter = _functions.compress_iter
decompress_iter = _functions.decompress_iter
copy_stream = _functions.copy_stream
