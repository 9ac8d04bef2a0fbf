# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F403, F405  # the exceptions are listed in cpkg/errors.py
"""
MessagePack and Zstandard at native speed on CPython and PyPy, with one API.

`dumps`, `loads`, `dump` and `load` convert objects to MessagePack and back, compressed with Zstandard if that makes
them smaller. `cpkg.msgpack` replaces the `msgpack` package, `cpkg.zstd` the standard library's `compression.zstd`.
`backend_info()` reports the implementation in use for each codec, and the reason.

Modules are loaded when they are first used, so importing this package costs about as much as importing an empty one.
"""

from __future__ import annotations

TYPE_CHECKING: bool = False  # the annotation makes Jedi follow the imports below, as type checkers do
if TYPE_CHECKING:
    from cpkg import archive, errors, msgpack, records, typed, zstandard, zstd
    from cpkg._backend_info import BackendInfo, backend_info
    from cpkg._install import install
    from cpkg._version import __version__
    from cpkg.errors import *
    from cpkg.msgpack import packb, unpackb
    from cpkg.objects.dumps_loads import dumps, loads
    from cpkg.objects.files import dump, load
    from cpkg.zstd import compress, decompress
    from purepy.base.types import Named

_SUBMODULES = ("archive", "dask", "errors", "integrations", "msgpack", "records", "typed", "zstandard", "zstd")

__all__ = [
    "ArchiveError",
    "ArchiveLimitError",
    "BackendInfo",
    "BufferFull",
    "CodecError",
    "ExtraData",
    "FormatError",
    "LimitError",
    "OutOfData",
    "SeekableFormatError",
    "StackError",
    "TruncatedError",
    "UnpackException",
    "UnsafeEntryError",
    "ZstdError",
    "ZstdLimitError",
    "__version__",
    "archive",
    "backend_info",
    "compress",
    "decompress",
    "dump",
    "dumps",
    "errors",
    "install",
    "load",
    "loads",
    "msgpack",
    "packb",
    "records",
    "typed",
    "unpackb",
    "zstandard",
    "zstd",
]

# name -> its module, imported at the name's first use (PEP 562); names missing here are submodules and exceptions
_LAZY = {
    "BackendInfo": "cpkg._backend_info",
    "__version__": "cpkg._version",
    "backend_info": "cpkg._backend_info",
    "compress": "cpkg.zstd",
    "decompress": "cpkg.zstd",
    "dump": "cpkg.objects.files",
    "dumps": "cpkg.objects.dumps_loads",
    "install": "cpkg._install",
    "load": "cpkg.objects.files",
    "loads": "cpkg.objects.dumps_loads",
    "packb": "cpkg.msgpack",
    "unpackb": "cpkg.msgpack",
}


def __getattr__(name: str) -> Named:
    if name not in __all__ and name not in _SUBMODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from purepy.base.lazy import imported

    if name in _SUBMODULES:
        try:
            return imported(f"cpkg.{name}")
        except ImportError as exc:
            if name != "dask":
                raise
            # without Dask, completion and `inspect` must get AttributeError, the only exception that they ignore
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}: {exc}") from exc
    source = imported(_LAZY.get(name, "purepy.base.errors"))
    if name in ("dumps", "loads"):
        source = source.chosen_codecs()  # the compiled module may define these functions
    value = getattr(source, name)
    globals()[name] = value  # from now on the name is found without this function
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES, *(name for name in globals() if name.startswith("_"))})
