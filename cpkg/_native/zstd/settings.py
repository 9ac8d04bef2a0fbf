# SPDX-License-Identifier: Apache-2.0
"""The checked arguments of compression and decompression, and the setup of contexts with them."""

from __future__ import annotations

from cpkg._native.zstd.contexts import RESET_ALL, Place
from cpkg._native.zstd.library import LEVEL_KEY, WORKERS_KEY, Library
from purepy.zstd.format.parameters import (
    COMPRESSION_LEVEL_DEFAULT,
    DECOMPRESSION_FORMAT,
    WINDOW_SIZE_MAX_DEFAULT,
    CompressionParameter,
    checked_level,
    checked_options,
    in_library,
    window_size_max,
)
from purepy.zstd.format.zdict import DIGESTED, SHARED_CONTENT_MAX, UNDIGESTED, ZstdDict, parse_dict_argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cpkg._native.buffers import Bytes
    from cpkg._native.cffi_types import CData
    from purepy.base.types import Parameters
    from purepy.zstd.format.zdict import DictArgument

SHARED_DATA_MAX = (128 << 10) - 1
"""
The largest content, in bytes, for which a level's tables give the same frame as loading the dictionary.

For larger content, libzstd ignores the tables of a level if the dictionary has less than a sixth of the content's size.
"""

_TABLES_SERVE = {
    CompressionParameter.compression_level,
    CompressionParameter.content_size_flag,
    CompressionParameter.checksum_flag,
    CompressionParameter.dict_id_flag,
}
"""The parameters for which a level's tables suffice; with any other, a context with the dictionary is kept."""


class SetsUpCompression:
    """Base of settings for setting up a context; a subclass has `dict`, `how`, `level`, `pairs` and `workers`."""

    __slots__ = ()

    dict: ZstdDict | None
    how: int
    level: int
    pairs: list[tuple[int, int]]
    workers: bool
    _held: Any
    """The tables that contexts of these settings use; they are held here in case the dictionary drops them."""
    _give_after_frame: Any
    _tables: Any

    def take(self, library: Library) -> CData:
        """Return a context with these settings."""
        contexts = library.cctxs
        found = self.dict
        tables = self._tables(library, found) if found is not None and self.how == DIGESTED else None
        cctx = contexts.new_with_workers((found, tables)) if self.workers else contexts.take()
        try:
            if self.pairs:
                library.set_compression(cctx, self.pairs)
            if tables is not None:
                library.refer_for_compression(cctx, tables)
            elif found is not None:
                library.load_for_compression(cctx, found, self.how)
        except BaseException:
            library.drop(cctx)
            raise
        return cctx

    def compress_frame(self, library: Library, data: Bytes, target: memoryview | None = None) -> Any:
        """Compress `data` into one frame and return it; with `target`, store it there and return its size in bytes."""
        cctx = self.take(library)
        try:
            frame = library.compress_at_once(cctx, data, target)
        except BaseException:
            library.drop(cctx)
            raise
        self._give_after_frame(library, cctx)
        return frame


class CompressionSettings(SetsUpCompression):
    """The checked arguments `level`, `options` and `zstd_dict` of compression."""

    __slots__ = ("_held", "_place", "_tables_serve", "dict", "how", "level", "pairs", "workers")

    def __init__(self, library: Library, level: int | None, options: Parameters, zstd_dict: DictArgument) -> None:
        self._held: object = None
        self._place: Place | None = None
        self.level = COMPRESSION_LEVEL_DEFAULT
        self.workers = False
        self._tables_serve = True
        self.pairs: list[tuple[int, int]] = []
        if level is not None:
            self.level = checked_level(level, options, library.level_bounds)
            self.pairs = [(LEVEL_KEY, self.level)]
        elif options is not None:
            self._take_options(in_library(checked_options(options, True, library.bounds), library.version))
        self.dict: ZstdDict | None = None
        self.how = UNDIGESTED
        if zstd_dict is not None:
            self.dict, self.how = parse_dict_argument(zstd_dict, UNDIGESTED)

    def _take_options(self, pairs: list[tuple[int, int]]) -> None:
        """Store checked parameters; not done in __init__, since PyPy inlines no function with a loop."""
        self.pairs = pairs
        for key, value in pairs:
            if key == LEVEL_KEY:
                self.level = value
            elif key not in _TABLES_SERVE:
                self._tables_serve = False
                if key == WORKERS_KEY:
                    self.workers = value != 0

    def compress_frame(self, library: Library, data: Bytes, target: memoryview | None = None) -> Any:
        """
        Compress `data` into one frame and return it; with `target`, store it there and return its size in bytes.

        For a dictionary that is not too large, and without worker threads, may use tables or a context that are kept
        with the dictionary, so that later calls need not digest it again.
        """
        found = self.dict
        if found is not None and self.how == UNDIGESTED and not self.workers and len(found) <= SHARED_CONTENT_MAX:
            if not self._tables_serve:
                self._place = found.digests.one_of((library.name, "contexts"), tuple(self.pairs), Place)
            elif len(data) <= SHARED_DATA_MAX:
                self.how = DIGESTED
        return super().compress_frame(library, data, target)

    def _tables(self, library: Library, found: ZstdDict) -> Any:
        """Return a dictionary's tables for the level, and hold them while the one context with these settings lives."""
        self._held = tables = library.tables_for_compression(found, self.level)
        return tables

    def take(self, library: Library) -> CData:
        """Return a context with these settings."""
        cctx = None if self._place is None else self._place.take()
        return super().take(library) if cctx is None else cctx

    def give(self, library: Library, cctx: CData, reported: int | None = None) -> None:
        """Give back a context whose calls have all succeeded: the thread keeps it, or it is freed."""
        if self.workers:
            library.drop(cctx)
        else:
            library.cctxs.give(cctx, reported)

    def _give_after_frame(self, library: Library, cctx: CData) -> None:
        place, contexts = self._place, library.cctxs
        if place is None:
            self.give(library, cctx)
        elif not (contexts.is_small(cctx) and contexts.end_session(cctx) and place.give(cctx)):
            library.drop(cctx)


class SetsUpDecompression:
    """Base of settings for setting up a context; a subclass has `dict`, `how` and `pairs`."""

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
        """Set up a context that has no parameters yet, and return it; free it if that raises an error."""
        try:
            self.apply(library, dctx)
        except BaseException:
            library.drop(dctx)
            raise
        return dctx

    def apply_again(self, library: Library, dctx: CData) -> None:
        """Set up a context again, after an error or because a prefix has served its one frame."""
        library.check(library.lib.ZSTD_DCtx_reset(dctx, RESET_ALL), "Unable to reset the decompression context")
        self.apply(library, dctx)


class DecompressionSettings(SetsUpDecompression):
    """The checked arguments `zstd_dict` and `options` of decompression."""

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
        """Return a context with these settings."""
        dctx = library.dctxs.take()
        return dctx if self.is_default else self.applied(library, dctx)

    def give(self, library: Library, dctx: CData, reported: int | None = None) -> None:
        """Give back a context whose calls have all succeeded: the thread keeps it, or it is freed."""
        library.dctxs.give(dctx, reported)
