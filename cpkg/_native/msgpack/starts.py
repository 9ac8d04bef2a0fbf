# SPDX-License-Identifier: Apache-2.0
"""Find in C where consecutive messages begin: for record files."""

from __future__ import annotations

from cpkg._native._msgpack_ffi import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cpkg._native.cffi_types import CData
    from purepy.base.types import Bytes


def message_starts(data: Bytes, count: int) -> CData | None:
    """
    Return the offsets where `count` messages in a buffer begin, and the end of the last one, as a C array.

    `data` is bytes or a cffi buffer. Returns None if there are fewer messages, or if one of them is cut or wrong.
    """
    starts = ffi.new("int64_t[]", count + 1)
    memory = ffi.from_buffer(data)
    return starts if lib.cpkg_message_starts(memory, len(data), starts, count) == count else None
