# SPDX-License-Identifier: Apache-2.0
"""Recognize URLs, open them with fsspec, and write objects that appear only when they are complete."""

from __future__ import annotations

import errno
import os
import re

from purepy.base.errors import Suppressed
from purepy.base.writing import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from fsspec import AbstractFileSystem
    from typing_extensions import TypeGuard

    from purepy.base.types import Bytes, File

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_url(place: object) -> TypeGuard[str]:
    """Return whether a place is a URL or a chain with a URL (`simplecache::s3://...`), and not an existing file."""
    if not isinstance(place, str) or "://" not in place:
        return False
    return any(map(_URL.match, place.split("::"))) and not os.path.exists(place)


def filesystem(url: str) -> tuple[AbstractFileSystem, str]:
    """
    Return fsspec's file system for a URL, and the path in it.

    Raises ImportError if fsspec or a package that it needs is missing, and OSError for a scheme that fsspec does not
    support.
    """
    try:
        import fsspec  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise ImportError(f"{url}: install fsspec to open URLs (pip install fsspec)") from None
    try:
        fs, path = fsspec.core.url_to_fs(url)
    except ValueError as exc:
        raise OSError(errno.EPROTONOSUPPORT, str(exc), url) from None
    return fs, path


class Upload:
    """
    An object at a URL that is written from start to end, and exists once `close` has returned.

    After an error in `write`, `flush` or `close`, it is unknown what the server has received. So the upload is broken,
    and each further call except `discard` raises OSError. `discard` keeps the object from appearing, as far as the file
    system allows.
    """

    _file: File = None
    _is_broken = False

    def __init__(self, url: str, *, overwrite: bool = True) -> None:
        self.name = url
        fs, path = filesystem(url)
        if not overwrite and fs.exists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), url)
        folder = path.rpartition("/")[0]
        with Suppressed(OSError, NotImplementedError):  # if this failed, opening the object raises an error
            if folder:
                fs.makedirs(folder, exist_ok=True)
        try:
            self._file = fs.open(path, "wb")
        except NotImplementedError:
            raise OSError(errno.EROFS, "its file system is read-only", url) from None

    def write(self, data: Bytes) -> int:
        """Write all of `data`; return its size in bytes."""
        self._begin()
        write_all(self._file, data)
        self._is_broken = False
        return len(data)

    def flush(self) -> None:
        """Send the data that the file system accepts before the end."""
        self._begin()
        self._file.flush()
        self._is_broken = False

    def _begin(self) -> None:
        if self._is_broken:
            raise OSError(
                errno.EIO,
                "an earlier write to this upload failed, so the file is incomplete: write it again from the start",
                self.name,
            )
        if self._file is None:
            raise ValueError("I/O operation on a closed file")
        self._is_broken = True  # until this call has succeeded

    def close(self) -> None:
        """Complete the object: it then exists. Does nothing after close or discard; raises OSError if broken."""
        if self._file is None and not self._is_broken:
            return
        if self._is_broken:
            self._drop()
        self._begin()
        self._file.close()
        self._file = None
        self._is_broken = False

    def discard(self) -> None:
        """Give up writing: the object does not appear, or keeps its old content. Errors are suppressed."""
        self._drop()
        self._is_broken = False

    def _drop(self) -> None:
        file, self._file = self._file, None
        # errors here are suppressed, because the caller must see the original error
        with Suppressed(Exception):
            file.discard()
        with Suppressed(Exception):
            file.closed = True  # otherwise its finalizer would complete the object
        with Suppressed(Exception):
            file.close()

    def __del__(self) -> None:
        if self._file is not None:
            self._drop()
