# SPDX-License-Identifier: Apache-2.0
"""dumps and loads: any damaged input is a CodecError; wrong arguments; unusual errors of callers."""

from __future__ import annotations

import datetime as dt
import decimal
import gc
import io
import sys
import types
import uuid
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any, NoReturn

import pytest
from any_codecs import decode, encode

import cpkg
from cpkg import archive, typed, zstd
from cpkg._backend import choose
from cpkg.objects import dumps_loads
from cpkg.zstandard.backend_names import names_over
from purepy.base.errors import CodecError, FormatError, ZstdError

UTC = dt.timezone.utc


@pytest.mark.parametrize(
    ("data", "offset"),
    [("818001", 1), ("92058181010203", 3), ("8192018002", 1), ("81d64e734e614e01", 1), ("8191c7054e2d734e614e01", 1)],
)
def test_a_key_without_a_hash_is_a_format_error(codecs: dumps_loads.Codecs, data: str, offset: int) -> None:
    caught = pytest.raises(FormatError, decode, codecs, bytes.fromhex(data))
    assert caught.value.offset == offset


def test_a_hook_that_makes_such_a_key(codecs: dumps_loads.Codecs) -> None:
    with pytest.raises(FormatError, match="unhashable"):
        decode(codecs, b"\x81\xd4\x05a\x01", ext_hook=lambda code, data: [code])


def test_one_changed_byte_is_a_codec_error_or_an_object(codecs: dumps_loads.Codecs) -> None:
    value = {
        "a": [1, 2.5, "text", b"bytes", None, True, -3, 300, 70000, 2**40],
        "when": [dt.datetime(2024, 1, 1, tzinfo=UTC), dt.datetime(2024, 1, 1, 1, 1), dt.date(2024, 1, 1)],
        "rest": [dt.time(1, 2, 3, 4), dt.timedelta(1, 2, 3), uuid.UUID(int=5), decimal.Decimal("1.50")],
        (1, (2, "x")): {"k": {1: []}},
        5: {dt.date(2024, 1, 2): 1, decimal.Decimal("2.5"): 2},
        uuid.UUID(int=1): 3,
        None: 0,
        2.5: {},
    }
    original = encode(codecs, value, compress=False)
    message = bytearray(original)
    outcomes = {"object": 0, "error": 0}
    for position in range(0, len(original), 3):
        byte = original[position]
        # the headers of all types, with the low bits that change a length
        for changed in (*range(0x7F, 0xE1), *range(0, 256, 37), byte ^ 1, byte ^ 2):
            message[position] = changed
            try:
                decode(codecs, message)
                outcomes["object"] += 1
            except CodecError:
                outcomes["error"] += 1
        message[position] = byte
    assert min(outcomes.values()) > 1000, outcomes


def test_default_that_returns_what_nothing_packs(codecs: dumps_loads.Codecs) -> None:
    pytest.raises(TypeError, encode, codecs, 1j, default=lambda obj: obj).match("can not serialize 'complex'")
    pytest.raises(OverflowError, encode, codecs, 1j, default=lambda obj: 2**70).match("71 bits")


@pytest.mark.parametrize("compress", [True, False, "auto"])
@pytest.mark.parametrize("value", [None, "text" * 1000], ids=["short", "long"])
def test_a_wrong_level_is_noticed(codecs: dumps_loads.Codecs, compress: Any, value: Any) -> None:
    """This holds whether or not anything is compressed."""
    for level in (23, 99, -(2**17) - 1, 2**40):
        with pytest.raises(ValueError, match=f"level must be -131072 to 22, not {level}"):
            encode(codecs, value, compress=compress, level=level)
    for wrong in ("3", 3.0, None):
        pytest.raises(TypeError, encode, codecs, value, compress=compress, level=wrong)
    for level in (22 if value is None else 9, 1, 0, -(2**17)):
        assert decode(codecs, encode(codecs, value, compress=compress, level=level)) == value


@pytest.mark.skipif(sys.implementation.name == "pypy", reason="the collector is CPython's")
@pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="deferred only with the GIL")
def test_the_collector_is_held_off(codecs: dumps_loads.Codecs, msgpack: ModuleType) -> None:
    """The native backend pauses it while it builds a message without extension values other than those of dumps."""
    if msgpack.BACKEND != "native":
        pytest.skip("the pure backend has no say in it")
    records = [{"id": i, "tags": ["a", "b"], "day": dt.date(2024, 1, 1)} for i in range(5000)]
    data = encode(codecs, [records, [[{}]] * 5000], compress=False)
    runs: list[str] = []
    gc.callbacks.append(watch := lambda phase, info: runs.append(phase))
    try:
        gc.collect()
        runs.clear()
        decode(codecs, data)
        ours = len(runs)
        decode(codecs, data, ext_hook=lambda code, payload: None)
        theirs = len(runs) - ours
        assert gc.isenabled()
    finally:
        gc.callbacks.remove(watch)
    assert ours <= 4 < theirs  # other objects may trigger a few collections, each with start and stop
    pytest.raises(CodecError, decode, codecs, data[:-1] + b"\xc1")
    pytest.raises(CodecError, decode, codecs, b"\x92" + data + b"\xd4Dx")
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("make", "name"),
    [
        *((partial(typed.Decoder, int), name) for name in ("max_memory", "max_total_items")),
        (typed.Encoder, "max_depth"),
        (partial(zstd.decompress_iter, [b""]), "max_output_size"),
        (partial(zstd.copy_stream, io.BytesIO(), io.BytesIO(), mode="decompress"), "max_output_size"),
        *((partial(archive.entries, io.BytesIO()), name) for name in ("max_size", "window_log_max", "threads")),
    ],
)
def test_a_limit_that_is_not_a_number_is_refused_at_once(make: Callable[..., object], name: str) -> None:
    pytest.raises(TypeError, make, **{name: "x"})


class Unprintable(Exception):
    """An error of the caller that cannot be copied or converted to text."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(text)

    def __str__(self) -> str:
        raise ArithmeticError

    __repr__ = __str__


@pytest.mark.parametrize("kind", [type("Own", (Unprintable, base), {}) for base in (ZstdError, ValueError)])
def test_an_error_without_a_text_comes_out_of_files_and_hooks(kind: type[Unprintable]) -> None:
    error = kind(1, "text")

    def fail(*_: object) -> NoReturn:
        raise error

    class Failing(io.BytesIO):
        read = write = fail  # type: ignore[assignment]

    class Thing:
        pass

    zstandard = types.SimpleNamespace(**names_over(choose("zstd").module))
    file = zstd.ZstdFile(Failing())
    with zstandard.ZstdDecompressor().stream_writer(Failing(), closefd=False) as writer:
        for call in (
            file.read,
            lambda: writer.write(zstd.compress(b"content")),
            zstandard.ZstdDecompressor().stream_reader(Failing()).read,
            zstandard.ZstdCompressor().stream_reader(Failing()).read,
        ):
            found = pytest.raises(Unprintable, call)
            assert found.value is error
    pytest.raises(OSError, file.read).match(rf"raised {kind.__name__}, .*seek")
    with pytest.raises(ZstdError if issubclass(kind, ZstdError) else typed.ValidationError) as caught:
        typed.decode(cpkg.dumps(1), Thing, dec_hook=fail)
    assert caught.value is error or caught.value.__cause__ is error
