# SPDX-License-Identifier: Apache-2.0
"""One MessagePack message out of values that come one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from cpkg import _backend
from cpkg.cli.json_text import JSONError
from cpkg.objects import dumps_loads
from purepy.msgpack.plain_writer import array_header

if TYPE_CHECKING:
    from purepy.base.types import Bytes, Value

_LONGEST_HEADER: Final = 5


class PackingSink:
    """A sink for the values of a `json_input.JSONReader`, which become the message that `cpkg.dumps` makes of them."""

    def __init__(self, *, sort_keys: bool = False) -> None:
        self._packb = _backend.msgpack().packb
        self._options: dict[str, object] = {"sort_keys": sort_keys, "max_depth": dumps_loads.MAX_DEPTH}
        self._body = bytearray(_LONGEST_HEADER)  # with room for the header of the array, whose count comes last
        self._count = 0
        self._is_deepest = False
        self._single: bytes | None = None

    def take(self, values: list[object]) -> None:
        header = array_header(len(values))
        packed: bytes
        try:
            packed = self._packb([values], **self._options)  # so deep are they if the array is nested in the end
            skipped = 1 + len(header)
        except ValueError:
            packed = self._packb(values, **self._options)
            skipped = len(header)
            self._is_deepest = True
        self._body += memoryview(packed)[skipped:]
        self._count += len(values)

    def nest(self) -> None:
        if self._is_deepest:
            raise JSONError("nested too deep: the first value is an array as deep as the whole may be")
        self._body[_LONGEST_HEADER:_LONGEST_HEADER] = array_header(self._count)
        self._count = 1

    def single(self, value: object) -> None:
        self._single = self._packb(value, **self._options)

    def message(self) -> Bytes:
        """Return the message, as bytes or a view of them."""
        if self._single is not None:
            return self._single
        header = array_header(self._count)
        start = _LONGEST_HEADER - len(header)
        self._body[start:_LONGEST_HEADER] = header
        return memoryview(self._body)[start:]

    def compressed(self, compress: bool | Literal["auto"], level: int) -> Bytes:
        """Return what `cpkg.dumps` would, as bytes or a view of them; `compress` and `level` are its arguments."""
        message = self.message()
        if not compress or (compress == "auto" and len(message) < dumps_loads.MIN_SIZE):
            return message
        return dumps_loads.finish(_backend.zstd(), message, compress=compress, level=level)


class KeepingSink(PackingSink):
    """A PackingSink that keeps the value, too."""

    def __init__(self) -> None:
        super().__init__()
        self.value: Value = []

    def take(self, values: list[object]) -> None:
        super().take(values)
        self.value += values

    def nest(self) -> None:
        super().nest()
        self.value = [self.value]

    def single(self, value: object) -> None:
        super().single(value)
        self.value = value
