# SPDX-License-Identifier: Apache-2.0
"""
Archives: pack trees of files into .tar.zst and unpack them, in process and on all processors.

tar and zstd can read the archives, and this module reads theirs. See docs/archives.md.
"""

from __future__ import annotations

from cpkg.archive._create import create
from cpkg.archive._extract import entries, extract, verify
from cpkg.archive._result import ArchiveWarning, Problem, Summary
from purepy.base.errors import ArchiveError, ArchiveLimitError, UnsafeEntryError
from purepy.base.lazy import public_dir
from purepy.tar.entry import Entry

__all__ = [
    "ArchiveError",
    "ArchiveLimitError",
    "ArchiveWarning",
    "Entry",
    "Problem",
    "Summary",
    "UnsafeEntryError",
    "create",
    "entries",
    "extract",
    "verify",
]
__dir__ = public_dir(__name__)
