# SPDX-License-Identifier: Apache-2.0
"""
Send the messages of Django's channels through Redis as MessagePack of ours.

    from cpkg.integrations import channels_redis
    channels_redis.register()                      # before the channel layer is made: in settings.py

    CHANNEL_LAYERS = {"default": {"BACKEND": "channels_redis.core.RedisChannelLayer", "CONFIG": {"hosts": [...]}}}

`register` takes the place of channels_redis' own serializer `msgpack`, the default of both its layers, whose messages
it reads. Objects are those of `cpkg.dumps`: datetime, UUID and Decimal come back as they were.
"""

from __future__ import annotations

from typing import Any

try:
    from channels_redis.serializers import BaseMessageSerializer, registry
except ImportError as exc:
    raise ImportError("cpkg.integrations.channels_redis needs channels_redis: pip install channels_redis") from exc

import cpkg

__all__ = ["MsgpackSerializer", "register"]


class MsgpackSerializer(BaseMessageSerializer):
    """Serialize with `cpkg.dumps`, not compressed; a message that is compressed, by another producer, is read, too."""

    def as_bytes(self, message: object, *args: object, **kwargs: object) -> bytes:
        """Pack a message; TypeError for an object that cannot be packed."""
        return cpkg.dumps(message, compress=False)

    def from_bytes(self, message: bytes, *args: object, **kwargs: object) -> Any:
        """Unpack a message. Raises CodecError for one that is damaged or exceeds a limit of `cpkg.loads`."""
        return cpkg.loads(message)


def register(*, name: str = "msgpack") -> None:
    """Register the serializer under the name that a layer's `serializer_format` gives (default that of the layers)."""
    registry.register_serializer(name, MsgpackSerializer)
