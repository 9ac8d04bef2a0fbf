# SPDX-License-Identifier: Apache-2.0
"""`register_shutil()` lets `shutil` write and read .tar.zst, and read (but not write) .zip with Zstandard."""

from __future__ import annotations

import contextlib
import os
import shutil
import tarfile as standard_tarfile
from functools import partial
from typing import TYPE_CHECKING, Any, Callable

from cpkg.zstd import tarfile, zipfile
from purepy.base.new_files import replacing

if TYPE_CHECKING:
    from logging import Logger

    from purepy.base.types import Parameters

_TAR = "zstdtar"
_TAR_DESCRIPTION = "zstd'ed tar-file"


def register_shutil(
    *,
    tar: bool = True,
    zip: bool = True,
    level: int | None = None,
    options: Parameters = None,
    threads: int | None = None,
) -> None:
    """
    Let `shutil.make_archive` write "zstdtar", and `shutil.unpack_archive` read .tar.zst, .tzst and .zip with Zstandard.

    `tar` and `zip` select the formats. `level`, `options` and `threads` mean the same as for `cpkg.zstd.compress`, and
    apply to new "zstdtar" archives; `threads` also applies to reading .tar.zst. A new archive appears complete or not
    at all. Writing .zip is not changed. Earlier registrations of these formats are replaced, so the function may be
    called again.
    Replaces `backports.zstd.register_shutil` and the support for Zstandard in Python 3.14's `shutil`.
    """
    if tar:
        with contextlib.suppress(KeyError):
            shutil.unregister_archive_format(_TAR)
        make: Any = partial(_make_tarball, level=level, options=options, threads=threads)
        make.supports_root_dir = True
        shutil.register_archive_format(_TAR, make, [], _TAR_DESCRIPTION)
        _register_unpack(_TAR, [".tar.zst", ".tzst"], partial(_unpack_tarball, threads), _TAR_DESCRIPTION)
    if zip:
        _register_unpack("zip", [".zip"], _unpack_zip, "ZIP file")


def _register_unpack(name: str, extensions: list[str], function: Callable[..., object], description: str) -> None:
    with contextlib.suppress(KeyError):
        shutil.unregister_unpack_format(name)
    shutil.register_unpack_format(name, extensions, function, [], description)


def _make_tarball(
    base_name: str,
    base_dir: str,
    *,
    level: int | None,
    options: Parameters,
    threads: int | None,
    root_dir: str | None = None,
    dry_run: bool = False,
    owner: str | None = None,
    group: str | None = None,
    logger: Logger | None = None,
    **ignored: object,
) -> str:
    """Write base_name.tar.zst, unless `dry_run` is true, and return its path (replaces `shutil._make_tarball`)."""
    name = os.fspath(base_name) + ".tar.zst"
    folder = os.path.dirname(name)
    if logger is not None:
        logger.info("Creating tar archive")
    uid = None if owner is None else _number_of(owner, "pwd", "getpwnam", "user")
    gid = None if group is None else _number_of(group, "grp", "getgrnam", "group")

    def with_owner(member: Any) -> Any:
        if gid is not None:
            member.gid, member.gname = gid, group
        if uid is not None:
            member.uid, member.uname = uid, owner
        return member

    if not dry_run:
        if folder:
            os.makedirs(folder, exist_ok=True)
        compressed = partial(_OutsideArchive.zstopen, name, "w", level=level, options=options, threads=threads)
        with replacing(name) as file, compressed(fileobj=file) as archive:
            archive.own = [os.fstat(file.fileno())]
            with contextlib.suppress(FileNotFoundError):
                archive.own.append(os.stat(name))
            source = base_dir if root_dir is None else os.path.join(root_dir, base_dir)
            archive.add(source, arcname=base_dir, filter=with_owner)
    return os.path.abspath(name) if root_dir is not None else name


class _OutsideArchive(tarfile.TarFile):
    """An archive that leaves out the file that it is written to, under any name, and the file that it replaces."""

    own: list[os.stat_result]

    def gettarinfo(self, name: Any = None, arcname: Any = None, fileobj: Any = None) -> Any:
        if fileobj is None:
            status = os.lstat(name)
            if any(os.path.samestat(status, own) for own in self.own):
                return None
        return super().gettarinfo(name, arcname, fileobj)


def _number_of(name: str, module: str, function: str, kind: str) -> int | None:
    """Return the number of a user or group; None if there is no such name (as in `shutil`) or no database of names."""
    try:
        return int(getattr(__import__(module), function)(name)[2])
    except (ImportError, KeyError):
        return None


def _unpack_tarball(threads: int | None, filename: str, extract_dir: str, **filter: Any) -> None:
    """Extract a tar archive, with `filter` where Python has filters (replaces `shutil._unpack_tarfile`)."""
    try:
        archive = tarfile.open(filename, "r:zst", threads=threads)
    except standard_tarfile.TarError as exc:
        raise shutil.ReadError(f"{filename} cannot be read as a tar file compressed with Zstandard") from exc
    with archive:
        archive.extractall(extract_dir, **filter)


def _unpack_zip(filename: str, extract_dir: str) -> None:
    """Extract a ZIP archive; raises ReadError for a file that is not one (replaces `shutil._unpack_zipfile`)."""
    if not zipfile.is_zipfile(filename):
        raise shutil.ReadError(f"{filename} is not a zip file")
    with zipfile.ZipFile(filename) as archive:
        archive.extractall(extract_dir)
