# SPDX-License-Identifier: Apache-2.0
"""Records as objects of a type of the caller's: `cpkg.typed` for each, with the record's number in its errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Optional

from purepy.base.lazy import imported

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Record = TypeVar("Record", default=Any)
    Decoded = tuple[list[Record], int, Optional[Any], int]
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
        self.limits = decoder.limits
        self.decode: Callable[[bytes], Record] = decoder.decode
        self.decode_all: Callable[[bytes, int, int], Decoded[Record]] = partial(codecs.decode_all, decoder)
        self.decode_within: Callable[..., tuple[Record, int]] = partial(codecs.decode_within, decoder)
