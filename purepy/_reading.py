# SPDX-License-Identifier: Apache-2.0
"""Reading as much as is wanted from files that may give less at a time."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def read_full(file: Any, size: int, enough: int | None = None) -> bytes:
    """
    Return the next `size` bytes of a file, fewer at its end, or as soon as there are `enough`.

    Raises BlockingIOError if a non-blocking file has none at the moment.
    """
    data = b""
    while len(data) < (size if enough is None else enough):
        more = file.read(size - len(data))
        if more is None:
            raise BlockingIOError("the file has no data at the moment; a non-blocking file cannot be searched")
        if not more:
            break
        data = data + more if data else more
    return data
