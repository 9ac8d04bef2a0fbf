# SPDX-License-Identifier: Apache-2.0
"""The sources of other projects, whose own tests run with ours in place of what they test."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import urllib.request
from pathlib import Path


def unpack(url: str, sha256: str, folder: Path) -> Path:
    """Fetch an archive, check its hash, and unpack it into `folder`; return the one folder that it holds.

    It is read from the folder that CPKG_UPSTREAM_SOURCES names, if that has it. It is not fetched with pip, which
    begins to build what it fetches, and refuses what is not for this interpreter.
    """
    kept = Path(os.environ.get("CPKG_UPSTREAM_SOURCES", os.devnull)) / url.rpartition("/")[2]
    if kept.exists():
        data = kept.read_bytes()
    else:
        with urllib.request.urlopen(url, timeout=120) as answer:
            data = answer.read()
    assert hashlib.sha256(data).hexdigest() == sha256, url
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        archive.extractall(folder)
    (unpacked,) = folder.iterdir()
    return unpacked
