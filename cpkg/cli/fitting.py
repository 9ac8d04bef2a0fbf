# SPDX-License-Identifier: Apache-2.0
"""Phrases for messages: counts, sizes, and guesses at the format of data."""

from __future__ import annotations

from purepy.base.mistaken import advice_for, is_tar

HEAD = 262
"""The number of first bytes from which the format of data can be guessed."""
TAR = "a tar archive: see 'cpkg archive list'"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun in the singular or plural, such as "1 record" or "2 records"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def squeezed(content: int, stored: int) -> str:
    """Return a phrase on how well content is compressed; both sizes are in bytes."""
    return f"{content / stored:.2f} times smaller when compressed" if content > stored else "no smaller when compressed"


def following(size: int) -> str:
    """Return a phrase on the bytes after an object that should be the only one."""
    return f"{counted(size, 'extra byte')} after the object"


def other_format(head: bytes) -> str:
    """Return the end of a message: which other format data seems to have, and the command for it; "" if unknown."""
    if is_tar(head):
        return f"; {TAR}"
    if head.lstrip()[:1] in (b"{", b"[", b'"'):
        return "; it looks like JSON text: see 'cpkg pack'"
    advice = advice_for(head)
    return "" if advice is None else f"; {advice}"
