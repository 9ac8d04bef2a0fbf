# SPDX-License-Identifier: Apache-2.0
"""
Serialize signed data with MessagePack and compress it with Zstandard in blake2signer.

    from blake2signer import Blake2SerializerSigner
    from cpkg.integrations.blake2signer import MsgpackSerializer, ZstdCompressor

    signer = Blake2SerializerSigner(secret, serializer=MsgpackSerializer, compressor=ZstdCompressor)

The names of the two classes are frozen: a signer derives its key from them, so every token ever signed with them
becomes invalid if one is renamed. For the same reason a subclass signs with a key of its own.

Tokens do not depend on the backend when they are verified: whatever one signed, the other verifies. Signing is not
byte for byte the same between backends or versions of libzstd, so `deterministic=True` gives equal tokens on one
installation only.
"""

from __future__ import annotations

from typing import Any, ClassVar

try:
    from blake2signer.interfaces import CompressorInterface, SerializerInterface
except ImportError as exc:
    raise ImportError("cpkg.integrations.blake2signer needs blake2signer: pip install blake2signer") from exc

from cpkg import msgpack, zstandard, zstd
from cpkg.objects import dumps_loads
from purepy.zstd.format.rules import MAGIC, SINGLE_SEGMENT_FLAG

__all__ = ["MsgpackSerializer", "ZstdCompressor"]


class MsgpackSerializer(SerializerInterface):
    """
    Serialize to MessagePack.

    The `serializer_kwargs` of a signer's methods go to `cpkg.msgpack.packb` when signing, to `unpackb` when verifying:
    maps with keys other than str and bytes, for example, need `serializer_kwargs={"strict_map_key": False}` to load.
    Extension types load as `ExtType`; nothing in a token can make a class be instantiated or code be run.

    max_memory: the memory in bytes that the objects of a token may take, by the weights of `cpkg.loads` (default
    64 MiB; -1 for no limit): 16 MiB of empty lists take more than 1 GiB. To accept more, set it in place
    (`MsgpackSerializer.max_memory = ...`; a subclass changes the key), or give it with the `serializer_kwargs`.
    """

    max_memory: ClassVar[int] = 64 * 1024 * 1024

    def serialize(self, data: object, **kwargs: Any) -> bytes:
        """Pack `data`; keyword arguments are those of `cpkg.msgpack.packb`."""
        return msgpack.packb(data, **kwargs)

    def unserialize(self, data: bytes, **kwargs: Any) -> Any:
        """
        Unpack `data`, all of it; keyword arguments are `max_memory` and those of `cpkg.msgpack.unpackb`.

        Raises LimitError for objects that would take more than `max_memory`, before one is made.
        """
        max_memory = kwargs.pop("max_memory", self.max_memory)
        dumps_loads.check_memory(
            dumps_loads.chosen_codecs(), data, max_memory, kwargs.get("max_depth", dumps_loads.MAX_DEPTH)
        )
        return msgpack.unpackb(data, **kwargs)


# Below that many bytes, making and reading a table of Huffman codes adds a third to the time of signing and verifying.
# Without one, at this level, they take as long as with lz4, and tokens are in the mean a little shorter than with it.
_SMALL = 256
_SMALL_LEVEL = -5

# Below that many bytes compressing gains next to nothing. A frame of one raw block (RFC 8878, 3.1.1) costs no call of
# libzstd, and a signer, which finds it longer than the data, signs the data.
_TINY = 32
_RAW_FRAMES = tuple(
    MAGIC + bytes((SINGLE_SEGMENT_FLAG, size)) + (size << 3 | 1).to_bytes(3, "little") for size in range(_TINY)
)

# The signer's nine levels spread over libzstd's, whose upper ones would be out of reach otherwise.
_LEVELS = (1, 2, 3, 5, 7, 9, 12, 16, 19)

# 8 MiB: what libzstd writes at the levels above never needs more.
_DECOMPRESSOR = zstandard.ZstdDecompressor(max_window_size=8 * 1024 * 1024)


class ZstdCompressor(CompressorInterface):
    """
    Compress with Zstandard.

    limit: largest decompressed size in bytes that is accepted (default 16 MiB). A signed token is not a trusted one:
    who may have text signed may have 200 MB of it signed as a token of 8 kB. To accept more, set it in place
    (`ZstdCompressor.limit = ...`; a subclass changes the key) or give the signer a functools.partial of the class.

    An instance has no state of its own, so a signer may be shared by threads; contexts are kept per thread.
    """

    limit: ClassVar[int] = 16 * 1024 * 1024

    default_compression_level = 0
    """The level of a signer that names none: 0 stands for 3, or for less effort below 256 bytes."""

    def __init__(self, *, limit: int | None = None) -> None:
        self._limit = type(self).limit if limit is None else limit
        if self._limit < 1:
            raise ValueError(f"limit: expected bytes, at least 1, got {self._limit}")

    def scale_compression_level(self, level: int) -> int:
        """Scale a signer's level (1 to 9) to one of libzstd's (1 to 19)."""
        return _LEVELS[level - 1]

    def compress(self, data: bytes, *, level: int) -> bytes:
        """Compress `data` to one frame that records its size; `level` is libzstd's, 0 for the default."""
        if not level:
            size = len(data)
            if size < _TINY:
                return _RAW_FRAMES[size] + data
            if size < _SMALL:
                level = _SMALL_LEVEL
        return zstd.compress(data, level)

    def decompress(self, data: bytes) -> bytes:
        """
        Decompress exactly one frame.

        Raises LimitError for more than `limit` bytes, before they are produced, or for a window above 8 MiB;
        ZstdError for anything but one whole frame.
        """
        # neither several frames nor what follows one; by position, as names cost a tenth of a short token's time
        return _DECOMPRESSOR.decompress(data, self._limit, False, False)
