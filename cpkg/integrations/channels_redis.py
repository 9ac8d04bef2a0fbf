# SPDX-License-Identifier: Apache-2.0
"""
Send the messages of Django Channels through Redis as MessagePack, packed by cpkg.

    from cpkg.integrations import channels_redis
    channels_redis.register()                      # before the channel layer is created, in settings.py

    CHANNEL_LAYERS = {"default": {"BACKEND": "channels_redis.core.RedisChannelLayer", "CONFIG": {"hosts": [...]}}}

`register` replaces the serializer `msgpack` of channels_redis, which is the default of both its layers. The new
serializer can also read messages of the old serializer. Objects may contain any type that `cpkg.dumps` packs; for
example, datetime, UUID and Decimal are restored.
"""

from __future__ import annotations

from typing import Any

try:
    from channels_redis.serializers import BaseMessageSerializer, registry
except ImportError as exc:
    raise ImportError(
        f"cpkg.integrations.channels_redis needs channels_redis: pip install channels_redis ({exc})"
    ) from exc

import cpkg

__all__ = ["MsgpackSerializer", "register"]


class MsgpackSerializer(BaseMessageSerializer):
    """Serialize with `cpkg.dumps`, without compression; compressed messages of other producers can also be read."""

    def as_bytes(self, message: object, *args: object, **kwargs: object) -> bytes:
        """Pack a message; raises TypeError for an object that cannot be packed."""
        return cpkg.dumps(message, compress=False)

    def from_bytes(self, message: bytes, *args: object, **kwargs: object) -> Any:
        """Unpack a message; raises CodecError if it is damaged or exceeds a limit of `cpkg.loads`."""
        return cpkg.loads(message)


def register(*, name: str = "msgpack") -> None:
    """Register the serializer under `name`, which layers choose by `serializer_format` (by default "msgpack")."""
    registry.register_serializer(name, MsgpackSerializer)
