# SPDX-License-Identifier: Apache-2.0
"""The token tape that `pypy_unpack` reads: the C side's memory, and the keys that have numbers there."""

from __future__ import annotations

from cpkg._native._msgpack_ffi import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from cpkg._native.msgpack.pypy_checks import Options

KEY_IS_KEY: Final = 0xFFFE
KEY_PENDING: Final = 0xFFFF

HEAD_POOL, HEAD_NEW_NAMES, HEAD_FORGET, HEAD_END, HEAD_KEY, HEAD_WORDS = range(6)


class Tape:
    """The C side's memory (about 400 KiB), the pointers into it, and the keys that have numbers there."""

    __slots__ = ("doubles", "handle", "names", "new_names", "options", "pool", "unsigned", "words")

    def __init__(self) -> None:
        handle = lib.cpkg_tape_new()
        if handle == ffi.NULL:
            raise MemoryError("no memory for a tape")
        self.handle = ffi.gc(handle, lib.cpkg_tape_free, lib.cpkg_tape_size())
        self.words = lib.cpkg_tape_words(handle)
        self.doubles = ffi.cast("double *", self.words)
        self.unsigned = ffi.cast("uint64_t *", self.words)
        self.pool = lib.cpkg_tape_pool(handle)
        self.new_names = lib.cpkg_tape_new_names(handle)
        # number 0 is no name; None also keeps the list from storing bare strings, which it would wrap at each use
        self.names: list[Any] = [None]
        self.options: Options | None = None

    def configure(self, options: Options) -> None:
        """Set what the next messages are checked against."""
        lib.cpkg_tape_configure(self.handle, *options)
        self.options = options

    def learn(self, data: bytes) -> None:
        """Take over the keys that the last stretch numbered; UnicodeDecodeError if one is no UTF-8."""
        names = self.names
        if self.words[HEAD_FORGET]:
            del names[1:]
        for i in range(self.words[HEAD_NEW_NAMES]):
            begin = self.new_names[2 * i]
            names.append(data[begin : begin + self.new_names[2 * i + 1]].decode())
