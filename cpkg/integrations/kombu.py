# SPDX-License-Identifier: Apache-2.0
"""
Send messages as MessagePack, compressed with Zstandard, through kombu and Celery.

    from cpkg.integrations import kombu
    kombu.register()                              # in every producer and worker, before the application is created

    app.conf.update(task_serializer="msgpack", result_serializer="msgpack", accept_content=["msgpack"],
                    task_compression="zstd")

`register` replaces kombu's compression `zstd` and its serializer `msgpack`. The new serializer can read messages of the
old serializer. Even without `register`, an entry point of this package provides the new serializer as `cpkg`.
"""

from __future__ import annotations

from typing import Final

import cpkg
from cpkg import zstd
from cpkg.integrations._messages import MAX_SIZE
from purepy.base.errors import ZstdLimitError

__all__ = ["SERIALIZER", "register"]


def _pack(obj: object) -> bytes:
    return cpkg.dumps(obj, compress=False)


def _unpack(data: bytes) -> object:
    return cpkg.loads(data)


SERIALIZER: Final = (_pack, _unpack, "application/x-cpkg-msgpack", "binary")
"""The serializer for the entry point `kombu.serializers`: encoder, decoder, content type and encoding."""


def register(*, level: int = zstd.COMPRESSION_LEVEL_DEFAULT, max_size: int = MAX_SIZE) -> None:
    """
    Register the serializer `msgpack` and the compression `zstd` with kombu, replacing kombu's own.

    `level` is the Zstandard level (default 3). `max_size` limits the decompressed size of a message in bytes (default
    64 MiB); beyond it, decoding raises LimitError. Raises ImportError without kombu.
    """
    try:
        from kombu import compression, serialization
    except ImportError as exc:
        raise ImportError(f"cpkg.integrations.kombu needs kombu: pip install kombu ({exc})") from exc

    def compress(data: bytes) -> bytes:
        return zstd.compress(data, level)

    def decompress(data: bytes) -> bytes:
        try:
            return zstd.decompress(data, max_output_size=max_size)
        except ZstdLimitError as exc:  # an error with a code is about the window's limit, which is fixed
            exc.advice = None if exc.code else "to accept such a message, pass a larger max_size to register()"
            raise

    encode, decode, _, encoding = SERIALIZER
    serialization.register("msgpack", encode, decode, "application/x-msgpack", encoding)
    compression.register(compress, decompress, "application/zstd", aliases=["zstd", "zstandard"])
