# SPDX-License-Identifier: Apache-2.0
"""The input and output files of `cpkg zstd`."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import sys

from cpkg._places import reading
from cpkg.cli.zstd.console import Console, Fatal
from cpkg.cli.zstd.options import COMPRESS, STDIN, STDOUT, Options
from purepy.base import system
from purepy.base.new_files import NewFile
from purepy.base.reading import read_some
from purepy.base.writing import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from purepy.base.types import Bytes, File

READ_ERROR, WRITE_ERROR = 37, 70
SUFFIXES = {".zst": "", ".tzst": ".tar"}
"""Suffix of a compressed file -> suffix of its content."""
_SEGMENT = 32 << 10
_ZEROS = bytes(_SEGMENT)


class InputFile:
    """A file that is read; `status` is None for standard input, `size` is None for anything but a regular file."""

    def __init__(self, name: str, file: File, status: os.stat_result | None) -> None:
        self.name = name
        self.file = file
        self.status = status
        self.size = status.st_size if status is not None and stat.S_ISREG(status.st_mode) else None
        self.position = 0

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes; b"" at the end. Raises Fatal for an OSError."""
        try:
            data: bytes = read_some(self.file, size)
        except OSError as exc:
            raise cannot_read(exc) from None
        self.position += len(data)
        return data

    def go_on_at(self, position: int) -> None:
        """Continue reading at a position of the file."""
        self.position = self.file.seek(position)

    def close(self) -> None:
        if self.status is not None:
            self.file.close()


def target_of(name: str, *, compress: bool) -> str | None:
    """
    Return the output file's name: with `compress`, `name` with .zst appended; otherwise `name` without .zst.

    Without `compress`, the suffix .tzst becomes .tar, and the result is None for a name with neither suffix.
    """
    if compress:
        return name + next(iter(SUFFIXES))
    return next((name[: -len(end)] + plain for end, plain in SUFFIXES.items() if name.endswith(end)), None)


def open_source(name: str, options: Options, console: Console) -> InputFile | None:
    """
    Open a file or standard input; print a message and return None if it cannot or must not be read.

    Only regular files and pipes are read, and block devices with -f. The dictionary is not compressed with itself.
    """
    if name == STDIN:
        return InputFile(name, sys.stdin.buffer.raw if hasattr(sys.stdin.buffer, "raw") else sys.stdin.buffer, None)
    try:
        status = os.stat(name)
    except (OSError, ValueError) as exc:
        console.say(1, f"zstd: can't stat {name} : {getattr(exc, 'strerror', None) or exc} -- ignored \n")
        return None
    kind = status.st_mode
    is_block_device = stat.S_ISBLK(kind) and options.overwrite
    reference = options.dictionary or options.patch_from
    problem = ""
    if stat.S_ISDIR(kind):
        problem = f"{name} is a directory -- ignored"
    elif not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind) or is_block_device):
        problem = f"{name} is not a regular file -- ignored"
    elif reference is not None and options.mode == COMPRESS:
        with contextlib.suppress(OSError):
            if os.path.samestat(os.stat(reference), status):
                problem = f"cannot use {name} as an input file and dictionary"
    try:
        if not problem:
            return InputFile(name, reading(name), status)
    except OSError as exc:
        problem = f"{name}: {exc.strerror}"
    console.say(1, f"zstd: {problem} \n")
    return None


class OutputFile:
    """
    A file that is written under a temporary name until it is complete; `name` is its final name.

    Standard output, pipes and devices are written directly. If `file` is None, the data is discarded.
    """

    def __init__(self, name: str, file: File, *, sparse: bool) -> None:
        self.name = name
        self.written = 0
        self._new = file if isinstance(file, NewFile) else None
        self._file = file.file if isinstance(file, NewFile) else file
        self._sparse = sparse
        self._skipped = 0

    def write(self, data: Bytes) -> int:
        """Write bytes and return their number; a sparse file gets holes for long runs of zeros. Raises Fatal."""
        size = len(data)
        self.written += size
        if self._file is not None:
            try:
                self._write_sparse(data) if self._sparse else write_all(self._file, data)
            except BrokenPipeError:
                raise
            except OSError as exc:
                raise _cannot_write(exc) from None
        return size

    def _write_sparse(self, data: Bytes) -> None:
        """Write bytes, but only count segments of zeros in `_skipped`: the next write or `finish` makes them a hole."""
        start = 0
        for at in range(0, len(data) - _SEGMENT + 1, _SEGMENT):
            # two bytes are enough to rule out most segments that are not zeros
            if not (data[at] or data[at + _SEGMENT // 2]) and bytes(data[at : at + _SEGMENT]) == _ZEROS:
                self._put(data, start, at)
                self._skipped += _SEGMENT
                start = at + _SEGMENT
        self._put(data, start, len(data))

    def _put(self, data: Bytes, start: int, end: int) -> None:
        if start == end:
            return
        if self._skipped:
            self._file.seek(self._skipped, io.SEEK_CUR)
            self._skipped = 0
        if end - start == len(data):
            write_all(self._file, data)
        else:
            with memoryview(data) as view:
                write_all(self._file, view[start:end])

    def finish(self, source: os.stat_result | None) -> None:
        """
        Complete the file, and give it its name and the mode, times and owner of its source; raises Fatal.

        `source` is the status of the source; None, and the status of anything but a regular file, are ignored. Pipes
        and devices are only closed, and standard output stays open.
        """
        if self._file is None:
            return
        try:
            if self._skipped:
                self._file.truncate(self._file.seek(self._skipped, io.SEEK_CUR))
            if self._new is None:
                if self.name != STDOUT:
                    self._file.close()
                return
            if source is not None and stat.S_ISREG(source.st_mode):
                _copy_attributes(self._file.fileno(), source)
            self._new.appear()
        except OSError as exc:
            raise Fatal(WRITE_ERROR, f"Write error : {exc.strerror}") from None

    def abandon(self) -> bool:
        """Remove the file if it is incomplete, and return whether that was so; a pipe or device is only closed."""
        if self._new is not None:
            return self._new.discard()
        if self._file is not None and self.name != STDOUT:
            with contextlib.suppress(OSError):
                self._file.close()
        return False


def cannot_read(exc: OSError) -> Fatal:
    """Return the error for a source that cannot be read."""
    return Fatal(READ_ERROR, f"Read error : {exc.strerror}")


def _cannot_write(exc: OSError) -> Fatal:
    reason = os.strerror(exc.errno) if exc.errno else exc.strerror  # the wording of the zstd tool
    return Fatal(WRITE_ERROR, f"Write error : cannot write block : {reason}")


def _copy_attributes(descriptor: int, source: os.stat_result) -> None:
    mode = stat.S_IMODE(source.st_mode) & 0o777
    with contextlib.suppress(OSError):
        system.fchown(descriptor, -1, source.st_gid)
        system.fchown(descriptor, source.st_uid, -1)
    with contextlib.suppress(OSError):
        system.fchmod(descriptor, mode)
    with contextlib.suppress(OSError):
        system.utime(descriptor, ns=(source.st_atime_ns, source.st_mtime_ns))


def open_destination(
    name: str | None, source: InputFile | None, options: Options, console: Console, *, stdin_is_input: bool
) -> OutputFile | None:
    """
    Open the output; `name` is None if files are only tested, and `source` is None if several sources are joined.

    Returns None and prints the reason if the output exists and may not be overwritten, is the source itself or cannot
    be opened.
    """
    if name is None:
        return OutputFile("", None, sparse=False)
    if name == STDOUT:
        stdout = getattr(sys.stdout.buffer, "raw", sys.stdout.buffer)
        return OutputFile(name, stdout, sparse=bool(options.sparse))
    try:
        old = os.stat(name)
    except OSError:
        old = None
    if old is not None and source is not None and source.status is not None and os.path.samestat(old, source.status):
        console.say(1, "zstd: Refusing to open an output file which will overwrite the input file \n")
        return None
    if old is not None and stat.S_ISREG(old.st_mode) and not options.overwrite:
        if console.level <= 1:
            console.say(1, f"zstd: {name} already exists; not overwritten  \n")
            return None
        question = f"zstd: {name} already exists; overwrite (y/n) ? "
        if not console.ask(question, "Not overwritten  \n", stdin_is_input=stdin_is_input):
            return None
    try:
        if old is not None and not stat.S_ISREG(old.st_mode):
            return OutputFile(name, open(name, "wb", buffering=0), sparse=bool(options.sparse))
        is_private = source is not None and source.size is not None
        new = NewFile(name, shown=name, mode=0o600 if is_private else 0o666, buffering=0)
    except OSError as exc:
        console.say(1, f"zstd: {name}: {exc.strerror}\n")
        return None
    return OutputFile(name, new, sparse=options.sparse is not False)


def expand(names: list[str], options: Options, console: Console) -> list[str]:
    """
    Return `names` with each directory replaced by the files in it and in its subdirectories.

    Warns about symbolic links in directories and leaves them out, unless the options follow links. Prints an error for
    a directory that cannot be read.
    """
    found: list[str] = []
    for name in names:
        if name == STDIN or not os.path.isdir(name):
            found.append(name)
            continue
        try:
            paths = [os.path.join(name, entry) for entry in os.listdir(name)]
        except OSError as exc:
            console.say(1, f"Cannot open directory '{name}': {exc.strerror}\n")
            continue
        links = set() if options.follow_links else set(filter(os.path.islink, paths))
        for path in sorted(links):
            console.say(2, f"Warning : {path} is a symbolic link, ignoring\n")
        found += expand([path for path in paths if path not in links], options, console)
    return found


def read_dictionary(name: str | None) -> bytes:
    """Return the content of a dictionary file, b"" if `name` is None; raises Fatal if it cannot be read."""
    if name is None:
        return b""
    try:
        status = os.stat(name)
    except OSError as exc:
        raise Fatal(31, f"Stat failed on dictionary file {name}: {exc.strerror}") from None
    if not stat.S_ISREG(status.st_mode):
        raise Fatal(32, f"Dictionary {name} must be a regular file.")
    try:
        with open(name, "rb") as file:
            return file.read()
    except OSError as exc:
        raise Fatal(33, f"Couldn't open dictionary {name}: {exc.strerror}") from None
