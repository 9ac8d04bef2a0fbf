# SPDX-License-Identifier: Apache-2.0
"""`packb`, `pack`, `pack_into` on PyPy: by `marshal` at first, then into the scratch buffer if the options allow it."""

from __future__ import annotations

from cpkg._native.msgpack import pypy_marshal_pack, pypy_pack
from cpkg._native.msgpack.pypy_marshal import WRITING
from purepy.msgpack.encoder import Encoder as PureEncoder
from purepy.msgpack.options import PACKING
from purepy.msgpack.packing import pack_into_with, pack_with, packb_with

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Final

_rent: Final = WRITING


class Encoder(PureEncoder):
    """The pure encoder, with the scratch buffer for what its fast loop would pack."""

    __slots__ = ("last_size", "smaller_size")

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        # of the last message larger than the scratch buffer, and the smaller one of the last two: a builder of just the
        # right size is neither extended nor copied, and after one large message among small ones it is not large
        self.last_size = self.smaller_size = 0

    def encode(self, obj: Any) -> bytes:
        """Return the packed form of one object."""
        if self.any_plain and _rent.left > 0 and type(obj) is not bytes and not self.strict:
            packed = pypy_marshal_pack.pack(obj, self.max_depth)
            if packed is not None:
                return packed
        if self.any_plain and pypy_pack.USABLE and type(obj) is not bytes:
            packed = pypy_pack.pack(obj, self.max_depth, list if self.strict else tuple, self.write, self.smaller_size)
            if packed is not None:
                size = len(packed)
                if size > pypy_pack.SCRATCH_SIZE:
                    self.smaller_size = min(size, self.last_size)
                    self.last_size = size
                return packed
        return super().encode(obj)


_PLAIN_ENCODER: Final = Encoder(PACKING.defaults)


@PACKING.taken_by(plain=_PLAIN_ENCODER.encode)
def packb(o: Any, *, options: Any) -> Any:
    return packb_with(o, options, Encoder)


@PACKING.taken_by()
def pack(o: Any, stream: Any, *, options: Any) -> None:
    pack_with(o, stream, options, Encoder)


@PACKING.taken_by()
def pack_into(o: Any, buffer: Any, offset: int = 0, *, options: Any) -> int:
    return pack_into_with(o, buffer, offset, options, Encoder)


packb.__doc__, pack.__doc__, pack_into.__doc__ = packb_with.__doc__, pack_with.__doc__, pack_into_with.__doc__


def prepare_packb(**options: Any) -> Callable[[Any], bytes]:
    """Return `packb` with options that are taken once."""
    return Encoder(PACKING.defaults._replace(**options)).encode


dump = pack
dumps = packb
