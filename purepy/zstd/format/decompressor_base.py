# SPDX-License-Identifier: Apache-2.0
"""Base of the decompressors of all backends: how they begin, and their attributes."""

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
    Decompress a frame that comes in pieces (replaces `compression.zstd.ZstdDecompressor`).

    Args:
        zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.
        options (Mapping[int, int] | None): values of DecompressionParameter.
        multi_frame (bool): go on from each frame to the next, skippable ones included. `eof` is then True
            whenever the input so far ends where a frame does, more may follow, and `unused_data` stays
            empty. A prefix (`ZstdDict.as_prefix`) goes before each frame. An error in a later frame is
            raised by the next call, after one that returned what the frames in front of it hold.

    Raises TypeError and ValueError for wrong arguments.

    An error resets the object; it can be used for another frame. Calls from several threads wait for each other.
    """

    __slots__ = ("_eof", "_goes_on", "_multi_frame", "_needs_input", "_settings")

    if TYPE_CHECKING:
        _eof: bool
        _needs_input: bool
        _settings: Any  # those of arguments, or a preset's

        def _checked(self, zstd_dict: DictArgument, options: Parameters) -> object:
            """Return the settings that arguments make; TypeError and ValueError for wrong ones."""

        def _start(self) -> None:
            """Set up all else, between frames."""

        @staticmethod
        def _readable(data: Buffer) -> Any:
            """Return the bytes of a buffer as the backend reads them."""

        def _decompress(self, data: Any, limit: int) -> Any:
            """Return the content, in turn."""

    def __init__(
        self, zstd_dict: DictArgument = None, options: Parameters = None, *, multi_frame: bool = False
    ) -> None:
        super().__init__()
        self._begin(self._checked(zstd_dict, options), bool(multi_frame))

    @classmethod
    def _over(cls, settings: Any, multi_frame: bool = False, frame_by_frame: bool = False) -> Self:
        """
        Return a stream over settings made before (see presets.py of each backend).

        With `multi_frame` and `frame_by_frame` no call goes beyond the end of a frame; `_at_start` is true there.
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
        Return the content that `data` and earlier input decode to, `max_length` bytes at most unless it is negative.

        What could not be decoded or returned yet is kept for the next call, which may be given b""; `needs_input` is
        False if there is more to return. Raises EOFError after the end of the frame and ZstdError for data that is not
        Zstandard, is corrupted, or needs another dictionary or a larger window than allowed.
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
        """Whether the end of the frame was reached, and all of its content returned (see `multi_frame`)."""
        return self._eof

    @property
    def needs_input(self) -> bool:
        """Whether decompress() needs more data before it can return more."""
        return self._needs_input
