# SPDX-License-Identifier: Apache-2.0
"""The model of a compressed frame of an archive that is written."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

from cpkg.archive._result import Problem
from purepy.tar.entry import Entry

if TYPE_CHECKING:
    from cpkg._native.cffi_types import CBuffer, CData


class CompressedFrame(NamedTuple):
    """
    A frame, the size of its content, how many entries begin in it, and what went wrong with others.

    `members` are the numbers of its names (purepy/tar/members.py), `is_continued` says that it begins within an entry,
    `entries` are there if they were asked for, and `memory` is what C may use again behind this frame.
    """

    data: bytes | CBuffer
    size: int
    entry_count: int
    problems: list[Problem]
    members: array[int]
    is_continued: bool
    entries: list[Entry]
    memory: CData | None = None
