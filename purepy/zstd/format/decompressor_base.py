# SPDX-License-Identifier: Apache-2.0
"""
Base of the decompressors of all backends: their initialization and attributes.

Only the type of the native backend on CPython is written in C, without this base:
ffi_build/zstd/streams/decompressor.c.
"""

from __future__ import annotations

from operator import index

from purepy.zstd.format.locks import ExclusiveStream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Buffer, Self

    from purepy.base.types import Parameters
    from purepy.zstd.format.zdict import DictArgument

FRAME_IS_OVER = "Already at the end of a Zstandard frame."


class DecompressorBase(ExclusiveStream):
    """
    Decompress a frame that arrives in pieces (replaces `compression.zstd.ZstdDecompressor`).

    Args:
        zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.
        options (dict[int, int] | None): values of DecompressionParameter.
        multi_frame (bool): continue with the next frame after each frame, including skippable frames. `eof` is
            then True whenever the input so far ends with a frame; more input may follow, and `unused_data` stays
            empty. A prefix (`ZstdDict.as_prefix`) applies to every frame. For an error in a later frame, one call
            returns the content of the frames before it, and the next call raises the error.

    Raises TypeError and ValueError for wrong arguments, and ZstdError for a corrupted dictionary.

    An error in the data resets the object, which can then be used for another frame. Calls from several threads wait
    for each other.
    """

    __slots__ = ("_eof", "_goes_on", "_multi_frame", "_needs_input", "_settings")

    if TYPE_CHECKING:
        _eof: bool
        _needs_input: bool
        _settings: Any  # from the arguments, or from a preset

        def _checked(self, zstd_dict: DictArgument, options: Parameters) -> object:
            """Return the settings for the arguments; raises TypeError and ValueError for wrong arguments."""

        def _start(self) -> None:
            """Set the backend's own attributes to their initial state: no frame has begun."""

        @staticmethod
        def _readable(data: Buffer) -> Any:
            """Return the bytes of a buffer in the form that the backend reads."""

        def _decompress(self, data: Any, limit: int) -> Any:
            """Return the next content, at most `limit` bytes unless `limit` is negative; called with the lock held."""

    def __init__(
        self, zstd_dict: DictArgument = None, options: Parameters = None, *, multi_frame: bool = False
    ) -> None:
        super().__init__()
        self._begin(self._checked(zstd_dict, options), bool(multi_frame))

    @classmethod
    def _over(cls, settings: Any, multi_frame: bool = False, frame_by_frame: bool = False) -> Self:
        """
        Return a new decompressor with `settings` that were checked before (see the two files presets.py).

        With both `multi_frame` and `frame_by_frame`, a call stops at the end of a frame, where `_at_start` is true.
        """
        stream = cls.__new__(cls)
        ExclusiveStream.__init__(stream)
        stream._begin(settings, multi_frame, frame_by_frame)
        return stream

    def _begin(self, settings: Any, multi_frame: bool, frame_by_frame: bool = False) -> None:
        self._settings = settings
        self._multi_frame = multi_frame
        self._goes_on = multi_frame and not frame_by_frame
        self._start()

    def decompress(self, data: Buffer, max_length: int = -1) -> bytes:
        """
        Return content of the remaining input and `data`, at most `max_length` bytes unless that is negative.

        Input and content that remain are kept for the next call, which may pass b"". `needs_input` is False if more
        content is available. Raises EOFError after the end of the frame, unless `multi_frame` is set. Raises ZstdError
        for data that is not Zstandard, is corrupted, or needs another dictionary or a larger window than allowed.
        """
        limit = index(max_length)
        source = self._readable(data)
        with self._turn():
            if self._eof and not self._multi_frame:
                raise EOFError(FRAME_IS_OVER)
            content: bytes = self._decompress(source, limit)
            return content

    @property
    def eof(self) -> bool:
        """Whether the end of the frame was reached and all of its content returned (see `multi_frame`)."""
        return self._eof

    @property
    def needs_input(self) -> bool:
        """Whether decompress() needs more data before it can return more."""
        return self._needs_input
