# SPDX-License-Identifier: Apache-2.0
"""
`packb`, `pack`, `pack_into` on PyPy.

Most processes end before compiled loops pay off, and pack only by `marshal`. The module `encoder` is loaded for options
other than the defaults, by `pack` and `pack_into`, for objects that `marshal` cannot pack, and when `marshal` has been
used long enough.
"""

from __future__ import annotations

from cpkg._native.msgpack.pypy import marshal_pack
from cpkg._native.msgpack.pypy.marshal import WRITING
from purepy.base.lazy import Later
from purepy.msgpack.options import PACKING
from purepy.msgpack.packing import pack_into_with, pack_with, packb_with

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Final

    from cpkg._native.msgpack.pypy import encoder as pypy_encoder
    from purepy.base.types import Buffer, OptionValues
else:
    pypy_encoder = Later("cpkg._native.msgpack.pypy.encoder")

_rent: Final = WRITING
_MAX_DEPTH: Final[int] = PACKING.defaults.max_depth


def _packb_plain(o: object) -> bytes:
    if _rent.left > 0 and type(o) is not bytes:
        packed = marshal_pack.pack(o, _MAX_DEPTH)
        if packed is not None:
            return packed
    return pypy_encoder.PLAIN_ENCODER.encode_here(o)


@PACKING.taken_by(plain=_packb_plain)
def packb(o: Any, *, options: OptionValues) -> Any:
    return packb_with(o, options, pypy_encoder.PyPyEncoder)


@PACKING.taken_by()
def pack(o: Any, stream: Any, *, options: OptionValues) -> None:
    pack_with(o, stream, options, pypy_encoder.PyPyEncoder)


@PACKING.taken_by()
def pack_into(o: Any, buffer: Buffer, offset: int = 0, *, options: OptionValues) -> int:
    return pack_into_with(o, buffer, offset, options, pypy_encoder.PyPyEncoder)


def prepare_packb(**options: object) -> Callable[[object], bytes]:
    """
    Return a function that packs an object as `packb` does with these options.

    The caller must pass only `max_depth` and options that do not affect how objects of MessagePack's own types are
    packed (for example `default`, but not `sort_keys`): marshal applies no option but `max_depth`. This is not checked.
    """
    values = PACKING.defaults._replace(**options)
    encode: Callable[[object], bytes] | None = None

    def packb_prepared(o: object) -> bytes:
        nonlocal encode
        if _rent.left > 0 and type(o) is not bytes:
            packed = marshal_pack.pack(o, values.max_depth)
            if packed is not None:
                return packed
        if encode is None:
            encode = pypy_encoder.PyPyEncoder(values).encode_here
        return encode(o)

    return packb_prepared


dump = pack
dumps = packb
