# SPDX-License-Identifier: Apache-2.0
"""
Measure the benefit of cpkg's codecs for the libraries that use them: `python tests/bench/integrations.py`.

Each row is one library's own call with cpkg's codec and with its default, alternating in one process; minimum
of the rounds. Results are checked. A library that is not installed is named, and has no row. Arguments select
subjects (`kombu`, `blake2signer`, ...).
"""

from __future__ import annotations

import base64
import datetime
import functools
import gzip
import io
import random
from collections.abc import Callable, Iterator
from typing import Any

import payloads
import turns

import cpkg
from cpkg import zstd

RECORDS: Any = [
    {"id": number, "name": f"name {number}", "when": f"2026-01-{number % 28 + 1:02}T00:00:00", "scores": [number, 1.5]}
    for number in range(2000)
]
PAGE = "".join(
    f"<tr><td>{row['id']}</td><td>{row['name']}</td><td>{row['when']}</td></tr>\n" for row in RECORDS
).encode()

Rows = Iterator[tuple[str, Callable[[], Any], Callable[[], Any]]]
"""The operation, with cpkg's codec and with the library's default."""


def row(label: str, function: Callable[..., Any], ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> Any:
    """Return a row for one function with the arguments of each side."""
    return label, functools.partial(function, *ours), functools.partial(function, *theirs)


def kombu() -> Rows:
    from kombu import compression, serialization

    from cpkg.integrations import kombu as plug

    plug.register()
    dumps = serialization.dumps
    packed, text = (dumps(RECORDS, serializer=serializer)[2] for serializer in ("msgpack", "json"))

    def loads(data: Any, form: str, encoding: str) -> Any:
        return serialization.loads(data, form, encoding, {form})

    ours, theirs = (packed, "application/x-msgpack", "binary"), (text, "application/json", "utf-8")
    assert loads(*ours) == RECORDS
    yield row("kombu, serialize: msgpack / json", dumps, (RECORDS, "msgpack"), (RECORDS, "json"))
    yield row("kombu, deserialize: msgpack / json", loads, ours, theirs)
    yield row("kombu, compress: zstd / gzip", compression.compress, (packed, "zstd"), (packed, "gzip"))


def django_cache() -> Rows:
    from django.core.cache.backends.redis import RedisSerializer

    from cpkg.integrations.django_cache import MsgpackSerializer

    ours, theirs = MsgpackSerializer(), RedisSerializer()
    entry, pickled = ours.dumps(RECORDS), theirs.dumps(RECORDS)
    assert ours.loads(entry) == theirs.loads(pickled) == RECORDS
    print(f"django cache entry: {len(entry)} bytes, pickle {len(pickled)}")
    label = "django cache, dumps: MessagePack with Zstandard / pickle"
    yield label, lambda: ours.dumps(RECORDS), lambda: theirs.dumps(RECORDS)
    yield "django cache, loads", lambda: ours.loads(entry), lambda: theirs.loads(pickled)


def content_coding() -> Rows:
    print(f"web page of {len(PAGE)} bytes: zstd {len(zstd.compress(PAGE))}, gzip -6 {len(gzip.compress(PAGE, 6))}")
    yield "middleware, one page: zstd / gzip 6", lambda: zstd.compress(PAGE), lambda: gzip.compress(PAGE, 6)


def channels_redis() -> Rows:
    from channels_redis.serializers import MsgPackSerializer

    from cpkg.integrations.channels_redis import MsgpackSerializer

    ours, theirs = MsgpackSerializer(), MsgPackSerializer()
    message = {"type": "chat.message", "room": 5, "author": "Ada", "text": "a line of text " * 10, "tags": ["a", "b"]}
    assert theirs.deserialize(ours.serialize(message)) == ours.deserialize(theirs.serialize(message)) == message

    def trips(serializer: Any) -> None:
        for _ in range(500):
            serializer.deserialize(serializer.serialize(message))

    yield row("channels_redis, 500 messages there and back: ours / msgpack", trips, (ours,), (theirs,))


def pymongo() -> Rows:
    import bson
    from pymongo.compression_support import ZlibContext, ZstdContext, decompress

    message = bson.encode({"documents": RECORDS})
    ours, theirs = ZstdContext(), ZlibContext(-1)
    frame, stream = (ours.compress(message), 3, len(message)), (theirs.compress(message), 2, len(message))
    assert decompress(*frame) == decompress(*stream) == message
    print(f"pymongo, message of {len(message)} bytes: zstd {len(frame[0])}, zlib {len(stream[0])}")
    yield "pymongo, compress: zstd / zlib", lambda: ours.compress(message), lambda: theirs.compress(message)
    yield row("pymongo, decompress", decompress, frame, stream)


def kafka() -> Rows:
    from kafka.codec import gzip_decode, gzip_encode, zstd_decode, zstd_encode

    frame, stream = zstd_encode(PAGE), gzip_encode(PAGE)
    assert zstd_decode(frame) == gzip_decode(stream) == PAGE
    print(f"kafka-python, batch of {len(PAGE)} bytes: zstd {len(frame)}, gzip {len(stream)}")
    yield "kafka-python, compress: zstd / gzip", lambda: zstd_encode(PAGE), lambda: gzip_encode(PAGE)
    yield "kafka-python, decompress", lambda: zstd_decode(frame), lambda: gzip_decode(stream)


def fsspec() -> Rows:
    from fsspec.implementations.memory import MemoryFileSystem

    import cpkg.integrations.fsspec as plug

    content = base64.b64encode(random.Random(1).randbytes(12 << 20))
    target = io.BytesIO()
    with zstd.SeekableZstdFile(target, "w", max_frame_content_size=1 << 18) as file:
        file.write(content)
    MemoryFileSystem().pipe({"/data.zst": target.getvalue(), "/plain.zst": zstd.compress(content)})
    place = len(content) // 2

    def read(name: str) -> Any:
        return plug.ZstdFileSystem(f"memory://{name}.zst").cat_file(name, place, place + 1000)

    assert read("data") == read("plain") == content[place : place + 1000]
    label = f"fsspec, 1,000 bytes out of the middle of {len(content) >> 20} MiB: seekable format / one frame"
    yield row(label, read, ("data",), ("plain",))


def msgpack_response() -> Rows:
    from starlette.responses import JSONResponse

    from cpkg.integrations.starlette import MsgpackResponse

    label = "starlette, a response: MsgpackResponse / JSONResponse"
    yield label, lambda: MsgpackResponse(RECORDS), lambda: JSONResponse(RECORDS)


def blake2signer() -> Rows:
    import lz4.frame
    from blake2signer import Blake2SerializerSigner
    from blake2signer.interfaces import CompressorInterface

    from cpkg.integrations.blake2signer import MsgpackSerializer, ZstdCompressor

    class Lz4Compressor(CompressorInterface):
        default_compression_level = 0

        def compress(self, data: bytes, *, level: int) -> bytes:
            return lz4.frame.compress(data, compression_level=level)

        def decompress(self, data: bytes) -> bytes:
            return lz4.frame.decompress(data)

    def trips(signer: Any, value: Any, level: int | None = None) -> None:
        for _ in range(100):
            signer.loads(signer.dumps(value, compression_level=level))

    for kind, serializer in (("JSON", {}), ("MessagePack", {"serializer": MsgpackSerializer})):
        ours, theirs = (
            Blake2SerializerSigner("the secret of a benchmark", compressor=compressor, **serializer)
            for compressor in (ZstdCompressor, Lz4Compressor)
        )
        for name, level in (("small", None), ("regular", None), ("regular", 3), ("large", None)):
            value = payloads.load_object(name)
            made = ours.dumps(value, compression_level=level), theirs.dumps(value)
            assert [ours.loads(made[0]), theirs.loads(made[1])] == [value, value]
            tokens = [*map(len, made)]
            label = f"blake2signer, {name} as {kind}, level {level}: 100 round trips, zstd / lz4, tokens of {tokens}"
            yield row(label, trips, (ours, value, level), (theirs, value))


SUBJECTS = (kombu, channels_redis, django_cache, msgpack_response, content_coding, fsspec, pymongo, kafka, blake2signer)


def main() -> None:
    parser = turns.options(__doc__, rounds=15)
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help="only these")
    options = parser.parse_args()
    print(f"{turns.heading('msgpack')}, {datetime.date.today()}")
    cpkg.install()  # for packages that are not installed here
    for subject in SUBJECTS:
        if options.subjects and subject.__name__ not in options.subjects:
            continue
        try:
            for name, *pair in subject():
                best = turns.fastest(dict(enumerate(pair)), options.rounds, turn=0.02)
                ours, theirs = best[0].clock, best[1].clock
                print(f"{name}: {ours * 1e3:.2f} ms against {theirs * 1e3:.2f} ms: {theirs / ours:.2f} times as fast")
        except ImportError as exc:
            print(f"{subject.__name__}: not here: {exc}")


if __name__ == "__main__":
    main()
