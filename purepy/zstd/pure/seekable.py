# SPDX-License-Identifier: Apache-2.0
"""Functions beyond `compression.zstd` over the pure codec."""

from __future__ import annotations

from purepy.zstd.pure import files
from purepy.zstd.seekable import zstd_file
from purepy.zstd.seekable.inspecting import Extras


class SeekableZstdFile(zstd_file.SeekableZstdFile, files.ZstdFile):
    __doc__ = zstd_file.SeekableZstdFile.__doc__
    __module__ = "purepy.zstd"


_functions = Extras("purepy.zstd")
index_frames = _functions.index_frames
iter_frames = _functions.iter_frames
verify = _functions.verify
