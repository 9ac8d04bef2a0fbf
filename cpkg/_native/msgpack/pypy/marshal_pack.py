# SPDX-License-Identifier: Apache-2.0
"""Pack through the interpreter's own `marshal` (see the module `marshal` in this package)."""

from __future__ import annotations

from itertools import islice
from marshal import dumps

from cpkg._native._msgpack_ffi import ffi, lib
from cpkg._native.msgpack.pypy.marshal import BYTE, CALL, KEPT, REFUSED, WRITING, owned
from purepy.base.errors import raise_if_from_handler

try:
    from __pypy__ import strategy as list_kind
except ImportError:
    from purepy.base.pypy import list_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

    from purepy.base.types import Value

MOST: Final = 1 << 22
"""Objects with more values (see `_is_moderate`) are not packed by marshal, which needs several copies in memory."""

_TEXT: Final = 16
"""How many characters of a str, or bytes of a bytes object, count as one value."""

_RUN: Final = 256
_NUMBERS: Final = ("IntegerListStrategy", "FloatListStrategy")
_SIZED: Final = frozenset((dict, list, tuple, str, bytes))
_LEVELS: Final = 64
_SAMPLE: Final = 8

# the steps of a path, as in from_marshal.c
BACK: Final = 0
INTO: Final = 1
BYTES: Final = 2
SHIFT: Final = 2

_buffer = ffi.buffer
_write = lib.cpkg_from_marshal_run
_has_stack = lib.cpkg_marshal_stack


class _Writer:
    """The C state of packing."""

    __slots__ = ("handle", "output", "path")

    def __init__(self) -> None:
        self.handle = owned(lib.cpkg_from_marshal_new(), lib.cpkg_from_marshal_free)
        self.output = lib.cpkg_from_marshal_output(self.handle)
        self.path = lib.cpkg_from_marshal_path(self.handle)


# Unused writers; used like `_readers` in `marshal_read`.
_writers: Final = [_Writer()]


def pack(obj: Value, max_depth: int) -> bytes | None:
    """
    Pack an object with `max_depth` and otherwise default options; return None if the encoder must pack the object.

    The encoder must pack objects that are too large or too deep for marshal (see `_is_moderate`), that contain other
    types than the exact ones of MessagePack, or whose packing raises an error, and a few others, such as bytes as keys.
    Subtracts the rent of the call, in nanoseconds, from `WRITING.left`.
    """
    data = None
    try:
        if _is_moderate(obj) and _has_stack():
            data = dumps(obj, 2)
    except Exception as exc:  # of various types, depending on the object; the encoder raises its own error
        raise_if_from_handler(exc)
        # causes: another type, endless nesting, a change by another thread, or a buffer that cannot be read
    if data is None:
        WRITING.left -= REFUSED
        return None
    size = len(data)
    WRITING.left -= CALL + BYTE * size
    try:
        writer = _writers.pop()
    except IndexError:
        writer = _Writer()
    packed = None
    if _write(writer.handle, data, size, max_depth):
        output = writer.output
        packed = _buffer(output.bytes, output.used)[:]
        path = writer.path
        if path.used and not _has_bytes(obj, ffi.unpack(ffi.cast("int64_t *", path.bytes), path.used >> 3)):
            packed = None
        if size > KEPT:
            lib.cpkg_marshal_trim(output)
            lib.cpkg_marshal_trim(path)
    if packed is None:
        WRITING.left -= REFUSED
    if not _writers:
        _writers.append(writer)
    return packed


def _is_moderate(obj: Value) -> bool:
    """
    Return whether an object is small enough for marshal; estimated by following the largest item of each level.

    Only the first _SAMPLE items of a level are compared. Returns False also if this path has a long list of numbers
    that PyPy stores unboxed, which C packs directly, or _LEVELS levels.
    """
    room = MOST
    for _ in range(_LEVELS):
        kind = type(obj)
        items: Iterable[Value]
        if kind is dict:
            size = len(obj)
            items = obj.values() if size <= _SAMPLE else islice(obj.values(), _SAMPLE)
        elif kind is list or kind is tuple:
            size = len(obj)
            items = obj if size <= _SAMPLE else obj[:_SAMPLE]
            if size > _RUN and kind is list and list_kind(obj) in _NUMBERS:
                return False  # C packs PyPy's unboxed numbers directly
        else:
            return kind not in _SIZED or len(obj) <= room * _TEXT
        if size:
            room //= size
            if room == 0:
                return False
        most = 0
        for item in items:
            if type(item) in _SIZED and len(item) > most:
                obj = item
                most = len(item)
        if most == 0:
            return True
    return False  # an object that contains itself


def _has_bytes(obj: object, path: list[int]) -> bool:
    """
    Return whether each value of `obj` that C read as bytes has exactly the type bytes.

    marshal writes other buffers in the same form as bytes. `path` leads to these values, in steps that C recorded.
    Returns False also if a step fails, because another thread has changed the object.
    """
    node: Value = list(obj.values()) if type(obj) is dict else obj
    nodes = [node]
    try:
        for word in path:
            step = word & 3
            if step == BYTES:
                if type(node[word >> SHIFT]) is not bytes:
                    return False
            elif step == INTO:
                node = node[word >> SHIFT]
                if type(node) is dict:
                    node = list(node.values())
                nodes.append(node)
            else:
                del nodes[word >> SHIFT :]
                node = nodes[-1]
    except (IndexError, TypeError, KeyError):
        return False  # another thread has changed the object
    return True


def _is_understood() -> bool:
    """Return whether C reads what this interpreter's marshal writes for all types that C supports. Warms up `pack`."""
    obj: object = {"a": [None, False, True, -1, 2**31, 0.5, "a", "\xe9", b"b", (), {}, []]}
    message = (
        b"\x81\xa1a\x9c\xc0\xc2\xc3\xff\xce\x80\x00\x00\x00\xcb\x3f\xe0\x00\x00\x00\x00\x00\x00"
        b"\xa1a\xa2\xc3\xa9\xc4\x01b\x90\x80\x90"
    )
    return pack(obj, 3) == message


if not _is_understood():
    WRITING.left = 0
