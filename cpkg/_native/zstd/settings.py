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
"""If only these parameters are set, a dictionary keeps its tables for a level; otherwise, it keeps a context."""


class SetsUpCompression:
    """Base of settings for setting up a context; a subclass has `_dict`, `_how`, `_level`, `_pairs` and `_workers`."""

    __slots__ = ()

    _dict: ZstdDict | None
    _how: int
    _level: int
    _pairs: list[tuple[int, int]]
    _workers: bool
    _held: Any
    """The tables that contexts of these settings use; they are held here in case the dictionary drops them."""
    _give_after_frame: Any
    _tables: Any

    def _take(self, library: Library) -> CData:
        """Return a context with these settings."""
        contexts = library.cctxs
        found = self._dict
        tables = self._tables(library, found) if found is not None and self._how == DIGESTED else None
        cctx = contexts.new_with_workers((found, tables)) if self._workers else contexts.take()
        try:
            if self._pairs:
                library.set_compression(cctx, self._pairs)
            if tables is not None:
                library.refer_for_compression(cctx, tables)
            elif found is not None:
                library.load_for_compression(cctx, found, self._how)
        except BaseException:
            library.drop(cctx)
            raise
        return cctx

    def _compress_frame(self, library: Library, data: Bytes, target: memoryview | None = None) -> Any:
        """Compress `data` into one frame and return it; with `target`, store it there and return its size in bytes."""
        cctx = self._take(library)
        try:
            frame = library.compress_at_once(cctx, data, target)
        except BaseException:
            library.drop(cctx)
            raise
        self._give_after_frame(library, cctx)
        return frame


class CompressionSettings(SetsUpCompression):
    """The checked arguments `level`, `options` and `zstd_dict` of compression."""

    __slots__ = ("_dict", "_held", "_how", "_level", "_pairs", "_place", "_tables_serve", "_workers")

    def __init__(self, library: Library, level: int | None, options: Parameters, zstd_dict: DictArgument) -> None:
        self._held: object = None
        self._place: Place | None = None
        self._level = COMPRESSION_LEVEL_DEFAULT
        self._workers = False
        self._tables_serve = True
        self._pairs: list[tuple[int, int]] = []
        if level is not None:
            self._level = checked_level(level, options, library.level_bounds)
            self._pairs = [(LEVEL_KEY, self._level)]
        elif options is not None:
            self._take_options(in_library(checked_options(options, True, library.bounds), library.version))
        self._dict: ZstdDict | None = None
        self._how = UNDIGESTED
        if zstd_dict is not None:
            self._dict, self._how = parse_dict_argument(zstd_dict, UNDIGESTED)

    def _take_options(self, pairs: list[tuple[int, int]]) -> None:
        """Store checked parameters; not done in __init__, since PyPy inlines no function with a loop."""
        self._pairs = pairs
        for key, value in pairs:
            if key == LEVEL_KEY:
                self._level = value
            elif key not in _TABLES_SERVE:
                self._tables_serve = False
                if key == WORKERS_KEY:
                    self._workers = value != 0

    def _compress_frame(self, library: Library, data: Bytes, target: memoryview | None = None) -> Any:
        """
        Compress `data` into one frame and return it; with `target`, store it there and return its size in bytes.

        If the dictionary is not too large and there are no worker threads, may use tables or a context that the
        dictionary keeps, so that later calls need not digest the dictionary again.
        """
        found = self._dict
        if found is not None and self._how == UNDIGESTED and not self._workers and len(found) <= SHARED_CONTENT_MAX:
            if not self._tables_serve:
                self._place = found._digests.one_of((library.name, "contexts"), tuple(self._pairs), Place)
            elif len(data) <= SHARED_DATA_MAX:
                self._how = DIGESTED
        return super()._compress_frame(library, data, target)

    def _tables(self, library: Library, found: ZstdDict) -> Any:
        """Return a dictionary's tables for the level, and hold them while the one context with these settings lives."""
        self._held = tables = library.tables_for_compression(found, self._level)
        return tables

    def _take(self, library: Library) -> CData:
        """Return a context with these settings."""
        cctx = None if self._place is None else self._place.take()
        return super()._take(library) if cctx is None else cctx

    def _give(self, library: Library, cctx: CData, reported: int | None = None) -> None:
        """Give back a context whose calls have all succeeded; `Contexts.give` keeps it for this thread or frees it."""
        if self._workers:
            library.drop(cctx)
        else:
            library.cctxs.give(cctx, reported)

    def _give_after_frame(self, library: Library, cctx: CData) -> None:
        place, contexts = self._place, library.cctxs
        if place is None:
            self._give(library, cctx)
        elif not (contexts.is_small(cctx) and contexts.end_session(cctx) and place.give(cctx)):
            library.drop(cctx)


class SetsUpDecompression:
    """Base of settings for setting up a context; a subclass has `_dict`, `_how` and `_pairs`."""

    __slots__ = ()

    _dict: ZstdDict | None
    _how: int
    _pairs: list[tuple[int, int]]

    def _apply(self, library: Library, dctx: CData) -> None:
        """Set up a context that has no parameters yet."""
        if self._dict is not None:
            library.load_for_decompression(dctx, self._dict, self._how)
        if self._pairs:
            library.set_decompression(dctx, self._pairs)

    def _applied(self, library: Library, dctx: CData) -> CData:
        """Set up a context that has no parameters yet, and return it; free it if that raises an error."""
        try:
            self._apply(library, dctx)
        except BaseException:
            library.drop(dctx)
            raise
        return dctx

    def _apply_again(self, library: Library, dctx: CData) -> None:
        """Set up a context again, after an error or because a prefix has served its one frame."""
        library.check(library.lib.ZSTD_DCtx_reset(dctx, RESET_ALL), "Unable to reset the decompression context")
        self._apply(library, dctx)


class DecompressionSettings(SetsUpDecompression):
    """The checked arguments `zstd_dict` and `options` of decompression."""

    __slots__ = ("_dict", "_has_magic", "_how", "_is_default", "_pairs", "_window_max")

    def __init__(self, library: Library, zstd_dict: DictArgument, options: Parameters) -> None:
        self._dict: ZstdDict | None = None
        self._how = DIGESTED
        if zstd_dict is not None:
            self._dict, self._how = parse_dict_argument(zstd_dict, DIGESTED)
        self._pairs: list[tuple[int, int]] = []
        self._has_magic = True
        self._window_max = WINDOW_SIZE_MAX_DEFAULT
        if options is not None:
            self._pairs = checked_options(options, False, library.bounds)
            self._has_magic = not dict(self._pairs).get(DECOMPRESSION_FORMAT)
            self._window_max = window_size_max(self._pairs)
        self._is_default = self._dict is None and not self._pairs

    def _take(self, library: Library) -> CData:
        """Return a context with these settings."""
        dctx = library.dctxs.take()
        return dctx if self._is_default else self._applied(library, dctx)

    def _give(self, library: Library, dctx: CData, reported: int | None = None) -> None:
        """Give back a context whose calls have all succeeded; `Contexts.give` keeps it for this thread or frees it."""
        library.dctxs.give(dctx, reported)
