# SPDX-License-Identifier: Apache-2.0
"""
Settings that many frames share, with a context that keeps them: what cpkg.zstandard's objects are made of.

`compress` and its kin set up a context for every call, which costs little for a level and much for a dictionary. A
preset sets one up once, and keeps it in a place of its own (`contexts.py`). So a preset may be shared by threads.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar

from cpkg._native import buffers
from cpkg._native.zstd.contexts import Contexts, Place
from cpkg._native.zstd.library import LEVEL_KEY, WORKERS_KEY, Library
from cpkg._native.zstd.settings import CompressionSettings, DecompressionSettings, SetsUpDecompression
from purepy.base.errors import ZstdError
from purepy.zstd.format.error_codes import CANNOT_COMPRESS, CANNOT_DECOMPRESS, pledge_error, truncated_error
from purepy.zstd.format.parameters import COMPRESSION_LEVEL_DEFAULT, WINDOW_SIZE_MAX_DEFAULT
from purepy.zstd.format.rules import WINDOW_LOG_MIN
from purepy.zstd.format.zdict import PREFIX, ZstdDict

if TYPE_CHECKING:
    from cpkg._native.cffi_types import CData
    from purepy.base.types import Buffer, Named, Parameters
    from purepy.zstd.format.zdict import DictArgument

__all__ = ["pledge_error", "truncated_error"]  # which C calls, as it does compression_error() and its neighbours

FORMAT_KEY, WINDOW_LOG_KEY = 1000, 100
"""Parameters of a decompression context (ZSTD_d_format, ZSTD_d_windowLogMax)."""


class _Preset:
    """Base of both; a subclass has the library's `_contexts` of its direction."""

    _library: ClassVar[Library]
    _contexts: Contexts
    _place: Place

    if TYPE_CHECKING:

        def take(self, library: Library) -> CData:
            """Return a context that is set up, between frames."""

    def give(self, library: Library, context: CData, reported: int | None = None) -> None:
        """Take back a context whose calls all succeeded."""
        if not self._contexts.end_session(context) or not self._place.give(context):
            library.drop(context)

    def _memory_size(self) -> int:
        """Return the size in bytes of the context that is kept, made for that if there is none."""
        context = self.take(self._library)
        size: int = self._contexts.size_of(context)
        self.give(self._library, context)
        return size

    def _lend(self) -> tuple[object, int]:
        """Return a context for a stream of C, where C cannot set one up, and its address."""
        context = self.take(self._library)
        return context, _address(self._library, context)

    def _take_back(self, context: CData, has_failed: bool) -> None:
        """Take back what `_lend` returned."""
        if has_failed:
            self._library.drop(context)
        else:
            self.give(self._library, context)


class CompressionPreset(_Preset):
    """
    Parameters and a dictionary for any number of frames; `settings` of every Compressor that it makes.

    `_configure` is called once, before anything else. Subclasses have a Library and its Compressor type.
    """

    _stream_type: ClassVar[Any]

    def _configure(self, pairs: list[tuple[int, int]], zstd_dict: ZstdDict | None, how: int) -> None:
        """Take checked parameters, and a dictionary with the way to load it (DIGESTED, UNDIGESTED, PREFIX)."""
        values = dict(pairs)
        self.pairs = pairs
        self.level = values.get(LEVEL_KEY, COMPRESSION_LEVEL_DEFAULT)
        self.workers = bool(values.get(WORKERS_KEY))
        self.dict = zstd_dict
        self.how = how
        self._place = Place()
        self._made_in = os.getpid() if self.workers else 0

    def _compress(self, data: Buffer) -> bytes:
        """
        Compress `data`, a buffer, into one frame and return it as bytes.

        The header has the content's size, unless the parameters say otherwise. Raises ZstdError if libzstd fails.
        """
        frame: bytes = self._library.compress_frame(self, buffers.readable(data))
        return frame

    def take(self, library: Library) -> CData:
        """Return a context that is set up, between frames."""
        if self._made_in and self._made_in != os.getpid():
            self._place, self._made_in = Place(), os.getpid()  # its threads are not in a forked child
        cctx = self._place.take()
        if cctx is None:
            cctx = library.cctxs.new_with_workers(self.dict) if self.workers else library.cctxs.take()
            try:
                self._apply(library, cctx)
            except BaseException:
                library.drop(cctx)
                raise
        elif self.how == PREFIX and self.dict is not None:  # which serves one frame
            library.load_for_compression(cctx, self.dict, self.how, self.level)
        return cctx

    def give_after_frame(self, library: Library, cctx: CData) -> None:
        """Take back the context of one frame: for this thread where that is of use, as presets often serve one."""
        if self.dict is None and not self.workers and library.cctxs.is_small(cctx):
            library.cctxs.give(cctx)
        else:
            self.give(library, cctx)

    def _apply(self, library: Library, cctx: CData) -> None:
        for key, value in self.pairs:
            library.check(library.lib.ZSTD_CCtx_setParameter(cctx, key, value), "unable to set compression parameter")
        if self.dict is not None:
            library.load_for_compression(cctx, self.dict, self.how, self.level)

    def _new_stream(self) -> object:
        """Return a stream between frames."""
        return self._stream_type._over(self)


class DecompressionPreset(SetsUpDecompression, _Preset):
    """
    Limits and a dictionary for any number of frames; `settings` of every Decompressor that it makes.

    `_configure` is called once, before anything else. Subclasses have a Library and its Decompressor type.
    """

    _stream_type: ClassVar[Any]

    def _configure(self, zstd_dict: ZstdDict | None, how: int, window_max: int | None, has_magic: bool) -> None:
        """Take a dictionary with the way to load it (DIGESTED, PREFIX), the largest window in bytes, and the format."""
        self.dict = zstd_dict
        self.how = how
        self.has_magic = has_magic
        self.window_max = WINDOW_SIZE_MAX_DEFAULT if window_max is None else window_max
        self.pairs = []
        if window_max is not None:
            # libzstd takes powers of two; what lies between is held where a frame begins
            self.pairs.append((WINDOW_LOG_KEY, max(WINDOW_LOG_MIN, (window_max - 1).bit_length())))
        if not has_magic:
            self.pairs.append((FORMAT_KEY, 1))
        self.is_default = zstd_dict is None and not self.pairs
        self._place = Place()

    def take(self, library: Library) -> CData:
        """Return a context that is set up, between frames."""
        dctx = self._place.take()
        if dctx is not None and self.how != PREFIX:
            return dctx
        return self.applied(library, library.dctxs.take() if dctx is None else dctx)

    def _new_stream(self, multi_frame: bool = False, frame_by_frame: bool = False) -> object:
        """Return a stream between frames; the arguments are those of `Decompressor`."""
        return self._stream_type._over(self, multi_frame, frame_by_frame)


class CffiCompressionPreset(CompressionPreset):
    """The compression preset of backends without builtins."""

    compress = CompressionPreset._compress


class BuiltinCompressionPreset(CompressionPreset):
    """
    The Python half of one on CPython: C has `compress`, and the place for the context.

    Contexts with threads and with prefixes stay here: the first must not be freed in a forked child, the others are to
    be set up for each frame.
    """

    if TYPE_CHECKING:

        def _set_up(self, pairs: list[tuple[int, int]], is_plain: bool) -> None: ...
        def _take(self) -> int: ...
        def _give(self, address: int) -> None: ...

    def _configure(self, pairs: list[tuple[int, int]], zstd_dict: ZstdDict | None, how: int) -> None:
        super()._configure(pairs, zstd_dict, how)
        self._is_builtin = not self.workers and how != PREFIX
        if self._is_builtin:
            self._set_up(pairs, zstd_dict is None)

    def take(self, library: Library) -> CData:
        """Return a context that is set up, between frames."""
        if not self._is_builtin:
            return super().take(library)
        return library.ffi.gc(library.ffi.cast("ZSTD_CCtx *", self._take()), library.lib.ZSTD_freeCCtx)

    def give(self, library: Library, cctx: CData, reported: int | None = None) -> None:
        """Take back a context whose calls all succeeded."""
        if self._is_builtin:
            self._give(_released(library, cctx))
        else:
            super().give(library, cctx, reported)

    def _new_context(self) -> int:
        """Return the address of a new context with the dictionary, which is C's from here on."""
        library = self._library
        cctx = library.cctxs.take()
        try:
            self._apply(library, cctx)
        except BaseException:
            library.drop(cctx)
            raise
        return _released(library, cctx)


class BuiltinDecompressionPreset(DecompressionPreset):
    """The Python half of one on CPython: C has `decompress`, and the place for the context."""

    if TYPE_CHECKING:

        def _set_up(self, window_max: int, has_dictionary: bool) -> None: ...
        def _take(self) -> int | None: ...
        def _give(self, address: int) -> None: ...

    def _configure(self, zstd_dict: ZstdDict | None, how: int, window_max: int | None, has_magic: bool) -> None:
        super()._configure(zstd_dict, how, window_max, has_magic)
        self._hand_to_c()

    def _configure_as(self, settings: DecompressionSettings) -> None:
        """Take the settings that the arguments of a stream make."""
        self.dict, self.how, self.pairs = settings.dict, settings.how, settings.pairs
        self.has_magic, self.window_max, self.is_default = settings.has_magic, settings.window_max, settings.is_default
        self._place = Place()
        self._hand_to_c()

    def _hand_to_c(self) -> None:
        if self.has_magic and self.how != PREFIX:
            self._set_up(self.window_max, self.dict is not None)

    def take(self, library: Library) -> CData:
        """Return a context that is set up, between frames."""
        address = self._take()
        if address is not None and self.how != PREFIX:
            return library.ffi.gc(library.ffi.cast("ZSTD_DCtx *", address), library.lib.ZSTD_freeDCtx)
        return super().take(library)

    def give(self, library: Library, dctx: CData, reported: int | None = None) -> None:
        """Take back a context whose calls all succeeded."""
        if self.how == PREFIX:
            library.drop(dctx)
        else:
            self._give(_released(library, dctx))

    def _after_frame(self, dctx: CData) -> None:
        """Make a context that was lent ready for the frame that follows one."""
        if self.how == PREFIX:
            self.apply_again(self._library, dctx)

    def _frame_limits(self) -> tuple[int, bool]:
        """Return the largest window in bytes, and whether frames have a magic number."""
        return self.window_max, self.has_magic

    def _new_context(self) -> int:
        """Return the address of a new context with the dictionary, which is C's from here on."""
        library = self._library
        return _released(library, super().take(library))


class StreamCompressionPreset(BuiltinCompressionPreset):
    """The settings of one ZstdCompressor of C."""

    def _apply(self, library: Library, cctx: CData) -> None:
        library.set_compression(cctx, self.pairs)  # a wrong parameter is a ValueError here
        super()._apply(library, cctx)


def compression_of(level: int | None, options: Parameters, zstd_dict: DictArgument) -> object:
    """Return the settings of a ZstdCompressor of C, for arguments that are not plain."""
    preset = _stream_presets()[0]()
    settings = CompressionSettings(preset._library, level, options, zstd_dict)
    preset._configure(settings.pairs, settings.dict, settings.how)
    return preset


def decompression_of(zstd_dict: DictArgument, options: Parameters) -> object:
    """Return the settings of a ZstdDecompressor of C, for arguments that are not plain."""
    preset = _stream_presets()[1]()
    preset._configure_as(DecompressionSettings(preset._library, zstd_dict, options))
    return preset


def compression_error(result: int) -> ZstdError:
    """Return the error for a result of libzstd."""
    return _native_library().error(result, CANNOT_COMPRESS)


def decompression_error(result: int, offset: int) -> ZstdError:
    """Return the error for a result of libzstd, with an offset in the input."""
    return _native_library().error(result, CANNOT_DECOMPRESS, offset)


def _native_library() -> Library:
    from cpkg._native.zstd import compiled

    library: Library = compiled.__getattr__("codec").library
    return library


def _stream_presets() -> tuple[Any, Any]:
    from cpkg._native.zstd import compiled

    return preset_types(compiled, "_stream_preset_types", StreamCompressionPreset)


def _address(library: Library, context: CData) -> int:
    return int(library.ffi.cast("uintptr_t", context))


def _released(library: Library, context: CData) -> int:
    """Return the address of a context that nobody frees any more."""
    library.ffi.gc(context, None)
    return _address(library, context)


def preset_types(
    codec: Named, place: str = "_preset_types", of_compression: type = BuiltinCompressionPreset
) -> tuple[type, type]:
    """Return the types of presets of a backend module over libzstd, and keep them at a `place` there."""
    made = vars(codec).get(place)
    if made is None:
        library = codec.codec.library
        builtins = vars(codec).get("_CompressionPreset"), vars(codec).get("_DecompressionPreset")
        if builtins[0] is None:
            bases: tuple[Any, Any] = (CffiCompressionPreset,), (DecompressionPreset,)
        else:
            bases = (of_compression, builtins[0]), (BuiltinDecompressionPreset, builtins[1])
        streams = codec.ZstdCompressor, codec.ZstdDecompressor
        made = tuple(
            type(
                of[0].__name__,
                of,
                {"__module__": codec.__name__, "_library": library, "_contexts": contexts, "_stream_type": stream},
            )
            for of, contexts, stream in zip(bases, (library.cctxs, library.dctxs), streams)
        )
        setattr(codec, place, made)
    return made
