# SPDX-License-Identifier: Apache-2.0
"""Signed tokens with our codecs: frozen names, bounded output, threads."""

from __future__ import annotations

import functools
from functools import partial
from typing import Any

import pytest
from blake2signer import Blake2SerializerSigner, errors
from blake2signer.serializers import NullSerializer
from seeds import noise
from threads import run_threads

import cpkg
from cpkg import zstd
from cpkg.integrations.blake2signer import MsgpackSerializer, ZstdCompressor

SECRET = "a secret of this test, nobody else's"

# Created with msgpack 1.2.4 and zstandard 0.25.0 under the same class names: signed tokens stay valid forever.
GOLDEN = [
    ("N3V_vk7bYBnt9wkfpj3dfA.gaR1c2VygaJpZM0E0g", {"user": {"id": 1234}}),
    (
        "9SoA9mHdjzvPiKWa3h_80Q..KLUv_WB_AL0BAKQChKV3b3Jkc9wAKKZnb2xkZW6lYnl0ZXPEQAClZmxvYXTLP_gApG5vbmXAAwBAQMRJp4PUsgQ",
        {"words": ["golden"] * 40, "bytes": b"\0" * 64, "float": 1.5, "none": None},
    ),
]


def make_signer(**options: Any) -> Any:
    options.setdefault("serializer", MsgpackSerializer)
    options.setdefault("compressor", ZstdCompressor)
    return Blake2SerializerSigner(SECRET, **options)


@pytest.mark.parametrize(("token", "data"), GOLDEN)
def test_golden_tokens_verify(token: str, data: Any) -> None:
    """All backends write the same MessagePack, but different frames, so only the uncompressed token is reproduced."""
    signer = make_signer(personalisation=b"golden", deterministic=True)
    assert signer.loads(token) == data
    assert ".." in token or signer.dumps(data) == token


def test_another_class_name_is_another_key() -> None:
    renamed = type("Renamed", (MsgpackSerializer,), {})
    token = make_signer().dumps([1])
    with pytest.raises(errors.InvalidSignatureError):
        make_signer(serializer=renamed).loads(token)


VALUES = [None, True, -1, 1.5, "text", b"bytes", [1, [2]], {"a": {"b": [None]}}, "x" * 5000, noise(64)]


@pytest.mark.parametrize("data", VALUES, ids=lambda data: repr(data)[:20])
@pytest.mark.parametrize("level", [None, *range(1, 10)])
def test_round_trip(data: Any, level: int | None) -> None:
    """Data that compression does not make smaller is signed as it is."""
    signer = make_signer()
    token, plain = signer.dumps(data, compression_level=level), signer.dumps(data, compress=False)
    assert signer.loads(token) == signer.loads(plain) == data
    assert len(token) < 200 if data == "x" * 5000 else len(token) == len(plain)


def test_levels_reach_the_whole_range() -> None:
    scaled = [ZstdCompressor().scale_compression_level(level) for level in range(1, 10)]
    assert scaled == sorted(set(scaled))
    assert (scaled[0], scaled[-1]) == (1, 19)


def test_small_data_takes_a_table_of_codes_only_where_a_level_is_named() -> None:
    text = b'{"user":{"id":70000,"name":"Ada Lovelace Byron","username":"ada.lovelace1","email":"ada@example.com"}}'
    compressor = ZstdCompressor()
    fast = compressor.compress(text, level=compressor.default_compression_level)
    named = compressor.compress(text, level=compressor.scale_compression_level(3))
    assert zstd.decompress(fast) == zstd.decompress(named) == text
    assert len(named) < len(text) <= len(fast)
    assert len(compressor.compress(b"a" * 31, level=1)) < 31
    repeated = text + text[:50]
    assert len(compressor.compress(repeated, level=0)) < len(repeated) - 30
    longer = (text * 3)[:256]
    assert compressor.compress(longer, level=0) == zstd.compress(longer, 3)


@pytest.mark.parametrize("size", [0, 1, 22, 31, 32, 33])
def test_tiny_data_is_a_raw_frame_that_is_signed_only_when_forced(size: int) -> None:
    data = bytes(range(size))
    frame = ZstdCompressor().compress(data, level=0)
    assert zstd.decompress(frame) == ZstdCompressor().decompress(frame) == data
    assert zstd.get_frame_info(frame).decompressed_size == size
    signer = make_signer(serializer=NullSerializer)
    assert len(signer.dumps(data)) == len(signer.dumps(data, compress=False))
    forced = signer.dumps(data, force_compression=True)
    assert len(forced) > len(signer.dumps(data))
    assert signer.loads(forced) == data


def test_serializer_options_arrive() -> None:
    signer = make_signer()
    token = signer.dumps({1: "one"})
    with pytest.raises(errors.UnserializationError):
        signer.loads(token)
    assert signer.loads(token, serializer_kwargs={"strict_map_key": False}) == {1: "one"}
    with pytest.raises(ValueError, match=r"[Ee]xtra"):
        MsgpackSerializer().unserialize(b"\x01\x02")
    with pytest.raises(errors.SerializationError):
        signer.dumps(object())
    assert signer.loads(signer.dumps(object(), serializer_kwargs={"default": lambda _: "given"})) == "given"


def test_a_tampered_token_reaches_no_codec(monkeypatch: pytest.MonkeyPatch) -> None:
    signer = make_signer()
    token = signer.dumps("x" * 1000)
    monkeypatch.setattr(ZstdCompressor, "decompress", lambda *_: pytest.fail("decompressed before the signature held"))
    with pytest.raises(errors.InvalidSignatureError):
        signer.loads(token[:-2] + ("AA" if token[-2:] != "AA" else "BB"))


@pytest.mark.parametrize("is_streamed", [False, True])
def test_the_limit_itself_passes(is_streamed: bool) -> None:
    def make(size: int) -> bytes:
        compressor = zstd.ZstdCompressor(1)  # without the content size in the header
        streamed = compressor.compress(bytes(size)) + compressor.flush()
        return streamed if is_streamed else zstd.compress(bytes(size), 1)

    compressor = functools.partial(ZstdCompressor, limit=1000)()
    assert compressor.decompress(make(1000)) == bytes(1000)
    with pytest.raises(cpkg.LimitError):
        compressor.decompress(make(1001))
    with pytest.raises(cpkg.LimitError):
        ZstdCompressor().decompress(make(ZstdCompressor.limit + 1))


def test_a_signed_bomb_is_a_decompression_error() -> None:
    signer = make_signer(serializer=NullSerializer)
    token = signer.dumps(bytes(ZstdCompressor.limit + 1))
    assert len(token) < 10_000
    with pytest.raises(errors.DecompressionError):
        signer.loads(token)


def test_a_signed_bomb_of_objects_is_an_unserialization_error() -> None:
    """A few bytes with many objects are refused because of the memory that they would take."""
    signer = make_signer()
    token = signer.dumps([[]] * 2_000_000)
    assert len(token) < 1000
    with pytest.raises(errors.UnserializationError) as caught:
        signer.loads(token)
    assert "max_memory=67108864" in str(caught.value.__cause__)
    token = signer.dumps([[]] * 1000)
    assert signer.loads(token) == signer.loads(token, serializer_kwargs={"max_memory": 72_064}) == [[]] * 1000
    with pytest.raises(errors.UnserializationError):
        signer.loads(token, serializer_kwargs={"max_memory": 72_063})


FRAME = zstd.compress(b"some text " * 20)
_compressor = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 24})
NO_FRAMES = {
    "cut": FRAME[:-1],
    "trailing byte": FRAME + b"\0",
    "second frame": FRAME + FRAME,
    "empty": b"",
    "garbage": b"not a frame at all",
    # a single segment of 1 TiB with an empty last block
    "lying size": b"\x28\xb5\x2f\xfd\xe0" + (1 << 40).to_bytes(8, "little") + b"\x01\x00\x00",
    "large window": _compressor.compress(b"tiny") + _compressor.flush(),
}


@pytest.mark.parametrize("kind", NO_FRAMES)
def test_anything_but_one_whole_frame_is_refused(kind: str) -> None:
    with pytest.raises((cpkg.LimitError, cpkg.ZstdError)):
        ZstdCompressor().decompress(NO_FRAMES[kind])


def test_a_limit_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="limit"):
        ZstdCompressor(limit=-1)


def test_one_signer_serves_many_threads() -> None:
    signer = make_signer()

    def work(seed: int) -> None:
        for turn in range(60):
            data = {"seed": seed, "turn": turn, "text": f"{seed} " * (turn * 10)}
            assert signer.loads(signer.dumps(data)) == data

    assert run_threads(*(partial(work, seed) for seed in range(6))) == []
