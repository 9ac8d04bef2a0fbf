# SPDX-License-Identifier: Apache-2.0
"""Local files that appear complete or not at all, as new files or replacing older ones."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat

from purepy.base import system
from purepy.base.descriptors import Descriptor
from purepy.base.errors import Suppressed, is_from_handler, raise_if_from_handler
from purepy.base.uninterrupted import drop_finalizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO, Final, Protocol

    from purepy.base.types import File, Name

    class Open(Protocol):
        """An object that may hold a file open."""

        def close(self) -> None: ...


_MOST_LINKS: Final = 40  # the limit of Linux
_LONGEST_NAME: Final = 200
"""At most this many bytes of a file's name are in its temporary name; file systems allow 255 bytes in total."""
# A new file does not get these attributes: they describe the old content (a program's capabilities, and hashes).
_OF_CONTENT: Final = ("security.capability", "security.ima", "security.evm")


class _Ended:
    """The class that a NewFile gets once it has its final name or is discarded; it has no finalizer."""

    file: File = None
    _temporary = ""

    def discard(self) -> bool:
        """Do nothing; return False."""
        return False


class NewFile(_Ended):
    """
    A local file that is written under a temporary name in the same directory until `appear` gives it its final name.

    `file` is open for writing. If the object is dropped before `appear`, the file is removed. A process that is killed
    leaves the temporary file, whose name contains the start of the final name and the process's number. `mode` is the
    mode for `os.open`. An error of creating the file names the path `shown`.
    """

    def __init__(self, path: str, *, shown: str, mode: int = 0o666, buffering: int = -1) -> None:
        directory, name = os.path.split(path)
        begin = os.fsencode(name)[:_LONGEST_NAME].decode(errors="ignore")
        self._path = path
        self._process = os.getpid()
        self._temporary = os.path.join(directory, f".{begin}.cpkg-{self._process}-{os.urandom(8).hex()}.tmp")
        try:
            # tempfile creates files with mode 0o600 and the umask cannot be read safely: let open(2) apply it
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | system.OPEN_FLAGS
            self.file = Descriptor(self._temporary, flags, mode, by=os.open).file("wb", buffering)
        except BaseException as exc:
            self.discard()  # PyPy would run the finalizer only later
            if isinstance(exc, OSError) and not is_from_handler(exc):
                raise OSError(exc.errno, exc.strerror, shown) from None  # with the user's name, not the temporary one
            raise

    def appear(self, *, overwrite: bool = True) -> None:
        """Close the file and give it its final name; without `overwrite`, raise FileExistsError if the name exists."""
        self.file.close()
        if overwrite or not hasattr(os, "link"):  # without link: in a browser, where no other process writes
            if not overwrite and os.path.lexists(self._path):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), self._path)
            os.replace(self._temporary, self._path)
        else:
            os.link(self._temporary, self._path)  # unlike rename, fails if the target exists by now
            os.unlink(self._temporary)
        drop_finalizer(self, _Ended)

    def _is_removed(self) -> bool:
        """Remove the temporary file; return whether that succeeded."""
        with Suppressed(OSError):
            os.unlink(self._temporary)
            return True
        return False

    def discard(self) -> bool:
        """Close the file and remove it, except in a forked child, which only closes it; return True."""
        # a child process that was forked meanwhile leaves the file alone
        is_left = bool(self._temporary) and self._process == os.getpid() and not self._is_removed()
        with Suppressed(OSError):
            if self.file is not None:
                self.file.close()
        if is_left:  # Windows cannot remove an open file
            self._is_removed()
        drop_finalizer(self, _Ended)
        return True

    def __del__(self) -> None:
        self.discard()


@contextlib.contextmanager
def replacing(path: Name, *, overwrite: bool = True, held: Iterable[Open] = ()) -> Iterator[BinaryIO]:
    """
    Open a new file that replaces `path` when the block ends, and leaves no trace if the block raises.

    The bytes go to a temporary file in the same directory, are flushed to the disk, and the file is renamed over
    `path`. Anyone who opens `path` sees either the old content or the new content. A new file gets the permissions that
    `open(path, "wb")` would give it: 0o666 less the umask. A replaced file keeps its mode, and its owner, group and
    extended attributes as far as this process may set them. Other hard links to it keep the old content.

    Symbolic links are followed and remain. A path that is not a regular file (a pipe, a device) or that names an open
    descriptor (/dev/stdout, /dev/fd/3) is written directly, since it cannot be replaced.

    With `overwrite=False` an existing file is left alone and FileExistsError is raised, even if the file appears only
    while the block runs. Raises OSError as `open` does.

    `held` lists objects that may hold the old file open. On Windows they are closed first, because an open file cannot
    be replaced there.
    """
    shown = os.fsdecode(path)
    try:
        old = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        old = None
    if old is not None and not overwrite:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), shown)
    found = _resolve(shown)
    if isinstance(found, int) or not _is_replaceable(found, old):
        # use a descriptor of this process at its current position; otherwise let open() open the path or raise
        is_open = isinstance(found, int) and old is not None
        with Descriptor(found).file("wb", -1) if is_open else open(path, "wb") as direct:
            yield direct
        return
    if old is not None and not os.access(path, os.W_OK):
        # rename needs no permission for the file that it replaces; open() does, and read-only files must stay
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), shown)
    # Other users who may not read the old file must not be able to read the new file at any time.
    new = NewFile(found, shown=shown, mode=0o666 if old is None else 0o600)
    try:
        yield new.file
        new.file.flush()
        if old is not None:
            _keep_attributes(found, old, new.file.fileno())
        os.fsync(new.file.fileno())
        if system.IS_WINDOWS:
            for place in held:
                place.close()
        new.appear(overwrite=overwrite)
    finally:
        new.discard()
    sync_directory(os.path.dirname(found))


def _resolve(path: str) -> str | int:
    """
    Follow symbolic links and return the final path, or the number of this process's descriptor that they lead to.

    Directories are left to the system, because os.path.realpath would accept "missing/../name" and "name/." as paths.
    """
    if path and not os.path.isabs(path):
        path = os.path.join(os.getcwd(), path)  # another thread may change directory while the file is written
    for _ in range(_MOST_LINKS):
        directory, name = os.path.split(path)
        if name.isdecimal() and _holds_descriptors(directory):
            return int(name)
        try:
            link = os.readlink(path)
        except OSError as exc:
            raise_if_from_handler(exc)
            return path
        path = os.path.join(directory, link)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)


def _holds_descriptors(directory: str) -> bool:
    directory = os.path.realpath(directory)
    return directory == "/dev/fd" or bool(re.fullmatch(rf"/proc/{os.getpid()}(/task/\d+)?/fd", directory))


def _is_replaceable(path: str, old: os.stat_result | None) -> bool:
    """Return whether a path names the regular file with the status `old`; for None, whether it can name a new file."""
    if old is None:
        return os.path.basename(path) not in ("", os.curdir, os.pardir)
    with Suppressed(OSError):
        # false if the path leads through a link in /proc to a file that no longer has a name
        return stat.S_ISREG(old.st_mode) and os.path.samestat(old, os.lstat(path))
    return False


def _keep_attributes(path: str, old: os.stat_result, descriptor: int) -> None:
    """Give an open file the owner, group, mode and extended attributes of the file `path`, as far as permitted."""
    new = os.fstat(descriptor)
    mode = stat.S_IMODE(old.st_mode)
    if new.st_uid != old.st_uid:
        try:
            os.fchown(descriptor, old.st_uid, -1)
        except OSError as exc:
            raise_if_from_handler(exc)
            mode &= ~stat.S_ISUID
    if new.st_gid != old.st_gid:
        try:
            os.fchown(descriptor, -1, old.st_gid)
        except OSError as exc:
            raise_if_from_handler(exc)
            # the other group gets no more rights than others have
            mode = mode & ~(stat.S_ISGID | stat.S_IRWXG) | (mode & stat.S_IRWXO) << 3
    if hasattr(os, "listxattr"):
        with Suppressed(OSError):
            for name in os.listxattr(path):
                if name not in _OF_CONTENT:
                    with Suppressed(OSError):
                        os.setxattr(descriptor, name, os.getxattr(path, name))
    if stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:
        os.fchmod(descriptor, mode)  # last, because a change of owner clears mode bits


def sync_directory(directory: str) -> None:
    """Flush a directory's new names to the disk; errors are ignored, as some file systems cannot do it."""
    with Suppressed(OSError):
        descriptor = Descriptor(directory, os.O_RDONLY, by=os.open)
        os.fsync(descriptor.number)
        descriptor.close()
