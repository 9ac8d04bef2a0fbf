# SPDX-License-Identifier: Apache-2.0
"""The faults that a record file can have."""

from __future__ import annotations

from purepy.base.errors import CodecError


class RecordsError(CodecError):
    """
    A record file cannot be read or written as asked; base of the errors of `cpkg.records`.

    `offset` is the position in the file, in bytes, where there is one.
    """


class DamagedError(RecordsError):
    """
    A stretch of a record file is damaged or was lost; the rest of the file can be read.

    `first` is the number of the first record that is lost with it and `count` how many there are; both are None where
    nobody knows. Reading goes on behind it with `reader.iter(error.first + error.count)`, or passes over all damage
    with `errors="skip"`.
    """

    def __init__(self, reason: str, offset: int, first: int | None, count: int | None) -> None:
        super().__init__(reason, offset, first, count)
        self.reason = reason
        self.offset = offset
        self.first = first
        self.count = count

    def __str__(self) -> str:
        return f"{numbers(self.first, self.count)} (at byte {self.offset}): {self.reason}"


class LockedError(RecordsError):
    """Another writer, in this process or another one, has the file open."""


def joined(name: str, offset: int) -> RecordsError:
    """Return the error about record files that were joined by other means than `join`."""
    return RecordsError(
        f"{name}: expected one record file, found joined files: another one begins at byte {offset}. Join the original "
        "files with `cpkg records join a.rec b.rec -o OUT`, or divide this file at that byte first"
    )


def numbers(first: int | None, count: int | None) -> str:
    """Say which records a stretch holds."""
    if first is None or count is None:
        return "an unknown number of records"
    if count == 0:
        return f"no records before record {first}"
    return f"record {first}" if count == 1 else f"records {first} to {first + count - 1}"


for _found in list(globals().values()):
    if isinstance(_found, type) and issubclass(_found, RecordsError):
        _found.__module__ = "cpkg.records"  # as in purepy.base.errors
