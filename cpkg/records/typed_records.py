# SPDX-License-Identifier: Apache-2.0
"""Decode records to a type of the caller with `cpkg.typed`."""

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
    """Decodes records to one type; `options` are the options of `typed.Decoder`, including `type`."""

    def __init__(self, options: dict[str, object]) -> None:
        codecs = imported("cpkg.typed.codecs")
        # `decoding.Decoder` limits the memory for the objects of a frame
        options = {**options, "max_memory": -1}
        try:
            decoder = codecs.Decoder(**options)
        except TypeError as exc:
            raise TypeError(re.sub(r"\S*__init__\(\)", "records.open()", str(exc))) from None
        self.limits = decoder._limits
        self.decode: Callable[[bytes], Record] = decoder.decode
        self.decode_all: Callable[[bytes, int, int], Decoded[Record]] = partial(codecs.decode_all, decoder)
        self.decode_within: Callable[..., tuple[Record, int]] = partial(codecs.decode_within, decoder)
