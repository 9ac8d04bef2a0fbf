# SPDX-License-Identifier: Apache-2.0
"""
Choose what does the work: C where the native backend of Zstandard serves and nothing is asked for that needs Python.

`CPKG_ARCHIVE_BACKEND=native|pure`, or CPKG_BACKEND, names one; native is then an ImportError if it cannot load.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import Any

from cpkg import _backend
from cpkg.archive._inflate import Codec
from cpkg.archive._made import Create, MadeFrame
from cpkg.archive._plan import Plan, Planner
from cpkg.archive._pure import PureCodec
from cpkg.archive._pure_extract import PureExtract
from cpkg.archive._result import Problem, Problems
from cpkg.archive._settings import CreateSettings, ExtractSettings
from cpkg.archive._walk import Member, Walker
from purepy.tar.entry import Entry
from purepy.tar.members import Collector


class PureCreate(Create):
    """Walks and reads in Python, and compresses by `cpkg.zstd`."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._codec = PureCodec(self._settings.level)
        self.deflate = self._codec.deflate
        self._walker: Walker | None = None

    def plans(self, base: str, paths: list[str], own_file: tuple[int, int] | None) -> Generator[Plan, None, None]:
        """Yield the plans of all frames."""
        self._walker = Walker(self._settings, self._problems, own_file)
        with closing(self._walker.walk(base, paths)) as members:
            yield from Planner(self._settings.frame_size, self._problems).plans(self._told(members))

    def _told(self, members: Iterator[Member]) -> Iterator[Member]:
        for member in members:
            self.entries += 1
            if self._on_entry is not None:
                self._on_entry(member.entry)
            yield member

    def prepare(self, plan: Plan) -> tuple[bytes, list[Problem], Collector]:
        """Return what `carry_out` takes: the content, read already, since in Python threads would only take turns."""
        return plan.take(), plan.problems, plan.members

    def carry_out(self, prepared: tuple[bytes, list[Problem], Collector]) -> MadeFrame:
        """Make a frame of its content; called in threads."""
        content, problems, members = prepared
        frame = self._codec.deflate(content) if content else b""
        return MadeFrame(frame, len(content), problems, members.numbers(), members.is_continued)

    def give_back(self, frame: MadeFrame) -> None:
        """Do nothing: the frame is freed when nobody holds it."""

    def close(self) -> None:
        """Close the root of the walk."""
        if self._walker is not None:
            self._walker.close()


def _is_native() -> bool:
    """Say whether C does the work."""
    policy, source = _backend.policy("archive")
    if policy in ("pure", "dlopen"):
        return False
    if policy == "auto" and _backend.choose("zstd").module.BACKEND != "native":
        return False
    why = _why_no_c()
    if why is not None and policy == "native":
        raise ImportError(f"{source}=native: {why}") from why
    return why is None


def _why_no_c() -> ImportError | None:
    """Return why C cannot be had, None if it can."""
    try:
        importlib.import_module("cpkg._native.archive")
    except ImportError as exc:
        return exc
    return None


def for_create(settings: CreateSettings, problems: Problems, on_entry: Callable[[Entry], object] | None) -> Any:
    """Return the engine of `create`."""
    if _is_native():
        native = importlib.import_module("cpkg.archive._native_create")
        if native.can_do(settings):
            return native.NativeCreate(settings, problems, on_entry)
    return PureCreate(settings, problems, on_entry)


def for_reading(window_log_max: int) -> Codec:
    """Return what decompresses for Python: libzstd into memory that is used again, where C can be had."""
    if _backend.choose("zstd").module.BACKEND == "native" and _why_no_c() is None:
        codec: Codec = importlib.import_module("cpkg.archive._native_codec").NativeCodec(window_log_max)
        return codec
    return PureCodec(window_log_max=window_log_max)


def for_extract(
    settings: ExtractSettings,
    problems: Problems,
    directory: str,
    progress: Callable[[int, int], object] | None,
    window_log_max: int,
    threads: int,
) -> tuple[Any, Any]:
    """Return the engine of `extract`, and what decompresses for it."""
    if _is_native():
        native = importlib.import_module("cpkg.archive._native_extract")
        if native.can_do(settings):
            codec = native.NativeCodec(window_log_max)
            return native.NativeExtract(settings, problems, directory, progress, codec=codec, threads=threads), codec
    return PureExtract(settings, problems, directory, progress), for_reading(window_log_max)
