# SPDX-License-Identifier: Apache-2.0
"""
The one exception tree, shared by every backend of both codecs.

An exception's type never depends on the backend that raised it: the native codecs raise these classes as well. The
MessagePack part keeps the names and bases of `msgpack.exceptions`, the Zstandard part those of `compression.zstd`.
Separate types for truncation and limits are subclasses of these classes, so code written for the original modules
catches the same errors as before. The public module of the classes is `cpkg.errors`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


class CodecError(Exception):
    """
    Base of the codecs' own errors. The codecs also raise UnicodeDecodeError, ValueError, TypeError and OverflowError.

    `offset` is the position in bytes at which the input is wrong, counted from the start of the message, frame
    or stream. It is None while encoding, and if no single position is wrong.
    """

    offset: int | None = None
    advice: str | None = None
    """Advice on what the caller can do, or None; the text of the error ends with this advice."""

    def __str__(self) -> str:
        text = super().__str__()
        return text if self.advice is None else f"{text}; {self.advice}"


class LimitError(CodecError, ValueError):
    """
    The input exceeds a limit that the caller set, or a default limit: a size, a length, a number of items.

    Also raised for map keys chosen so that their hashes collide.
    """


class UnpackException(CodecError):
    """Base of errors of unpacking, but not of LimitError and ExtraData (replaces `msgpack.UnpackException`)."""


class BufferFull(UnpackException):
    """More bytes would wait in an Unpacker than its `max_buffer_size` allows (replaces `msgpack.BufferFull`)."""


class OutOfData(UnpackException):
    """The data fed so far ends inside an object, or before one (replaces `msgpack.OutOfData`)."""


class FormatError(ValueError, UnpackException):
    """
    The input contains a byte that starts no MessagePack type (replaces `msgpack.FormatError`).

    `cpkg.loads` also raises it for text, map keys and extension values that `cpkg.dumps` never writes.
    """


class StackError(ValueError, UnpackException):
    """
    Containers are nested too deep (replaces `msgpack.StackError`).

    They are nested deeper than `max_depth`, than 32 levels in a map key, or than the stack allows.
    """


def too_deep(max_depth: int) -> StackError:
    """Return the error for a container that is nested too deep."""
    return StackError(f"nested deeper than max_depth({max_depth})")


class TruncatedError(ValueError, UnpackException):
    """The input ends before its object does; `msgpack` raises a plain ValueError here."""


def incomplete(size: int) -> TruncatedError:
    """Return the error for a message of `size` bytes that ends before its object does."""
    empty = "" if size else ": the input is empty, expected a MessagePack object"
    return TruncatedError(f"Unpack failed: incomplete input{empty}")


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
        # the text starts with the words of `msgpack`
        place = "" if self.offset is None else f" (at byte {self.offset})"
        count = len(self.extra)
        text = f"unpack(b) received extra data: {count:,} byte{'s' * (count != 1)} after the object{place}"
        advice = self.advice or self._advice()
        return text if advice is None else f"{text}; {advice}"

    def _advice(self) -> str | None:
        """Return advice if the object is only the first byte of data in another known format, else None."""
        from purepy.base.mistaken import advice_for, ends

        return advice_for(ends(self.unpacked, self.extra)) if self.offset in (None, 1) else None


class ZstdError(CodecError):
    """
    Compressing or decompressing failed (replaces `compression.zstd.ZstdError`).

    `code` is libzstd's error number (`ZSTD_ErrorCode`) and `name` the text of that number; `detail` describes what is
    wrong with the input. Each is None if the error or the backend does not provide it.
    """

    code: int | None = None
    name: str | None = None
    detail: str | None = None


class ZstdLimitError(ZstdError, LimitError):
    """The output exceeds `max_output_size` or the caller's buffer, or a frame needs a larger window than allowed."""


class SeekableFormatError(ZstdError):
    """
    A file lacks the seek table that a call needs, its table is damaged or does not match, or frames do not fit a table.

    `has_table` is False if the file has no table, or is truncated. Replaces `pyzstd.SeekableFormatError`.
    """

    has_table = True


class ArchiveError(CodecError):
    """A file is not an archive, is damaged, or cannot be created; `entry` is the name of the entry concerned."""

    entry: str | None = None


class UnsafeEntryError(ArchiveError):
    """An entry would be written or link outside the directory, or has a type that the filter does not allow."""


class ArchiveLimitError(ArchiveError, LimitError):
    """An archive exceeds a limit: bytes of content, bytes of headers, or pieces of a sparse file."""


for _found in list(globals().values()):
    if isinstance(_found, type) and issubclass(_found, CodecError):
        _found.__module__ = "cpkg.errors"  # the module from which callers import it


def exception_text(exc: BaseException, text: Callable[[object], str] = str) -> str:
    """Return `text(exc)` for a caller's exception, or the name of the exception's class if `text` raises an error."""
    try:
        return text(exc)
    except Exception as error:
        raise_if_from_handler(error)
        return type(exc).__name__


def is_from_handler(exc: BaseException | None) -> bool:
    """
    Return whether `exc` is an OSError that appears to come from a signal handler, not from the system or a file.

    A handler often raises TimeoutError, or a class of the calling program. The code around a call must not mistake
    either for an error of that call. Errors from the system have a number; file objects also raise Python's own
    classes without a number.
    """
    if not isinstance(exc, OSError):
        return False
    return isinstance(exc, TimeoutError) or (exc.errno is None and type(exc).__module__ not in ("builtins", "io"))


def is_refusal(exc: BaseException) -> bool:
    """Return whether `exc` is an OSError of the file, not of a signal handler: the call that raised it did nothing."""
    return isinstance(exc, OSError) and not is_from_handler(exc)


def raise_if_from_handler(exc: BaseException) -> None:
    """Raise `exc` if it comes from a signal handler: call this before `exc` is treated as an error of the call."""
    if is_from_handler(exc):
        raise exc


class Suppressed:
    """Suppress exceptions of the given classes in a block, except those raised by a signal handler."""

    def __init__(self, *classes: type[BaseException]) -> None:
        self._classes = classes

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, exc: BaseException | None, traceback: object) -> bool:
        return isinstance(exc, self._classes) and not is_from_handler(exc)
