# SPDX-License-Identifier: Apache-2.0
"""The errors of record files."""

from __future__ import annotations

from purepy.base.errors import CodecError


class RecordsError(CodecError):
    """
    A record file cannot be read or written; the base class of DamagedError and LockedError.

    `offset` is the position in the file in bytes, or None if unknown.
    """


class DamagedError(RecordsError):
    """
    A part of a record file is damaged or lost; the rest of the file can be read.

    `first` is the number of the first lost record and `count` the number of lost records; both are None if unknown.
    `count` is 0 if no record number is missing. `reason` describes the damage. To continue after the damage, call
    `reader.iter(error.first + error.count)`, or open the file with `errors="skip"` to skip all damage. If `first` and
    `count` are both 0, only `errors="skip"` helps.
    """

    advice: str | None = 'to read the rest, iterate with errors="skip"'

    def __init__(self, reason: str, offset: int, first: int | None, count: int | None) -> None:
        super().__init__(reason, offset, first, count)
        self.reason = reason
        self.offset: int = offset
        self.first = first
        self.count = count

    def __str__(self) -> str:
        text = f"{numbers(self.first, self.count)} (at byte {self.offset}): {self.reason}"
        return text if self.advice is None else f"{text}; {self.advice}"


class LockedError(RecordsError):
    """Another writer, in this or another process, has the file open."""


def about(name: str, text: str) -> str:
    """Return the text of an error about the file `name`, which is "" for a file object without a name."""
    return f"{name}: {text}" if name else text


def joined(name: str, offset: int) -> RecordsError:
    """Return the error for record files that were concatenated without `join`."""
    text = (
        f"expected one record file, found joined files: another file begins at byte {offset}. Join the original files "
        "with `cpkg records join a.rec b.rec -o OUT`, or divide this file at that byte first"
    )
    return RecordsError(about(name, text))


def covered(name: str, end: int, foreign: int) -> RecordsError:
    """Return the error for an unfinished frame at byte `end` with the header of another file or frame at `foreign`."""
    text = (
        f"expected only an unfinished frame from byte {end} on, found the header of another file or frame in it, at "
        f"byte {foreign}. If another file begins there, copy it to a separate file. Then cut this file off at byte "
        f"{end}, and try again"
    )
    return RecordsError(about(name, text))


def numbers(first: int | None, count: int | None) -> str:
    """Return a phrase for `count` records from number `first` on; None is an unknown number."""
    if first is None or count is None:
        return "an unknown number of records"
    if count == 0:
        return f"no records before record {first}"
    return f"record {first}" if count == 1 else f"records {first} to {first + count - 1}"


for _found in list(globals().values()):
    if isinstance(_found, type) and issubclass(_found, RecordsError):
        _found.__module__ = "cpkg.records"  # as in purepy.base.errors
