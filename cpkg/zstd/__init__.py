# SPDX-License-Identifier: Apache-2.0
"""
Zstandard: a drop-in for Python 3.14's `compression.zstd`, on every Python from 3.9, with extensions.

`from cpkg import zstd` provides the names of `from compression import zstd`. They use the backend that
`cpkg.backend_info()` reports, by default the fastest one that loads. docs/zstd.md describes the extensions, and the few
differences with their reasons.
"""

from __future__ import annotations

import sys

from cpkg._backend import choose
from purepy.base.lazy import imported, public_dir

TYPE_CHECKING: bool = False  # the annotation makes Jedi follow the imports below
if TYPE_CHECKING:
    # editors find the documentation of the stub's declarations here
    from purepy.base.types import Named
    from purepy.zstd import aopen, open
    from purepy.zstd.aio.file import AsyncZstdFile as _AsyncZstdFile  # noqa: F401
    from purepy.zstd.files.zstd_file import ZstdFile
    from purepy.zstd.format.compressor_base import CompressorBase as ZstdCompressor
    from purepy.zstd.seekable.zstd_file import SeekableZstdFile

_PARAMETERS = "purepy.zstd.format.parameters"
_module = choose("zstd").module
_SOURCES = {"register_shutil": "cpkg.zstd._shutil"}
"""The module of each name that does not come from the backend."""


def _bounds(key: int, is_compress: bool) -> tuple[int, int]:
    bounds: tuple[int, int] = _module.parameter_bounds(key, is_compress)
    return bounds


if _PARAMETERS in sys.modules:
    sys.modules[_PARAMETERS].answer_bounds_from(_bounds)

__all__ = [
    "COMPRESSION_LEVEL_DEFAULT",
    "CompressionParameter",
    "DecompressionParameter",
    "FrameInfo",
    "SeekableFormatError",
    "SeekableZstdFile",
    "Strategy",
    "ZstdCompressor",
    "ZstdDecompressor",
    "ZstdDict",
    "ZstdError",
    "ZstdFile",
    "ZstdLimitError",
    "acompress",
    "adecompress",
    "aopen",
    "apply_patch",
    "compress",
    "compress_into",
    "compress_iter",
    "copy_stream",
    "decompress",
    "decompress_into",
    "decompress_iter",
    "finalize_dict",
    "get_frame_info",
    "get_frame_size",
    "index_frames",
    "iter_frames",
    "open",
    "patch",
    "register_shutil",
    "train_dict",
    "verify",
    "zstd_version",
    "zstd_version_info",
]


def __getattr__(name: str) -> Named:
    """Return the backend's own object at its first use: a wrapper would take longer than handling a short message."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("CompressionParameter", "DecompressionParameter"):
        imported(_PARAMETERS).answer_bounds_from(_bounds)
    source = imported(_SOURCES[name]) if name in _SOURCES else _module
    return globals().setdefault(name, getattr(source, name))


__dir__ = public_dir(__name__)
