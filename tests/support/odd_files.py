# SPDX-License-Identifier: Apache-2.0
"""Files that return or accept only a few bytes at a time, count them, or fail as planned."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any


class Counting(io.BytesIO):
    """A file that counts the bytes read, and returns at most `most` bytes at a time."""

    def __init__(self, data: bytes, most: int = 1 << 62) -> None:
        super().__init__(data)
        self.most = most
        self.taken = 0

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = self.most if size is None or size < 0 else min(size, self.most)
        data = super().read(wanted)
        self.taken += len(data)
        return data


class Target(io.RawIOBase):
    """
    A raw file that keeps what is written.

    write() takes at most `most` bytes. Each call of write() and flush() takes the next item from its plan: an exception
    to raise, or None.
    """

    def __init__(self, most: int = 1 << 62) -> None:
        self.most = most
        self.pieces: list[bytes] = []
        self.write_plan: list[BaseException | None] = []
        self.flush_plan: list[BaseException | None] = []
        self.takes_when_failing = False
        self.meanwhile: Callable[[], object] = lambda: None
        self.closes = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        failure = self.write_plan.pop(0) if self.write_plan else None
        if failure is None or self.takes_when_failing:
            self.meanwhile()
            self.pieces.append(bytes(data[: self.most]))
        if failure is not None:
            raise failure
        return min(len(data), self.most)

    def flush(self) -> None:
        failure = self.flush_plan.pop(0) if self.flush_plan else None
        if failure is not None:
            raise failure

    def tell(self) -> int:
        return len(self.content)

    def close(self) -> None:
        self.closes += not self.closed
        super().close()

    @property
    def content(self) -> bytes:
        return b"".join(self.pieces)
