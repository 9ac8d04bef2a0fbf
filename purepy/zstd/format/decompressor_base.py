# SPDX-License-Identifier: Apache-2.0
"""Base of the decompressors of all backends: how they begin, and their attributes."""

from __future__ import annotations

from purepy.zstd.format.locks import ExclusiveStream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self


class DecompressorBase(ExclusiveStream):
    """Base of every backend's ZstdDecompressor; see there for the arguments."""

    __slots__ = ("_eof", "_goes_on", "_multi_frame", "_needs_input", "_settings")

    if TYPE_CHECKING:
        _eof: bool
        _needs_input: bool
        _settings: Any  # those of arguments, or a preset's

        def _checked(self, zstd_dict: Any, options: Any) -> Any:
            """Return the settings that arguments make; TypeError and ValueError for wrong ones."""

        def _start(self) -> None:
            """Set up all else, between frames."""

    def __init__(self, zstd_dict: Any = None, options: Any = None, *, multi_frame: bool = False) -> None:
        super().__init__()
        self._begin(self._checked(zstd_dict, options), bool(multi_frame))

    @classmethod
    def _over(cls, settings: Any, multi_frame: bool = False, frame_by_frame: bool = False) -> Self:
        """
        Return a stream over settings made before (see presets.py of each backend).

        With `frame_by_frame` no call of one with `multi_frame` goes beyond the end of a frame, of which `_at_start`
        tells.
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

    @property
    def eof(self) -> bool:
        """Whether the end of the frame was reached, and all of its content returned (see `multi_frame`)."""
        return self._eof

    @property
    def needs_input(self) -> bool:
        """Whether decompress() needs more data before it can return more."""
        return self._needs_input
