# SPDX-License-Identifier: Apache-2.0
"""Packing: `packb`, `pack`, `pack_into` and the reusable `Packer`."""

from __future__ import annotations

import operator

from purepy.base.pypy import JIT
from purepy.msgpack.builders import too_long
from purepy.msgpack.encoder import Encoder, ext_header
from purepy.msgpack.formats import MAX_LENGTH
from purepy.msgpack.options import DOCUMENTATION, PACKING
from purepy.msgpack.packing import check_buf_size, pack_into_with, pack_with, packb_with
from purepy.msgpack.plain_writer import array_header, map_header

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Final, NoReturn, Protocol

    from typing_extensions import Buffer

    from purepy.base.types import OptionValues

    class Writable(Protocol):
        """A stream that `pack` writes to."""

        def write(self, data: bytes, /) -> object:
            """Write `data`. A raw file may write only a part, and return its size; `pack` then writes the rest."""


_Bytes = bytes  # Packer has a method named bytes


PLAIN_ENCODER: Final = Encoder(PACKING.defaults)
"""The encoder of the default options; it keeps no reference to the objects that it packs."""


class Packer:
    __doc__ = DOCUMENTATION["Packer"]

    # the default options, for a subclass whose __init__ does not call super().__init__()
    _encoder = PLAIN_ENCODER
    _own = _autoreset = True
    _buffer = bytearray()

    @PACKING.taken_by()
    def __init__(self, *, options: OptionValues, buffer: bytearray | None = None) -> None:
        check_buf_size(options.buf_size)
        if buffer is not None and type(buffer) is not bytearray:
            raise TypeError(f"buffer must be a bytearray or None, not {type(buffer).__name__}")
        if self._encoder.hooked:
            self._check("__init__")
        self._encoder = type(self._encoder)(options)
        self._own = buffer is None
        self._autoreset = bool(options.autoreset) and buffer is None
        self._buffer = bytearray() if buffer is None else buffer

    def _check(self, method: str) -> None:
        """Raise RuntimeError for a call of `method` from within `default` or a conversion during packing."""
        if self._encoder.is_within_hook():
            raise RuntimeError(f"Packer.{method}() cannot be called while packing is in progress")

    def _emit(self, packed: _Bytes) -> _Bytes:
        if self._autoreset:
            return packed
        self._buffer += packed
        # Callers that collect the bytes do not use the result; the annotation suits all others.
        return None  # type: ignore[return-value]

    def _limited(self, packed: _Bytes) -> _Bytes:
        limit = self._encoder.max_total_bytes
        if 0 <= limit < len(packed):
            raise too_long(limit)
        return packed

    def _empty(self) -> None:
        """Drop all collected bytes, as msgpack does after an error. The caller's `buffer` stays as it is."""
        if self._own:
            self._buffer = bytearray()  # the old one may have open views

    def pack(self, obj: object, /) -> _Bytes:
        """Pack `obj` and return its bytes, or None if they are collected (`autoreset=False`, `buffer`)."""
        encoder = self._encoder
        if encoder.hooked:
            self._check("pack")
        try:
            packed = encoder.encode(obj)
        except BaseException:
            self._empty()
            raise
        return packed if self._autoreset else self._emit(packed)

    def pack_map_pairs(self, pairs: object, /) -> _Bytes:
        """Pack `pairs`, a sequence of (key, value) tuples, as a map; return its bytes or None, as `pack` does."""
        if self._encoder.hooked:
            self._check("pack_map_pairs")
        try:
            packed = self._encoder.encode_pairs(pairs)
        except BaseException:
            self._empty()
            raise
        return self._emit(packed)

    def pack_array_header(self, size: int, /) -> _Bytes:
        """
        Pack the header of an array of `size` items, which the next calls pack.

        Raises ValueError for a size outside 0..2**32-1, or OverflowError for one outside -2**63..2**63-1.
        """
        if self._encoder.hooked:
            self._check("pack_array_header")
        return self._emit(self._limited(array_header(_length(size, "array"))))

    def pack_map_header(self, size: int, /) -> _Bytes:
        """
        Pack the header of a map of `size` pairs, which the next calls pack.

        Raises ValueError for a size outside 0..2**32-1, or OverflowError for one outside -2**63..2**63-1.
        """
        if self._encoder.hooked:
            self._check("pack_map_header")
        return self._emit(self._limited(map_header(_length(size, "map"))))

    def pack_ext_type(self, typecode: int, data: _Bytes | bytearray) -> _Bytes:
        """Pack `data` (bytes or bytearray) as an extension value; OverflowError for a `typecode` outside -128..127."""
        if self._encoder.hooked:
            self._check("pack_ext_type")
        if not isinstance(data, (bytes, bytearray)):
            raise TypeError(f"data must be bytes, not {type(data).__name__}")
        return self._emit(self._limited(ext_header(operator.index(typecode), len(data)) + data))

    def reset(self) -> None:
        """Drop the collected bytes; a `buffer` of the caller becomes empty."""
        if self._encoder.hooked:
            self._check("reset")
        self._buffer.clear()

    def bytes(self) -> _Bytes:
        """Return a copy of the collected bytes."""
        if self._encoder.hooked:
            self._check("bytes")
        return bytes(self._buffer)

    def getbuffer(self) -> memoryview:
        """
        Return a read-only view of the collected bytes.

        While the view is open, packing more raises BufferError on CPython. On PyPy the view shows a copy.
        """
        if self._encoder.hooked:
            self._check("getbuffer")
        if JIT:
            # PyPy 8 also locks the buffer, but unlocks it only at the next garbage collection
            return memoryview(bytes(self._buffer))
        return memoryview(self._buffer).toreadonly()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"cannot pickle {type(self).__name__!r} object")

    def __bytes__(self) -> _Bytes:
        return self.bytes()

    def __buffer__(self, flags: int, /) -> memoryview:
        return self.getbuffer()


def _length(size: int, kind: str) -> int:
    size = operator.index(size)
    if not -(2**63) <= size < 2**63:
        raise OverflowError("Python int too large to convert to C long")
    if size < 0:
        raise ValueError(f"{kind} size must be non-negative")
    if size > MAX_LENGTH:
        raise ValueError(f"{kind} too large")
    return size


# creating a Packer or an Encoder costs more than packing a short message
@PACKING.taken_by(plain=PLAIN_ENCODER.encode)
def packb(o: Any, *, options: OptionValues) -> bytes:
    packed: bytes = packb_with(o, options, Encoder)
    return packed


@PACKING.taken_by()
def pack(o: Any, stream: Writable, *, options: OptionValues) -> None:
    pack_with(o, stream, options, Encoder)


@PACKING.taken_by()
def pack_into(o: Any, buffer: Buffer, offset: int = 0, *, options: OptionValues) -> int:
    return pack_into_with(o, buffer, offset, options, Encoder)


def prepare_packb(**options: object) -> Callable[[object], _Bytes]:
    """Return a function that packs an object as `packb` does with these options; `autoreset` has no effect."""
    return Encoder(PACKING.defaults._replace(**options)).encode


dump = pack
dumps = packb
