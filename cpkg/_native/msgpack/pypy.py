# SPDX-License-Identifier: Apache-2.0
"""
The native MessagePack backend on PyPy.

It is the pure codec with C where C is faster: the token tape unpacks messages (`pypy_unpack`), a scanner finds where
those end that come in pieces (`pypy_stream`), and objects are packed into C's memory (`pypy_pack`). Whatever these do
not serve (hooks, seldom used options, and every error) is the pure codec's, so that the two backends cannot differ.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from cpkg._native._msgpack_ffi import ffi, lib
from cpkg._native.msgpack import pypy_pack, pypy_unpack
from cpkg._native.msgpack.pypy_stream import Unpacker, unpack_async  # noqa: F401 - in FUNCTIONS
from cpkg._native.msgpack.weigher import find_excess  # noqa: F401 - for `loads`
from purepy import msgpack as pure
from purepy._writing import write_all
from purepy.msgpack import interface
from purepy.msgpack.encoder import Encoder
from purepy.msgpack.ext import ExtType
from purepy.msgpack.interface import *  # noqa: F403
from purepy.msgpack.oneshot import unpackb_from_with, unpackb_plain, unpackb_with
from purepy.msgpack.options import PACKING, UNPACKING
from purepy.msgpack.packer import pack_into_with, packb_with

BACKEND = "native"
LIBRARY_VERSION: str | None = "msgpack-c " + ffi.string(lib.cpkg_msgpack_version()).decode()

_SHORT: Final = 256
"""Shorter messages go to the pure codec at once: it needs less time for them than the call into C alone."""


class _Encoder(Encoder):
    """The pure encoder, with the scratch buffer for what its fast loop would pack."""

    __slots__ = ("last_size", "smaller_size")

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        # of the last message larger than the scratch buffer, and the smaller one of the last two: a builder of just the
        # right size is neither extended nor copied, and after one large message among small ones it is not large
        self.last_size = self.smaller_size = 0

    def encode(self, obj: Any) -> bytes:
        """Return the packed form of one object."""
        if self.any_plain and pypy_pack.USABLE and type(obj) is not bytes:
            packed = pypy_pack.pack(obj, self.max_depth, list if self.strict else tuple, self.write, self.smaller_size)
            if packed is not None:
                size = len(packed)
                if size > pypy_pack.SCRATCH_SIZE:
                    self.smaller_size = min(size, self.last_size)
                    self.last_size = size
                return packed
        return super().encode(obj)


_PLAIN_ENCODER: Final = _Encoder(PACKING.defaults)


class Packer(pure.Packer):
    """Pack objects under one set of options (see `purepy.msgpack.Packer`)."""

    _encoder_type: ClassVar[type[Encoder]] = _Encoder


Packer.__doc__ = pure.Packer.__doc__


@PACKING.taken_by(plain=_PLAIN_ENCODER.encode)
def packb(o: Any, *, options: Any) -> Any:
    return packb_with(o, options, _Encoder)


@PACKING.taken_by()
def pack(o: Any, stream: Any, *, options: Any) -> None:
    write_all(stream, packb_with(o, options, _Encoder))


@PACKING.taken_by()
def pack_into(o: Any, buffer: Any, offset: int = 0, *, options: Any) -> int:
    return pack_into_with(o, buffer, offset, options, _Encoder)


def _bytes(packed: Any) -> bytes | None:
    """Return the bytes of the buffers that nearly everyone uses, None for others."""
    if type(packed) is bytes:
        return packed
    if type(packed) is bytearray:
        return bytes(packed)
    if type(packed) is memoryview and packed.itemsize == 1:
        return packed.tobytes()
    return None


def _tape_options(options: Any) -> pypy_unpack.Options | None:
    """Return what C checks for these options, or None if they are the pure codec's."""
    if (
        options.object_hook is None
        and options.object_pairs_hook is None
        and options.list_hook is None
        and options.unicode_errors is None
        and options.ext_hook is ExtType
        and options.use_list
        and not options.raw
        and not options.bin_view
        and not options.tuple_keys
        and options.max_total_items == options.max_total_bytes == options.raw_depth == -1
        and (options.timestamp == 0 or options.timestamp == 1 or options.timestamp == 2 or options.timestamp == 3)
    ):
        return pypy_unpack.make_options(options)
    return None


def _unpackb_plain(packed: Any) -> Any:
    data = _bytes(packed)
    if data is not None and len(data) >= _SHORT:
        found = pypy_unpack.read(data, 0, pypy_unpack.DEFAULT, 0)
        if found is not None and found[1] == len(data):
            return found[0]
    return unpackb_plain(packed)


def _unpackb_with(packed: Any, options: Any) -> Any:
    data = _bytes(packed)
    if data is not None and len(data) >= _SHORT:
        checked = _tape_options(options)
        if checked is not None:
            found = pypy_unpack.read(data, 0, checked, options.timestamp)
            if found is not None and found[1] == len(data):
                return found[0]
    return unpackb_with(packed, options)


@UNPACKING.taken_by(plain=_unpackb_plain)
def unpackb(packed: Any, *, options: Any) -> Any:
    return _unpackb_with(packed, options)


def _unpackb_from_plain(buffer: Any, offset: int) -> tuple[Any, int]:
    data = _bytes(buffer)
    if data is not None and type(offset) is int and 0 <= offset <= len(data):
        found = pypy_unpack.read(data, offset, pypy_unpack.DEFAULT, 0)
        if found is not None:
            return found
    return unpackb_from_with(buffer, offset, UNPACKING.defaults)


@UNPACKING.taken_by(plain=_unpackb_from_plain)
def unpackb_from(buffer: Any, offset: int = 0, *, options: Any) -> tuple[Any, int]:
    data = _bytes(buffer)
    if data is not None and type(offset) is int and 0 <= offset <= len(data):
        checked = _tape_options(options)
        if checked is not None:
            found = pypy_unpack.read(data, offset, checked, options.timestamp)
            if found is not None:
                return found
    return unpackb_from_with(buffer, offset, options)


@UNPACKING.taken_by(plain=lambda stream: _unpackb_plain(stream.read()))
def unpack(stream: Any, *, options: Any) -> Any:
    return _unpackb_with(stream.read(), options)


for _function in (packb, pack, pack_into, unpackb, unpackb_from, unpack):
    _function.__doc__ = getattr(pure, _function.__name__).__doc__
del _function

dump = pack
dumps = packb
load = unpack
loads = unpackb

__all__ = [*interface.__all__, *interface.FUNCTIONS]
