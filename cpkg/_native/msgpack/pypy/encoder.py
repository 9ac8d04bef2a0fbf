# SPDX-License-Identifier: Apache-2.0
"""The encoder for PyPy: `marshal` at first, later the scratch buffer, and the pure encoder if these cannot be used."""

from __future__ import annotations

from cpkg._native.msgpack.pypy import marshal_pack
from cpkg._native.msgpack.pypy import pack as pypy_pack
from cpkg._native.msgpack.pypy import scratch as pypy_scratch
from cpkg._native.msgpack.pypy.marshal import WRITING
from purepy.msgpack.encoder import Encoder
from purepy.msgpack.options import PACKING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from purepy.base.types import OptionValues

_rent: Final = WRITING


class PyPyEncoder(Encoder):
    """An encoder that packs by marshal or in the scratch buffer if possible, and otherwise as the pure encoder does."""

    __slots__ = ("last_size", "smaller_size")

    def __init__(self, options: OptionValues) -> None:
        super().__init__(options)
        # The sizes of messages larger than the scratch buffer: the last size, and the smaller one of the last two, with
        # which the next builder is created. A builder of the right size is neither extended nor copied, and one very
        # large message does not enlarge later builders.
        self.last_size = self.smaller_size = 0

    def encode(self, obj: object) -> bytes:
        """Return the packed form of one object, by marshal if that works and pays off, else as `encode_here` does."""
        if self.any_plain and _rent.left > 0 and type(obj) is not bytes and not self.strict:
            packed = marshal_pack.pack(obj, self.max_depth)
            if packed is not None:
                return packed
        return self.encode_here(obj)

    def encode_here(self, obj: object) -> bytes:
        """Return the packed form of one object, without marshal: from the scratch buffer or the pure encoder."""
        if self.any_plain and pypy_pack.USABLE and type(obj) is not bytes:
            tuple_type = list if self.strict else tuple
            packed = pypy_pack.pack(obj, self.max_depth, tuple_type, self.write, self.form, self.smaller_size)
            if packed is not None:
                size = len(packed)
                if size > pypy_scratch.SCRATCH_SIZE:
                    self.smaller_size = min(size, self.last_size)
                    self.last_size = size
                return packed
        return super().encode(obj)


PLAIN_ENCODER: Final = PyPyEncoder(PACKING.defaults)
