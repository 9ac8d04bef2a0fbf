# SPDX-License-Identifier: Apache-2.0
"""Open record files for reading and writing."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from cpkg._places import Place
from cpkg.records.decoding import read_dictionary
from cpkg.records.layout import Layout, new_token
from cpkg.records.loading import load
from cpkg.records.reader import Reader, reader_of
from cpkg.records.settings import WriterSettings
from cpkg.records.sources import open_source, open_target
from cpkg.records.writer import Writer

if TYPE_CHECKING:
    from cpkg.records.shards import Shards

SUFFIX: Final = ".rec"
"""The suffix of record files in a folder."""


def open_reader(
    place: Place | Sequence[Place], *, threads: int | None, errors: str, options: dict[str, object]
) -> Reader | Shards:
    """Return a Reader of a record file, or Shards for a list, tuple or folder: `records.open` with mode "rb"."""
    if isinstance(place, (list, tuple)):
        from cpkg.records.shards import Shards

        return Shards(place, threads=threads, errors=errors, options=options)
    try:
        return reader_of(place, threads, errors, options)
    except (IsADirectoryError, PermissionError):  # PermissionError on Windows
        if not isinstance(place, (str, bytes, os.PathLike)) or not os.path.isdir(place):
            raise
        from cpkg.records.shards import Shards

        folder = os.fsdecode(place)
        found = files_in(folder)
        if not found:
            raise FileNotFoundError(errno.ENOENT, f"no record files (*{SUFFIX}) in the folder", folder) from None
        return Shards(found, threads=threads, errors=errors, options=options)


def files_in(folder: str) -> list[str]:
    """Return the paths of the record files in a local folder, sorted by name."""
    return [os.path.join(folder, entry) for entry in sorted(os.listdir(folder)) if entry.endswith(SUFFIX)]


def open_writer(place: Place, mode: str, settings: WriterSettings) -> Writer:
    """Return a Writer of a record file: `records.open` with mode "wb", "xb" or "ab"."""
    target = open_target(place, mode)
    try:
        if mode != "ab":
            return Writer(target, Layout(new_token()), settings)
        source = open_source(place)
        try:
            layout = load(source)
            layout.check_torn(source.name)
            if not layout.end:
                layout.token = new_token()
            found = read_dictionary(source, layout.dictionary_at)
        finally:
            source.close()
        if found is not None:
            settings.take_dictionary(found, target.name)
        return Writer(target, layout, settings)
    except BaseException:
        target.close()
        raise
