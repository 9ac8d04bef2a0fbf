# SPDX-License-Identifier: Apache-2.0
"""Records as objects of a type of the caller's: `cpkg.typed` for each, with the record's number in its errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic

from purepy.base.errors import CodecError
from purepy.base.lazy import imported

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from cpkg.typed.nodes import Annotation

    Record = TypeVar("Record", default=Any)
else:
    from typing import TypeVar

    Record = TypeVar("Record")


class TypedRecords(Generic[Record]):
    """Decodes records of one type. `options` are those of `typed.Decoder`, `type` among them."""

    def __init__(self, options: dict[str, object]) -> None:
        codecs = imported("cpkg.typed.codecs")
        # what objects take is limited for a frame, before it comes here
        options = {**options, "max_memory": -1}
        try:
            decoder = codecs.Decoder(**options)
        except TypeError as exc:
            raise TypeError(re.sub(r"\S*__init__\(\)", "records.open()", str(exc))) from None
        self.decode: Callable[[bytes], Record] = decoder.decode
        self.limits = decoder.limits
        kind: Annotation = options["type"]
        options = {**options, "type": list[kind], "max_depth": self.limits.max_depth + 1}
        self._decode_all: Callable[[bytes], list[Record]] = codecs.Decoder(**options).decode

    def decode_all(self, header: bytes, content: bytes) -> list[Record] | None:
        """Return the records of a content as a list; None if any of them is wrong. `header` is that of their array."""
        try:
            return self._decode_all(b"".join((header, content)))
        except (CodecError, StopIteration):
            return None  # they are decoded one by one, up to the one that is wrong

    def record(self, number: int, data: bytes) -> Record:
        """Return one record. The path of a ValidationError begins with its number."""
        try:
            return self.decode(data)
        except imported("cpkg.typed.errors").ValidationError as exc:
            for error in exc.errors:
                error.path = (number, *error.path)
            raise
