# SPDX-License-Identifier: Apache-2.0
"""Functions beyond `compression.zstd` over the pure codec."""

from __future__ import annotations

from purepy.zstd.pure.files import ZstdFile
from purepy.zstd.seekable.inspecting import names_of

_names = names_of("purepy.zstd", ZstdFile)

SeekableZstdFile = _names["SeekableZstdFile"]
index_frames = _names["index_frames"]
iter_frames = _names["iter_frames"]
verify = _names["verify"]
