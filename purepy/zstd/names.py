# SPDX-License-Identifier: Apache-2.0
"""
The names of a Zstandard backend: names that all backends share, and names built from its functions and stream types.

A backend defines the types ZstdCompressor and ZstdDecompressor and the FACTS about itself, and uses `Functions` or a
subclass of it. Its other public names are created here, in groups, at the first use of one of them.
"""

from __future__ import annotations

from purepy.base.lazy import imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType
    from typing import Callable

    from purepy.zstd.functions import Functions

FACTS = (
    *("BACKEND", "HAS_ARCHIVES", "HAS_LONG_MATCHES", "IS_WRAPPED", "LIBRARY_VERSION", "RELEASES_GIL"),
    *("zstd_version", "zstd_version_info"),
)
STREAM_TYPES = ("ZstdCompressor", "ZstdDecompressor")
SHARED = {
    "COMPRESSION_LEVEL_DEFAULT": "purepy.zstd.format.parameters",
    "CompressionParameter": "purepy.zstd.format.parameters",
    "DecompressionParameter": "purepy.zstd.format.parameters",
    "FrameInfo": "purepy.zstd.format.parameters",
    "SeekableFormatError": "purepy.base.errors",
    "Strategy": "purepy.zstd.format.parameters",
    "ZstdDict": "purepy.zstd.format.zdict",
    "ZstdError": "purepy.base.errors",
    "ZstdLimitError": "purepy.base.errors",
}
"""The public names that all backends share, and the module of each name."""
_FUNCTIONS = (
    *("compress", "compress_into", "decompress", "decompress_into"),
    *("finalize_dict", "get_frame_info", "get_frame_size", "parameter_bounds", "train_dict"),
)
_METHODS = {
    ("open",): ("purepy.zstd.files.opening", "Opening"),
    ("compress_iter", "copy_stream", "decompress_iter"): ("purepy.zstd.files.streams", "Streams"),
    ("index_frames", "iter_frames", "verify"): ("purepy.zstd.seekable.inspecting", "Extras"),
    ("apply_patch", "patch"): ("purepy.zstd.patches", "Patches"),
    ("acompress", "adecompress", "aopen"): ("purepy.zstd.aio.functions", "AsyncFunctions"),
}
"""Groups of functions that are methods of one object, each with the module and the name of the object's class."""


def group_of(
    name: str,
    backend: ModuleType,
    make_functions: Callable[[ModuleType], Functions],
    file_hooks: Callable[[], dict[str, object]] = dict,
) -> Mapping[str, object]:
    """
    Return a mapping of `name`, and of other names that are created with it, to their values.

    Raises AttributeError for an unknown name. `backend` is a module. `make_functions(backend)` creates its Functions,
    which are also available as `codec`. `file_hooks()` returns attributes for the backend's ZstdFile type, by name,
    which replace those of purepy's ZstdFile.
    """
    if name in _FUNCTIONS or name == "codec":
        codec = make_functions(backend)
        return {"codec": codec, **{each: getattr(codec, each) for each in _FUNCTIONS}}
    for names, (where, kind) in _METHODS.items():
        if name in names:
            functions = getattr(imported(where), kind)(backend)
            return {each: getattr(functions, each) for each in names}
    if name in _FILE_TYPES:
        return {name: _FILE_TYPES[name](backend, file_hooks)}
    if name == "__all__":
        methods = (each for names in _METHODS for each in names)
        return {name: sorted((*FACTS, *STREAM_TYPES, *SHARED, *_FUNCTIONS, *_FILE_TYPES, *methods))}
    if name not in SHARED:
        raise AttributeError(f"module {backend.__name__!r} has no attribute {name!r}")
    return {name: getattr(imported(SHARED[name]), name)}


def _file_type(backend: ModuleType, hooks: Callable[[], dict[str, object]]) -> type:
    from purepy.zstd.files.zstd_file import ZstdFile

    attributes = {
        "__doc__": ZstdFile.__doc__,
        "__module__": backend.__name__,
        "_backend": backend.__name__,
        "_compressor_type": backend.ZstdCompressor,
        "_decompressor_type": backend.ZstdDecompressor,
    }
    return type("ZstdFile", (ZstdFile,), {**attributes, **hooks()})


def _seekable_file_type(backend: ModuleType, hooks: Callable[[], dict[str, object]]) -> type:
    from purepy.zstd.seekable.zstd_file import SeekableZstdFile

    bases = SeekableZstdFile, backend.ZstdFile
    return type("SeekableZstdFile", bases, {"__doc__": SeekableZstdFile.__doc__, "__module__": backend.__name__})


_FILE_TYPES = {"SeekableZstdFile": _seekable_file_type, "ZstdFile": _file_type}
