# SPDX-License-Identifier: Apache-2.0
"""The arguments of `records.open`, checked before any file is opened or cut, and how many threads work."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Final

from cpkg import _backend, zstd
from cpkg.records import format as fmt
from cpkg.records.packing import FRAME_SIZE, LEVEL, FrameCompressor, check_packing
from purepy.base import cores

if TYPE_CHECKING:
    from purepy.base.types import Keywords

_FSYNC: Final = ("never", "close", "flush")
_FRAME_SIZE_MAX: Final = fmt.CONTENT_MAX // 2
_MOST: Final = 4
"""More threads than this find no work by default: packing and unpacking take turns."""
AHEAD: Final = 2
"""So many results wait for each thread, so that memory stays bounded."""


def has_threads_of_c() -> bool:
    """Return whether the backend of Zstandard has threads that compress and decompress without Python."""
    return _backend.zstd().compressing_queue is not None


def thread_count(threads: int | None, *, alone: bool = False, most: int = _MOST) -> int:
    """
    Return how many threads are to work where the caller asks for `threads`: 0 is one per core, 1 the caller alone.

    None is one per core and at `most` so many. None is the caller alone where Zstandard is the pure backend, whose
    threads would take turns, and where the caller is faster `alone`. Raises TypeError and ValueError for others.
    """
    if threads is not None:
        return cores.thread_count(threads)
    if alone or not _backend.zstd().RELEASES_GIL:
        return 1
    return min(cores.usable_cores(), most)


class WriterSettings:
    """
    The arguments of `records.open` for writing; `options` are those of `Packer`.

    Raises ValueError and TypeError for wrong ones.
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
        frame_size = operator.index(frame_size)
        if not 1 <= frame_size <= _FRAME_SIZE_MAX:
            raise ValueError(f"frame_size must be 1 to {_FRAME_SIZE_MAX} bytes, not {frame_size}")
        if fsync not in _FSYNC:
            raise ValueError(f"fsync must be one of {', '.join(_FSYNC)}, not {fsync!r}")
        check_packing(options)
        self.threads = thread_count(threads)
        self.level = level
        self.frame_size = frame_size
        self.fsync = fsync
        self.options: Keywords = options
        if dictionary is not None and not isinstance(dictionary, zstd.ZstdDict):
            raise TypeError(f"dictionary must be a ZstdDict or None, not {type(dictionary).__name__}")
        if dictionary is not None and not dictionary.dict_id:
            raise ValueError("a dictionary of a record file needs tables and an id: make it with train_dict")
        self.dictionary = dictionary
        FrameCompressor(level, dictionary).encode(b"")  # a level that does not exist is found here

    def take_dictionary(self, found: zstd.ZstdDict, name: str) -> None:
        """Use the dictionary that the file `name` has; ValueError if another one was given."""
        if self.dictionary is not None and self.dictionary.dict_content != found.dict_content:
            raise ValueError(f"{name}: has a dictionary of its own, and can have no other")
        self.dictionary = found
