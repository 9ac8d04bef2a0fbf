# SPDX-License-Identifier: Apache-2.0
"""The checked arguments of everything that compresses or decompresses, and how a context is set up by them."""

from __future__ import annotations

from cpkg._native.zstd.contexts import RESET_ALL
from cpkg._native.zstd.library import LEVEL_KEY, WORKERS_KEY, Library
from purepy.zstd.format.parameters import (
    COMPRESSION_LEVEL_DEFAULT,
    DECOMPRESSION_FORMAT,
    WINDOW_SIZE_MAX_DEFAULT,
    checked_level,
    checked_options,
    in_library,
    window_size_max,
)
from purepy.zstd.format.zdict import DIGESTED, UNDIGESTED, ZstdDict, parse_dict_argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cpkg._native.buffers import Bytes
    from cpkg._native.cffi_types import CData
    from purepy.base.types import Parameters
    from purepy.zstd.format.zdict import DictArgument


class SetsUpCompression:
    """Base of settings that a context is set up by: `dict`, `how`, `level`, `pairs` and `workers` of a subclass."""

    __slots__ = ()

    dict: ZstdDict | None
    how: int
    level: int
    pairs: list[tuple[int, int]]
    workers: bool
    _give_after_frame: Any

    def take(self, library: Library) -> CData:
        """Return a context that is set up."""
        contexts = library.cctxs
        cctx = contexts.new_with_workers(self.dict) if self.workers else contexts.take()
        try:
            library.set_compression(cctx, self.pairs)
            self._load(library, cctx)
        except BaseException:
            library.drop(cctx)
            raise
        return cctx

    def _load(self, library: Library, cctx: CData) -> None:
        if self.dict is not None:
            library.load_for_compression(cctx, self.dict, self.how, self.level)

    def compress_frame(self, library: Library, data: Bytes, target: memoryview | None = None) -> Any:
        """Compress one frame, as `Library.compress_at_once` does."""
        cctx = self.take(library)
        try:
            frame = library.compress_at_once(cctx, data, target)
        except BaseException:
            library.drop(cctx)
            raise
        self._give_after_frame(library, cctx)
        return frame


class CompressionSettings(SetsUpCompression):
    """The checked arguments `level`, `options` and `zstd_dict` of everything that compresses."""

    __slots__ = ("dict", "how", "level", "pairs", "workers")

    def __init__(self, library: Library, level: int | None, options: Parameters, zstd_dict: DictArgument) -> None:
        self.level = COMPRESSION_LEVEL_DEFAULT
        self.workers = False
        self.pairs: list[tuple[int, int]] = []
        if level is not None:
            self.pairs = [(LEVEL_KEY, checked_level(level, options, library.level_bounds))]
        elif options is not None:
            self.pairs = in_library(checked_options(options, True, library.bounds), library.version)
        for key, value in self.pairs:
            if key == LEVEL_KEY:
                self.level = value
            elif key == WORKERS_KEY:
                self.workers = value != 0
        self.dict: ZstdDict | None = None
        self.how = UNDIGESTED
        if zstd_dict is not None:
            self.dict, self.how = parse_dict_argument(zstd_dict, UNDIGESTED)

    def give(self, library: Library, cctx: CData, reported: int | None = None) -> None:
        """Take back a context whose calls all succeeded."""
        if self.workers:
            library.drop(cctx)
        else:
            library.cctxs.give(cctx, reported)

    _give_after_frame = give


class SetsUpDecompression:
    """Base of settings that a context is set up by: `dict`, `how` and `pairs` of a subclass."""

    __slots__ = ()

    dict: ZstdDict | None
    how: int
    pairs: list[tuple[int, int]]

    def apply(self, library: Library, dctx: CData) -> None:
        """Set up a context that has no parameters yet."""
        if self.dict is not None:
            library.load_for_decompression(dctx, self.dict, self.how)
        if self.pairs:
            library.set_decompression(dctx, self.pairs)

    def applied(self, library: Library, dctx: CData) -> CData:
        """Return a context that has no parameters yet, after setting it up."""
        try:
            self.apply(library, dctx)
        except BaseException:
            library.drop(dctx)
            raise
        return dctx

    def apply_again(self, library: Library, dctx: CData) -> None:
        """Set up a context after an error, or for the frame that follows one with a prefix, which serves one frame."""
        library.check(library.lib.ZSTD_DCtx_reset(dctx, RESET_ALL), "Unable to reset the decompression context")
        self.apply(library, dctx)


class DecompressionSettings(SetsUpDecompression):
    """The checked arguments `zstd_dict` and `options` of everything that decompresses."""

    __slots__ = ("dict", "has_magic", "how", "is_default", "pairs", "window_max")

    def __init__(self, library: Library, zstd_dict: DictArgument, options: Parameters) -> None:
        self.dict: ZstdDict | None = None
        self.how = DIGESTED
        if zstd_dict is not None:
            self.dict, self.how = parse_dict_argument(zstd_dict, DIGESTED)
        self.pairs: list[tuple[int, int]] = []
        self.has_magic = True
        self.window_max = WINDOW_SIZE_MAX_DEFAULT
        if options is not None:
            self.pairs = checked_options(options, False, library.bounds)
            self.has_magic = not dict(self.pairs).get(DECOMPRESSION_FORMAT)
            self.window_max = window_size_max(self.pairs)
        self.is_default = self.dict is None and not self.pairs

    def take(self, library: Library) -> CData:
        """Return a context that is set up."""
        dctx = library.dctxs.take()
        return dctx if self.is_default else self.applied(library, dctx)

    def give(self, library: Library, dctx: CData, reported: int | None = None) -> None:
        """Take back a context whose calls all succeeded."""
        library.dctxs.give(dctx, reported)
