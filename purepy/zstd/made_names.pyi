# SPDX-License-Identifier: Apache-2.0
# A backend's facts, and the names that `names.group_of` creates at their first use, as type checkers see them.

from purepy.base.errors import SeekableFormatError as SeekableFormatError
from purepy.base.errors import ZstdError as ZstdError
from purepy.base.errors import ZstdLimitError as ZstdLimitError
from purepy.zstd.aio.functions import AsyncFunctions
from purepy.zstd.files.opening import Opening
from purepy.zstd.files.streams import Streams
from purepy.zstd.files.zstd_file import ZstdFile as ZstdFile
from purepy.zstd.format.parameters import COMPRESSION_LEVEL_DEFAULT as COMPRESSION_LEVEL_DEFAULT
from purepy.zstd.format.parameters import CompressionParameter as CompressionParameter
from purepy.zstd.format.parameters import DecompressionParameter as DecompressionParameter
from purepy.zstd.format.parameters import FrameInfo as FrameInfo
from purepy.zstd.format.parameters import Strategy as Strategy
from purepy.zstd.format.zdict import ZstdDict as ZstdDict
from purepy.zstd.functions import Functions
from purepy.zstd.patches import Patches
from purepy.zstd.seekable.inspecting import Extras
from purepy.zstd.seekable.zstd_file import SeekableZstdFile as SeekableZstdFile

LIBRARY_VERSION: str | None
RELEASES_GIL: bool
HAS_LONG_MATCHES: bool
IS_WRAPPED: bool
zstd_version: str
zstd_version_info: tuple[int, int, int]

codec: Functions
_opening: Opening
_streams: Streams
_extras: Extras
_patches: Patches
_async: AsyncFunctions

compress = codec.compress
compress_into = codec.compress_into
decompress = codec.decompress
decompress_into = codec.decompress_into
finalize_dict = codec.finalize_dict
get_frame_info = codec.get_frame_info
get_frame_size = codec.get_frame_size
parameter_bounds = codec.parameter_bounds
train_dict = codec.train_dict
compress_iter = _streams.compress_iter
copy_stream = _streams.copy_stream
decompress_iter = _streams.decompress_iter
index_frames = _extras.index_frames
iter_frames = _extras.iter_frames
verify = _extras.verify
open = _opening.open
apply_patch = _patches.apply_patch
patch = _patches.patch
acompress = _async.acompress
adecompress = _async.adecompress
aopen = _async.aopen
