# SPDX-License-Identifier: Apache-2.0
"""The frames of an archive being written: memory for their content, reading into it, and compression."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from cpkg import zstd
from cpkg.archive._result import Problem
from purepy.base import system
from purepy.base.errors import raise_if_from_handler
from purepy.tar.entry import Entry
from purepy.tar.members import Collector

if TYPE_CHECKING:
    from cpkg._native.cffi_types import CBuffer


class Content:
    """The content of a frame, of `size` bytes."""

    __slots__ = ("_data", "size")

    def __init__(self) -> None:
        self._data = bytearray()
        self.size = 0

    def add(self, data: bytes) -> None:
        """Append bytes."""
        self._data += data
        self.size += len(data)

    def read(self, file: int, offset: int, size: int) -> tuple[int, OSError | None]:
        """
        Append `size` bytes at `offset` of the descriptor `file`; return how many are missing, and the error or None.

        The missing bytes, those after the end of the file or after an error, are replaced by zeros.
        """
        missing, error = size, None
        try:
            while missing:
                piece = system.pread(file, missing, offset)
                if not piece:
                    break
                self._data += piece
                offset += len(piece)
                missing -= len(piece)
        except OSError as exc:
            raise_if_from_handler(exc)
            error = exc
        self._data += bytes(missing)
        self.size += size
        return missing, error

    def take(self) -> bytearray:
        """Return the bytes and drop them from this object; `size` stays."""
        data, self._data = self._data, bytearray()
        return data


class Plan:
    """
    The content of one frame, the number of entries that begin in it, and the problems found while it was filled.

    `entries` lists these entries, but is empty if `on_entry` was not given. `members` collects a 16-bit hash of each of
    their names, for the archive's list of members (see `purepy.tar.members`).
    """

    __slots__ = ("content", "entries", "entry_count", "members", "problems")

    def __init__(self, content: Content) -> None:
        self.content = content
        self.problems: list[Problem] = []
        self.entry_count = 0
        self.entries: list[Entry] = []
        self.members = Collector()


class Frame(NamedTuple):
    """A compressed frame, the size of its content, and its plan."""

    data: bytes | CBuffer
    size: int
    plan: Plan


class Frames:
    """Compresses plans into frames with `cpkg.zstd.compress`; its subclass NativeFrames calls C instead."""

    reads_runs = False

    def __init__(self, level: int) -> None:
        self._options: dict[int, int] = {
            zstd.CompressionParameter.compression_level: level,
            zstd.CompressionParameter.checksum_flag: 1,
        }

    def close(self) -> None:
        """Do nothing: nothing stays open."""

    def content(self) -> Content:
        """Return an empty Content for a frame."""
        return Content()

    def give_back(self, content: Content) -> None:
        """Do nothing: Python frees the memory."""

    def learn(self, entry: Entry, status: os.stat_result) -> None:
        """Do nothing: only C has to know the modes and owners of files, to read several in one call."""

    def deflate(self, content: Content) -> bytes | CBuffer:
        """Compress the bytes of `content`, which are dropped; return a frame with content size and checksum."""
        return zstd.compress(content.take(), options=self._options)

    def compressed(self, plan: Plan) -> Frame:
        """
        Compress the content of a plan and return the Frame; several threads may call this at once.

        A plan without content, which only has problems, becomes a Frame without bytes.
        """
        size = plan.content.size
        return Frame(self.deflate(plan.content) if size else b"", size, plan)
