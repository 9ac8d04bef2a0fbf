# SPDX-License-Identifier: Apache-2.0
"""
Opening what the caller names: a path, a file object, a descriptor, or a URL. Everything of cpkg opens files here.

- A str of the form `scheme://...` is a URL, and so is a chain (`simplecache::s3://...`) if a part of it is one; a str
  that names an existing file is a path. fsspec opens URLs.
- An int is a descriptor. It and a file object belong to the caller and stay open.
- `reading` and `writing` open from front to back. `open_source` and `open_target` open at any position, for record
  files: a local file is locked against other writers.
- A file named by a path, and an object named by a URL, appears whole or not at all (`replacing`, `Upload`).
- A file that does not block and has no data now, or takes none, raises BlockingIOError (`purepy/_reading.py`,
  `purepy/_writing.py`).
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import stat
import weakref

from purepy import _system
from purepy._locks import Lock
from purepy._reading import read_full
from purepy._writing import write_all
from purepy.zstd.threads.positions import Descriptor, write_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO, Final

    from fsspec import AbstractFileSystem
    from typing_extensions import TypeAlias, TypeGuard

    from purepy._types import Bytes, File

Path: TypeAlias = "str | bytes | os.PathLike[str] | os.PathLike[bytes]"
Place: TypeAlias = "Path | int | File"
"""A path, a URL, a descriptor, or a binary file object."""

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_MOST_LINKS: Final = 40  # as Linux
_LONGEST_NAME: Final = 200
"""So many bytes of a name are in that of its temporary file; file systems allow 255 in all."""
# These attributes speak of the content that is replaced: its capabilities as a program, and its hashes.
_OF_CONTENT: Final = ("security.capability", "security.ima", "security.evm")


# what a place is


def is_url(place: object) -> TypeGuard[str]:
    """Return whether a place is a URL, or a chain with one; what exists as a file is none."""
    if not isinstance(place, str) or "://" not in place:
        return False
    return any(map(_URL.match, place.split("::"))) and not os.path.exists(place)


def filesystem(url: str) -> tuple[AbstractFileSystem, str]:
    """
    Return fsspec's file system for a URL and the path in it.

    Raises ImportError, which names the package to install, and OSError for a scheme that fsspec does not know.
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


# from front to back


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


class Upload:
    """
    An object at a URL that is written from front to back, and is there once `close` has returned.

    After an error of `write` or `close` it is broken: nobody knows what the server has, so that every further call
    raises OSError, also `close`. `discard` leaves nothing behind, as far as the file system can.
    """

    _file: File = None
    _is_broken = False

    def __init__(self, url: str, *, overwrite: bool = True) -> None:
        self.name = url
        fs, path = filesystem(url)
        if not overwrite and fs.exists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), url)
        folder = path.rpartition("/")[0]
        with contextlib.suppress(OSError, NotImplementedError):  # then opening says why
            if folder:
                fs.makedirs(folder, exist_ok=True)
        try:
            self._file = fs.open(path, "wb")
        except NotImplementedError:
            raise OSError(errno.EROFS, "its file system only reads", url) from None

    def write(self, data: Bytes) -> int:
        """Write all of `data`; return its size."""
        self._begin()
        write_all(self._file, data)
        self._is_broken = False
        return len(data)

    def flush(self) -> None:
        """Hand on what the file system takes in advance."""
        self._begin()
        self._file.flush()
        self._is_broken = False

    def _begin(self) -> None:
        if self._is_broken:
            raise OSError(errno.EIO, "the upload failed before, so that it is not complete; write it again", self.name)
        if self._file is None:
            raise ValueError("I/O operation on a closed file")
        self._is_broken = True  # until this call has come to its end

    def close(self) -> None:
        """Complete the object."""
        if self._file is None and not self._is_broken:
            return
        try:
            self._begin()
        except OSError:
            self._drop()
            raise
        self._file.close()
        self._file = None
        self._is_broken = False

    def discard(self) -> None:
        """Leave nothing behind: the object does not appear, or keeps its old content."""
        self._drop()
        self._is_broken = False

    def _drop(self) -> None:
        file, self._file = self._file, None
        # whatever fails here, the error that led here is what the caller has to see
        with contextlib.suppress(Exception):
            file.discard()
        with contextlib.suppress(Exception):
            file.closed = True  # or its finalizer would complete the object
        with contextlib.suppress(Exception):
            file.close()

    def __del__(self) -> None:
        if self._file is not None:
            self._drop()


class _Ended:
    """A NewFile that has appeared or is discarded: it has no finalizer, whose interrupts would be lost."""

    file: File = None
    _temporary = ""

    def discard(self) -> bool:
        """Do nothing, and return False."""
        return False


class NewFile(_Ended):
    """
    A local file that is written under another name in the same directory until `appear` gives it its own.

    `file` is open for writing. Whoever drops it before leaves nothing behind; a process that is killed leaves the
    temporary file, whose name is that of the file with the number of the process. `mode` is that of `os.open`,
    `shown` the name in errors.
    """

    def __init__(self, path: str, *, shown: str, mode: int = 0o666, buffering: int = -1) -> None:
        directory, name = os.path.split(path)
        begin = os.fsencode(name)[:_LONGEST_NAME].decode(errors="ignore")
        self._path = path
        self._process = os.getpid()
        self._temporary = os.path.join(directory, f".{begin}.cpkg-{self._process}-{os.urandom(8).hex()}.tmp")
        try:
            # tempfile makes files of mode 0o600 and there is no safe way to read the umask: let open(2) apply it
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _system.OPEN_FLAGS
            self.file = Descriptor(self._temporary, flags, mode, by=os.open).file("wb", buffering)
        except OSError as exc:
            raise OSError(exc.errno, exc.strerror, shown) from None  # the user's name, not the temporary one

    def appear(self, *, overwrite: bool = True) -> None:
        """Close the file and give it its name, replacing an older file unless `overwrite` is false."""
        self.file.close()
        if overwrite:
            os.replace(self._temporary, self._path)
        elif not hasattr(os, "link"):  # a browser's file systems, which nobody else writes to meanwhile
            if os.path.lexists(self._path):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), self._path)
            os.replace(self._temporary, self._path)
        else:
            os.link(self._temporary, self._path)  # unlike rename, fails if the file has come into being
            os.unlink(self._temporary)
        self.__class__ = _Ended  # type: ignore[assignment]

    def _is_removed(self) -> bool:
        """Remove the file; return whether that was possible."""
        with contextlib.suppress(OSError):
            os.unlink(self._temporary)
            return True
        return False

    def discard(self) -> bool:
        """Remove the file, and return True."""
        # a child that was forked meanwhile leaves it alone
        is_left = bool(self._temporary) and self._process == os.getpid() and not self._is_removed()
        with contextlib.suppress(OSError):
            if self.file is not None:
                self.file.close()
        if is_left:  # Windows removes no open file
            self._is_removed()
        self.__class__ = _Ended  # type: ignore[assignment]
        return True

    def __del__(self) -> None:
        self.discard()


@contextlib.contextmanager
def replacing(path: Path, *, overwrite: bool = True, held: Iterable[Source | Target] = ()) -> Iterator[BinaryIO]:
    """
    Open a new file that takes the place of `path` when the block ends, and leaves no trace if it raises.

    The bytes go to a temporary file in the same directory, reach the disk, and are renamed over `path`, so that
    whoever opens `path` sees the old content or the new one. A new file gets the permissions that `open(path, "wb")`
    would give it, 0o666 less the umask. An existing one keeps its mode, and its owner, group and extended attributes
    as far as this process may set them; other hard links to it keep the old content.

    A symbolic link is followed and stays. What is no regular file (a pipe, a device) and what is named as an open
    descriptor (/dev/stdout, /dev/fd/3) is written directly, since it cannot be replaced.

    With `overwrite=False` an existing file is left alone and FileExistsError is raised, also if the file appears
    while the block runs. Raises OSError as `open` would.

    `held` is what may have the old file open: Windows replaces no open file, so it is closed there before.
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
        # a descriptor of this process at its position; anything else as open() takes it, or raises the reason
        is_open = isinstance(found, int) and old is not None
        with Descriptor(found).file("wb", -1) if is_open else open(path, "wb") as direct:
            yield direct
        return
    if old is not None and not os.access(path, os.W_OK):
        # rename needs no permission on the file that it replaces; open() does, and a read-only file means it
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), shown)
    # A file that others may not read is replaced by one that they may not read either, from its first byte on.
    new = NewFile(found, shown=shown, mode=0o666 if old is None else 0o600)
    try:
        yield new.file
        new.file.flush()
        if old is not None:
            _keep_attributes(found, old, new.file.fileno())
        os.fsync(new.file.fileno())
        if _system.IS_WINDOWS:
            for place in held:
                place.close()
        new.appear(overwrite=overwrite)
    finally:
        new.discard()
    sync_directory(os.path.dirname(found))


def _resolve(path: str) -> str | int:
    """
    Return the path at the end of symbolic links, or the number of this process's descriptor that they lead to.

    Directories are left to the system: os.path.realpath would make a path of "missing/../name", and of "name/.".
    """
    if path and not os.path.isabs(path):
        path = os.path.join(os.getcwd(), path)  # which another thread may change while the file is written
    for _ in range(_MOST_LINKS):
        directory, name = os.path.split(path)
        if name.isdecimal() and _holds_descriptors(directory):
            return int(name)
        try:
            link = os.readlink(path)
        except OSError:
            return path
        path = os.path.join(directory, link)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)


def _holds_descriptors(directory: str) -> bool:
    directory = os.path.realpath(directory)
    return directory == "/dev/fd" or bool(re.fullmatch(rf"/proc/{os.getpid()}(/task/\d+)?/fd", directory))


def _is_replaceable(path: str, old: os.stat_result | None) -> bool:
    """Return whether a path is the name of the regular file with the status `old`, or may become that of a new one."""
    if old is None:
        return os.path.basename(path) not in ("", os.curdir, os.pardir)
    try:
        # not if it comes from a link of /proc to a file that has no name any more
        return stat.S_ISREG(old.st_mode) and os.path.samestat(old, os.lstat(path))
    except OSError:
        return False


def _keep_attributes(path: str, old: os.stat_result, descriptor: int) -> None:
    """Give an open file the owner, group, mode and extended attributes of the file `path`, as far as is allowed."""
    new = os.fstat(descriptor)
    mode = stat.S_IMODE(old.st_mode)
    if new.st_uid != old.st_uid:
        try:
            os.fchown(descriptor, old.st_uid, -1)
        except OSError:
            mode &= ~stat.S_ISUID
    if new.st_gid != old.st_gid:
        try:
            os.fchown(descriptor, -1, old.st_gid)
        except OSError:
            # another group may do no more than everybody might before
            mode = mode & ~(stat.S_ISGID | stat.S_IRWXG) | (mode & stat.S_IRWXO) << 3
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):
            for name in os.listxattr(path):
                if name not in _OF_CONTENT:
                    with contextlib.suppress(OSError):
                        os.setxattr(descriptor, name, os.getxattr(path, name))
    if stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:
        os.fchmod(descriptor, mode)  # at last: a change of owner takes bits away


def sync_directory(directory: str) -> None:
    """Make new names in a directory outlast the system; a file system that cannot has done what it can."""
    with contextlib.suppress(OSError):
        descriptor = Descriptor(directory, os.O_RDONLY, by=os.open)
        os.fsync(descriptor.number)
        descriptor.close()


# at any position


class Source:
    """Bytes at any position, for several threads at once."""

    name = ""
    is_local = False
    """Whether many small reads cost little."""
    size: Callable[[], int]
    """Return the number of bytes that there are now."""
    read_at: Callable[[int, int], bytes]
    """Return so many bytes from an offset on: `read_at(offset, size)`, fewer only at the end."""

    def descriptor(self) -> int | None:
        """Return the descriptor of a local file, None if there is none; ValueError if the file was closed."""
        return None

    def close(self) -> None:
        """Close the file if it was opened here."""


class PathSource(Source):
    """A local file, or a descriptor of one."""

    is_local = True

    def __init__(self, path: Path | int) -> None:
        self.name = "" if isinstance(path, int) else os.fsdecode(path)
        self._descriptor = -1
        self._file = reading(path)
        if not self._file.seekable():
            self._file.close()
            raise _cannot_seek(self.name)
        self._descriptor = self._file.fileno()

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def descriptor(self) -> int | None:
        self._check()
        return self._descriptor

    def _check(self) -> None:
        if self._descriptor < 0:
            raise ValueError("I/O operation on a closed file")

    def read_at(self, offset: int, size: int) -> bytes:
        self._check()
        try:
            found = _system.pread(self._descriptor, size, offset)
        finally:
            self._check()  # closed meanwhile: these may be another file's bytes, or an error of a file that is none
        if len(found) == size or not found:
            return found
        pieces = [found]
        done = len(found)
        while done < size and (found := _system.pread(self._descriptor, size - done, offset + done)):
            pieces.append(found)
            done += len(found)
        return b"".join(pieces)

    def close(self) -> None:
        self._descriptor = -1  # a read from now on is an error, and not of another file
        self._file.close()


class FileSource(Source):
    """A binary file object of the caller, which the caller closes."""

    is_local = True

    def __init__(self, file: File) -> None:
        self.name = _name_of(file)
        self._file = file
        self._lock = Lock()
        # a SpooledTemporaryFile can, and before Python 3.11 does not say so
        if not (file.seekable() if hasattr(file, "seekable") else hasattr(file, "seek")):
            raise _cannot_seek(self.name)

    def size(self) -> int:
        with self._lock:
            self._file.seek(0, io.SEEK_END)
            size: int = self._file.tell()
            return size

    def read_at(self, offset: int, size: int) -> bytes:
        with self._lock:
            self._file.seek(offset)
            return read_full(self._file, size)


class UrlSource(Source):
    """An object that fsspec reads: requests for ranges of bytes, and none that is not asked for."""

    def __init__(self, url: str) -> None:
        self._fs, self._path = filesystem(url)
        self.name = url
        self._size: int | None = None

    def size(self) -> int:
        if self._size is None:
            size = self._fs.info(self._path).get("size")
            if size is None:
                raise io.UnsupportedOperation(f"{self.name}: the server does not say the size of the file")
            self._size = int(size)
        return self._size

    def read_at(self, offset: int, size: int) -> bytes:
        end = min(offset + size, self.size())
        return bytes(self._fs.cat_file(self._path, start=offset, end=end)) if offset < end else b""


def open_source(place: Place) -> Source:
    """
    Open a place to read at any position.

    Raises OSError as `open` does, io.UnsupportedOperation for what cannot seek, ImportError without fsspec, and
    TypeError for an object that is not a place.
    """
    if _is_file(place, "read"):
        return FileSource(place)
    return UrlSource(place) if is_url(place) else PathSource(place)


class Target:
    """Bytes at growing offsets."""

    name = ""
    is_broken = False
    """Whether nobody knows how much was written, so that `write` raises."""
    write: Callable[[int, bytes], None]
    """Write bytes at an offset, the end of those written before."""

    def cut(self, offset: int) -> None:
        """Drop the bytes behind `offset`, where that is possible."""

    def flush(self) -> None:
        """Hand on to the system what this process still holds."""

    def sync(self) -> None:
        """Bring the written bytes to the disk."""

    def close(self) -> None:
        """Complete the file, close it if it was opened here, let others write; raises again if that failed before."""

    def discard(self) -> None:
        """Close the file if it was opened here; an upload leaves nothing behind."""
        self.close()

    @property
    def is_closed(self) -> bool:
        """Whether the file was closed that was opened here."""
        return False

    @property
    def is_locked(self) -> bool:
        """Whether others are kept from writing to the file."""
        return False


class PathTarget(Target):
    """
    A local file, locked against other writers until it is closed.

    `mode` is "wb", "ab" or "xb", as for the builtin `open`; "rb" is for a file that has to exist. BlockingIOError
    says that another writer has the file, io.UnsupportedOperation that it is no regular file; both leave it as it is.
    If `write` raises, the file is as before.
    """

    def __init__(self, path: Path, mode: str) -> None:
        self.name = os.fsdecode(path)
        self._new = not os.path.lexists(path)
        self._descriptor = _open_locked(path, mode, self.name)
        _locked.add(self)
        try:
            if mode == "wb":
                os.ftruncate(self._descriptor.number, 0)  # of a large file this takes long
        except BaseException:
            self.close()
            raise

    def write(self, offset: int, data: bytes) -> None:
        try:
            write_at(self._descriptor.number, data, offset)
        except OSError as exc:
            with contextlib.suppress(OSError):  # then it is a torn tail, and the next try writes over it
                self.cut(offset)  # no part of a frame stays behind
            raise OSError(exc.errno, exc.strerror, self.name) from None

    def cut(self, offset: int) -> None:
        if os.fstat(self._descriptor.number).st_size > offset:
            os.ftruncate(self._descriptor.number, offset)

    def sync(self) -> None:
        os.fsync(self._descriptor.number)
        if self._new:
            self._new = False
            sync_directory(os.path.dirname(self.name) or os.curdir)

    def close(self) -> None:
        self._descriptor.close()

    @property
    def is_closed(self) -> bool:
        return self._descriptor.is_closed

    @property
    def is_locked(self) -> bool:
        return not self.is_closed


_locked: weakref.WeakSet[PathTarget] = weakref.WeakSet()


def _unlock_in_child() -> None:
    """Close in a forked child the files that its parent has locked, which would stay locked as long as it lives."""
    for target in list(_locked):
        with contextlib.suppress(OSError, ValueError):  # one that an interrupt has left half closed keeps no other
            target.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_in_child)


class FileTarget(Target):
    """
    A file object or descriptor of the caller, which the caller closes, or an Upload that this closes.

    After an error nobody knows how much it took: it is broken, and `write` raises OSError.
    """

    def __init__(self, file: object) -> None:
        self._file: File = file if not isinstance(file, int) else open(file, "wb", buffering=0, closefd=False)  # noqa: SIM115
        self._is_owned = isinstance(file, Upload)
        self._done = 0
        self.name = _name_of(self._file)

    def write(self, offset: int, data: bytes) -> None:
        if self.is_broken:
            raise OSError(errno.EIO, "writing failed before, and a file object cannot take back what it got", self.name)
        if offset + len(data) == self._done:
            return  # all of it, and then the caller was interrupted
        self.is_broken = True
        write_all(self._file, data)
        self._done = offset + len(data)
        self.is_broken = False

    def flush(self) -> None:
        flush = getattr(self._file, "flush", None)
        if flush is not None:
            flush()

    def sync(self) -> None:
        self.flush()
        if hasattr(self._file, "fileno"):
            try:
                descriptor = self._file.fileno()
            except OSError:
                return  # in memory
            os.fsync(descriptor)

    def close(self) -> None:
        if self._is_owned:
            self._file.close()

    def discard(self) -> None:
        if self._is_owned:
            self._file.discard()


def open_target(place: Place, mode: str = "wb") -> Target:
    """
    Open a place to write at growing offsets; `mode` is "wb", "xb" or "ab", the last two for paths alone.

    Raises what PathTarget does, OSError, ImportError without fsspec, ValueError for a mode that the place does not
    have, and TypeError for an object that is not a place.
    """
    if not _is_file(place, "write") and not isinstance(place, int) and not is_url(place):
        return PathTarget(place, mode)
    if mode != "wb":
        raise ValueError(f"mode {mode!r}: only local files, by their paths, are appended to; URLs are written whole")
    return FileTarget(Upload(place) if isinstance(place, str) else place)


def _name_of(file: object) -> str:
    name = getattr(file, "name", "")
    return name if isinstance(name, str) else ""


def _cannot_seek(name: str) -> io.UnsupportedOperation:
    text = "a stream that cannot seek has no positions: copy it to a file first"
    return io.UnsupportedOperation(f"{name}: {text}" if name else text)


def _open_locked(path: Path, mode: str, name: str) -> Descriptor:
    flags = os.O_RDWR | _system.OPEN_FLAGS
    flags |= {"rb": 0, "ab": os.O_CREAT, "wb": os.O_CREAT, "xb": os.O_CREAT | os.O_EXCL}[mode]
    while True:
        descriptor = Descriptor(path, flags, 0o666, by=os.open)
        try:
            status = os.fstat(descriptor.number)
            if not stat.S_ISREG(status.st_mode):
                raise io.UnsupportedOperation(f"{name}: is no regular file; open it yourself and pass the file object")
            _system.lock(descriptor.number, name)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(status, os.stat(path)):
                    return descriptor
        except BaseException:
            descriptor.close()
            raise
        descriptor.close()  # replaced or removed before it was locked: the one that is there now is meant
