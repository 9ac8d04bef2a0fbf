# SPDX-License-Identifier: Apache-2.0
"""
MessagePack and Zstandard at native speed on CPython and PyPy, behind one API.

`dumps`, `loads`, `dump` and `load` turn objects into MessagePack, compressed with Zstandard where that makes them
smaller, and back. `cpkg.msgpack` replaces the `msgpack` package, `cpkg.zstd` the standard library's
`compression.zstd`. `backend_info()` tells which implementation serves each codec here, and why.

Nothing is loaded before it is used: importing this module costs about as much as importing an empty one.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cpkg._version import VERSION

if TYPE_CHECKING:
    from cpkg import msgpack, zstd
    from cpkg._backend import BackendInfo, backend_info
    from cpkg._install import install
    from cpkg._job import dump, dumps, load, loads
    from cpkg.msgpack import packb, unpackb
    from cpkg.zstd import compress, decompress
    from purepy.errors import CodecError, LimitError, ZstdError

__version__ = VERSION

__all__ = [
    "BackendInfo",
    "CodecError",
    "LimitError",
    "ZstdError",
    "__version__",
    "backend_info",
    "compress",
    "decompress",
    "dump",
    "dumps",
    "install",
    "load",
    "loads",
    "msgpack",
    "packb",
    "unpackb",
    "zstd",
]

# name -> the module that it comes from, imported at the name's first use (PEP 562)
_LAZY = {
    "BackendInfo": "cpkg._backend",
    "CodecError": "purepy.errors",
    "LimitError": "purepy.errors",
    "ZstdError": "purepy.errors",
    "backend_info": "cpkg._backend",
    "compress": "cpkg.zstd",
    "decompress": "cpkg.zstd",
    "dump": "cpkg._job",
    "dumps": "cpkg._job",
    "install": "cpkg._install",
    "load": "cpkg._job",
    "loads": "cpkg._job",
    "packb": "cpkg.msgpack",
    "unpackb": "cpkg.msgpack",
}
_SUBMODULES = ("msgpack", "zstd")


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"cpkg.{name}")
    try:
        module = importlib.import_module(_LAZY[name])
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    value = getattr(module, name)
    globals()[name] = value  # found without this function from now on
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
