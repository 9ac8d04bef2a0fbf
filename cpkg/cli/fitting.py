# SPDX-License-Identifier: Apache-2.0
"""Phrases for messages: counts, sizes, and guesses at the format of data."""

from __future__ import annotations

from purepy.base.errors import CodecError, ExtraData, LimitError, ZstdError
from purepy.base.mistaken import RECORDS, advice_for, is_tar
from purepy.zstd.format.rules import MAGIC

HEAD = 262
"""The number of first bytes from which the format of data can be guessed."""
TAR = {
    True: "a tar archive: see 'cpkg archive list'",
    False: "an uncompressed tar archive: compress it with 'cpkg zstd'",
}
"""The text for a tar archive, by whether it is compressed with Zstandard."""
NOT_ONE = "; not MessagePack, or a stream of objects: see 'cpkg records convert --from msgpack'"
"""The end of a message about bytes that follow an object, if their format is unknown."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun in the singular or plural, such as "1 record" or "2 records"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def squeezed(content: int, stored: int) -> str:
    """Return a phrase on how well content is compressed; both sizes are in bytes."""
    return f"{content / stored:.2f} times smaller when compressed" if content > stored else "no smaller when compressed"


def following(size: int) -> str:
    """Return a phrase on the bytes after an object that should be the only one."""
    return f"{counted(size, 'extra byte')} after the object"


def is_like_json(head: bytes) -> bool:
    """Return whether data begins like a JSON object, array or string."""
    return head.lstrip()[:1] in (b"{", b"[", b'"')


def other_format(head: bytes, *, compressed: bool = False) -> str:
    """
    Return the end of a message: which other format data seems to have, and the command for it; "" if unknown.

    `compressed` is whether `head` was decompressed from a Zstandard frame.
    """
    if is_tar(head):
        return f"; {TAR[compressed]}"
    if is_like_json(head):
        return "; it looks like JSON text: see 'cpkg pack'"
    if head.startswith(MAGIC):
        return "; it is compressed with Zstandard: see 'cpkg unpack' and 'cpkg zstd -dc'"
    advice = advice_for(head)
    if advice is RECORDS:
        return "; this is a record file: see 'cpkg records cat'"
    return "" if advice is None else f"; {advice}"


def text_of(exc: Exception) -> str:
    """Return the text of an error, for a LimitError without its advice, which is about Python arguments."""
    return str(exc.args[0] if isinstance(exc, LimitError) else exc)


def described(name: str, exc: CodecError) -> str:
    """Return the message for data of the file `name` that cannot be unpacked, with the offset of the error."""
    if isinstance(exc, ExtraData):
        return f"{name}: {following(len(exc.extra))} (at byte {exc.offset})"
    text = f"{name}: {text_of(exc)}"
    # the text of an error with a detail names the offset; for a limit, an offset would not help
    is_complete = isinstance(exc, ZstdError) and (exc.detail is not None or isinstance(exc, LimitError))
    return text if exc.offset is None or is_complete or "at byte" in text else f"{text} (at byte {exc.offset})"
