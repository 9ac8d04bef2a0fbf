# SPDX-License-Identifier: Apache-2.0
"""Records as objects of a type of the caller's: `cpkg.typed` for each, with the record's number in its errors."""

from __future__ import annotations

import re
from typing import Any

from purepy._lazy import imported
from purepy.errors import CodecError


class TypedRecords:
    """Decodes records of one type. `options` are those of `typed.Decoder`, `type` among them."""

    def __init__(self, options: dict[str, Any]) -> None:
        codecs = imported("cpkg.typed.codecs")
        # what objects take is limited for a frame, before it comes here
        options = {**options, "max_memory": -1}
        try:
            self._decoder = codecs.Decoder(**options)
        except TypeError as exc:
            raise TypeError(re.sub(r"\S*__init__\(\)", "records.open()", str(exc))) from None
        self.decode = self._decoder.decode
        self.limits = self._decoder.limits
        kind: Any = options["type"]
        options["type"] = list[kind]
        self._all = codecs.Decoder(**{**options, "max_depth": self._decoder.limits.max_depth + 1})

    def decode_all(self, header: bytes, content: bytes) -> Any:
        """Return the records of a content as a list; None if any of them is wrong. `header` is that of their array."""
        try:
            return self._all.decode(b"".join((header, content)))
        except CodecError:
            return None  # they are decoded one by one, up to the one that is wrong

    def record(self, number: int, data: bytes) -> Any:
        """Return one record. The path of a ValidationError begins with its number."""
        try:
            return self.decode(data)
        except imported("cpkg.typed.errors").ValidationError as exc:
            for error in exc.errors:
                error.path = (number, *error.path)
            raise
