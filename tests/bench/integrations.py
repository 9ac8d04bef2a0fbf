# SPDX-License-Identifier: Apache-2.0
"""
Measure what our codecs give the libraries that take them: `python tests/bench/integrations.py`.

Each row is one library's own call with our codec and with what it uses without, alternating in one process; minimum
of the rounds. Results are checked. A library that is not installed is named, and has no row. Arguments choose among the
subjects (`kombu`, `blake2signer`, ...).
"""

from __future__ import annotations

import base64
import datetime
import io
import random
import sys
import time
from collections.abc import Callable
from typing import Any

RECORDS: Any = [
    {"id": number, "name": f"name {number}", "when": f"2026-01-{number % 28 + 1:02}T00:00:00", "scores": [number, 1.5]}
    for number in range(2000)
]
PAGE = "".join(
    f"<tr><td>{row['id']}</td><td>{row['name']}</td><td>{row['when']}</td></tr>\n" for row in RECORDS
).encode()

Pair = tuple[Callable[[], Any], Callable[[], Any]]


def kombu() -> dict[str, Pair]:
    from kombu import compression, serialization

    from cpkg.integrations import kombu as plug

    plug.register()
    packed = serialization.dumps(RECORDS, serializer="msgpack")[2]
    text = serialization.dumps(RECORDS, serializer="json")[2]
    assert serialization.loads(packed, "application/x-msgpack", "binary", {"application/x-msgpack"}) == RECORDS
    return {
        "kombu, serialize: msgpack / json": (
            lambda: serialization.dumps(RECORDS, serializer="msgpack"),
            lambda: serialization.dumps(RECORDS, serializer="json"),
        ),
        "kombu, deserialize: msgpack / json": (
            lambda: serialization.loads(packed, "application/x-msgpack", "binary", {"application/x-msgpack"}),
            lambda: serialization.loads(text, "application/json", "utf-8", {"application/json"}),
        ),
        "kombu, compress: zstd / gzip": (
            lambda: compression.compress(packed, "zstd"),
            lambda: compression.compress(packed, "gzip"),
        ),
    }


def django_cache() -> dict[str, Pair]:
    from django.core.cache.backends.redis import RedisSerializer

    from cpkg.integrations.django_cache import MsgpackSerializer

    ours, theirs = MsgpackSerializer(), RedisSerializer()
    entry, pickled = ours.dumps(RECORDS), theirs.dumps(RECORDS)
    assert ours.loads(entry) == theirs.loads(pickled) == RECORDS
    print(f"django cache entry: {len(entry)} bytes, pickle {len(pickled)}")
    return {
        "django cache, dumps: MessagePack with Zstandard / pickle": (
            lambda: ours.dumps(RECORDS),
            lambda: theirs.dumps(RECORDS),
        ),
        "django cache, loads": (lambda: ours.loads(entry), lambda: theirs.loads(pickled)),
    }


def content_coding() -> dict[str, Pair]:
    import gzip

    from cpkg import zstd

    print(f"web page of {len(PAGE)} bytes: zstd {len(zstd.compress(PAGE))}, gzip -6 {len(gzip.compress(PAGE, 6))}")
    return {"middleware, one page: zstd / gzip 6": (lambda: zstd.compress(PAGE), lambda: gzip.compress(PAGE, 6))}


def channels_redis() -> dict[str, Pair]:
    from channels_redis.serializers import MsgPackSerializer

    from cpkg.integrations.channels_redis import MsgpackSerializer

    ours, theirs = MsgpackSerializer(), MsgPackSerializer()
    message = {"type": "chat.message", "room": 5, "author": "Ada", "text": "a line of text " * 10, "tags": ["a", "b"]}
    assert theirs.deserialize(ours.serialize(message)) == ours.deserialize(theirs.serialize(message)) == message

    def trip(serializer: Any) -> Callable[[], None]:
        def run() -> None:
            for _ in range(500):
                serializer.deserialize(serializer.serialize(message))

        return run

    return {"channels_redis, 500 messages there and back: ours / msgpack": (trip(ours), trip(theirs))}


def pymongo() -> dict[str, Pair]:
    import bson
    from pymongo.compression_support import ZlibContext, ZstdContext, decompress

    message = bson.encode({"documents": RECORDS})
    ours, theirs = ZstdContext(), ZlibContext(-1)
    frame, stream = ours.compress(message), theirs.compress(message)
    limit = len(message)
    assert decompress(frame, 3, limit) == decompress(stream, 2, limit) == message
    print(f"pymongo, message of {len(message)} bytes: zstd {len(frame)}, zlib {len(stream)}")
    return {
        "pymongo, compress: zstd / zlib": (lambda: ours.compress(message), lambda: theirs.compress(message)),
        "pymongo, decompress": (lambda: decompress(frame, 3, limit), lambda: decompress(stream, 2, limit)),
    }


def kafka() -> dict[str, Pair]:
    from kafka.codec import gzip_decode, gzip_encode, zstd_decode, zstd_encode

    frame, stream = zstd_encode(PAGE), gzip_encode(PAGE)
    assert zstd_decode(frame) == gzip_decode(stream) == PAGE
    print(f"kafka-python, batch of {len(PAGE)} bytes: zstd {len(frame)}, gzip {len(stream)}")
    return {
        "kafka-python, compress: zstd / gzip": (lambda: zstd_encode(PAGE), lambda: gzip_encode(PAGE)),
        "kafka-python, decompress": (lambda: zstd_decode(frame), lambda: gzip_decode(stream)),
    }


def fsspec() -> dict[str, Pair]:
    from fsspec.implementations.memory import MemoryFileSystem

    import cpkg.integrations.fsspec as plug
    from cpkg import zstd

    content = base64.b64encode(random.Random(1).randbytes(12 << 20))
    target = io.BytesIO()
    with zstd.SeekableZstdFile(target, "w", max_frame_content_size=1 << 18) as file:
        file.write(content)
    memory = MemoryFileSystem()
    memory.pipe({"/data.zst": target.getvalue(), "/plain.zst": zstd.compress(content)})
    place = len(content) // 2

    def read(name: str) -> Callable[[], bytes]:
        return lambda: plug.ZstdFileSystem(f"memory://{name}.zst").cat_file(name, place, place + 1000)

    assert read("data")() == read("plain")() == content[place : place + 1000]
    label = f"fsspec, 1,000 bytes out of the middle of {len(content) >> 20} MiB: seekable format / one frame"
    return {label: (read("data"), read("plain"))}


def msgpack_response() -> dict[str, Pair]:
    from starlette.responses import JSONResponse

    from cpkg.integrations.starlette import MsgpackResponse

    return {
        "starlette, a response: MsgpackResponse / JSONResponse": (
            lambda: MsgpackResponse(RECORDS),
            lambda: JSONResponse(RECORDS),
        )
    }


def blake2signer() -> dict[str, Pair]:
    import lz4.frame
    import payloads
    from blake2signer import Blake2SerializerSigner
    from blake2signer.interfaces import CompressorInterface

    from cpkg.integrations.blake2signer import MsgpackSerializer, ZstdCompressor

    class Lz4Compressor(CompressorInterface):
        @property
        def default_compression_level(self) -> int:
            return 0

        def compress(self, data: bytes, *, level: int) -> bytes:
            return lz4.frame.compress(data, compression_level=level)

        def decompress(self, data: bytes) -> bytes:
            return lz4.frame.decompress(data)

    def trips(signer: Any, value: Any, options: dict[str, Any]) -> Callable[[], None]:
        assert signer.loads(signer.dumps(value, **options)) == value

        def trip() -> None:
            for _ in range(100):
                signer.loads(signer.dumps(value, **options))

        return trip

    pairs = {}
    for kind, serializer in (("JSON", {}), ("MessagePack", {"serializer": MsgpackSerializer})):
        ours, theirs = (
            Blake2SerializerSigner("the secret of a benchmark", compressor=compressor, **serializer)
            for compressor in (ZstdCompressor, Lz4Compressor)
        )
        for name, level in (("small", None), ("regular", None), ("regular", 3), ("large", None)):
            value = payloads.load_object(name)
            options = {"compression_level": level}
            tokens = [len(ours.dumps(value, **options)), len(theirs.dumps(value))]
            label = f"blake2signer, {name} as {kind}, level {level}: 100 round trips, zstd / lz4, tokens of {tokens}"
            pairs[label] = (trips(ours, value, options), trips(theirs, value, {}))
    return pairs


def measure(pair: Pair, rounds: int = 15, seconds: float = 0.5) -> tuple[float, float]:
    """Return the least time of either side, of as many rounds at least, and more of what is soon done."""
    best = [float("inf"), float("inf")]
    begin = time.perf_counter()
    while rounds > 0 or time.perf_counter() - begin < seconds:
        rounds -= 1
        for side, call in enumerate(pair):
            start = time.perf_counter()
            call()
            best[side] = min(best[side], time.perf_counter() - start)
    return best[0], best[1]


SUBJECTS = (
    kombu,
    channels_redis,
    django_cache,
    msgpack_response,
    content_coding,
    fsspec,
    pymongo,
    kafka,
    blake2signer,
)


def main() -> None:
    print(f"{sys.implementation.name} {sys.version.split()[0]}, {datetime.date.today()}")
    import cpkg

    cpkg.install()  # for what is not installed here
    wanted = sys.argv[1:]
    for subject in SUBJECTS:
        if wanted and subject.__name__ not in wanted:
            continue
        try:
            pairs = subject()
        except ImportError as exc:
            print(f"{subject.__name__}: not here: {exc}")
            continue
        for name, pair in pairs.items():
            ours, theirs = measure(pair)
            print(f"{name}: {ours * 1e3:.2f} ms against {theirs * 1e3:.2f} ms: {theirs / ours:.2f} times as fast")


if __name__ == "__main__":
    main()
