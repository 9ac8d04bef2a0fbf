# SPDX-License-Identifier: Apache-2.0
"""
The one exception tree, shared by every backend of both codecs.

An exception's type never depends on the backend that raised it: the native codecs raise these classes too. The
MessagePack part keeps the names and bases of `msgpack.exceptions`, the Zstandard part those of
`compression.zstd`; what they did not have (`offset`, truncation and limits as types of their own) is added
below them, so that code written for the originals catches the same errors as before. Their public module is
`cpkg.errors`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


class CodecError(Exception):
    """
    Base of every error that a codec raises on its own account.

    `offset` is the position in bytes at which the input is wrong, counted from the start of the message, frame
    or stream; None while encoding and where no single position is to blame.
    """

    offset: int | None = None


class LimitError(CodecError, ValueError):
    """
    A limit that the caller set, or its default, would be exceeded: a size, a length, a number of items.

    `advice` says how a caller in Python allows more, where that is not plain; the text ends with it.
    """

    advice: str | None = None

    def __str__(self) -> str:
        text = super().__str__()
        return text if self.advice is None else f"{text}; {self.advice}"


class UnpackException(CodecError):
    """Base of the errors that unpacking raises (replaces `msgpack.UnpackException`)."""


class BufferFull(UnpackException):
    """More bytes were fed to an Unpacker than its `max_buffer_size` allows (replaces `msgpack.BufferFull`)."""


class OutOfData(UnpackException):
    """The data fed so far ends inside an object, or before one (replaces `msgpack.OutOfData`)."""


class FormatError(ValueError, UnpackException):
    """The input holds a byte that starts no MessagePack type (replaces `msgpack.FormatError`)."""


class StackError(ValueError, UnpackException):
    """Containers are nested deeper than `max_depth`, in a map key than 32 (replaces `msgpack.StackError`)."""


class TruncatedError(ValueError, UnpackException):
    """The input ends before its object does; `msgpack` raises a bare ValueError here."""


class ExtraData(CodecError, ValueError):
    """
    Bytes follow the object (replaces `msgpack.ExtraData`).

    `unpacked` is the object, `extra` the bytes that follow it.
    """

    def __init__(self, unpacked: Any, extra: bytes) -> None:
        super().__init__(unpacked, extra)
        self.unpacked = unpacked
        self.extra = extra

    def __str__(self) -> str:
        # the first words are those of `msgpack`
        place = "" if self.offset is None else f" (at byte {self.offset})"
        count = len(self.extra)
        return f"unpack(b) received extra data: {count:,} byte{'s' * (count != 1)} behind the object{place}"


class ZstdError(CodecError):
    """
    Compressing or decompressing failed (replaces `compression.zstd.ZstdError`).

    `code` is libzstd's error number (`ZSTD_ErrorCode`) and `name` its text, as far as the error has one; `detail` says
    what is wrong with the input, as far as the backend knows it.
    """

    code: int | None = None
    name: str | None = None
    detail: str | None = None


class ZstdLimitError(ZstdError, LimitError):
    """Decompressing would produce more than `max_output_size`, or need a larger window than allowed."""


class SeekableFormatError(ZstdError):
    """
    A file has no seek table where one is needed, or one that is damaged or does not fit its frames.

    `has_table` is False for a file that has none, or is cut. Replaces `pyzstd.SeekableFormatError`.
    """

    has_table = True


class ArchiveError(CodecError):
    """An archive is damaged or no archive, or cannot be made; `entry` is the name of the entry that it is about."""

    entry: str | None = None


class UnsafeEntryError(ArchiveError):
    """An entry would be written, or link, outside of the directory, or is of a type that the filter does not allow."""


class ArchiveLimitError(ArchiveError, LimitError):
    """An archive holds more than a limit allows: bytes of content, or bytes in one header."""


for _found in list(globals().values()):
    if isinstance(_found, type) and issubclass(_found, CodecError):
        _found.__module__ = "cpkg.errors"  # where callers find it: what a traceback shows can be imported


def exception_text(exc: BaseException, text: Callable[[object], str] = str) -> str:
    """Return the text of a caller's exception, or the name of its class if `text` raises an error."""
    try:
        return text(exc)
    except Exception as error:
        raise_if_from_handler(error)
        return type(exc).__name__


def is_from_handler(exc: BaseException | None) -> bool:
    """
    Return whether an OSError comes from a signal handler, not from the system or a file.

    A handler often raises TimeoutError, or a class of the program that uses us; the code around a call must not take
    either for the error of that call. The system gives its errors a number. File objects also raise the classes of
    Python without a number.
    """
    if not isinstance(exc, OSError):
        return False
    return isinstance(exc, TimeoutError) or (exc.errno is None and type(exc).__module__ not in ("builtins", "io"))


def is_refusal(exc: BaseException) -> bool:
    """Return whether `exc` is an error of a file itself: the call that raised it has done nothing."""
    return isinstance(exc, OSError) and not is_from_handler(exc)


def raise_if_from_handler(exc: BaseException) -> None:
    """Raise `exc` if it comes from a signal handler: call this before `exc` is treated as an error of the call."""
    if is_from_handler(exc):
        raise exc


class Suppressed:
    """Suppress exceptions of these classes in a block, but none that comes from a signal handler."""

    def __init__(self, *classes: type[BaseException]) -> None:
        self._classes = classes

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, exc: BaseException | None, traceback: object) -> bool:
        return isinstance(exc, self._classes) and not is_from_handler(exc)
