# SPDX-License-Identifier: Apache-2.0
"""
Settings that many frames share, with a context that keeps them: what cpkg.zstandard's objects are made of.

`compress` and its kin set up a context for every call, which costs little for a level and much for a dictionary. A
preset sets one up once, and keeps it in a place of its own (`contexts.py`). So a preset may be shared by threads.

On CPython a preset has a half of C (`ffi_build/zstd/presets.c`), which compresses and decompresses in one call and
serves the streams of C:

- `_configure` hands it plain settings by `_set_up`. From then on the place is C's. C creates contexts without a
  dictionary itself, and calls `_new_context` for the others.
- Some settings stay in Python: worker threads (their contexts must not be freed in a forked child), prefixes (which
  serve one frame) and frames without magic numbers. For these a stream of C calls `_lend`, and `_take_back` when it
  is done with the context or, where it decompresses, at the end of each frame.
- C calls `_compress` and `_decompress` with arguments and data that are out of the ordinary.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from cpkg._native import buffers
from cpkg._native.zstd.contexts import Contexts, Place
from cpkg._native.zstd.library import LEVEL_KEY, WORKERS_KEY, Library
from cpkg._native.zstd.settings import (
    CompressionSettings,
    DecompressionSettings,
    SetsUpCompression,
    SetsUpDecompression,
)
from purepy.base.errors import ZstdError
from purepy.zstd.format.error_codes import CANNOT_COMPRESS, CANNOT_DECOMPRESS, pledge_error
from purepy.zstd.format.locks import release
from purepy.zstd.format.parameters import (
    COMPRESSION_LEVEL_DEFAULT,
    DECOMPRESSION_FORMAT,
    WINDOW_LOG_MAX_KEY,
    WINDOW_SIZE_MAX_DEFAULT,
)
from purepy.zstd.format.rules import WINDOW_LOG_MIN
from purepy.zstd.format.zdict import PREFIX, ZstdDict

if TYPE_CHECKING:
    from cpkg._native.cffi_types import CData
    from purepy.base.types import Buffer, Named, Parameters
    from purepy.zstd.format.zdict import DictArgument

__all__ = ["pledge_error"]  # which C calls, as it does compression_error() and its neighbours


class _Preset:
    """Base of both; a subclass has the library's `_contexts` of its direction and the `_stream_type` over it."""

    _library: ClassVar[Library]
    _contexts: ClassVar[Contexts]
    _stream_type: ClassVar[Any]
    _place: Place
    workers = False
    take: Any
    _new_stream: Any
    dict: ZstdDict | None = None
    _held: Any = None
    _former: object = None

    def _keep_former(self) -> None:
        """Hold the earlier dictionary and its tables, which contexts in use may refer to, before others come."""
        if self.dict is not None:
            self._former = self._former, self.dict, self._held

    def give(self, library: Library, context: CData, reported: int | None = None) -> None:
        """Take back a context whose calls all succeeded."""
        if not self._contexts.end_session(context) or not self._place.give(context):
            library.drop(context)

    def _memory_size(self) -> int:
        """Return the size in bytes of the context that is kept, or of a new one."""
        stream = self._new_stream()
        size: int = stream._memory_size()
        release(stream)
        return size

    def _set_up(self, *settings: object) -> None:
        """Hand settings to the half of C, where there is one."""

    def _retire(self) -> None:
        """Have the half of C leave each call to Python, where there is one."""

    def _empty_place(self) -> bool:
        """
        Get a new place; return whether these are the first settings.

        Contexts with earlier settings may be in use. So none is kept from the second time on, and C has no part.
        """
        is_first = not hasattr(self, "_place")
        self._place = Place(is_first)
        if not is_first:
            self._retire()
        return is_first

    def _new_context(self) -> int:
        """Return the address of a new context, which is C's from here on."""
        context = self.take(self._library)
        self._library.ffi.gc(context, None)
        return self._address(context)

    def _lend(self) -> tuple[object, int, int]:
        """Return a context, its address, and the process that it works in alone (0: in any)."""
        context = self.take(self._library)
        return context, self._address(context), os.getpid() if self.workers else 0

    def _take_back(self, context: CData, has_failed: bool) -> None:
        """Take back what `_lend` returned."""
        if has_failed:
            self._library.drop(context)
        else:
            self.give(self._library, context)

    def _address(self, context: CData) -> int:
        return int(self._library.ffi.cast("uintptr_t", context))


class CompressionPreset(SetsUpCompression, _Preset):
    """
    Parameters and a dictionary for any number of frames; `settings` of every Compressor that it makes.

    `_configure` is called before anything else; called again, it changes the settings of frames that begin later.
    """

    def _configure(self, pairs: list[tuple[int, int]], zstd_dict: ZstdDict | None, how: int) -> None:
        """Take checked parameters, and a dictionary with the way to load it (DIGESTED, UNDIGESTED, PREFIX)."""
        values = dict(pairs)
        self._keep_former()
        self._held = {}
        self.pairs = pairs
        self.level = values.get(LEVEL_KEY, COMPRESSION_LEVEL_DEFAULT)
        self.workers = bool(values.get(WORKERS_KEY))
        self.dict = zstd_dict
        self.how = how
        is_first = self._empty_place()
        self._made_in = os.getpid() if self.workers else 0
        if is_first and not self.workers and how != PREFIX:
            self._set_up(pairs, zstd_dict is None)

    def compress(self, data: Buffer) -> bytes:
        """
        Compress `data`, a buffer, into one frame and return it as bytes.

        The header has the content's size, unless the parameters say otherwise. Raises ZstdError if libzstd fails.
        """
        frame: bytes = self.compress_frame(self._library, buffers.readable(data))
        return frame

    _compress = compress

    def take(self, library: Library) -> CData:
        """Return a context that is set up, between frames."""
        if self._made_in and self._made_in != os.getpid():
            self._place, self._made_in = Place(self._place.most), os.getpid()  # its threads are not in a forked child
        cctx = self._place.take()
        if cctx is None:
            return super().take(library)
        if self.how == PREFIX:  # which serves one frame
            self._load(library, cctx)
        return cctx

    def _give_after_frame(self, library: Library, cctx: CData) -> None:
        """Take back the context of one frame: for this thread where that is of use, as presets often serve one."""
        if self.dict is None and not self.workers and library.cctxs.is_small(cctx):
            library.cctxs.give(cctx)
        else:
            self.give(library, cctx)

    def _new_stream(self) -> Any:
        """Return a stream between frames."""
        return self._stream_type._over(self)


class DecompressionPreset(SetsUpDecompression, _Preset):
    """
    Limits and a dictionary for any number of frames; `settings` of every Decompressor that it makes.

    `_configure` is called before anything else; called again, it changes the settings of frames that begin later.
    """

    def _configure(self, zstd_dict: ZstdDict | None, how: int, window_max: int | None, has_magic: bool) -> None:
        """Take a dictionary with the way to load it (DIGESTED, PREFIX), the largest window in bytes, and the format."""
        pairs = []
        if window_max is not None:
            # libzstd takes powers of two; what lies between is held where a frame begins
            pairs.append((WINDOW_LOG_MAX_KEY, max(WINDOW_LOG_MIN, (window_max - 1).bit_length())))
        if not has_magic:
            pairs.append((DECOMPRESSION_FORMAT, 1))
        self._take_settings(zstd_dict, how, pairs, WINDOW_SIZE_MAX_DEFAULT if window_max is None else window_max)

    def _take_settings(
        self, zstd_dict: ZstdDict | None, how: int, pairs: list[tuple[int, int]], window_max: int
    ) -> None:
        self._keep_former()
        self.dict = zstd_dict
        self.how = how
        self.pairs = pairs
        self.window_max = window_max
        self.has_magic = not dict(pairs).get(DECOMPRESSION_FORMAT)
        self.frame_limits = window_max, self.has_magic
        self.is_default = zstd_dict is None and not pairs
        if self._empty_place() and self.has_magic and how != PREFIX:
            self._set_up(window_max, zstd_dict is not None)

    def take(self, library: Library) -> CData:
        """Return a context that is set up, between frames."""
        dctx = self._place.take()
        if dctx is not None and self.how != PREFIX:
            return dctx
        return self.applied(library, library.dctxs.take() if dctx is None else dctx)

    def _new_stream(self, multi_frame: bool = False, frame_by_frame: bool = False) -> Any:
        """Return a stream between frames; the arguments are those of `Decompressor`."""
        return self._stream_type._over(self, multi_frame, frame_by_frame)


def compression_of(level: int | None, options: Parameters, zstd_dict: DictArgument) -> object:
    """Return the settings of a ZstdCompressor of C, for arguments that are not plain."""
    preset = preset_types(_compiled())[0]()
    settings = CompressionSettings(preset._library, level, options, zstd_dict)
    preset._configure(settings.pairs, settings.dict, settings.how)
    return preset


def decompression_of(zstd_dict: DictArgument, options: Parameters) -> object:
    """Return the settings of a ZstdDecompressor of C, for arguments that are not plain."""
    preset = preset_types(_compiled())[1]()
    settings = DecompressionSettings(preset._library, zstd_dict, options)
    preset._take_settings(settings.dict, settings.how, settings.pairs, settings.window_max)
    return preset


def compression_error(result: int) -> ZstdError:
    """Return the error for a result of libzstd."""
    error: ZstdError = _compiled().codec.library.error(result, CANNOT_COMPRESS)
    return error


def decompression_error(result: int, offset: int) -> ZstdError:
    """Return the error for a result of libzstd, with an offset in the input."""
    error: ZstdError = _compiled().codec.library.error(result, CANNOT_DECOMPRESS, offset)
    return error


def _compiled() -> Any:
    from cpkg._native.zstd import compiled

    return compiled


def preset_types(codec: Named) -> tuple[Any, Any]:
    """Return the types of presets of a backend module over libzstd, and keep them there."""
    names: Mapping[str, Any] = vars(codec)
    types: tuple[Any, Any] | None = names.get("_preset_types")
    if types is None:
        library = codec.codec.library
        types = tuple(  # type: ignore[assignment]
            type(
                base.__name__,
                (names["_" + base.__name__], base) if "_" + base.__name__ in names else (base,),
                {"__module__": codec.__name__, "_library": library, "_contexts": contexts, "_stream_type": stream},
            )
            for base, contexts, stream in (
                (CompressionPreset, library.cctxs, codec.ZstdCompressor),
                (DecompressionPreset, library.dctxs, codec.ZstdDecompressor),
            )
        )
        setattr(codec, "_preset_types", types)  # noqa: B010
    assert types is not None
    return types
