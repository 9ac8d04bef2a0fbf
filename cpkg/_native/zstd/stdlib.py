# SPDX-License-Identifier: Apache-2.0
"""
The backend `stdlib` of Zstandard: the interpreter's own libzstd, where no libzstd of ours loads.

CPython 3.14 and newer have it in C behind `compression.zstd`, older ones where backports.zstd is installed. It knows
one frame at a time; headers, limits, arguments and the text of errors are those of the pure codec, whose frame decoder
and compressor hand the blocks to it.
"""

from __future__ import annotations

import sys
from operator import index

from purepy.base.buffers import as_bytes
from purepy.base.errors import ZstdError
from purepy.base.lazy import grouped_names, imported
from purepy.zstd.decoder import decompressor as pure_decompressor
from purepy.zstd.decoder.block import read_block_header
from purepy.zstd.decoder.frame_decoder import FrameDecoder, Settings
from purepy.zstd.encoder import compressor as pure_compressor
from purepy.zstd.encoder.options import EncoderOptions
from purepy.zstd.encoder.options import parameter_bounds as pure_bounds
from purepy.zstd.format.decompressor_base import DecompressorBase
from purepy.zstd.format.error_codes import (
    CANNOT_COMPRESS,
    CANNOT_DECOMPRESS,
    CHECKSUM_WRONG,
    CORRUPTION_DETECTED,
    GENERIC,
    NAMES,
    coded_error,
    corruption,
    decoding_error,
)
from purepy.zstd.format.header import read_header
from purepy.zstd.format.parameters import DECOMPRESSION_FORMAT, WINDOW_SIZE_MAX_DEFAULT
from purepy.zstd.format.rules import (
    BLOCK_HEADER_SIZE,
    BLOCK_SIZE_MAX,
    CHECKSUM_SIZE,
    COMPRESSED,
    HEADER_SIZE_MAX,
    LEVEL_MAX,
    LEVEL_MIN,
    MAGIC,
    SINGLE_SEGMENT_FLAG,
    WINDOW_LOG_MIN,
)
from purepy.zstd.format.zdict import (
    DIGESTED,
    MIN_DICT_SIZE,
    UNDIGESTED,
    ZstdDict,
    can_train,
    parse_dict_argument,
)
from purepy.zstd.functions import Functions
from purepy.zstd.names import group_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from purepy.base.types import Buffer, Bytes, Parameters
    from purepy.zstd.format.header import Header
    from purepy.zstd.format.zdict import DictArgument
    from purepy.zstd.made_names import *  # noqa: F403


def _found() -> Any:
    for name in ("_zstd", "backports.zstd._zstd"):
        try:
            return imported(name)
        except ImportError:
            continue
    raise ImportError(
        "this interpreter has no compression.zstd, and backports.zstd, which has the same, is not installed"
    )


_std = _found()

BACKEND = "stdlib"
IS_WRAPPED, RELEASES_GIL, HAS_ARCHIVES = False, True, False
compressing_queue = decompressing_queue = _job_calls = None
zstd_version = _std.zstd_version
zstd_version_info = tuple(map(int, zstd_version.split(".")))  # type: ignore[assignment]
LIBRARY_VERSION = f"libzstd {zstd_version}"

_WINDOW_LOG_MAX_KEY = 100
_WINDOW_LOG_MAX: int = _std.get_param_bounds(_WINDOW_LOG_MAX_KEY, is_compress=False)[1]
_CONTINUE = 0
_ALL = -1  # the default of `max_length`, of which there is one object
_STEP = 1 << 20  # of content, at most about so much is made at a time
_SHORTEST = 9  # bytes: a magic number, a header of two, a block's header
_WINDOW_BYTE_MAX = (27 - WINDOW_LOG_MIN) << 3  # of the largest window that needs no option (section 3.1.1.1.2)
_KEPT_SIZE_MAX = 128 << 10  # of content, up to which a compressor is kept: beyond, it has more memory
_KEPT_MAX = 4
_STARVED_MAX = 8  # the library takes 17 calls in a row without progress for an error
_kept: list[Any] = []  # compressors between frames, taken out while in use
_CODES = {name: code for code, name in NAMES.items()}


def _bounds(key: int, is_compress: bool) -> tuple[int, int]:
    """Return the bounds of a parameter; raises ValueError if there is no such. A frame is compressed by one thread."""
    bounds = pure_bounds(key, is_compress)
    try:
        low, high = _std.get_param_bounds(key, is_compress=is_compress)
    except (ValueError, _std.ZstdError):
        return bounds
    return (low, high) if bounds != (0, 0) else bounds


def _std_dict(zstd_dict: ZstdDict) -> Any:
    return zstd_dict.digest((BACKEND,), lambda: _std.ZstdDict(zstd_dict.dict_content, is_raw=True))


class _Settings(Settings):
    """Checked arguments of a decompressor, and what makes the library's."""

    __slots__ = ("_options", "_pair")

    def __init__(self, zstd_dict: DictArgument, options: Parameters) -> None:
        super().__init__(zstd_dict, options)
        self._options = None
        if self.magicless or self.window_max > WINDOW_SIZE_MAX_DEFAULT:  # the limit is held to at the header
            self._options = {_WINDOW_LOG_MAX_KEY: _WINDOW_LOG_MAX, DECOMPRESSION_FORMAT: int(self.magicless)}
        self._pair = None
        if zstd_dict is not None:
            found, how = parse_dict_argument(zstd_dict, DIGESTED)
            self._pair = _std_dict(found), how

    def decompressor(self) -> Any:
        """Return a new decompressor of the library's."""
        return (
            _std.ZstdDecompressor(self._pair, self._options) if self._pair or self._options else _std.ZstdDecompressor()
        )


_DEFAULT = _Settings(None, None)


def _error(exc: Exception, failed: str, otherwise: int, offset: int | None = None) -> ZstdError:
    """Make our error of the library's, whose text ends with the name of its code; `otherwise` is the code else."""
    code = next((code for name, code in _CODES.items() if str(exc).endswith(name)), otherwise)
    return coded_error(code, f"{failed}: {NAMES[code]}", offset)


def _decompressed(library: Any, data: Bytes, room: int, offset: int) -> bytes:
    """Return what a decompressor of the library's makes of data at `offset`; ZstdError as the pure codec raises it."""
    try:
        output: bytes = library.decompress(data, room)
    except _std.ZstdError as exc:
        raise _error(exc, CANNOT_DECOMPRESS, CORRUPTION_DETECTED, offset) from exc
    return output


class _FrameDecoder(FrameDecoder):
    """Decodes one frame: the header is read by the pure codec, the blocks by the library, as many as have come."""

    __slots__ = ("_library",)

    _settings: _Settings

    def _open(self, header: Header) -> None:
        source = self._input
        self._library = self._settings.decompressor()
        _decompressed(self._library, source.data[source.at : source.at + header.size], -1, source.offset + source.at)

    def _block(self, header: Header, hold: bool) -> bytes | None:
        source = self._input
        source.need(source.available)
        data, start, end = source.data, source.at, source.at + source.available
        at, content, is_last = start, 0, False
        while not is_last and content < _STEP and at + BLOCK_HEADER_SIZE <= end:
            last, kind, size, stored = read_block_header(data, at, source.offset + at, header.block_size)
            if at + BLOCK_HEADER_SIZE + stored > end:
                break
            at += BLOCK_HEADER_SIZE + stored
            content += header.block_size if kind == COMPRESSED else size
            is_last = last
        if at == start:
            return None
        offset = source.offset + start
        output = _decompressed(self._library, memoryview(data)[start:at], -1, offset)
        source.use(at - start)
        self._last = is_last
        self.produced += len(output)
        self._compare_sizes(header, offset)
        self.done = is_last and not header.has_checksum
        return output

    def _end(self) -> bytes | None:
        source = self._input
        if not source.need(CHECKSUM_SIZE):
            return None
        try:
            self._library.decompress(source.data[source.at : source.at + CHECKSUM_SIZE])
        except _std.ZstdError as exc:
            what = "the content has another checksum than the frame says"
            raise decoding_error(CHECKSUM_WRONG, source.offset + source.at, what) from exc
        source.use(CHECKSUM_SIZE)
        self.done = True
        return b""


class ZstdDecompressor(DecompressorBase):
    __doc__ = pure_decompressor.ZstdDecompressor.__doc__
    __slots__ = (
        "__weakref__",
        "_at",
        "_declared",
        "_ended",
        "_failure",
        "_is_inside",
        "_left",
        "_library",
        "_offset",
        "_pending",
        "_starved",
        "_takes_pieces",
    )

    _settings: _Settings
    _settings_type = _Settings
    _frame_decoder = _FrameDecoder

    def _checked(self, zstd_dict: DictArgument, options: Parameters) -> _Settings:
        return _DEFAULT if zstd_dict is None and options is None else _Settings(zstd_dict, options)

    def _start(self) -> None:
        self._library: Any = None  # of the frame whose header has come
        self._takes_pieces = False  # whether the library was given all, and waits for more
        self._is_inside = False  # a frame
        self._failure: ZstdError | None = None
        self._pending = b""  # input that the library was not given, from `_at` on
        self._at = 0
        self._offset = 0  # of the first byte of `_pending`, in the stream
        self._ended = False
        self._eof = False
        self._needs_input = True
        self._starved = 0  # calls in a row that asked for no output

    def _memory_size(self) -> int:
        """Return about how many bytes decoding takes."""
        return BLOCK_SIZE_MAX

    @property
    def _at_start(self) -> bool:
        """Whether what was returned so far ends where a frame does."""
        return not self._is_inside

    @property
    def unused_data(self) -> bytes:
        """The bytes given behind the end of the frame; b"" before `eof`."""
        with self._turn():
            return self._pending[self._at :] if self._eof and not self._multi_frame else b""

    def decompress(self, data: Buffer, max_length: int = -1) -> bytes:
        if self._takes_pieces and max_length is _ALL and type(data) is bytes and 0 < len(data) <= _STEP:
            with self._turn():
                if self._takes_pieces and not self._pending:  # inside of a frame, as most calls are
                    library, offset = self._library, self._offset
                    try:
                        output: bytes = library.decompress(data)
                        self._offset = offset + len(data)
                        self._left -= len(output)
                        if self._left >= 0 and library.needs_input:
                            return output
                        self._note(library, offset)
                        result = self._run(-1, output)
                        return result
                    except BaseException as exc:
                        self._start()
                        if isinstance(exc, _std.ZstdError):
                            raise _error(exc, CANNOT_DECOMPRESS, CORRUPTION_DETECTED, offset) from exc
                        raise
        max_length = max(min(index(max_length), sys.maxsize), -1)
        piece = as_bytes(data)
        with self._turn():
            if self._eof and not self._multi_frame:
                raise EOFError("Already at the end of a Zstandard frame.")
            try:
                if not self._pending:
                    self._pending = piece
                elif piece:
                    self._offset += self._at
                    self._pending, self._at = self._pending[self._at :] + piece, 0
                result = self._run(max_length)
                return result
            except BaseException:
                self._start()
                raise

    decompress.__doc__ = pure_decompressor.ZstdDecompressor.decompress.__doc__

    def _run(self, room: int, first: bytes | None = None) -> bytes:
        if self._failure is not None:
            if room:
                raise self._failure
            return b""
        pieces: list[bytes] = [first] if first else []
        whole = len(pieces) if self._library is None else 0  # how many of the pieces are of frames that have ended
        if first is None and self._multi_frame and self._library is None and self._at < len(self._pending):
            self._ended = False
        try:
            while self._library is not None or self._next_frame():
                library = self._library
                if not room:
                    if self._at == len(self._pending) or self._starved == _STARVED_MAX:
                        break
                    self._starved += 1
                output = self._step(library, room)
                if output:
                    pieces.append(output)
                    if room > 0:
                        room -= len(output)
                if library.eof:
                    whole = len(pieces)
                elif not library.needs_input or self._at == len(self._pending):
                    break
        except ZstdError as exc:
            if room:
                del pieces[whole if self._multi_frame else 0 :]
            if not any(pieces):
                raise
            self._failure = exc.with_traceback(None)  # which would keep all that it went through
            self._takes_pieces = False
            self._eof = self._needs_input = False
            return b"".join(pieces)
        is_more = self._at < len(self._pending)
        if not is_more:
            self._offset += self._at
            self._pending, self._at = b"", 0
        self._eof = self._ended and not (self._multi_frame and is_more)
        if self._eof:
            self._needs_input = self._multi_frame
        else:
            takes_more = self._library is None or self._library.needs_input
            self._takes_pieces = self._library is not None and takes_more and room < 0
            if self._takes_pieces:
                self._starved = 0
            self._needs_input = takes_more and room != 0 and not (self._ended and is_more)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _next_frame(self) -> bool:
        """Begin a frame, if its header has come; return whether there is one to go on with."""
        pending, at = self._pending, self._at
        if at == len(pending) or (self._ended and not self._goes_on):
            return False
        self._is_inside = True
        offset = self._offset + at
        header = read_header(pending, at, min(len(pending), at + HEADER_SIZE_MAX), offset, self._settings.magicless)
        if isinstance(header, int):
            return False
        if not header.is_skippable:
            self._settings.check(header, offset)
        self._declared = None if header.is_skippable else header.content_size
        self._left = sys.maxsize if self._declared is None else self._declared
        self._starved = 0
        self._ended = False
        self._library = self._settings.decompressor()
        return True

    def _take_back(self, unused: bytes) -> None:
        """Take back what the library was given beyond the end of the frame, perhaps in an earlier call."""
        if len(unused) <= self._at:
            self._at -= len(unused)
        else:
            self._offset += self._at - len(unused)
            self._pending, self._at = unused + self._pending[self._at :], 0

    def _step(self, library: Any, room: int) -> bytes:
        """Give the library the next input."""
        pending, at = self._pending, self._at
        end = len(pending)
        if at or end > _STEP:  # what is behind the frame comes back as a copy
            end = min(end, at + _STEP)
            data = pending[at:end]
        else:
            data = pending
        offset = self._offset + at
        output = _decompressed(library, data, room, offset)
        self._at = end
        self._left -= len(output)
        if output:
            self._starved = 0
        self._note(library, offset)
        return output

    def _note(self, library: Any, offset: int) -> None:
        """Take note of whether the frame ends with input at `offset`, and of content that its header did not say."""
        declared = self._declared
        if self._left < 0:
            what = f"content is longer than the {declared} bytes of its header"
            raise corruption(offset, what)
        if library.eof:
            self._take_back(library.unused_data)
            self._library = None
            self._is_inside = self._takes_pieces = False
            self._ended = True
            if declared is not None and self._left:
                what = f"content of {declared - self._left} bytes is shorter than the {declared} of its header"
                raise corruption(self._offset + self._at, what)


_compress = pure_compressor.ZstdCompressor.compress


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
        try:
            return _std.ZstdCompressor(None, dict(self._options.pairs), self._pair)
        except _std.ZstdError as exc:
            raise _error(exc, CANNOT_COMPRESS, GENERIC) from exc

    def compress(self, data: Buffer, mode: int = 0) -> bytes:
        if self._frame is not None and mode is _CONTINUE and type(data) is bytes:
            with self._turn():
                if self._frame is not None and self._pledged is None:  # a piece inside of a frame, as most calls are
                    try:
                        output: bytes = self._frame.compress(data)
                        self._last_mode = _CONTINUE
                        return output
                    except BaseException as exc:
                        self._end_frame()
                        self._last_mode = self.FLUSH_FRAME
                        if isinstance(exc, _std.ZstdError):
                            raise _error(exc, CANNOT_COMPRESS, GENERIC) from exc
                        raise
        return _compress(self, data, mode)

    compress.__doc__ = _compress.__doc__

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
            raise _error(exc, CANNOT_COMPRESS, GENERIC) from exc
        if mode == self.FLUSH_FRAME:
            self._end_frame()
        return output

    def _end_frame(self) -> None:
        super()._end_frame()
        if self._library is not None and self._library.last_mode != self.FLUSH_FRAME:
            self._library = None  # inside a frame that an exception ended


def _compressed(data: bytes) -> bytes:
    """Compress at the default level; making a compressor takes longer than compressing a short message."""
    try:
        library = _kept.pop()
    except IndexError:
        library = _std.ZstdCompressor()
    frame: bytes = library.compress(data, ZstdCompressor.FLUSH_FRAME)
    if len(data) <= _KEPT_SIZE_MAX and len(_kept) < _KEPT_MAX:
        _kept.append(library)
    return frame


def _frame_at_once(data: Buffer) -> bytes | None:
    """Return the content of bytes that are one frame and declare its size; None for all else, errors included."""
    if type(data) is not bytes or len(data) < _SHORTEST or data[:4] != MAGIC:
        return None
    library = _std.ZstdDecompressor()
    try:
        size, dictionary_id = _std.get_frame_info(data)
        if size is None or size > WINDOW_SIZE_MAX_DEFAULT or dictionary_id:
            return None
        if not data[4] & SINGLE_SEGMENT_FLAG and data[5] > _WINDOW_BYTE_MAX:
            return None
        content: bytes = library.decompress(data)
    except (OverflowError, _std.ZstdError):
        return None
    return content if library.eof and len(content) == size and not library.unused_data else None


class _Functions(Functions):
    """The functions, with short cuts for ordinary arguments."""

    def _compress(self, data: Buffer, level: int | None, options: Parameters, zstd_dict: DictArgument) -> bytes:
        if level is None and options is None and zstd_dict is None and type(data) is bytes:
            return _compressed(data)
        return super()._compress(data, level, options, zstd_dict)

    def decompress(
        self,
        data: Buffer,
        zstd_dict: DictArgument = None,
        options: Parameters = None,
        *,
        max_output_size: int | None = None,
        size_hint: int | None = None,
        threads: int | None = None,
    ) -> bytes:
        if zstd_dict is None and options is None and max_output_size is size_hint is threads is None:
            content = _frame_at_once(data)
            if content is not None:
                return content
        return super().decompress(
            data, zstd_dict, options, max_output_size=max_output_size, size_hint=size_hint, threads=threads
        )

    def parameter_bounds(self, key: int, is_compress: bool) -> tuple[int, int]:
        return _bounds(key, is_compress)

    def _train(self, pieces: list[bytes], dict_size: int) -> bytes:
        sizes = tuple(map(len, pieces))
        if dict_size >= MIN_DICT_SIZE and can_train(list(sizes)):
            try:
                trained: bytes = _std.train_dict(b"".join(pieces), sizes, dict_size)
                return trained
            except _std.ZstdError:  # the pure codec may learn more, or says why not
                pass
        return super()._train(pieces, dict_size)

    def _finalize(self, content: bytes, pieces: list[bytes], dict_size: int, level: int) -> bytes:
        if dict_size >= MIN_DICT_SIZE and LEVEL_MIN <= level <= LEVEL_MAX:
            try:
                sizes = tuple(map(len, pieces))
                finalized: bytes = _std.finalize_dict(content, b"".join(pieces), sizes, dict_size, level)
                return finalized
            except _std.ZstdError:
                pass
        return super()._finalize(content, pieces, dict_size, level)


_BACKEND = sys.modules[__name__]


def _group(name: str) -> Mapping[str, object]:
    return group_of(name, _BACKEND, _Functions)


__getattr__ = grouped_names(__name__, _group)
