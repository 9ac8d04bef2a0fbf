# SPDX-License-Identifier: Apache-2.0
"""Numbers of things, and what a content seems to be, for messages."""

from __future__ import annotations

HEAD = 262
"""So many bytes show which format a content has."""
TAR = "a tar archive: see 'cpkg archive list'"


def counted(number: int, noun: str) -> str:
    """Return "1 record", "2 records"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def squeezed(content: int, stored: int) -> str:
    """Say how much smaller content is as it is stored, in bytes."""
    return f"compressed {content / stored:.2f} times" if content > stored else "not made smaller by compressing"


def following(size: int) -> str:
    """Say how much there is behind an object that should be the only one."""
    return f"{counted(size, 'byte')} {'follows' if size == 1 else 'follow'} the object"


def is_tar(head: bytes) -> bool:
    """Whether a content begins as a tar archive does."""
    return head[257:HEAD] == b"ustar"


def other_format(head: bytes) -> str:
    """Say which other format a content that is no MessagePack seems to have, and its command: the end of a message."""
    if is_tar(head):
        return f"; {TAR}"
    return "; it looks like JSON text: see 'cpkg pack'" if head.lstrip()[:1] in (b"{", b"[", b'"') else ""
