# SPDX-License-Identifier: Apache-2.0
"""
Write wheels and the sdist so that the same content gives the same bytes.

A wheel with native modules consists of the pure wheel built by setuptools, the modules and their build record, the
licences and SBOM of the libraries inside, and the tags of its interpreter and platform.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import os
import re
import tarfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH") or 315532800)
"""The time of every file, in seconds since 1970; the default is 1980, the earliest time in a zip archive."""


def read_wheel(path: Path) -> dict[str, bytes]:
    """Return the files of a wheel by name, without RECORD, which is derived from them."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith(("/", "/RECORD"))}


def info_folder(files: Mapping[str, bytes]) -> str:
    """Return the name of a wheel's .dist-info folder."""
    return next(name.partition("/")[0] for name in files if name.endswith(".dist-info/WHEEL"))


def write_wheel(folder: Path, files: Mapping[str, bytes], python: str, abi: str, platforms: tuple[str, ...]) -> Path:
    """Write a wheel to `folder`, named after its tags, with its WHEEL and RECORD files; return its path."""
    info = info_folder(files)
    content = dict(files)
    tags = "".join(f"Tag: {python}-{abi}-{platform}\n" for platform in sorted(platforms))
    pure = "true" if platforms == ("any",) else "false"
    content[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: cpkg\nRoot-Is-Purelib: {pure}\n{tags}\n".encode()
    record = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in sorted(content.items())]
    content[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
    path = folder / f"{info.removesuffix('.dist-info')}-{python}-{abi}-{'.'.join(sorted(platforms))}.whl"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        # the metadata comes last, as recommended, because installers read it first
        for name in sorted(content, key=lambda name: (name.startswith(info), name)):
            entry = zipfile.ZipInfo(name, time.gmtime(EPOCH)[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
            archive.writestr(entry, content[name])
    return path


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def add_licences(files: dict[str, bytes], expression: str, texts: Mapping[str, str]) -> None:
    """Add licence texts (file name -> text) to a wheel, and replace the licence expression in its metadata."""
    info = info_folder(files)
    metadata = files[f"{info}/METADATA"].decode()
    head, blank, description = metadata.partition("\n\n")
    head, found = re.subn(r"(?m)^License-Expression: .*$", f"License-Expression: {expression}", head)
    assert found == 1, "the metadata has no License-Expression"
    for name, text in sorted(texts.items()):
        files[f"{info}/licenses/{name}"] = text.encode()
        head += f"\nLicense-File: {name}"
    files[f"{info}/METADATA"] = (head + blank + description).encode()


def normalise_sdist(path: Path) -> None:
    """Rewrite an sdist with sorted entries, without owners, with EPOCH as every time, and with modes 755 and 644."""
    with tarfile.open(path) as archive:
        members = []
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            members.append((member, None if file is None else file.read()))
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for member, data in sorted(members, key=lambda pair: pair[0].name):
            entry = tarfile.TarInfo(member.name)
            entry.type, entry.size, entry.mtime = member.type, member.size, EPOCH
            entry.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            archive.addfile(entry, None if data is None else io.BytesIO(data))
    path.write_bytes(gzip.compress(written.getvalue(), 9, mtime=EPOCH))
