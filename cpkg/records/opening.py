# SPDX-License-Identifier: Apache-2.0
"""Opening record files: what is there already, and where it is read from or written to."""

from __future__ import annotations

from typing import Any

from cpkg import zstd
from cpkg.records.codec import read_dictionary
from cpkg.records.layout import Layout
from cpkg.records.loading import load
from cpkg.records.reader import Reader
from cpkg.records.settings import WriterSettings
from cpkg.records.sources import PathSource, Place, filesystem, is_url, open_source
from cpkg.records.targets import FileTarget, PathTarget, Target
from cpkg.records.writer import Writer


def open_reader(place: Place, *, threads: int | None, errors: str, options: dict[str, Any]) -> Reader:
    """Open a record file for reading: `records.open` with "rb"."""
    source = open_source(place)
    try:
        return Reader(source, threads=threads, errors=errors, options=options)
    except BaseException:
        source.close()
        raise


def open_writer(place: Any, mode: str, settings: WriterSettings) -> Writer:
    """Open a record file for writing: `records.open` with "wb", "xb" or "ab"."""
    target, layout, found = _open_target(place, mode)
    try:
        if found is not None:
            settings.take_dictionary(found, target.name)
        return Writer(target, layout, settings)
    except BaseException:
        target.close()
        raise


def _open_target(place: Any, mode: str) -> tuple[Target, Layout, zstd.ZstdDict | None]:
    """Return where to write, what is there already, and its dictionary."""
    if hasattr(place, "write"):
        if mode == "ab":
            raise ValueError("to append, give the path of a local file")
        return FileTarget(place), Layout(), None
    if is_url(place):
        if mode != "wb":
            raise ValueError(f"{place}: a URL can be written whole (mode 'wb'), and not appended to")
        fs, path = filesystem(place)
        return FileTarget(fs.open(path, "wb"), owned=True), Layout(), None
    target = PathTarget(place, mode)
    if mode != "ab":
        return target, Layout(), None
    try:
        source = PathSource(place)
        try:
            layout = load(source)
            return target, layout, read_dictionary(source, layout.dictionary)
        finally:
            source.close()
    except BaseException:
        target.close()
        raise
