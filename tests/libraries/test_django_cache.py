# SPDX-License-Identifier: Apache-2.0
"""Django's cache over a real Redis server, by Django's own backend and by django-redis."""

from __future__ import annotations

import datetime
import decimal
import enum
import gzip
import pickle
import uuid
import zlib
from typing import Any

import pytest
from django.core.cache.backends.redis import RedisCache
from django_redis.cache import RedisCache as DjangoRedisCache

from cpkg import msgpack, zstd
from cpkg.integrations.django_cache import EntryError, MsgpackSerializer, ZstdCompressor
from purepy.base.errors import LimitError

MODULE = "cpkg.integrations.django_cache"
OBJECTS = [
    None,
    True,
    53,
    -(2**70),
    1.5,
    "53",
    "text" * 1000,
    b"\0\xff",
    [1, {"a": (2,)}],
    datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc),
    uuid.UUID(int=7),
    decimal.Decimal("1.10"),
]


class Colour(enum.IntEnum):
    RED = 53


@pytest.fixture
def own(redis_url: str) -> Any:
    cache = RedisCache(redis_url, {"OPTIONS": {"serializer": f"{MODULE}.MsgpackSerializer"}})
    cache.clear()
    return cache


@pytest.fixture
def django_redis(redis_url: str) -> Any:
    options = {"SERIALIZER": f"{MODULE}.MsgpackSerializer", "COMPRESSOR": f"{MODULE}.ZstdCompressor"}
    cache = DjangoRedisCache(redis_url, {"OPTIONS": options})
    cache.clear()
    return cache


@pytest.mark.parametrize("kind", ["own", "django_redis"])
def test_objects_come_back(request: pytest.FixtureRequest, kind: str) -> None:
    cache = request.getfixturevalue(kind)
    for number, obj in enumerate(OBJECTS):
        cache.set(f"key-{number}", obj)
        back = cache.get(f"key-{number}")
        assert back == ([1, {"a": [2]}] if isinstance(obj, list) else obj)
        assert type(back) is type(obj)
    cache.set("count", 5)
    assert cache.incr("count", 3) == 8
    assert cache.get("count") == 8


def test_members_of_an_int_enum_come_back_as_ints(own: Any) -> None:
    own.set("colour", Colour.RED)
    assert own.get("colour") == 53


@pytest.mark.parametrize("kind", ["own", "django_redis"])
def test_what_packs_as_the_code_of_a_digit_comes_back_as_its_number(request: pytest.FixtureRequest, kind: str) -> None:
    numpy = pytest.importorskip("numpy")
    cache = request.getfixturevalue(kind)
    for number in (0, 47, 48, 53, 57, 58, 300):
        cache.set("key", numpy.int64(number))
        assert cache.get("key") == number


def raw(cache: Any, key: str) -> bytes:
    return cache.client.get_client().get(cache.make_key(key))


def test_entries_of_django_redis_are_read(redis_url: str, django_redis: Any) -> None:
    options = {
        "SERIALIZER": "django_redis.serializers.msgpack.MSGPackSerializer",
        "COMPRESSOR": "django_redis.compressors.zlib.ZlibCompressor",
    }
    import cpkg

    cpkg.install()  # django-redis imports it; theirs if it is there
    theirs = DjangoRedisCache(redis_url, {"OPTIONS": options})
    value = {"text": "text" * 100, "number": 5}
    theirs.set("theirs", value)
    assert zlib.decompress(raw(theirs, "theirs")) == msgpack.packb(value)
    assert django_redis.get("theirs") == value


def test_a_value_is_compressed_once(django_redis: Any) -> None:
    django_redis.set("key", "text" * 1000)
    entry = raw(django_redis, "key")
    assert msgpack.unpackb(zstd.decompress(entry)) == "text" * 1000


@pytest.mark.parametrize("bomb", [zstd.compress(bytes(10**8)), zlib.compress(bytes(10**8))])
def test_a_bomb_is_an_error(django_redis: Any, own: Any, bomb: bytes) -> None:
    with pytest.raises(LimitError):
        ZstdCompressor({}).decompress(bomb)
    client = django_redis.client.get_client()
    client.set(django_redis.make_key("bomb"), bomb)
    with pytest.raises(LimitError):
        django_redis.get("bomb")


@pytest.mark.parametrize("kind", ["own", "django_redis"])
@pytest.mark.parametrize("entry", [pickle.dumps({"a": 1}), b'{"a": 1}', gzip.compress(b'{"a": 1}')])
def test_an_entry_of_another_serializer_is_an_error_that_says_so(
    request: pytest.FixtureRequest, kind: str, entry: bytes
) -> None:
    cache = request.getfixturevalue(kind)
    client = cache.client.get_client() if kind == "django_redis" else cache._cache.get_client()
    client.set(cache.make_key("theirs"), entry)
    with pytest.raises(EntryError, match="another serializer"):
        cache.get("theirs")


def test_a_damaged_entry_is_an_error(own: Any) -> None:
    with pytest.raises(ValueError, match="empty"):
        MsgpackSerializer().loads(b"")
    with pytest.raises(ValueError, match=r"incomplete|truncated"):
        MsgpackSerializer().loads(b"\xa5ab")
