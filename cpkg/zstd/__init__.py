# SPDX-License-Identifier: Apache-2.0
"""
Zstandard: a drop-in for `compression.zstd` of Python 3.14, on every Python from 3.9, and its extensions.

`from cpkg import zstd` gives what `from compression import zstd` gives, from the fastest backend that loads here
(see `cpkg.backend_info()`). docs/zstd.md has the extensions, and the few differences with their reasons.
"""

from __future__ import annotations

from typing import Any

from cpkg import _backend
from purepy.zstd.common import parameters

_module = _backend.choose("zstd").module
parameters.answer_bounds_from(_module.parameter_bounds)

__all__ = [
    "COMPRESSION_LEVEL_DEFAULT",
    "CompressionParameter",
    "DecompressionParameter",
    "FrameInfo",
    "Strategy",
    "ZstdCompressor",
    "ZstdDecompressor",
    "ZstdDict",
    "ZstdError",
    "ZstdFile",
    "ZstdLimitError",
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
    "open",
    "register_shutil",
    "train_dict",
    "zstd_version",
    "zstd_version_info",
]

# The backend's own objects, not wrappers of them: a wrapper would cost more than compressing a short message.
globals().update({_name: getattr(_module, _name) for _name in __all__ if _name != "register_shutil"})


def __getattr__(name: str) -> Any:
    """Return `register_shutil`, whose module and what that imports few programs need."""
    if name != "register_shutil":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from cpkg.zstd._shutil import register_shutil

    return register_shutil
