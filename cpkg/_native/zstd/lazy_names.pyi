# SPDX-License-Identifier: Apache-2.0
# The names that `backend_names.Names` and `stdlib` make at their first use, as type checkers see them.

from purepy.zstd import DecompressionParameter as DecompressionParameter
from purepy.zstd import SeekableZstdFile as SeekableZstdFile
from purepy.zstd import ZstdCompressor as ZstdCompressor
from purepy.zstd import ZstdDecompressor as ZstdDecompressor
from purepy.zstd import ZstdFile as ZstdFile
from purepy.zstd import acompress as acompress
from purepy.zstd import adecompress as adecompress
from purepy.zstd import aopen as aopen
from purepy.zstd import compress as compress
from purepy.zstd import compress_into as compress_into
from purepy.zstd import compress_iter as compress_iter
from purepy.zstd import copy_stream as copy_stream
from purepy.zstd import decompress as decompress
from purepy.zstd import decompress_into as decompress_into
from purepy.zstd import decompress_iter as decompress_iter
from purepy.zstd import finalize_dict as finalize_dict
from purepy.zstd import get_frame_info as get_frame_info
from purepy.zstd import get_frame_size as get_frame_size
from purepy.zstd import index_frames as index_frames
from purepy.zstd import iter_frames as iter_frames
from purepy.zstd import open as open
from purepy.zstd import parameter_bounds as parameter_bounds
from purepy.zstd import train_dict as train_dict
from purepy.zstd import verify as verify

LIBRARY_VERSION: str | None
RELEASES_GIL: bool
IS_WRAPPED: bool
zstd_version: str
zstd_version_info: tuple[int, int, int]
