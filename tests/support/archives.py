# SPDX-License-Identifier: Apache-2.0
"""Create trees and hand-written archives, and compare trees."""

from __future__ import annotations

import contextlib
import io
import os
import random
import stat
import tarfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from seeds import SEED

from cpkg import archive, zstd
from cpkg.archive import _walk
from purepy.zstd.seekable.table import SeekTable, read_seek_table

ENGINES = ["pure"]
with contextlib.suppress(ImportError):
    import cpkg._native.archive  # noqa: F401

    ENGINES.insert(0, "native")
LONG = "a long name " * 12


def make_files(root: Path, files: Mapping[str, bytes | int]) -> Path:
    """Create files with data, or with a number of incompressible bytes, below a directory; return the directory."""
    chance = random.Random(SEED)
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(chance.randbytes(data) if isinstance(data, int) else data)
    return root


def make_sparse(path: Path, pieces: int, distance: int, size: int) -> None:
    """Create a file with pieces of at most `size` random bytes, each followed by a hole."""
    chance = random.Random(SEED)
    with path.open("wb") as file:
        for number in range(pieces):
            file.seek(number * distance)
            file.write(chance.randbytes(size - number % 2))
        file.truncate((pieces + 10) * distance)


def make_tree(root: Path) -> Path:
    """Create a tree with every kind of entry that needs no special rights."""
    make_files(root, {"empty": b"", "text": b"some text\n" * 100, "noise": 70_000, "new\nline": b"n", LONG: b"long"})
    make_files(root, {os.fsdecode(b"no utf-8 \xff\xfe"): b"bytes", f"sub/{LONG}/{LONG}": b"longer"})
    make_files(root / "sub", {"deep/er/file": b"deep", "program": b"#!/bin/sh\n", "secret": b"secret", "café": b"x"})
    (root / "sub" / "empty dir").mkdir()
    (root / "sub" / "program").chmod(0o755)
    (root / "sub" / "secret").chmod(0o600)
    os.symlink("text", root / "link")
    os.symlink("../text", root / "sub" / "up")
    if hasattr(os, "link"):
        os.link(root / "text", root / "twin")
    os.utime(root / "text", ns=(0, 1_234_567_890_123_456_789))
    os.utime(root / "empty", ns=(0, -1_500_000_000))
    os.utime(root / "sub" / "empty dir", ns=(0, 1_000_000_000_000_000_000))
    return root


def contents(root: Path, *, modes: bool = True) -> dict[str, Any]:
    """Return the content below a directory in a form that can be compared."""
    found: dict[str, Any] = {}
    inodes: dict[int, str] = {}
    for directory, directories, files in os.walk(root):
        directories.sort()
        for name in sorted(directories + files):
            path = os.path.join(directory, name)
            status = os.lstat(path)
            shown = os.path.relpath(path, root).replace(os.sep, "/")
            kind = stat.S_IFMT(status.st_mode)
            value: Any = None
            if stat.S_ISREG(status.st_mode):
                value = _read(path, status.st_mode), inodes.setdefault(status.st_ino, shown)
            elif stat.S_ISLNK(status.st_mode):
                value = os.readlink(path)
            elif stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
                value = status.st_rdev
            mode = stat.S_IMODE(status.st_mode) if modes else None
            found[shown] = (kind, mode, status.st_mtime_ns, value)
    return found


def _read(path: str, mode: int) -> bytes:
    """Return the content of a file, even if its owner may not read it."""
    if not mode & stat.S_IRUSR:
        os.chmod(path, stat.S_IMODE(mode) | stat.S_IRUSR)
    try:
        with open(path, "rb") as file:
            return file.read()
    finally:
        if not mode & stat.S_IRUSR:
            os.chmod(path, stat.S_IMODE(mode))


def packed(
    *members: tarfile.TarInfo | tuple[tarfile.TarInfo | str, bytes], format: int = tarfile.GNU_FORMAT, end: bool = True
) -> bytes:
    """Return a compressed archive of members, some with data, written by tarfile."""
    pairs = [(each, b"") if isinstance(each, tarfile.TarInfo) else each for each in members]
    stream = b"".join(header_of(info, data, format) for info, data in pairs)
    return zstd.compress(stream + (bytes(1024) if end else b""))


def header_of(info: tarfile.TarInfo | str, data: bytes = b"", format: int = tarfile.GNU_FORMAT) -> bytes:
    """Return the blocks that tarfile writes for a member, or for a file with this name and data."""
    info = member(info) if isinstance(info, str) else info
    if data:
        info.size = len(data)
    return info.tobuf(format, "utf-8", "surrogateescape") + data + bytes(-len(data) % 512)


def member(name: str, type: bytes = tarfile.REGTYPE, **values: Any) -> tarfile.TarInfo:
    """Return a member with these values."""
    info = tarfile.TarInfo(name)
    info.type = type
    info.mode = 0o755 if type == tarfile.DIRTYPE else 0o644
    for key, value in values.items():
        setattr(info, key, value)
    return info


def table_of(path: Path) -> SeekTable:
    """Return the seek table of an archive."""
    with path.open("rb") as file:
        return read_seek_table(file)


def rewritten(path: Path, change: Any) -> Path:
    """Return a copy of an archive with a changed list of members and a matching seek table."""
    table = table_of(path)
    data = path.read_bytes()
    offset, size, *_ = table.frame(len(table) - 1)
    new = change(data[offset : offset + size])
    made = SeekTable(checksums=False)
    for index in range(len(table) - 1):
        made.append(table.frame(index)[1], table.frame(index)[3])
    made.append(len(new), 0)
    changed = path.with_name("changed")
    changed.write_bytes(data[:offset] + new + made.to_bytes())
    return changed


def fixed(block: bytes) -> bytes:
    """Return a header block with its checksum corrected."""
    total = sum(block[:148]) + 256 + sum(block[156:512])
    return block[:148] + b"%06o\0 " % total + block[156:]


def created(*paths: Any, **options: Any) -> bytes:
    """Return the archive that `archive.create` writes for these paths and options."""
    target = io.BytesIO()
    archive.create(target, *paths, **options)
    return target.getvalue()


def extracted(source: Any, out: Path, **options: Any) -> list[archive.Problem]:
    """Extract an archive, which may be its bytes, and return the problems."""
    problems: list[archive.Problem] = []
    source = io.BytesIO(source) if isinstance(source, bytes) else source
    assert archive.extract(source, out, on_problem=problems.append, **options).problems == problems
    return problems


def uncompressed(data: bytes) -> bytes:
    """Decompress an archive; return the tar data."""
    return zstd.decompress(data)


def change_after_the_walk(patch: pytest.MonkeyPatch, name: str, change: Callable[[], Any]) -> None:
    """Call `change` after `create` has found the file `name` and before Python code, instead of C, reads the file."""
    walk, run = _walk.Walker.walk, _walk.Walker._run

    def left(self: Any, names: list[str]) -> Any:
        return run(self, ["" if base == name else base for base in names])

    def walked(self: Any, *arguments: Any) -> Iterator[Any]:
        for found in walk(self, *arguments):
            if isinstance(found, _walk.Member) and found.base == name:
                change()
            yield found

    patch.setattr(_walk.Walker, "walk", walked)
    patch.setattr(_walk.Walker, "_run", left)


@contextlib.contextmanager
def files_up_to(size: int | None) -> Iterator[None]:
    """Limit the size of files that this process writes; None means no limit."""
    if size is None:
        yield
        return
    import resource
    import signal

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
