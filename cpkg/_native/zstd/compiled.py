# SPDX-License-Identifier: Apache-2.0
"""
The `native` backend of Zstandard: libzstd through the module that the build compiled.

On CPython this module also adds builtin functions, because a cffi call takes longer than compressing a short message.
The builtins handle ordinary calls and pass all others to Python code: functions.py, which PyPy also uses, and
presets.py.
"""

from __future__ import annotations

import sys

from cpkg._native.zstd.backend_names import Names
from purepy.base.lazy import imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cpkg._native.zstd.frame_queue import FrameQueue
    from cpkg._native.zstd.library import Library
    from purepy.base.types import Parameters
    from purepy.zstd import ZstdCompressor as ZstdCompressor
    from purepy.zstd import ZstdDecompressor as ZstdDecompressor
    from purepy.zstd.format.zdict import ZstdDict
    from purepy.zstd.made_names import *  # noqa: F403

BACKEND = "native"
HAS_ARCHIVES = True
_job_calls: Any = None
_HAS_BUILTINS = sys.implementation.name == "cpython"
if _HAS_BUILTINS:
    _module = imported("cpkg._native._zstd_ffi")
else:
    from cpkg._native.cffi_modules import cffi_module

    _module = cffi_module("_zstd_ffi")
ffi, lib = _module.ffi, _module.lib


def _add_builtins(module: object) -> None:
    """Let C add its builtins to `module`, whose name is used for pickling; raises ImportError on failure."""
    if lib.cpkg_add_builtins(ffi.cast("void *", id(module))) != 0:
        reason = ffi.string(lib.cpkg_builtins_error()).decode("utf-8", "replace")
        raise ImportError(f"the builtin functions of cpkg._native._zstd_ffi cannot be set up: {reason}")


def _make_library() -> Library:
    from cpkg._native.zstd.compiled_library import BuiltinLibrary, CompiledLibrary

    return BuiltinLibrary(sys.modules[__name__]) if _HAS_BUILTINS else CompiledLibrary(ffi, lib, BACKEND)


if _HAS_BUILTINS:
    _add_builtins(sys.modules[__name__])
__getattr__ = Names(__name__, ffi, lib, _make_library).get


def compressing_queue(options: Parameters, zstd_dict: ZstdDict | None, threads: int) -> FrameQueue:
    """Return a queue of frames that C threads compress; used for record files."""
    from cpkg._native.zstd.frame_queue import compressing

    return compressing(__getattr__("codec").library, options, zstd_dict, threads)


def decompressing_queue(zstd_dict: ZstdDict | None, threads: int) -> FrameQueue:
    """Return a queue of frames that C threads decompress."""
    from cpkg._native.zstd.frame_queue import decompressing

    return decompressing(__getattr__("codec").library, zstd_dict, threads)
