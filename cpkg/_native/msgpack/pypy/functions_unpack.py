# SPDX-License-Identifier: Apache-2.0
"""
`unpackb`, `unpackb_from` and `unpack` on PyPy: through `marshal` at first, then by the decoder, which is loaded when it
is first needed. Most processes do not need it.
"""

from __future__ import annotations

from cpkg._native.msgpack.pypy import marshal_read
from cpkg._native.msgpack.pypy.checks import DEFAULT, limits_of
from cpkg._native.msgpack.pypy.marshal import READING
from purepy.base.lazy import Later
from purepy.msgpack.options import UNPACKING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Final

    from cpkg._native.msgpack.pypy import decoder as pypy_decoder
    from cpkg._native.msgpack.pypy.checks import Limits
    from purepy.base.types import Buffer, OptionValues
    from purepy.msgpack import oneshot
else:
    pypy_decoder = Later("cpkg._native.msgpack.pypy.decoder")
    oneshot = Later("purepy.msgpack.oneshot")

_rent: Final = READING


def _marshalled(packed: Buffer, start: object, limits: Limits | None) -> tuple[object, int] | None:
    """
    Return the object that begins at offset `start`, read by `marshal`, and the offset of its end.

    Returns None if the decoder must read the object or raise an error. That includes `limits` of None, a wrong `start`,
    and a buffer that is not bytes, a bytearray or a memoryview of one-byte items.
    """
    if limits is None or type(start) is not int:
        return None
    if type(packed) is bytearray:
        packed = bytes(packed)
    elif type(packed) is memoryview and packed.itemsize == 1:
        packed = packed.tobytes()
    if type(packed) is not bytes or not 0 <= start <= len(packed):
        return None
    return marshal_read.read(packed, start, limits)


def _limits_of(options: OptionValues) -> Limits | None:
    """Return the limits in the options for C to check; None if the decoder must handle the options or refuse them."""
    timestamp, hook = options.timestamp, options.ext_hook
    if type(timestamp) is not int or not 0 <= timestamp <= 3 or not (hook is None or callable(hook)):
        return None  # an error
    return limits_of(options) if UNPACKING.are_plain(options) else None


def _whole(packed: Buffer, limits: Limits | None) -> tuple[object, int] | None:
    """Return the result of `_marshalled` for `start` 0, but None if bytes follow the object."""
    found = _marshalled(packed, 0, limits)
    return found if found is not None and found[1] == memoryview(packed).nbytes else None


def _unpackb_plain(packed: Buffer) -> object:
    if _rent.left > 0:
        found = _whole(packed, DEFAULT)
        if found is not None:
            return found[0]
    return oneshot.unpackb_plain(packed, UNPACKING.defaults, pypy_decoder.Decoder)


def _unpackb_with(packed: Buffer, options: OptionValues) -> object:
    if _rent.left > 0:
        found = _whole(packed, _limits_of(options))
        if found is not None:
            return found[0]
    return oneshot.unpackb_with(packed, options, pypy_decoder.Decoder)


@UNPACKING.taken_by(plain=_unpackb_plain)
def unpackb(packed: Buffer, *, options: OptionValues) -> Any:
    return _unpackb_with(packed, options)


@UNPACKING.taken_by()
def unpackb_from(buffer: Buffer, offset: int = 0, *, options: OptionValues) -> tuple[object, int]:
    if _rent.left > 0:
        found = _marshalled(buffer, offset, _limits_of(options))
        if found is not None:
            return found
    return oneshot.unpackb_from_with(buffer, offset, options, pypy_decoder.Decoder)


@UNPACKING.taken_by(plain=lambda stream: _unpackb_plain(stream.read()))
def unpack(stream: Any, *, options: OptionValues) -> Any:
    return _unpackb_with(stream.read(), options)


def prepare_unpackb(**options: object) -> Callable[[Buffer], object]:
    """
    Return a function that unpacks a buffer as `unpackb` does with these options.

    The caller must pass only options that `purepy.msgpack.oneshot.unpackb_plain` supports; this is not checked.
    """
    values = UNPACKING.defaults._replace(**options)
    limits = _limits_of(values)

    def unpackb_prepared(packed: Buffer) -> object:
        if _rent.left > 0:
            found = _whole(packed, limits)
            if found is not None:
                return found[0]
        return oneshot.unpackb_plain(packed, values, pypy_decoder.Decoder)

    return unpackb_prepared


load = unpack
loads = unpackb
