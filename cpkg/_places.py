# SPDX-License-Identifier: Apache-2.0
"""
Open what the caller names, from front to back: a path, a file object, a descriptor, or a URL.

- A str with `scheme://` is a URL (`cpkg/_urls.py`), which fsspec opens, unless it names an existing file.
- An int is a descriptor. It and a file object belong to the caller and stay open.
- Record files are read and written at positions: `cpkg/records/sources.py` opens those.
- A file named by a path, and an object named by a URL, appears whole or not at all (`purepy/base/new_files.py`,
  `Upload`).
- A file that does not block and has no data now, or takes none, raises BlockingIOError (`purepy/base/reading.py`,
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
    """Return whether a place is a file object with this method; TypeError if it is open for text, or no place."""
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
    Return a binary file to read from its position, as a context manager that closes it if it was opened here.

    A path and a descriptor give a file without a buffer. An http(s) URL gives one long answer, which cannot seek,
    unless `seeks`: of a server that knows no ranges only the begin can be read then.

    Raises OSError as `open` does, ImportError without fsspec, and TypeError for an object that is not a place.
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
    Open a binary file to write from front to back.

    What a path or URL names appears when the block ends, and not at all if it raises; see `replacing` and `Upload`.
    Raises FileExistsError if it exists and `overwrite` is false.
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
