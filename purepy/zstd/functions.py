# SPDX-License-Identifier: Apache-2.0
"""The functions of `compression.zstd`: what they take and check on every backend, and how the pure codec does them."""

from __future__ import annotations

from purepy.base.buffers import as_bytes, memory_of
from purepy.base.lazy import Later
from purepy.zstd.format.backend_methods import BackendMethods
from purepy.zstd.format.error_codes import native_only
from purepy.zstd.format.parameters import size_argument
from purepy.zstd.format.rules import FLUSH_FRAME
from purepy.zstd.format.zdict import ZstdDict, check_positive

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
    The functions of one backend.

    Those with an underscore do the work, behind the checks that are the same for all. Here that is done by the stream
    types of the module, which are those of the pure codec or derived from them; other backends override it.
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
        Compress a buffer and return the frame (replaces `compression.zstd.compress`).

        The frame's header has the content's size.

        Args:
            data (Buffer): the content.
            level (int | None): -131072 to 22; None and 0 stand for 3.
            options (Mapping[int, int] | None): values of CompressionParameter, in place of `level`.
            zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.
            threads (int | None): how many threads compress at a time, 0 for one per core; it then makes frames
                of `frame_size`. None for one frame.
            frame_size (int | None): bytes of content in each frame; None for 16 to 64 MiB, by the level.

        Raises TypeError and ValueError for wrong arguments, ZstdError for a corrupted dictionary and if libzstd fails.
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
        """Return pieces as one, put together by several threads where that is of use."""
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
            buffer (Buffer): where the frame goes; behind it nothing changes. From 128 KiB of content on,
                len(data) + len(data) // 255 + 64 bytes are always enough.
            level (int | None): -131072 to 22; None and 0 stand for 3.
            options (Mapping[int, int] | None): values of CompressionParameter, in place of `level`.
            zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.

        Raises TypeError and ValueError for wrong arguments, ZstdError, with nothing written, if the frame does not fit.
        """
        with memory_of(buffer) as view, view.cast("B") as target:
            if target.readonly:
                raise TypeError("compress_into() needs a writable buffer")
            frame = self._compress(data, level, options, zstd_dict)
            if len(frame) > len(target):
                raise _compressor.too_small_error(len(frame), len(target))
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
        Return the content of all frames of a buffer, one after the other (replaces `compression.zstd.decompress`).

        Args:
            data (Buffer): frames, one after the other; skippable ones give nothing.
            zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.
            options (Mapping[int, int] | None): values of DecompressionParameter.
            max_output_size (int | None): the most bytes of content, whatever the frames declare; ZstdLimitError
                beyond.
            size_hint (int | None): how many bytes to expect where the frames do not say; it changes the speed
                alone.
            threads (int | None): how many frames to decompress at a time, 0 for one per core; None for one.
            padding (bool): whether zero bytes may follow the frames; they add nothing to the content.

        Raises TypeError and ValueError for wrong arguments, ZstdError for data that is cut, corrupted, followed by
        anything but a frame, or needs another dictionary or a larger window than allowed.
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
            divided = None if plan is None else divide(data, settings.window_max, limit)
            content = None if plan is None or divided is None else self._decompress_parts(plan, divided, settings)
            if content is None:  # as without `threads`, which the backend may have a faster way for
                content = self._backend.decompress(
                    data, zstd_dict, options, max_output_size=max_output_size, size_hint=size_hint
                )
            return content
        return self._decompress(data, settings, limit, hint)

    def _settings(self, zstd_dict: DictArgument, options: Parameters) -> Any:
        """Return the checked arguments."""
        return self._backend.ZstdDecompressor._settings_type(zstd_dict, options)

    def _decompress(self, data: Buffer, settings: Any, limit: int | None, hint: int) -> bytes:
        decoder = self._backend.ZstdDecompressor._frame_decoder
        pieces = _decompressor.decode_all(data, settings, limit, "max_output_size", decoder)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _decompress_parts(self, plan: DecompressionPlan, divided: Divided, settings: Any) -> bytes | None:
        """Decompress by several threads; return None where that is for the caller's alone, as all errors are."""
        from purepy.zstd.threads.decompress_buffer import decompress_parts

        return decompress_parts(plan, divided)

    def decompress_into(
        self, data: Buffer, buffer: Buffer, zstd_dict: DictArgument = None, options: Parameters = None
    ) -> int:
        """
        Decompress all frames of a buffer to the start of a writable buffer; return the content's size in bytes.

        Args:
            data (Buffer): frames, one after the other; skippable ones give nothing.
            buffer (Buffer): where the content goes; behind it nothing changes.
            zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.
            options (Mapping[int, int] | None): values of DecompressionParameter.

        Raises ZstdError as `decompress` does, and ZstdLimitError if the content does not fit; what the buffer holds
        then is undefined.
        """
        settings = self._settings(zstd_dict, options)
        return _decompressor.fill(buffer, data, settings, self._backend.ZstdDecompressor._frame_decoder)

    # frames and parameters

    def get_frame_info(self, frame_buffer: Buffer) -> FrameInfo:
        """
        Return what the header of the frame at the start of `frame_buffer` says (replaces
        `compression.zstd.get_frame_info`).

        A skippable frame has a size and a dictionary id of 0. Raises ZstdError for what begins no frame, and for a
        header that is cut.
        """
        return _frame.frame_info(as_bytes(frame_buffer))

    def get_frame_size(self, frame_buffer: Buffer) -> int:
        """
        Return the size in bytes of the frame at the start of `frame_buffer`, header and checksum included.

        Nothing is decoded; what follows the frame does not matter. Raises ZstdError if the frame is not complete.
        Replaces `compression.zstd.get_frame_size`.
        """
        return _frame.frame_size(as_bytes(frame_buffer))

    def parameter_bounds(self, key: int, is_compress: bool) -> tuple[int, int]:
        """Return the bounds of a parameter in this backend; ValueError if it does not know it."""
        return _options.parameter_bounds(key, is_compress)

    # dictionaries

    def train_dict(self, samples: Iterable[Buffer], dict_size: int) -> ZstdDict:
        """
        Train a dictionary on samples (replaces `compression.zstd.train_dict`).

        Args:
            samples (Iterable[Buffer]): what the content will look like, 7 at least.
            dict_size (int): the most bytes of the dictionary, 256 at least.

        Raises TypeError and ValueError for wrong arguments and samples without data, ZstdError for too little to learn
        from, and on the backend pure, which does not train.
        """
        if not isinstance(dict_size, int):
            raise TypeError(f"dict_size must be an int object, not {type(dict_size).__qualname__!r}.")
        pieces = [as_bytes(sample) for sample in samples]
        if not any(pieces):
            raise ValueError("samples contained no data; can't train dictionary.")
        check_positive(dict_size)
        return ZstdDict(self._train(pieces, dict_size))

    def _train(self, pieces: list[bytes], dict_size: int) -> bytes:
        raise native_only("training of dictionaries")

    def finalize_dict(self, zstd_dict: ZstdDict, /, samples: Iterable[Buffer], dict_size: int, level: int) -> ZstdDict:
        """
        Return a dictionary of the given content, with tables for samples (replaces `compression.zstd.finalize_dict`).

        Args:
            zstd_dict (ZstdDict): the content, which is cut at its start if it does not fit.
            samples (Iterable[Buffer]): what the content will look like.
            dict_size (int): the most bytes of the dictionary, 256 at least.
            level (int): the level that it is meant for.

        Raises TypeError and ValueError for wrong arguments, ZstdError if no dictionary can be built from them, and on
        the backend pure, which does not train.
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
        return ZstdDict(self._finalize(zstd_dict.dict_content, pieces, dict_size, level))

    def _finalize(self, content: bytes, pieces: list[bytes], dict_size: int, level: int) -> bytes:
        raise native_only("training of dictionaries")


def _name_methods(kind: type[Functions]) -> None:
    """Let methods look as the functions of a module that they are to callers: named so in TypeErrors, documented."""
    for name, method in vars(kind).items():
        if not name.startswith("_"):
            method.__qualname__ = name
            method.__doc__ = getattr(Functions, name).__doc__


_name_methods(Functions)
