# SPDX-License-Identifier: Apache-2.0
"""
Settings that many frames share, with a context that keeps them: the base of cpkg.zstandard's objects.

Functions such as `compress` set up a context for every call, which is cheap for a level and expensive for a dictionary.
A preset sets up a context once, and usually keeps it in its own place (`contexts.py`). Threads may share a preset.

On CPython a preset also has a C part (`ffi_build/zstd/presets.c`), which compresses and decompresses in one call and
supports the C streams:

- `_configure` passes settings to the C part with `_set_up`, except those in the next item. From then on C owns the
  place. C creates contexts without a dictionary itself, and calls `_new_context` for the others.
- Some settings stay in Python: worker threads (their contexts must not be freed in a forked child), prefixes (which
  serve one frame) and frames without magic numbers. For these, a C stream calls `_lend`. A stream that compresses calls
  `_take_back` when it is done with the context, a stream that decompresses after each frame.
- C calls `_compress` and `_decompress` for unusual arguments and data.
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
from purepy.zstd.format.rules import MAGIC, WINDOW_LOG_MIN
from purepy.zstd.format.zdict import PREFIX, ZstdDict

if TYPE_CHECKING:
    from cpkg._native.cffi_types import CData
    from purepy.base.types import Buffer, Named, Parameters
    from purepy.zstd.format.zdict import DictArgument

__all__ = ["pledge_error"]  # called by C, as are *_of() and *_error() below


class _Preset:
    """
    Base of the two kinds of presets.

    A subclass has the library's `_contexts` for its direction, and the backend's `_stream_type` for its streams.
    `_plain_type` is the subclass itself, also in types derived from it.
    """

    _library: ClassVar[Library]
    _contexts: ClassVar[Contexts]
    _stream_type: ClassVar[Any]
    _plain_type: ClassVar[Any]
    _place: Place
    _workers = False
    _take: Any
    _new_stream: Any
    _latest: Any = None
    """A separate preset with the settings of the latest `_configure`, if that was not the first call."""

    def _store_later_settings(self, *settings: object) -> bool:
        """
        Return False for the first settings; store later settings in a new preset, `_latest`, and return True.

        Streams that were created earlier still need the first settings, and the dictionary to which their context
        refers. Only this preset keeps both.
        """
        if not hasattr(self, "_place"):
            return False
        latest = self._plain_type()
        latest._configure(*settings)
        self._latest = latest
        self._retire()
        return True

    def _give(self, library: Library, context: CData, reported: int | None = None) -> None:
        """Keep a context, whose calls have all succeeded, for the next call; free it if that is not possible."""
        if not self._contexts.end_session(context) or not self._place.give(context):
            library.drop(context)

    def _memory_size(self) -> int:
        """Return the size in bytes of the kept context; without one, create a context and return its size."""
        stream = self._new_stream()
        size: int = stream._memory_size()
        release(stream)
        return size

    def _set_up(self, *settings: object) -> None:
        """Pass settings to the C part, which overrides this method; without a C part, do nothing."""

    def _retire(self) -> None:
        """
        Stop the C part from using its settings, which later settings have replaced; without a C part, do nothing.

        The C part overrides this method, and from then on passes every call to Python, which uses `_latest`.
        """

    def _new_context(self) -> int:
        """Return the address of a new context, which C owns from here on."""
        context = self._take(self._library)
        self._library.ffi.gc(context, None)
        return self._address(context)

    def _lend(self) -> tuple[object, int, int]:
        """Return a context, its address, and the id of the only process that may use it (0: any)."""
        context = self._take(self._library)
        return context, self._address(context), os.getpid() if self._workers else 0

    def _take_back(self, context: CData, has_failed: bool) -> None:
        """Take back a context that `_lend` returned: keep it for the next call, or free it if `has_failed`."""
        if has_failed:
            self._library.drop(context)
        else:
            self._give(self._library, context)

    def _address(self, context: CData) -> int:
        return int(self._library.ffi.cast("uintptr_t", context))


class CompressionPreset(SetsUpCompression, _Preset):
    """
    Parameters and a dictionary for any number of frames: the `settings` of every Compressor that it creates.

    `_configure` must be called before anything else. A further call changes the settings of later calls and streams.
    """

    def _configure(self, pairs: list[tuple[int, int]], zstd_dict: ZstdDict | None, how: int) -> None:
        """Set the checked parameters `pairs`, and a dictionary with how to load it (DIGESTED, UNDIGESTED, PREFIX)."""
        if self._store_later_settings(pairs, zstd_dict, how):
            return
        values = dict(pairs)
        self._held = {}
        self._pairs = pairs
        self._level = values.get(LEVEL_KEY, COMPRESSION_LEVEL_DEFAULT)
        self._workers = bool(values.get(WORKERS_KEY))
        self._dict = zstd_dict
        self._how = how
        self._made_in = os.getpid() if self._workers else 0
        self._place = Place()
        if not self._workers and how != PREFIX:
            self._set_up(pairs, zstd_dict is None)

    def compress(self, data: Buffer) -> bytes:
        """
        Compress `data`, a buffer, into one frame and return it as bytes.

        The header declares the content's size unless the parameters exclude it. Raises ZstdError if libzstd fails.
        """
        settings = self._latest or self
        frame: bytes = settings._compress_frame(self._library, buffers.readable(data))
        return frame

    _compress = compress

    def _take(self, library: Library) -> CData:
        """Return a context with these settings, in which no frame has begun."""
        if self._made_in and self._made_in != os.getpid():
            self._place, self._made_in = Place(self._place.most), os.getpid()  # a forked child lacks the threads
        cctx = self._place.take()
        if cctx is None:
            return super()._take(library)
        if self._dict is not None and self._how == PREFIX:  # a prefix works for one frame only
            library.load_for_compression(cctx, self._dict, self._how)
        return cctx

    def _tables(self, library: Library, found: ZstdDict) -> Any:
        """Return a dictionary's tables for the preset's level; the preset keeps them for as long as it exists."""
        held = self._held
        return held.get(self._level) or held.setdefault(self._level, library.tables_for_compression(found, self._level))

    def _give_after_frame(self, library: Library, cctx: CData) -> None:
        """
        Take back a context after one frame.

        The thread keeps a small context without a dictionary or worker threads, as presets often serve a single frame.
        The preset keeps any other context.
        """
        if self._dict is None and not self._workers and library.cctxs.is_small(cctx):
            library.cctxs.give(cctx)
        else:
            self._give(library, cctx)

    def _new_stream(self) -> Any:
        """Return a new stream."""
        return self._stream_type._over(self._latest or self)


class DecompressionPreset(SetsUpDecompression, _Preset):
    """
    Limits and a dictionary for any number of frames: the `settings` of every Decompressor that it creates.

    `_configure` must be called before anything else. A further call changes the settings of later calls and streams.
    """

    _declared_size: ClassVar[Any]

    def _configure(self, zstd_dict: ZstdDict | None, how: int, window_max: int | None, has_magic: bool) -> None:
        """
        Set a dictionary with how to load it (DIGESTED, PREFIX), the largest window in bytes, and the format.

        A `window_max` of None is the default limit. `has_magic` is whether frames begin with a magic number.
        """
        if self._store_later_settings(zstd_dict, how, window_max, has_magic):
            return
        pairs = []
        if window_max is not None:
            # libzstd accepts only powers of two; the exact limit is checked at the start of a frame
            pairs.append((WINDOW_LOG_MAX_KEY, max(WINDOW_LOG_MIN, (window_max - 1).bit_length())))
        if not has_magic:
            pairs.append((DECOMPRESSION_FORMAT, 1))
        self._take_settings(zstd_dict, how, pairs, WINDOW_SIZE_MAX_DEFAULT if window_max is None else window_max)

    def _take_settings(
        self, zstd_dict: ZstdDict | None, how: int, pairs: list[tuple[int, int]], window_max: int
    ) -> None:
        self._dict = zstd_dict
        self._how = how
        self._pairs = pairs
        self._window_max = window_max
        self._has_magic = not dict(pairs).get(DECOMPRESSION_FORMAT)
        self._frame_limits = window_max, self._has_magic
        self._is_default = zstd_dict is None and not pairs
        self._place = Place()
        if self._has_magic and how != PREFIX:
            self._set_up(window_max, zstd_dict is not None)

    def _take(self, library: Library) -> CData:
        """Return a context with these settings, in which no frame has begun."""
        dctx = self._place.take()
        if dctx is not None and self._how != PREFIX:
            return dctx
        return self._applied(library, library.dctxs.take() if dctx is None else dctx)

    def _whole_frame(self, data: bytes) -> bytes | None:
        """
        Return the content of `data` if it is a frame with a magic number and a declared content size.

        Frames without content may follow. Returns None for all other data, for a window or size that is too large, with
        a prefix, and if libzstd fails.
        """
        settings, library = self._latest or self, self._library
        if settings._how == PREFIX or not data.startswith(MAGIC):  # a skippable frame has no content, also not b""
            return None
        size: int | None = self._declared_size(data, settings)
        if size is None or size != library.declared_size(data, 0, True):
            return None  # the data has more frames, whose content the result must not contain
        dctx = settings._take(library)
        content = None
        try:
            content = library.decompress_at_once(dctx, data, size)
        finally:
            if content is None:
                library.drop(dctx)
        if content is not None:
            settings._give(library, dctx)
        return content

    def _new_stream(self, multi_frame: bool = False, frame_by_frame: bool = False) -> Any:
        """Return a new stream; the arguments are those of `DecompressorBase._over`."""
        return self._stream_type._over(self._latest or self, multi_frame, frame_by_frame)


def compression_of(level: int | None, options: Parameters, zstd_dict: DictArgument) -> object:
    """Return a preset with the checked arguments of a ZstdCompressor; C calls this if it cannot check them itself."""
    preset = preset_types(_compiled())[0]()
    settings = CompressionSettings(preset._library, level, options, zstd_dict)
    preset._configure(settings._pairs, settings._dict, settings._how)
    return preset


def decompression_of(zstd_dict: DictArgument, options: Parameters) -> object:
    """Return a preset with the checked arguments of a ZstdDecompressor; C calls this if it cannot check them itself."""
    preset = preset_types(_compiled())[1]()
    settings = DecompressionSettings(preset._library, zstd_dict, options)
    preset._take_settings(settings._dict, settings._how, settings._pairs, settings._window_max)
    return preset


def compression_error(result: int) -> ZstdError:
    """Return the ZstdError for a libzstd result that reports a failed compression."""
    error: ZstdError = _compiled().codec.library.error(result, CANNOT_COMPRESS)
    return error


def decompression_error(result: int, offset: int) -> ZstdError:
    """Return the ZstdError for a libzstd result that reports a failed decompression; `offset` is in the input."""
    error: ZstdError = _compiled().codec.library.error(result, CANNOT_DECOMPRESS, offset)
    return error


def _compiled() -> Any:
    from cpkg._native.zstd import compiled

    return compiled


def preset_types(codec: Named) -> tuple[Any, Any]:
    """
    Return the types of compression and decompression presets for a backend module that uses libzstd.

    The first call creates the types and stores them in the module.
    """
    names: Mapping[str, Any] = vars(codec)
    types: tuple[Any, Any] | None = names.get("_preset_types")
    if types is None:
        library = codec.codec.library
        types = tuple(  # type: ignore[assignment]
            type(
                base.__name__,
                (names["_" + base.__name__], base) if "_" + base.__name__ in names else (base,),
                {
                    "__module__": codec.__name__,
                    "_library": library,
                    "_contexts": contexts,
                    "_stream_type": stream,
                    "_declared_size": staticmethod(codec.codec._declared_size),
                },
            )
            for base, contexts, stream in (
                (CompressionPreset, library.cctxs, codec.ZstdCompressor),
                (DecompressionPreset, library.dctxs, codec.ZstdDecompressor),
            )
        )
        assert types is not None
        for kind in types:
            kind._plain_type = kind
        setattr(codec, "_preset_types", types)  # noqa: B010
    return types
