# SPDX-License-Identifier: Apache-2.0
"""
Opening what the caller names: a path, a file object, a descriptor, or a URL. Everything of cpkg opens files here.

- A str with `scheme://` is a URL (`cpkg/_urls.py`), which fsspec opens, unless it names an existing file.
- An int is a descriptor. It and a file object belong to the caller and stay open.
- `reading` and `writing` open from front to back. `open_source` and `open_target` open at any position, for record
  files: a local file is locked against other writers.
- A file named by a path, and an object named by a URL, appears whole or not at all (`cpkg/_new_files.py`, `Upload`).
- A file that does not block and has no data now, or takes none, raises BlockingIOError (`purepy/_reading.py`,
  `purepy/_writing.py`).
"""

from __future__ import annotations

import contextlib
import io
import os

from cpkg._new_files import replacing
from cpkg._urls import Upload, filesystem, is_url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import TypeAlias

    from cpkg._positions import Source, Target
    from purepy._types import File, Name

Place: TypeAlias = "Name | int | File"
"""A path, a URL, a descriptor, or a binary file object."""


def _is_file(place: object, method: str) -> bool:
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
    if _is_file(place, "read"):
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
    if _is_file(place, "write"):
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


def open_source(place: Place) -> Source:
    """
    Open a place to read at any position.

    Raises OSError as `open` does, io.UnsupportedOperation for what cannot seek, ImportError without fsspec, and
    TypeError for an object that is not a place.
    """
    from cpkg._positions import FileSource, PathSource, UrlSource  # which `dump` and `load` do without

    if _is_file(place, "read"):
        return FileSource(place)
    return UrlSource(place) if is_url(place) else PathSource(place)


def open_target(place: Place, mode: str = "wb") -> Target:
    """
    Open a place to write at growing offsets; `mode` is "wb", "xb" or "ab", the last two for paths alone.

    Raises what PathTarget does, OSError, ImportError without fsspec, ValueError for a mode that the place does not
    have, and TypeError for an object that is not a place.
    """
    from cpkg._positions import FileTarget, PathTarget  # as above

    if not _is_file(place, "write") and not isinstance(place, int) and not is_url(place):
        return PathTarget(place, mode)
    if mode != "wb":
        raise ValueError(f"mode {mode!r}: only local files, by their paths, are appended to; URLs are written whole")
    return FileTarget(Upload(place) if isinstance(place, str) else place)
