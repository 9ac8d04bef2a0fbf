# SPDX-License-Identifier: Apache-2.0
"""Open what archives are read from and written to: paths, binary files, and URLs through fsspec."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator
from typing import Any

from cpkg._files import Path, replacing

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_url(file: Any) -> bool:
    """Say whether `file` is a URL, or a chain of them (simplecache::s3://...), as fsspec takes it."""
    return isinstance(file, str) and ("::" in file or _URL.match(file) is not None) and not os.path.exists(file)


@contextlib.contextmanager
def opened_source(source: Any, *, seeks: bool = False) -> Iterator[Any]:
    """
    Open what is read; a file object is used as it is, and stays open.

    `seeks` says that a URL is read here and there: of a server that knows no ranges only the begin can be had then.
    """
    if hasattr(source, "read"):
        yield source
    elif is_url(source):
        is_stream = not seeks and source.startswith(("http://", "https://"))
        with _fsspec().open(source, "rb", **({"block_size": 0} if is_stream else {})) as file:
            yield file
    else:
        with open(source, "rb", buffering=0) as file:
            yield file


@contextlib.contextmanager
def opened_target(target: Any) -> Iterator[Any]:
    """
    Open what is written: a path appears whole or not at all; a file object is used as it is, and stays open.

    A URL's file is left to fsspec, which completes an object when it is closed: if the block raises, the upload is
    discarded as far as the file system can.
    """
    if hasattr(target, "write"):
        yield target
    elif is_url(target):
        try:
            file = _fsspec().open(target, "wb").open()
        except NotImplementedError:
            raise OSError(errno.EROFS, "its file system only reads", target) from None
        try:
            yield file
        except BaseException:
            _discard(file)
            raise
        file.close()
    else:
        path: Path = target
        with replacing(path) as file:
            yield file


def _discard(file: Any) -> None:
    # whatever fails here, the error that led here is what the caller has to see
    with contextlib.suppress(Exception):
        file.discard()
    with contextlib.suppress(Exception):
        file.closed = True  # or its finalizer would complete the object
    with contextlib.suppress(Exception):
        file.close()


def _fsspec() -> Any:
    try:
        import fsspec  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError as exc:
        raise ImportError("archives by URL need fsspec: pip install fsspec") from exc
    return fsspec
