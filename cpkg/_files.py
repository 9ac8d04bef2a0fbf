# SPDX-License-Identifier: Apache-2.0
"""Write a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from typing import BinaryIO, Union

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


@contextlib.contextmanager
def replacing(path: Path, *, overwrite: bool = True) -> Iterator[BinaryIO]:
    """
    Open a new file that takes the place of `path` when the block ends, and leaves no trace if it raises.

    The bytes go to a temporary file in the same directory, reach the disk, and are renamed over `path`, so that
    whoever opens `path` sees the old content or the new one. Permissions are those that `open(path, "wb")` would
    leave: a new file gets 0o666 less the umask, an existing one keeps its own. A symbolic link is followed. What is
    no regular file (a pipe, a device) is written directly, since it has no content to protect.

    With `overwrite=False` an existing file is left alone and FileExistsError is raised, also if the file appears
    while the block runs. Raises OSError as `open` would.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError:
        mode = None
    else:
        if not overwrite:
            raise FileExistsError(17, "File exists", os.fsdecode(path))
        if not stat.S_ISREG(status.st_mode):
            with open(path, "wb") as direct:
                yield direct
            return
        if not os.access(path, os.W_OK):
            # rename needs no permission on the file that it replaces; open() does, and a read-only file means it
            raise PermissionError(13, "Permission denied", os.fsdecode(path))
        mode = stat.S_IMODE(status.st_mode)
    target = os.path.realpath(os.fsdecode(path))
    directory, name = os.path.split(target)
    file, temporary = _create(directory, name, os.fsdecode(path))
    try:
        with file:
            yield file
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        if overwrite:
            os.replace(temporary, target)
        else:
            os.link(temporary, target)  # unlike rename, fails if the target has come into being
            os.unlink(temporary)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_directory(directory)


def _create(directory: str, name: str, shown: str) -> tuple[BinaryIO, str]:
    """Create a file of a new name beside `name`, with the permissions that open() gives."""
    while True:
        # tempfile makes files of mode 0o600 and there is no safe way to read the umask: let open(2) apply it
        temporary = os.path.join(directory, f".{name[:200]}.{secrets.token_hex(6)}.tmp")
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)
        except FileExistsError:
            continue
        except OSError as exc:
            raise OSError(exc.errno, exc.strerror, shown) from None  # the user's name, not the temporary one
        return open(descriptor, "wb"), temporary


def _sync_directory(directory: str) -> None:
    """Make the rename last; a file system that cannot (some network ones) has done what it can."""
    try:
        descriptor = os.open(directory, os.O_RDONLY)
    except OSError:
        return
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
