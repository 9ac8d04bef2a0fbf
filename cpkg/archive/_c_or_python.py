# SPDX-License-Identifier: Apache-2.0
"""
Choose what does the work: C where the native backend of Zstandard serves and nothing is asked for that needs Python.

`CPKG_ARCHIVE_BACKEND`, or CPKG_BACKEND, names one: native is C, and an ImportError if that cannot load; all others are
Python.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from cpkg import _backend
from cpkg.archive._codec import PureCodec
from cpkg.archive._frames import Frames
from cpkg.archive._inflate import Codec
from cpkg.archive._settings import CreateSettings

if TYPE_CHECKING:
    from cpkg.archive._write_run import RunFinder


def _is_native() -> bool:
    """Say whether C does the work."""
    policy, source = _backend.policy("archive")
    backend = _backend.zstd() if policy == "auto" else _backend.load("zstd", policy)
    if not backend.HAS_ARCHIVES:
        return False
    why = _why_no_c()
    if why is not None and policy != "auto":
        raise ImportError(f"{source}={policy}: {why}") from why
    return why is None


def _why_no_c() -> ImportError | None:
    """Return why C is not available, None if it is."""
    try:
        importlib.import_module("cpkg._native.archive")
    except ImportError as exc:
        return exc
    return None


def frames_for(settings: CreateSettings, own: list[tuple[int, int]], has_entries: bool) -> Frames:
    """Return what makes the frames of an archive; `own` are files that are left out."""
    if _is_native():
        native: Frames = importlib.import_module("cpkg.archive._native_frames").NativeFrames(settings, own, has_entries)
        return native
    return Frames(settings.level)


def for_reading(window_log_max: int) -> Codec:
    """Return the codec that decompresses: libzstd with reused memory, where C is available."""
    if _is_native():
        codec: Codec = importlib.import_module("cpkg.archive._native_codec").NativeCodec(window_log_max)
        return codec
    return PureCodec(window_log_max=window_log_max)


def run_finder() -> type[RunFinder] | None:
    """Return the class that finds files which C can write, None where C is not available."""
    if _is_native():
        finder: type[RunFinder] = importlib.import_module("cpkg.archive._write_run").RunFinder
        return finder
    return None
