# SPDX-License-Identifier: Apache-2.0
"""
Codecs for numcodecs, and so for chunks of Zarr arrays (format 2).

    from cpkg.integrations.numcodecs import MsgpackObjects, Zstd

    zarr.create_array(..., zarr_format=2, compressors=Zstd(level=5))
    zarr.create_array(..., zarr_format=2, filters=[MsgpackObjects()])     # arrays of Python objects

numcodecs finds both by their names when it reads: `cpkg_zstd` writes what its own `zstd` does (Zstandard frames), and
`cpkg_msgpack` packs arrays of objects with the types of `cpkg.dumps`.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

try:
    import numpy
    from numcodecs.abc import Codec
    from numcodecs.compat import ensure_contiguous_ndarray, ndarray_copy
except ImportError as exc:
    raise ImportError("cpkg.integrations.numcodecs needs numcodecs: pip install numcodecs") from exc

import cpkg
from cpkg import zstd
from purepy.errors import LimitError

__all__ = ["MsgpackObjects", "Zstd"]


class Zstd(Codec):
    """
    Compress chunks with Zstandard.

    level: Zstandard's (default 3). checksum: whether frames carry one (default False). max_size: the most bytes that a
    chunk may become (2 GiB; to accept more, set it in place).
    """

    codec_id: ClassVar[str] = "cpkg_zstd"
    max_size: ClassVar[int] = 2 << 30

    def __init__(self, level: int = zstd.COMPRESSION_LEVEL_DEFAULT, checksum: bool = False) -> None:
        self.level = level
        self.checksum = checksum
        parameter = zstd.CompressionParameter
        self._options: dict[int, int] = {parameter.compression_level: level, parameter.checksum_flag: int(checksum)}

    def encode(self, buf: Any) -> bytes:
        """Return a chunk as one frame."""
        data = ensure_contiguous_ndarray(buf).view("u1")
        return zstd.compress(data, options=self._options)

    def decode(self, buf: Any, out: Any = None) -> Any:
        """
        Return a chunk decompressed, in `out` if that is given.

        Raises ZstdError for damage; LimitError, before it is made, for more than `max_size` or than fits into `out`;
        ValueError if `out` is too large.
        """
        data = ensure_contiguous_ndarray(buf).view("u1")
        if out is None:
            return zstd.decompress(data, max_output_size=self.max_size)
        target = ensure_contiguous_ndarray(out).view("u1")
        return ndarray_copy(zstd.decompress(data, max_output_size=target.nbytes), out)

    def get_config(self) -> dict[str, Any]:
        """Return what makes an equal codec."""
        return {"id": self.codec_id, "level": self.level, "checksum": self.checksum}


class MsgpackObjects(Codec):
    """
    Pack arrays of Python objects as MessagePack: the types of `cpkg.dumps`.

    A chunk is the list of its items, its dtype and its shape, as in numcodecs' own `msgpack2`.
    """

    codec_id: ClassVar[str] = "cpkg_msgpack"

    def encode(self, buf: Any) -> bytes:
        """Return a chunk as one message."""
        array = numpy.asarray(buf)
        return cpkg.dumps([array.tolist(), array.dtype.str, list(array.shape)], compress=False)

    def decode(self, buf: Any, out: Any = None) -> Any:
        """
        Return a chunk as an array, in `out` if that is given.

        Raises CodecError for damage, ValueError for a message that is no such chunk, LimitError for an array of more
        bytes than `Zstd.max_size`.
        """
        items, kind, shape = self._parts(cpkg.loads(ensure_contiguous_ndarray(buf).view("u1")))
        dtype = numpy.dtype(kind)
        size = dtype.itemsize * math.prod(shape)
        if size > Zstd.max_size:
            raise LimitError(f"an array of {size} bytes exceeds Zstd.max_size={Zstd.max_size}")
        array = numpy.empty(shape, dtype=dtype)
        # item by item where they are objects: numpy would take lists in them for further dimensions
        if array.dtype == object:
            for index in numpy.ndindex(*shape):
                item = items
                for place in index:
                    item = item[place]
                array[index] = item
        else:
            array[...] = items
        if out is None:
            return array
        numpy.copyto(out, array)
        return out

    def _parts(self, message: Any) -> tuple[Any, str, list[int]]:
        """Return a message's items, dtype and shape; ValueError unless it has them, and the items that shape."""
        if isinstance(message, list) and len(message) == 3 and isinstance(message[1], str):
            items, dtype, shape = message
            if isinstance(shape, list) and all(type(length) is int for length in shape) and _has_shape(items, shape):
                return items, dtype, shape
        raise ValueError(f"expected a chunk of {self.codec_id}, [items, dtype, shape], found another message")


def _has_shape(items: Any, shape: list[int]) -> bool:
    """Say whether nested lists have the lengths that a shape gives."""
    if not shape:
        return True
    if not isinstance(items, list) or len(items) != shape[0]:
        return False
    return len(shape) == 1 or all(_has_shape(item, shape[1:]) for item in items)
