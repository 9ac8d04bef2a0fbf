# SPDX-License-Identifier: Apache-2.0
"""Check the arguments for writing before the file is opened, and choose the number of threads for any call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cpkg import _backend, zstd
from cpkg.records import format as fmt
from cpkg.records.packing import FRAME_SIZE, LEVEL, FrameCompressor, packing_options
from purepy.base import cores

if TYPE_CHECKING:
    from purepy.base.types import Keywords

_FSYNC: Final = ("never", "close", "flush")
_FRAME_SIZE_MAX: Final = fmt.CONTENT_MAX // 2
_MOST: Final = 4
"""The default maximum number of threads; more find no work, because packing and unpacking take turns."""
AHEAD: Final = 2
"""The maximum number of calls per thread that run, or whose results wait for the caller; this limits memory."""


def has_threads_of_c() -> bool:
    """Return whether the zstd backend has C threads that compress and decompress without Python."""
    return _backend.zstd().compressing_queue is not None


def thread_count(threads: int | None, *, alone: bool = False, most: int = _MOST) -> int:
    """
    Return the number of threads for an argument `threads`: 0 is one per usable core, 1 only the calling thread.

    None is one per core, but at most `most`. None is only the calling thread if `alone` is set, or if the zstd backend
    does not release the GIL (pure), so that threads would take turns. Raises TypeError and ValueError for invalid
    values.
    """
    if threads is not None:
        return cores.thread_count(threads)
    if alone or not _backend.zstd().RELEASES_GIL:
        return 1
    return min(cores.usable_cores(), most)


class WriterSettings:
    """
    The checked arguments of `records.open` for writing; `options` are the options of `Packer`.

    Raises ValueError and TypeError for wrong arguments.
    """

    def __init__(
        self,
        *,
        threads: int | None,
        level: int = LEVEL,
        frame_size: int = FRAME_SIZE,
        fsync: str = "never",
        dictionary: zstd.ZstdDict | None = None,
        **options: object,
    ) -> None:
        frame_size = cores.checked_int("frame_size", frame_size)
        if not 1 <= frame_size <= _FRAME_SIZE_MAX:
            raise ValueError(f"frame_size must be 1 to {_FRAME_SIZE_MAX} bytes, not {frame_size}")
        if fsync not in _FSYNC:
            raise ValueError(f"fsync must be one of {', '.join(_FSYNC)}, not {fsync!r}")
        self.threads = thread_count(threads)
        self.level = cores.checked_int("level", level)
        self.frame_size = frame_size
        self.fsync = fsync
        self.options: Keywords = packing_options(options)
        if dictionary is not None and not isinstance(dictionary, zstd.ZstdDict):
            raise TypeError(f"dictionary must be a ZstdDict or None, not {type(dictionary).__name__}")
        if dictionary is not None and not dictionary.dict_id:
            raise ValueError("a record file needs a trained dictionary with an id: create it with train_dict")
        self.dictionary = dictionary
        FrameCompressor(level, dictionary).encode(b"")  # raises for an invalid level

    def take_dictionary(self, found: zstd.ZstdDict, name: str) -> None:
        """Use `found`, the dictionary of the file `name`; raises ValueError if another one was given."""
        if self.dictionary is not None and self.dictionary.dict_content != found.dict_content:
            raise ValueError(
                f"{name}: the file already has another dictionary, which cannot be replaced: leave out dictionary= "
                "to use the dictionary of the file, or write a new file"
            )
        self.dictionary = found
