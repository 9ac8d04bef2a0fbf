# SPDX-License-Identifier: Apache-2.0
"""Functions for whole buffers, headers and dictionaries: their arguments, docstrings, and pure implementation."""

from __future__ import annotations

from purepy.base.buffers import as_bytes, check_writable, memory_of
from purepy.base.errors import ZstdError
from purepy.base.lazy import Later
from purepy.zstd.format.backend_methods import BackendMethods
from purepy.zstd.format.error_codes import native_only
from purepy.zstd.format.parameters import size_argument
from purepy.zstd.format.rules import FLUSH_FRAME
from purepy.zstd.format.zdict import MIN_DICT_SIZE, ZstdDict, check_positive, with_advice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from purepy.base.types import Buffer, Parameters
    from purepy.zstd.decoder import decompressor as _decompressor
    from purepy.zstd.decoder import frame as _frame
    from purepy.zstd.encoder import compressor as _compressor
    from purepy.zstd.encoder import options as _options
    from purepy.zstd.format.parameters import FrameInfo
    from purepy.zstd.format.zdict import DictArgument
    from purepy.zstd.threads.arguments import DecompressionPlan
    from purepy.zstd.threads.decompress_buffer import Divided
else:
    _compressor = Later("purepy.zstd.encoder.compressor")
    _decompressor = Later("purepy.zstd.decoder.decompressor")
    _frame = Later("purepy.zstd.decoder.frame")
    _options = Later("purepy.zstd.encoder.options")


class Functions(BackendMethods):
    """
    The functions of one backend that process whole buffers, read headers and create dictionaries.

    Methods whose name starts with an underscore do work that depends on the backend; other backends override them, and
    some public methods. Here most of the work is done by the stream types of the backend's module, which are the pure
    codec's types or are derived from them.
    """

    def __init_subclass__(cls) -> None:
        _name_methods(cls)

    # compressing

    def compress(
        self,
        data: Buffer,
        level: int | None = None,
        options: Parameters = None,
        zstd_dict: DictArgument = None,
        *,
        threads: int | None = None,
        frame_size: int | None = None,
    ) -> bytes:
        """
        Compress a buffer and return one frame, or several frames (replaces `compression.zstd.compress`).

        Each frame declares the size of its content, unless `options` prevent that.

        Args:
            data (Buffer): the content.
            level (int | None): -131072 to 22; None and 0 mean 3.
            options (dict[int, int] | None): values of CompressionParameter, instead of `level`.
            zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.
            threads (int | None): how many threads may compress at a time, 0 for one per core. If `threads` or
                `frame_size` is given, content that is larger than `frame_size` is compressed into several frames.
            frame_size (int | None): bytes of content in every frame but the last; None for 16 to 64 MiB, depending on
                the level and the options.

        Raises TypeError and ValueError for wrong arguments, ZstdError for a corrupted dictionary or if compression
        fails, and on the pure backend for long-distance matching.
        """
        if threads is not None or frame_size is not None:
            from purepy.zstd.threads.arguments import plan_compression
            from purepy.zstd.threads.compress import compress_buffer

            plan = plan_compression(self._backend, threads, frame_size, level, options, zstd_dict)
            return compress_buffer(data, plan, self._join)
        return self._compress(data, level, options, zstd_dict)

    def _compress(self, data: Buffer, level: int | None, options: Parameters, zstd_dict: DictArgument) -> bytes:
        frame: bytes = self._backend.ZstdCompressor(level, options, zstd_dict).compress(data, FLUSH_FRAME)
        return frame

    def _join(self, pieces: list[bytes], threads: int) -> bytes:
        """Return the pieces joined; other backends may copy them with `threads` threads, which is ignored here."""
        return b"".join(pieces)

    def compress_into(
        self,
        data: Buffer,
        buffer: Buffer,
        level: int | None = None,
        options: Parameters = None,
        zstd_dict: DictArgument = None,
    ) -> int:
        """
        Compress a buffer into one frame at the start of a writable buffer; return the frame's size in bytes.

        Args:
            data (Buffer): the content.
            buffer (Buffer): receives the frame; its bytes after the frame do not change. For 128 KiB of content or
                more, len(data) + len(data) // 255 + 64 bytes are always enough.
            level (int | None): -131072 to 22; None and 0 mean 3.
            options (dict[int, int] | None): values of CompressionParameter, instead of `level`.
            zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.

        Raises TypeError and ValueError for wrong arguments. Raises ZstdError, and writes nothing, if the frame does not
        fit.
        """
        with memory_of(buffer) as view:
            check_writable(view, buffer)
            frame = self._compress(data, level, options, zstd_dict)
            if len(frame) > view.nbytes:
                raise _compressor.too_small_error(len(frame), view.nbytes)
            with view.cast("B") as target:
                target[: len(frame)] = frame
            return len(frame)

    # decompressing

    def decompress(
        self,
        data: Buffer,
        zstd_dict: DictArgument = None,
        options: Parameters = None,
        *,
        max_output_size: int | None = None,
        size_hint: int | None = None,
        threads: int | None = None,
        padding: bool = False,
    ) -> bytes:
        """
        Decompress all frames of a buffer and return their content (replaces `compression.zstd.decompress`).

        Args:
            data (Buffer): one or more frames; skippable frames have no content.
            zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.
            options (dict[int, int] | None): values of DecompressionParameter.
            max_output_size (int | None): the most bytes of content, whatever the frames declare; more content raises
                ZstdLimitError.
            size_hint (int | None): the expected size in bytes if the frames do not declare it; affects only the speed.
            threads (int | None): how many frames may be decompressed at a time, 0 for one per core; None for one.
            padding (bool): whether zero bytes may follow the frames; they add nothing to the content.

        Raises TypeError and ValueError for wrong arguments. Raises ZstdError for data that is truncated or corrupted,
        that contains anything but frames, or that needs another dictionary or a larger window than allowed, and for a
        corrupted dictionary.
        """
        limit = size_argument(max_output_size, "max_output_size")
        hint = size_argument(size_hint, "size_hint") or 0
        settings = self._settings(zstd_dict, options)
        if padding:
            from purepy.zstd.format.padding import Unpadded

            data = Unpadded().feed(as_bytes(data))
        if threads is not None:
            from purepy.zstd.threads.arguments import plan_decompression
            from purepy.zstd.threads.decompress_buffer import divide

            plan = plan_decompression(self._backend, threads, zstd_dict, options)
            divided = None if plan is None else divide(data, settings._window_max, limit)
            content = None if plan is None or divided is None else self._decompress_parts(plan, divided, settings)
            if content is None:  # as without `threads`: the backend may override `decompress` with a faster function
                content = self._backend.decompress(
                    data, zstd_dict, options, max_output_size=max_output_size, size_hint=size_hint
                )
            return content
        return self._decompress(data, settings, limit, hint)

    def _settings(self, zstd_dict: DictArgument, options: Parameters) -> Any:
        """Check the arguments and return the object that the backend keeps them in, which has `_window_max`."""
        return self._backend.ZstdDecompressor._settings_type(zstd_dict, options)

    def _decompress(self, data: Buffer, settings: Any, limit: int | None, hint: int) -> bytes:
        decoder = self._backend.ZstdDecompressor._frame_decoder
        pieces = _decompressor.decode_all(data, settings, limit, "max_output_size", decoder)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _decompress_parts(self, plan: DecompressionPlan, divided: Divided, settings: Any) -> bytes | None:
        """Decompress the parts in threads, return their content; None for an error: the caller then uses one thread."""
        from purepy.zstd.threads.decompress_buffer import decompress_parts

        return decompress_parts(plan, divided)

    def decompress_into(
        self, data: Buffer, buffer: Buffer, zstd_dict: DictArgument = None, options: Parameters = None
    ) -> int:
        """
        Decompress all frames of a buffer to the start of a writable buffer; return the content's size in bytes.

        Args:
            data (Buffer): one or more frames; skippable frames have no content.
            buffer (Buffer): receives the content; its bytes after the content do not change.
            zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.
            options (dict[int, int] | None): values of DecompressionParameter.

        Raises the errors of `decompress`, and ZstdLimitError if the content does not fit. The buffer's content after an
        error is undefined.
        """
        settings = self._settings(zstd_dict, options)
        return _decompressor.fill(buffer, data, settings, self._backend.ZstdDecompressor._frame_decoder)

    # frames and parameters

    def get_frame_info(self, frame_buffer: Buffer) -> FrameInfo:
        """
        Return the header fields of the frame at the start of `frame_buffer`: content size and dictionary id.

        The size is None if the header does not declare it; the dictionary id is 0 if the header names no dictionary. A
        skippable frame has the size 0 and the dictionary id 0. Raises ZstdError if the buffer does not start with a
        frame, or the header is truncated. Replaces `compression.zstd.get_frame_info`.
        """
        return _frame.frame_info(as_bytes(frame_buffer))

    def get_frame_size(self, frame_buffer: Buffer) -> int:
        """
        Return the size in bytes of the frame at the start of `frame_buffer`, including its header and checksum.

        Nothing is decoded, and data after the frame is ignored. Raises ZstdError if the buffer does not start with a
        complete frame. Replaces `compression.zstd.get_frame_size`.
        """
        return _frame.frame_size(as_bytes(frame_buffer))

    def parameter_bounds(self, key: int, is_compress: bool) -> tuple[int, int]:
        """
        Return the lowest and the highest value of a parameter in this backend.

        `key` is a CompressionParameter if `is_compress` is true, otherwise a DecompressionParameter. Raises ValueError
        for an unknown parameter.
        """
        return _options.parameter_bounds(key, is_compress)

    # dictionaries

    def train_dict(self, samples: Iterable[Buffer], dict_size: int) -> ZstdDict:
        """
        Train a dictionary on samples (replaces `compression.zstd.train_dict`).

        Args:
            samples (Iterable[Buffer]): typical content, at least 7 samples.
            dict_size (int): the largest size of the dictionary in bytes, at least 256.

        Raises TypeError and ValueError for wrong arguments and for samples without data. Raises ZstdError if the
        samples are too few or too small, and on the pure backend, which cannot train.
        """
        if not isinstance(dict_size, int):
            raise TypeError(f"dict_size must be an int object, not {type(dict_size).__qualname__!r}.")
        pieces = [as_bytes(sample) for sample in samples]
        if not any(pieces):
            raise ValueError("samples contained no data; can't train dictionary.")
        check_positive(dict_size)
        try:
            return ZstdDict(self._train(pieces, dict_size))
        except ZstdError as exc:
            with_advice(exc)
            raise

    def _train(self, pieces: list[bytes], dict_size: int) -> bytes:
        raise native_only("training of dictionaries")

    def finalize_dict(self, zstd_dict: ZstdDict, /, samples: Iterable[Buffer], dict_size: int, level: int) -> ZstdDict:
        """
        Return a dictionary of given content, with tables that suit samples (replaces `compression.zstd.finalize_dict`).

        Args:
            zstd_dict (ZstdDict): the content; its end is cut off if content and tables together exceed `dict_size`.
            samples (Iterable[Buffer]): typical data.
            dict_size (int): the largest size of the dictionary in bytes, at least 256 and at least the content's size.
            level (int): the compression level that the dictionary is meant for.

        Raises TypeError and ValueError for wrong arguments. Raises ZstdError if no dictionary can be built from them,
        and on the pure backend, which cannot train.
        """
        if not isinstance(zstd_dict, ZstdDict):
            raise TypeError("zstd_dict argument should be a ZstdDict object.")
        if not isinstance(dict_size, int):
            raise TypeError("dict_size argument should be an int object.")
        if not isinstance(level, int):
            raise TypeError("level argument should be an int object.")
        pieces = [as_bytes(sample) for sample in samples]
        if not any(pieces):
            raise ValueError("The samples are empty content, can't finalize the dictionary.")
        check_positive(dict_size)
        try:
            return ZstdDict(self._finalize(zstd_dict.dict_content, pieces, dict_size, level))
        except ZstdError as exc:
            with_advice(exc, max(MIN_DICT_SIZE, len(zstd_dict)))
            raise

    def _finalize(self, content: bytes, pieces: list[bytes], dict_size: int, level: int) -> bytes:
        raise native_only("training of dictionaries")


def _name_methods(kind: type[Functions]) -> None:
    """Give the public methods of `kind` the docstrings of Functions, and the qualified names that TypeErrors show."""
    for name, method in vars(kind).items():
        if not name.startswith("_"):
            method.__qualname__ = name
            method.__doc__ = getattr(Functions, name).__doc__


_name_methods(Functions)
