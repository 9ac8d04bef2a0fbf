# SPDX-License-Identifier: Apache-2.0
"""
The `stdlib` backend of Zstandard: the interpreter's own libzstd, for systems where cpkg cannot load one itself.

CPython 3.14 and newer provide it as `compression.zstd`; on older versions, backports.zstd does. Both handle one frame
at a time. So headers, limits, arguments and streams come from the pure codec; this module only replaces the decoding of
blocks and the compression of data by calls of the library. The library's errors keep their text.
"""

from __future__ import annotations

import sys

from purepy.base.errors import ZstdError
from purepy.base.lazy import grouped_names, imported
from purepy.zstd.decoder import decompressor as pure_decompressor
from purepy.zstd.decoder.block import read_block_header
from purepy.zstd.decoder.frame_decoder import FrameDecoder, Settings
from purepy.zstd.encoder import compressor as pure_compressor
from purepy.zstd.encoder.options import EncoderOptions
from purepy.zstd.encoder.options import parameter_bounds as pure_bounds
from purepy.zstd.format.error_codes import DST_SIZE_TOO_SMALL, GENERIC, NAMES, SRC_SIZE_WRONG, coded_error, corruption
from purepy.zstd.format.parameters import (
    DECOMPRESSION_FORMAT,
    WINDOW_LOG_MAX_KEY,
    WINDOW_SIZE_MAX_DEFAULT,
    CompressionParameter,
    in_library,
)
from purepy.zstd.format.rules import (
    BLOCK_HEADER_SIZE,
    BLOCK_SIZE_MAX,
    CHECKSUM_SIZE,
    COMPRESSED,
    MAGIC,
    RAW,
    SINGLE_SEGMENT_FLAG,
    WINDOW_LOG_MIN,
)
from purepy.zstd.format.zdict import (
    DIGESTED,
    MIN_DICT_SIZE,
    PREFIX,
    SHARED_CONTENT_MAX,
    UNDIGESTED,
    ZstdDict,
    can_train,
    parse_dict_argument,
)
from purepy.zstd.functions import Functions
from purepy.zstd.names import group_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from purepy.base.types import Buffer, Parameters
    from purepy.zstd.format.header import Header
    from purepy.zstd.format.zdict import DictArgument
    from purepy.zstd.made_names import *  # noqa: F403


def _found() -> Any:
    install = sys.modules.get("cpkg._install")
    for name in ("_zstd", "backports.zstd._zstd"):
        # after cpkg.install(), backports.zstd may be cpkg.zstd, which would choose a backend during this choice
        if install is None or name == "_zstd" or not install.is_ours("backports.zstd"):
            try:
                return imported(name)
            except ImportError:
                continue
    if sys.version_info >= (3, 14):
        raise ImportError("this Python was built without libzstd")
    raise ImportError("needs Python 3.14 or newer, or backports.zstd (pip install backports.zstd)")


_std = _found()

BACKEND = "stdlib"
IS_WRAPPED, RELEASES_GIL, HAS_LONG_MATCHES, HAS_ARCHIVES = False, True, True, False
compressing_queue = decompressing_queue = _job_calls = None
zstd_version = _std.zstd_version
zstd_version_info = tuple(map(int, zstd_version.split(".")))  # type: ignore[assignment]
LIBRARY_VERSION = f"libzstd {zstd_version}"

_WINDOW_LOG_MAX: int = _std.get_param_bounds(WINDOW_LOG_MAX_KEY, is_compress=False)[1]
_STEP = 1 << 20  # bytes of content, about the most that one step produces
_SHORTEST = 9  # bytes: a magic number, a header of two bytes, a block's header
_WINDOW_BYTE_MAX = (27 - WINDOW_LOG_MIN) << 3  # the descriptor of the largest default window (section 3.1.1.1.2)
_KEPT_SIZE_MAX = 128 << 10  # bytes of content; after more, a compressor holds more memory and is not kept
_KEPT_MAX = 4
_COMPRESSORS = f"{BACKEND} compressors"
_kept: list[Any] = []  # compressors without parameters, between frames; removed while in use


def _bounds(key: int, is_compress: bool) -> tuple[int, int]:
    """
    Return the least and greatest value of a parameter; raises ValueError for an unknown key.

    The bounds are the library's, or the pure codec's if the library does not have the parameter. Where the pure codec's
    bounds are (0, 0), they apply here as well, because this backend compresses frames in one thread.
    """
    bounds = pure_bounds(key, is_compress)
    try:
        low, high = _std.get_param_bounds(key, is_compress=is_compress)
    except (ValueError, _std.ZstdError):
        return bounds
    return (low, high) if bounds != (0, 0) else bounds


def _std_dict(zstd_dict: ZstdDict) -> Any:
    return zstd_dict._digests.single((BACKEND,), lambda: _std.ZstdDict(zstd_dict.dict_content, is_raw=True))


class _Settings(Settings):
    """The checked arguments of a decompressor; `decompressor()` returns a decompressor of the library with them."""

    __slots__ = ("_options", "_pair", "is_ordinary")

    def __init__(self, zstd_dict: DictArgument, options: Parameters, window_max: int | None = None) -> None:
        super().__init__(zstd_dict, options, window_max)
        self.is_ordinary = self._window_max == WINDOW_SIZE_MAX_DEFAULT and not self.magicless
        self._options = None
        if self.magicless or self._window_max > WINDOW_SIZE_MAX_DEFAULT:  # the limit is enforced at the header
            self._options = {WINDOW_LOG_MAX_KEY: _WINDOW_LOG_MAX, DECOMPRESSION_FORMAT: int(self.magicless)}
        self._pair = None
        if zstd_dict is not None:
            found, how = parse_dict_argument(zstd_dict, DIGESTED)
            self._pair = _std_dict(found), how

    def decompressor(self) -> Any:
        """Return a new decompressor of the library."""
        return (
            _std.ZstdDecompressor(self._pair, self._options) if self._pair or self._options else _std.ZstdDecompressor()
        )


_DEFAULT = _Settings(None, None)


def _settings(zstd_dict: DictArgument, options: Parameters, window_max: int | None = None) -> _Settings:
    is_default = zstd_dict is None and options is None and window_max is None
    return _DEFAULT if is_default else _Settings(zstd_dict, options, window_max)


def _error(exc: Exception, offset: int | None = None) -> ZstdError:
    """Return cpkg's error for an error of the library; the name at the end of the text determines its code."""
    text = str(exc)
    code = next((code for code, name in NAMES.items() if text.endswith(name)), GENERIC)
    if code == DST_SIZE_TOO_SMALL and offset is not None:  # while decompressing
        return corruption(offset, "the content is larger than the frame declares")
    return coded_error(code, text, offset)


class _FrameDecoder(FrameDecoder):
    """Decodes one frame: the pure codec reads the headers, and the library the blocks (except a single raw block)."""

    __slots__ = ("_head", "_library")

    _settings: _Settings

    def _open(self, header: Header) -> None:
        source = self._input
        self._head = source.data[source.at : source.at + header.size]
        self._library: Any = None

    def _decompressed(self, size: int) -> bytes:
        """Decompress the next `size` bytes of the input, which are whole blocks or the checksum, with the library."""
        source = self._input
        start, end = source.at, source.at + size
        try:
            if self._library is None:
                self._library = self._settings.decompressor()
                self._library.decompress(self._head)
            output: bytes = self._library.decompress(source.data[start:end])
        except _std.ZstdError as exc:
            raise _error(exc, source.offset + start) from exc
        source.use(size)
        return output

    def _block(self, header: Header, hold: bool) -> bytes | None:
        source = self._input
        size = content = 0  # the size of the blocks, and the most that they can hold
        most = _STEP if hold else BLOCK_SIZE_MAX
        while not self._last and content < most and source.need(size + BLOCK_HEADER_SIZE):
            at = source.at + size
            last, kind, decoded, stored = read_block_header(source.data, at, source.offset + at, header.block_size)
            if not source.need(size + BLOCK_HEADER_SIZE + stored):
                break
            size += BLOCK_HEADER_SIZE + stored
            content += header.block_size if kind == COMPRESSED else decoded
            self._last = last
        if not size:
            return None
        offset = source.offset + source.at
        self.done = self._last and not header.has_checksum
        if self.done and kind == RAW and self._library is None and size == BLOCK_HEADER_SIZE + decoded:
            # for many short frames: creating a decompressor of the library takes longer than everything else
            output = source.data[source.at + BLOCK_HEADER_SIZE : source.at + size]
            source.use(size)
        else:
            output = self._decompressed(size)
        self.produced += len(output)
        self._compare_sizes(header, offset)
        return output

    def _end(self) -> bytes | None:
        source = self._input
        if not source.need(CHECKSUM_SIZE):
            return None
        self._decompressed(CHECKSUM_SIZE)
        self.done = True
        return b""


class ZstdDecompressor(pure_decompressor.ZstdDecompressor):
    __doc__ = pure_decompressor.ZstdDecompressor.__doc__
    __slots__ = ()

    _settings_type = staticmethod(_settings)
    _frame_decoder = _FrameDecoder


class ZstdCompressor(pure_compressor.ZstdCompressor):
    __doc__ = pure_compressor.ZstdCompressor.__doc__
    __slots__ = ("_library", "_pair")

    _frame: Any

    def _prepare(self, level: int | None, options: Parameters, zstd_dict: DictArgument) -> None:
        self._options = EncoderOptions(level, options, _bounds)
        self._pair = None
        if zstd_dict is not None:
            found, how = parse_dict_argument(zstd_dict, UNDIGESTED)
            self._pair = _std_dict(found), how
        self._library = self._new()

    def _new(self) -> Any:
        pairs = dict(in_library(self._options.pairs, zstd_version_info))
        if self._pair is not None:
            # without a level, CPython 3.14 digests the dictionary for a level that was never set (gh-150583)
            pairs.setdefault(CompressionParameter.compression_level, 0)
        try:
            return _std.ZstdCompressor(None, pairs, self._pair)
        except _std.ZstdError as exc:
            raise _error(exc) from exc

    def _encode(self, data: bytes, mode: int) -> bytes:
        library = self._library
        if library is None:
            library = self._library = self._new()
        if self._frame is None:
            if mode != self.FLUSH_FRAME and self._pledged is not None:
                library.set_pledged_input_size(self._pledged)
            self._frame = library
        self._given += len(data)
        try:
            output: bytes = library.compress(data, mode)
        except _std.ZstdError as exc:
            raise _error(exc) from exc
        if mode == self.FLUSH_FRAME:
            self._end_frame()
        return output

    def _end_frame(self) -> None:
        super()._end_frame()
        if self._library is not None and self._library.last_mode != self.FLUSH_FRAME:
            self._library = None  # an exception ended the frame early


def _compressed(data: bytes, kept: list[Any], most: int, new: Callable[[], Any]) -> bytes:
    """
    Compress `data` into one frame with a compressor from `kept`, or with one that `new` returns if `kept` is empty.

    Creating a compressor takes longer than compressing a short message. So `kept` has up to `most` compressors; after
    large data, a compressor is not kept.
    """
    try:
        library = kept.pop()
    except IndexError:
        library = new()
    frame: bytes = library.compress(data, ZstdCompressor.FLUSH_FRAME)
    if len(data) <= _KEPT_SIZE_MAX and len(kept) < most:
        kept.append(library)
    return frame


def _compressed_with_dictionary(
    data: bytes, level: int | None, options: Parameters, zstd_dict: DictArgument
) -> bytes | None:
    """
    Compress with a compressor that is kept with the dictionary, and return the frame.

    Returns None for a prefix, a large dictionary and worker threads, and on errors of the library.
    """
    pairs = EncoderOptions(level, options, _bounds).pairs
    found, how = parse_dict_argument(zstd_dict, UNDIGESTED)
    # the threads of a kept compressor would be missing in a forked child
    if how == PREFIX or len(found) > SHARED_CONTENT_MAX or dict(pairs).get(CompressionParameter.nb_workers):
        return None
    kept = found._digests.one_of(_COMPRESSORS, (how, tuple(pairs)), list)
    try:
        return _compressed(data, kept, 1, lambda: ZstdCompressor(level, options, zstd_dict)._library)
    except _std.ZstdError:
        return None  # the ordinary path raises the error


def _frame_at_once(data: Buffer, settings: _Settings) -> bytes | None:
    """Return the content of bytes that are one ordinary frame with a declared size; None otherwise, also on errors."""
    if type(data) is not bytes or len(data) < _SHORTEST or data[:4] != MAGIC:
        return None
    dictionary = settings.dictionary
    try:
        library = settings.decompressor()
        size, dictionary_id = _std.get_frame_info(data)
        if size is None or size > WINDOW_SIZE_MAX_DEFAULT:
            return None
        if dictionary_id and (dictionary is None or dictionary_id != dictionary.dict_id):
            return None
        if not data[4] & SINGLE_SEGMENT_FLAG and data[5] > _WINDOW_BYTE_MAX:
            return None
        content: bytes = library.decompress(data)
    except (OverflowError, _std.ZstdError):
        return None
    return content if library.eof and len(content) == size and not library.unused_data else None


class _Functions(Functions):
    """The functions of the backend; `compress` and `decompress` call the library directly for ordinary arguments."""

    def _compress(self, data: Buffer, level: int | None, options: Parameters, zstd_dict: DictArgument) -> bytes:
        if type(data) is bytes:
            if level is None and options is None and zstd_dict is None:
                return _compressed(data, _kept, _KEPT_MAX, _std.ZstdCompressor)
            if zstd_dict is not None:
                frame = _compressed_with_dictionary(data, level, options, zstd_dict)
                if frame is not None:
                    return frame
        return super()._compress(data, level, options, zstd_dict)

    def _decompress(self, data: Buffer, settings: Any, limit: int | None, hint: int) -> bytes:
        content = _frame_at_once(data, settings) if settings.is_ordinary and limit is None else None
        return super()._decompress(data, settings, limit, hint) if content is None else content

    def parameter_bounds(self, key: int, is_compress: bool) -> tuple[int, int]:
        return _bounds(key, is_compress)

    def _train(self, pieces: list[bytes], dict_size: int) -> bytes:
        sizes = tuple(map(len, pieces))
        if dict_size >= MIN_DICT_SIZE and not can_train(sizes):
            raise coded_error(SRC_SIZE_WRONG, f"Unable to train the Zstandard dictionary: {NAMES[SRC_SIZE_WRONG]}")
        return _dictionary(_std.train_dict, b"".join(pieces), sizes, dict_size)

    def _finalize(self, content: bytes, pieces: list[bytes], dict_size: int, level: int) -> bytes:
        sizes = tuple(map(len, pieces))
        return _dictionary(_std.finalize_dict, content, b"".join(pieces), sizes, dict_size, level)


def _dictionary(make: Callable[..., bytes], *arguments: object) -> bytes:
    try:
        return make(*arguments)
    except _std.ZstdError as exc:
        raise _error(exc) from exc


_BACKEND = sys.modules[__name__]


def _group(name: str) -> Mapping[str, object]:
    return group_of(name, _BACKEND, _Functions)


__getattr__ = grouped_names(__name__, _group)
