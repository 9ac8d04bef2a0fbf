# SPDX-License-Identifier: Apache-2.0
"""Make the frames of an archive in Python: for every option, and where there is no C."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing

from cpkg.archive._frame import CompressedFrame
from cpkg.archive._settings import CreateSettings
from cpkg.archive.in_python.codec import PureCodec
from cpkg.archive.in_python.frame_plan import Plan, Planner
from cpkg.archive.in_python.walk import Walker


class FramesInPython:
    """Walks and reads in the calling thread, since threads of Python would take turns; compresses by `cpkg.zstd`."""

    def __init__(self, settings: CreateSettings, has_entries: bool) -> None:
        self._settings = settings
        self._has_entries = has_entries
        self._codec = PureCodec(settings.level)
        self.deflate = self._codec.deflate

    def plans(self, base: str, paths: list[str], own: list[tuple[int, int]]) -> Generator[Plan, None, None]:
        """Yield the plans of all frames, whose content was read."""
        with closing(Walker(self._settings, own)) as walker:
            yield from Planner(self._settings.frame_size, walker, self._has_entries).plans(walker.walk(base, paths))

    def make(self, plan: Plan) -> CompressedFrame:
        """Make the frame of a plan; called in threads."""
        content = plan.pieces[0] if len(plan.pieces) == 1 else b"".join(plan.pieces)
        plan.pieces.clear()
        return CompressedFrame(
            self._codec.deflate(content) if content else b"",
            len(content),
            plan.entry_count,
            plan.problems,
            plan.members.numbers(),
            plan.members.is_continued,
            plan.entries,
        )

    def give_back(self, frame: CompressedFrame) -> None:
        """Do nothing: the frame is freed when nobody holds it."""

    def close(self) -> None:
        """Do nothing: the walk ends with its plans."""
