# SPDX-License-Identifier: Apache-2.0
"""
Serialize signed data with MessagePack and compress it with Zstandard in blake2signer.

    from blake2signer import Blake2SerializerSigner
    from cpkg.integrations.blake2signer import MsgpackSerializer, ZstdCompressor

    signer = Blake2SerializerSigner(secret, serializer=MsgpackSerializer, compressor=ZstdCompressor)

The names of the two classes never change, because a signer derives its key from them; after a rename, all existing
tokens would be invalid. For the same reason, a subclass signs with a different key.

Each backend verifies the tokens of all others. But the bytes of tokens differ between backends and versions of libzstd,
so `deterministic=True` gives equal tokens only on the same installation.
"""

from __future__ import annotations

from typing import Any, ClassVar

try:
    from blake2signer.interfaces import CompressorInterface, SerializerInterface
except ImportError as exc:
    raise ImportError(f"cpkg.integrations.blake2signer needs blake2signer: pip install blake2signer ({exc})") from exc

from cpkg import msgpack, zstandard, zstd
from cpkg.objects import dumps_loads
from purepy.zstd.format.rules import MAGIC, SINGLE_SEGMENT_FLAG

__all__ = ["MsgpackSerializer", "ZstdCompressor"]


class MsgpackSerializer(SerializerInterface):
    """
    Serialize to MessagePack.

    The `serializer_kwargs` of a signer's methods are passed to `cpkg.msgpack.packb` when signing and to `unpackb` when
    verifying. For example, loading maps with keys other than str and bytes needs
    `serializer_kwargs={"strict_map_key": False}`.

    Extension types load as `ExtType`; a token can neither instantiate classes nor run code.

    max_memory: the limit in bytes for the objects of a token, as estimated by `cpkg.loads` (default 64 MiB; -1 for no
    limit). Without a limit, 16 MiB of empty lists would take more than 1 GiB. To accept more, set
    `MsgpackSerializer.max_memory` itself (a subclass changes the key), or pass it in `serializer_kwargs` to verify.
    """

    max_memory: ClassVar[int] = 64 * 1024 * 1024

    def serialize(self, data: object, **kwargs: Any) -> bytes:
        """Pack `data` with the options of `cpkg.msgpack.packb`."""
        return msgpack.packb(data, **kwargs)

    def unserialize(self, data: bytes, **kwargs: Any) -> Any:
        """
        Unpack one object from `data`, with `max_memory` and the options of `cpkg.msgpack.unpackb`.

        Raises LimitError if the objects would take more than `max_memory`, before any is created.
        """
        max_memory = kwargs.pop("max_memory", self.max_memory)
        dumps_loads.check_memory(
            dumps_loads.chosen_codecs(), data, max_memory, kwargs.get("max_depth", dumps_loads.MAX_DEPTH)
        )
        return msgpack.unpackb(data, **kwargs)


# For fewer bytes, writing and reading a Huffman table adds a third to the time of signing and verifying. At this level,
# libzstd writes no table: signing and verifying take as long as with lz4, and tokens are slightly shorter on average.
_SMALL = 256
_SMALL_LEVEL = -5

# For fewer bytes, compression saves almost nothing. A frame with one raw block (RFC 8878, section 3.1.1) needs no call
# of libzstd. The frame is longer than the data, so the signer signs the data itself.
_TINY = 32
_RAW_FRAMES = tuple(
    MAGIC + bytes((SINGLE_SEGMENT_FLAG, size)) + (size << 3 | 1).to_bytes(3, "little") for size in range(_TINY)
)

# libzstd's levels for a signer's levels 1 to 9, so that signers can also choose libzstd's higher levels
_LEVELS = (1, 2, 3, 5, 7, 9, 12, 16, 19)

# 8 MiB: output of libzstd at these levels never needs more
_DECOMPRESSOR = zstandard.ZstdDecompressor(max_window_size=8 * 1024 * 1024)


class ZstdCompressor(CompressorInterface):
    """
    Compress with Zstandard.

    limit: the largest accepted decompressed size in bytes (default 16 MiB). A signature does not make a token harmless:
    if users can choose the signed text, a token of 8 kB may contain 200 MB. To accept more, set `ZstdCompressor.limit`
    itself (a subclass changes the key), or pass a functools.partial of the class to the signer.

    Compressing does not change an instance, so several threads may share a signer; contexts are kept per thread.
    """

    limit: ClassVar[int] = 16 * 1024 * 1024

    default_compression_level = 0
    """The default level of a signer; 0 means level 3, level -5 below 256 bytes, and no compression below 32 bytes."""

    def __init__(self, *, limit: int | None = None) -> None:
        self._limit = type(self).limit if limit is None else limit
        if self._limit < 1:
            raise ValueError(f"limit: expected a number of bytes, at least 1, got {self._limit}")

    def scale_compression_level(self, level: int) -> int:
        """Convert a level of the signer (1 to 9) to a level of libzstd (1 to 19)."""
        return _LEVELS[level - 1]

    def compress(self, data: bytes, *, level: int) -> bytes:
        """Return `data` as one frame with content size; `level` is a level of libzstd, or 0 to choose by the size."""
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

        Raises LimitError for more than `limit` bytes, before they are decompressed, and for a window of more than
        8 MiB; ZstdError for anything but one complete frame.
        """
        # False, False: refuse several frames and trailing data; keywords would cost a tenth of a short token's time
        return _DECOMPRESSOR.decompress(data, self._limit, False, False)
