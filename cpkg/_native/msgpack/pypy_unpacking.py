# SPDX-License-Identifier: Apache-2.0
"""
`unpackb`, `unpackb_from` and `unpack` on PyPy: through `marshal` at first, then from the token tape where it serves,
else by the pure decoder. The latter two are loaded when they are first needed, which most processes are not.
"""

from __future__ import annotations

from cpkg._native.msgpack import pypy_marshal_read
from cpkg._native.msgpack.pypy_checks import DEFAULT, make_options
from cpkg._native.msgpack.pypy_marshal import READING
from purepy._lazy import Later
from purepy.msgpack.options import UNPACKING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Final

    from cpkg._native.msgpack import pypy_unpack
    from cpkg._native.msgpack.pypy_checks import Options
    from purepy.msgpack import oneshot
else:
    pypy_unpack = Later("cpkg._native.msgpack.pypy_unpack")
    oneshot = Later("purepy.msgpack.oneshot")

_SHORT: Final = 256
"""Shorter messages go to the pure codec at once: it needs less time for them than the call into C alone."""

_rent: Final = READING


def _bytes(packed: Any) -> bytes | None:
    """Return the bytes of the buffers that nearly everyone uses, None for others."""
    if type(packed) is bytes:
        return packed
    if type(packed) is bytearray:
        return bytes(packed)
    if type(packed) is memoryview and packed.itemsize == 1:
        return packed.tobytes()
    return None


def _tape_options(options: Any) -> Options | None:
    """Return what C checks for these options, or None if they are the pure codec's."""
    if (
        options.object_hook is None
        and options.object_pairs_hook is None
        and options.list_hook is None
        and options.unicode_errors is None
        and (options.ext_hook is None or callable(options.ext_hook))
        and options.use_list
        and not options.raw
        and not options.bin_view
        and options.max_total_items == options.max_total_bytes == options.raw_depth == -1
        and (options.timestamp == 0 or options.timestamp == 1 or options.timestamp == 2 or options.timestamp == 3)
    ):
        return make_options(options)
    return None


def _read(data: bytes, start: int, checked: Options, options: Any) -> tuple[Any, int] | None:
    """Return an object and where it ends, read in the way that is the fastest now, or None if none of them can."""
    if _rent.left > 0:
        found = pypy_marshal_read.read(data, start, checked)
        if found is not None:
            return found
    return pypy_unpack.read(data, start, checked, options.timestamp, options.ext_hook)


def _unpackb_plain(packed: Any) -> Any:
    data = packed if type(packed) is bytes else _bytes(packed)
    if data is not None:
        if _rent.left > 0:
            found = pypy_marshal_read.read(data, 0, DEFAULT)
            if found is not None and found[1] == len(data):
                return found[0]
        if len(data) >= _SHORT:
            found = pypy_unpack.read(data, 0, DEFAULT, 0)
            if found is not None and found[1] == len(data):
                return found[0]
    return oneshot.unpackb_plain(packed)


def _unpackb_with(packed: Any, options: Any) -> Any:
    data = _bytes(packed)
    if data is not None and (len(data) >= _SHORT or _rent.left > 0):
        checked = _tape_options(options)
        if checked is not None:
            found = _read(data, 0, checked, options)
            if found is not None and found[1] == len(data):
                return found[0]
    return oneshot.unpackb_with(packed, options)


@UNPACKING.taken_by(plain=_unpackb_plain)
def unpackb(packed: Any, *, options: Any) -> Any:
    return _unpackb_with(packed, options)


def _unpackb_from_plain(buffer: Any, offset: int) -> tuple[Any, int]:
    data = _bytes(buffer)
    if data is not None and type(offset) is int and 0 <= offset <= len(data):
        found = _read(data, offset, DEFAULT, UNPACKING.defaults)
        if found is not None:
            return found
    return oneshot.unpackb_from_with(buffer, offset, UNPACKING.defaults)


@UNPACKING.taken_by(plain=_unpackb_from_plain)
def unpackb_from(buffer: Any, offset: int = 0, *, options: Any) -> tuple[Any, int]:
    data = _bytes(buffer)
    if data is not None and type(offset) is int and 0 <= offset <= len(data):
        checked = _tape_options(options)
        if checked is not None:
            found = _read(data, offset, checked, options)
            if found is not None:
                return found
    return oneshot.unpackb_from_with(buffer, offset, options)


@UNPACKING.taken_by(plain=lambda stream: _unpackb_plain(stream.read()))
def unpack(stream: Any, *, options: Any) -> Any:
    return _unpackb_with(stream.read(), options)


def prepare_unpackb(**options: Any) -> Callable[[Any], Any]:
    """Return `unpackb` with options that are taken once (see `purepy.msgpack.oneshot.prepare_unpackb`)."""
    values = UNPACKING.defaults._replace(**options)
    checked = _tape_options(values)

    def unpackb_prepared(packed: Any) -> Any:
        data = _bytes(packed)
        if data is not None and checked is not None and (len(data) >= _SHORT or _rent.left > 0):
            found = _read(data, 0, checked, values)
            if found is not None and found[1] == len(data):
                return found[0]
        return oneshot.unpackb_plain(packed, values)

    return unpackb_prepared


load = unpack
loads = unpackb
