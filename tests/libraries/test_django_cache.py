# SPDX-License-Identifier: Apache-2.0
"""Django's cache over a real Redis server, with Django's own backend and with django-redis."""

from __future__ import annotations

import datetime
import decimal
import enum
import gzip
import pickle
import uuid
import zlib
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.cache.backends import locmem
from django.core.cache.backends.redis import RedisCache
from django.http import HttpResponse, JsonResponse
from django.test import RequestFactory, override_settings
from django.views.decorators.cache import cache_page
from django_redis.cache import RedisCache as DjangoRedisCache

from cpkg import msgpack, zstd
from cpkg.integrations.django_cache import EntryError, MsgpackSerializer, ZstdCompressor
from purepy.base.errors import LimitError

MODULE = "cpkg.integrations.django_cache"
OBJECTS = [
    *(None, True, 53, -(2**70), 1.5, "53", "text" * 1000, b"\0\xff"),
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


@pytest.fixture(params=["own", "django_redis"])
def cache(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def test_cache_page_stores_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Responses go through Django's own middleware, to a cache that keeps entries as Redis would."""
    calls: list[str] = []

    serializer = MsgpackSerializer()
    codec = SimpleNamespace(dumps=lambda value, _: serializer.dumps(value), loads=serializer.loads)
    monkeypatch.setattr(locmem, "pickle", codec)

    def view(request: Any) -> HttpResponse:
        calls.append(request.path)
        response = JsonResponse({"path": request.path}, headers={"x-own": "1"})
        response.set_cookie("seen", "a b", max_age=60, httponly=True)
        return response

    locmem_cache = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    with override_settings(CACHES=locmem_cache, ALLOWED_HOSTS=["testserver"]):
        request = RequestFactory().get("/page", HTTP_COOKIE="user=1")
        first, second = (cache_page(60)(view)(request) for _ in range(2))
    assert calls == ["/page"]
    assert type(second) is HttpResponse
    assert (second.status_code, second.content, second["x-own"]) == (200, b'{"path": "/page"}', "1")
    assert first.items() <= second.items()  # some versions of Django add its age
    assert second.cookies.output() == first.cookies.output()


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"\x90"),
        *map(msgpack.packb, ([200, "OK", 5, [], b""], ["x", "", {}, [], b""], [float("inf"), "", {}, [], b""])),
        *map(msgpack.packb, ([200, "", {}, ["(=x"], b""], [200, "", {"Content-Type": "a; charset=b"}, [], "\xe9"])),
    ],
)
def test_a_response_that_is_damaged(data: bytes) -> None:
    with pytest.raises(EntryError, match=r"^the entry does not contain a response that was stored"):
        MsgpackSerializer().loads(msgpack.packb(msgpack.ExtType(ord("H"), data)))


def test_tuples_sets_and_enum_members(own: Any) -> None:
    own.set("collections", {"tuple": (1, 2), "set": {3}, "colour": Colour.RED})
    assert own.get("collections") == {"tuple": [1, 2], "set": [3], "colour": 53}
    own.set("colour", Colour.RED)
    assert own.get("colour") == 53


def test_objects_survive(cache: Any) -> None:
    for number, obj in enumerate(OBJECTS):
        cache.set(f"key-{number}", obj)
        back = cache.get(f"key-{number}")
        assert back == ([1, {"a": [2]}] if isinstance(obj, list) else obj)
        assert type(back) is type(obj)
    cache.set("count", 5)
    assert cache.incr("count", 3) == 8
    assert cache.get("count") == 8


def test_numbers_that_pack_as_the_code_of_a_digit_survive(cache: Any) -> None:
    numpy = pytest.importorskip("numpy")
    for number in (0, 47, 48, 53, 57, 58, 300):
        cache.set("key", numpy.int64(number))
        assert cache.get("key") == number


def test_entries_of_django_redis_are_read(redis_url: str, django_redis: Any) -> None:
    options = {
        "SERIALIZER": "django_redis.serializers.msgpack.MSGPackSerializer",
        "COMPRESSOR": "django_redis.compressors.zlib.ZlibCompressor",
    }
    import cpkg

    cpkg.install()  # django-redis imports this name; the original module if it is installed
    theirs = DjangoRedisCache(redis_url, {"OPTIONS": options})
    value = {"text": "text" * 100, "number": 5}
    theirs.set("theirs", value)
    assert zlib.decompress(theirs.client.get_client().get(theirs.make_key("theirs"))) == msgpack.packb(value)
    assert django_redis.get("theirs") == value


def test_a_value_is_compressed_once(django_redis: Any) -> None:
    django_redis.set("key", "text" * 1000)
    entry = django_redis.client.get_client().get(django_redis.make_key("key"))
    assert msgpack.unpackb(zstd.decompress(entry)) == "text" * 1000


@pytest.mark.parametrize("bomb", [zstd.compress(bytes(10**8)), zlib.compress(bytes(10**8))])
def test_a_bomb_is_an_error(django_redis: Any, own: Any, bomb: bytes) -> None:
    with pytest.raises(LimitError, match="set a larger `limit`"):
        ZstdCompressor({}).decompress(bomb)
    client = django_redis.client.get_client()
    client.set(django_redis.make_key("bomb"), bomb)
    with pytest.raises(LimitError):
        django_redis.get("bomb")


@pytest.mark.parametrize("entry", [pickle.dumps({"a": 1}), b'{"a": 1}', gzip.compress(b'{"a": 1}')])
def test_an_entry_of_another_serializer_has_its_own_error(cache: Any, entry: bytes) -> None:
    client = cache.client.get_client() if hasattr(cache, "client") else cache._cache.get_client()
    client.set(cache.make_key("theirs"), entry)
    with pytest.raises(EntryError, match="another serializer"):
        cache.get("theirs")


@pytest.mark.parametrize(("entry", "error"), [(b"", "empty"), (b"\xa5ab", "incomplete|truncated")])
def test_a_damaged_entry_is_an_error(entry: bytes, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        MsgpackSerializer().loads(entry)
