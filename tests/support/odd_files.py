# SPDX-License-Identifier: Apache-2.0
"""Files that return or accept only a few bytes at a time, and count them."""

from __future__ import annotations

import io
from typing import Any


class Counting(io.BytesIO):
    """A file that counts the bytes read, and returns at most `most` bytes at a time."""

    most = 1 << 62
    taken = 0

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = self.most if size is None or size < 0 else min(size, self.most)
        data = super().read(wanted)
        self.taken += len(data)
        return data


class Trickling(Counting):
    """A file that returns a thousand bytes at a time."""

    most = 1000


class Slow(io.RawIOBase):
    """A file that accepts seven bytes at a time."""

    def __init__(self) -> None:
        self.content = b""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.content += bytes(data[:7])
        return min(7, len(data))
