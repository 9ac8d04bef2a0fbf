# SPDX-License-Identifier: Apache-2.0
"""Trees to archive, archives made by hand, and what tells two trees apart."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cpkg import zstd

ENGINES = ["pure"]
try:
    import cpkg._native.archive  # noqa: F401

    ENGINES.insert(0, "native")
except ImportError:
    pass

LONG = "a long name " * 12


def make_tree(root: Path) -> Path:
    """Make a tree with a little of everything that needs no rights."""
    root.mkdir()
    (root / "empty").touch()
    (root / "text").write_text("some text\n" * 100)
    (root / "noise").write_bytes(os.urandom(70_000))
    (root / "sub" / "deep" / "er").mkdir(parents=True)
    (root / "sub" / "deep" / "er" / "file").write_text("deep")
    (root / "sub" / "empty dir").mkdir()
    (root / "sub" / "program").write_text("#!/bin/sh\n")
    (root / "sub" / "program").chmod(0o755)
    (root / "sub" / "secret").write_text("secret")
    (root / "sub" / "secret").chmod(0o600)
    os.symlink("text", root / "link")
    os.symlink("../text", root / "sub" / "up")
    if hasattr(os, "link"):
        os.link(root / "text", root / "twin")
    (root / LONG).write_text("long")
    (root / "sub" / LONG).mkdir()
    (root / "sub" / LONG / LONG).write_text("longer")
    (root / "sub" / "café").write_text("é")
    (root / os.fsdecode(b"no utf-8 \xff\xfe")).write_text("bytes")
    (root / "new\nline").write_text("n")
    os.utime(root / "text", ns=(0, 1_234_567_890_123_456_789))
    os.utime(root / "empty", ns=(0, -1_500_000_000))
    os.utime(root / "sub" / "empty dir", ns=(0, 1_000_000_000_000_000_000))
    return root


def contents(root: Path, *, modes: bool = True) -> dict[str, Any]:
    """Return what is below a directory, in a form that can be compared."""
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
    """Return what a file holds, also one that its owner may not read, which root may."""
    if not mode & stat.S_IRUSR:
        os.chmod(path, stat.S_IMODE(mode) | stat.S_IRUSR)
    try:
        with open(path, "rb") as file:
            return file.read()
    finally:
        if not mode & stat.S_IRUSR:
            os.chmod(path, stat.S_IMODE(mode))


def packed(*members: tuple[tarfile.TarInfo, bytes], format: int = tarfile.GNU_FORMAT, end: bool = True) -> bytes:
    """Return a compressed archive of members as tarfile writes them."""
    stream = b"".join(header_of(member, data, format) for member, data in members)
    return zstd.compress(stream + (bytes(1024) if end else b""))


def header_of(member: tarfile.TarInfo, data: bytes = b"", format: int = tarfile.GNU_FORMAT) -> bytes:
    """Return an entry as tarfile writes it."""
    if data:
        member.size = len(data)
    return member.tobuf(format, "utf-8", "surrogateescape") + data + bytes(-len(data) % 512)


def member(name: str, type: bytes = tarfile.REGTYPE, **values: Any) -> tarfile.TarInfo:
    """Return a member with these values."""
    info = tarfile.TarInfo(name)
    info.type = type
    info.mode = 0o755 if type == tarfile.DIRTYPE else 0o644
    for key, value in values.items():
        setattr(info, key, value)
    return info


def fixed(block: bytes) -> bytes:
    """Return a header with the right checksum."""
    total = sum(block[:148]) + 256 + sum(block[156:512])
    return block[:148] + b"%06o\0 " % total + block[156:]


def archive_file(data: bytes) -> io.BytesIO:
    """Return a stream of an archive's bytes."""
    return io.BytesIO(data)


def uncompressed(data: bytes) -> bytes:
    """Return the tar archive in a compressed one."""
    return zstd.decompress(data)


@contextlib.contextmanager
def files_up_to(size: int | None) -> Iterator[None]:
    """Limit the size of files that this process writes, if there is one."""
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
