# SPDX-License-Identifier: Apache-2.0
"""Files and whole streams over the pure codec."""

from __future__ import annotations

from purepy.zstd.common import file as _file
from purepy.zstd.common import stream_functions as _streams
from purepy.zstd.common.file_opening import make_open
from purepy.zstd.decoder.decompressor import ZstdDecompressor
from purepy.zstd.encoder.compressor import ZstdCompressor


class ZstdFile(_file.ZstdFile):
    __doc__ = _file.ZstdFile.__doc__
    __module__ = _backend = "purepy.zstd"
    _compressor_type = ZstdCompressor
    _decompressor_type = ZstdDecompressor


open = make_open(ZstdFile)
_functions = _streams.Streams("purepy.zstd", ZstdCompressor, ZstdDecompressor)
compress_iter = _functions.compress_iter
decompress_iter = _functions.decompress_iter
copy_stream = _functions.copy_stream
