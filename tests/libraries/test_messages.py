# SPDX-License-Identifier: Apache-2.0
"""Messages of kombu, Celery and channels_redis with cpkg's serializers and compression, over Redis and in memory."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import threading
import uuid
from typing import Any

import kombu
import pytest
from celery import Celery
from celery.contrib.testing.worker import start_worker
from channels_redis.core import RedisChannelLayer
from channels_redis.pubsub import RedisPubSubChannelLayer
from channels_redis.serializers import registry as channels_registry
from kombu import compression, serialization
from kombu.exceptions import DecodeError

import cpkg
from cpkg import zstd
from cpkg.integrations import channels_redis as channels_plug
from cpkg.integrations import kombu as plug
from purepy.base.errors import CodecError, LimitError

OBJECT = {
    "type": "chat.message",
    "when": datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc),
    "id": uuid.UUID(int=7),
    "price": decimal.Decimal("1.10"),
    "data": b"\0\xff",
    "text": "text",
}


@pytest.fixture(autouse=True)
def registered() -> None:
    plug.register()


@pytest.mark.parametrize("name", ["msgpack", "cpkg"])
def test_the_serializer(name: str) -> None:
    kind, encoding, payload = serialization.dumps(OBJECT, serializer=name)
    assert encoding == "binary"
    assert serialization.loads(payload, kind, encoding, accept=[kind]) == OBJECT
    with pytest.raises(DecodeError):
        serialization.loads(payload[:-1], kind, encoding, accept=[kind])


def test_messages_of_msgpack_are_read() -> None:
    data = {"a": [1, "b", b"c"]}
    kind = "application/x-msgpack"
    assert serialization.loads(cpkg.packb(data), kind, "binary", accept=[kind]) == data


def test_the_compression_is_bounded() -> None:
    body, kind = compression.compress(b"text" * 1000, "zstd")
    assert kind == "application/zstd"
    assert compression.decompress(body, kind) == b"text" * 1000
    with pytest.raises(LimitError, match="pass a larger max_size"):
        compression.decompress(zstd.compress(bytes(10**8)), kind)


def test_a_message_through_a_broker() -> None:
    with (
        kombu.Connection("memory://") as connection,
        connection.SimpleQueue("queue", serializer="msgpack", compression="zstd") as queue,
    ):
        queue.consumer.accept = {"application/x-msgpack"}
        queue.put(OBJECT)
        message = queue.get(timeout=30)
        assert message.headers["compression"] == "application/zstd"
        assert message.payload == OBJECT
        message.ack()


def test_a_celery_task_over_redis(redis_url: str) -> None:
    url = redis_url.replace("unix://", "redis+socket://")
    app = Celery("libraries", broker=url, backend=url, set_as_current=False)
    app.conf.update(task_serializer="msgpack", result_serializer="msgpack", accept_content=["msgpack"])
    app.conf.update(task_compression="zstd", result_compression="zstd", worker_hijack_root_logger=False)
    seen: list[Any] = []
    done = threading.Event()

    @app.task(name="libraries.work")
    def work(obj: Any) -> Any:
        seen.append(obj)
        done.set()
        return {"back": obj}

    with start_worker(app, pool="solo", perform_ping_check=False, shutdown_timeout=60):
        result = work.delay(OBJECT)
        assert done.wait(60)
        assert result.get(timeout=60) == {"back": OBJECT}
    assert seen == [OBJECT]
    # it unsubscribes from the server when it is collected, which on PyPy may be after the server has stopped
    app.backend.remove_pending_result(result)
    result.backend = None


@pytest.mark.parametrize("layer_type", [RedisChannelLayer, RedisPubSubChannelLayer])
def test_messages_arrive_unchanged(redis_url: str, layer_type: Any) -> None:
    channels_plug.register()

    async def talk() -> tuple[Any, Any]:
        layer = layer_type(hosts=[redis_url])
        channel = await layer.new_channel()
        await layer.group_add("group", channel)
        await layer.send(channel, OBJECT)
        first = await asyncio.wait_for(layer.receive(channel), 60)
        await layer.group_send("group", OBJECT)
        second = await asyncio.wait_for(layer.receive(channel), 60)
        await layer.flush()
        return first, second

    for message in asyncio.run(talk()):
        message.pop("__asgi_channel__", None)
        assert message == OBJECT


def test_unreadable_messages_are_errors() -> None:
    channels_plug.register(name="ours")
    serializer = channels_registry.get_serializer("ours")
    assert serializer.deserialize(cpkg.packb(["theirs"])) == ["theirs"]
    with pytest.raises(CodecError):
        serializer.deserialize(serializer.serialize(OBJECT)[:-1])
    with pytest.raises(LimitError):
        serializer.deserialize(zstd.compress(cpkg.packb(bytes(10**8))))
    with pytest.raises(TypeError):
        serializer.serialize({"object": object()})
