# SPDX-License-Identifier: Apache-2.0
"""
Open a path, a file object, a descriptor or a URL, for reading or writing from start to end.

- A str with `scheme://` is a URL (`cpkg/_urls.py`), which fsspec opens, unless a file of that name exists.
- An int is a descriptor. Descriptors and file objects belong to the caller and stay open.
- Record files are read and written at positions, so `cpkg/records/sources.py` opens them.
- A file named by a path, and an object named by a URL, appear complete or not at all (`purepy/base/new_files.py`,
  `Upload`).
- A non-blocking file that has no data now, or accepts no data now, raises BlockingIOError (`purepy/base/reading.py`,
  `purepy/base/writing.py`).
"""

from __future__ import annotations

import contextlib
import io
import os

from cpkg._urls import Upload, filesystem, is_url
from purepy.base.new_files import replacing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import TypeAlias

    from purepy.base.types import File, Name

Place: TypeAlias = "Name | int | File"
"""A path, a URL, a descriptor, or a binary file object."""


def is_file(place: object, method: str) -> bool:
    """
    Return True for a binary file object that has `method`, and False for a path, a URL or a descriptor.

    Raises TypeError for a text file, and for any other object without `method`.
    """
    if isinstance(place, (str, bytes, int, os.PathLike)) and not isinstance(place, bool):
        return False
    if isinstance(place, io.TextIOBase):
        raise TypeError(f"expected a binary file: open it in mode '{method[0]}b'")
    if not hasattr(place, method):
        raise TypeError(
            f"expected a path, a URL, a descriptor or a binary file with {method}(), not {type(place).__name__!r}"
        )
    return True


def reading(place: Place, *, seeks: bool = False) -> File:
    """
    Open a binary file for reading, and return a context manager for it.

    When the block ends, it closes a file that was opened by a path or URL; descriptors and the caller's file objects
    stay open. Paths and descriptors are opened without a buffer. By default, an http(s) URL is read in one response,
    and the file cannot seek. With `seeks`, the file can seek, because it requests ranges of the URL; if the server does
    not support ranges, only the beginning of the file can be read.

    Raises OSError as `open` does, ImportError for a URL without fsspec, and TypeError for an object that is not a
    place.
    """
    if is_file(place, "read"):
        return contextlib.nullcontext(place)
    if not is_url(place):
        return open(place, "rb", buffering=0, closefd=not isinstance(place, int))
    fs, path = filesystem(place)
    is_stream = not seeks and place.startswith(("http://", "https://"))
    return fs.open(path, "rb", **({"block_size": 0} if is_stream else {}))


@contextlib.contextmanager
def writing(place: Place, *, overwrite: bool = True) -> Iterator[File]:
    """
    Return a context manager for a binary file for writing from start to end.

    A file named by a path or URL appears, or replaces an existing file, when the block ends without an exception; see
    `replacing` and `Upload`. If such a file exists and `overwrite` is false, raises FileExistsError.
    Descriptors and file objects stay open.
    """
    if is_file(place, "write"):
        yield place
    elif isinstance(place, int):
        with open(place, "wb", buffering=0, closefd=False) as file:
            yield file
    elif is_url(place):
        upload = Upload(place, overwrite=overwrite)
        try:
            yield upload
        except BaseException:
            upload.discard()
            raise
        upload.close()
    else:
        with replacing(place, overwrite=overwrite) as file:
            yield file
