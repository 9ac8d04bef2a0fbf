# SPDX-License-Identifier: Apache-2.0
"""channels_redis: both layers, with cpkg's serializer, over a Redis server."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import uuid
from typing import Any

import pytest
from channels_redis.core import RedisChannelLayer
from channels_redis.pubsub import RedisPubSubChannelLayer
from channels_redis.serializers import registry

import cpkg
from cpkg import zstd
from cpkg.integrations import channels_redis as plug
from purepy.base.errors import CodecError, LimitError

MESSAGE = {
    "type": "chat.message",
    "when": datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc),
    "id": uuid.UUID(int=7),
    "price": decimal.Decimal("1.10"),
    "data": b"\0\xff",
    "text": "text",
}


@pytest.mark.parametrize("layer_type", [RedisChannelLayer, RedisPubSubChannelLayer])
def test_messages_arrive_unchanged(redis_url: str, layer_type: Any) -> None:
    plug.register()

    async def talk() -> tuple[Any, Any]:
        layer = layer_type(hosts=[redis_url])
        channel = await layer.new_channel()
        await layer.group_add("group", channel)
        await layer.send(channel, MESSAGE)
        first = await asyncio.wait_for(layer.receive(channel), 60)
        await layer.group_send("group", MESSAGE)
        second = await asyncio.wait_for(layer.receive(channel), 60)
        await layer.flush()
        return first, second

    for message in asyncio.run(talk()):
        message.pop("__asgi_channel__", None)
        assert message == MESSAGE


def test_unreadable_messages_are_errors() -> None:
    plug.register(name="ours")
    serializer = registry.get_serializer("ours")
    assert serializer.deserialize(cpkg.packb(["theirs"])) == ["theirs"]
    with pytest.raises(CodecError):
        serializer.deserialize(serializer.serialize(MESSAGE)[:-1])
    with pytest.raises(LimitError):
        serializer.deserialize(zstd.compress(cpkg.packb(bytes(10**8))))
    with pytest.raises(TypeError):
        serializer.serialize({"object": object()})
