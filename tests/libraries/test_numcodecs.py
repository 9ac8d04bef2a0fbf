# SPDX-License-Identifier: Apache-2.0
"""numcodecs: both codecs, found by their entry points, beside its own."""

from __future__ import annotations

import numcodecs
import numpy
import pytest
from numcodecs.registry import get_codec

from cpkg import msgpack, zstd
from cpkg.integrations.numcodecs import MsgpackObjects, Zstd
from purepy.errors import LimitError, ZstdError

ARRAY = numpy.arange(10_000, dtype="<i4").reshape(100, 100)


@pytest.mark.parametrize("config", [{}, {"level": 9}, {"level": -3, "checksum": True}])
def test_the_compressor(config: dict[str, object]) -> None:
    codec = get_codec({"id": "cpkg_zstd", **config})
    assert isinstance(codec, Zstd)
    assert get_codec(codec.get_config()) == codec
    chunk = codec.encode(ARRAY)
    assert zstd.get_frame_info(chunk).decompressed_size == ARRAY.nbytes
    assert codec.decode(chunk) == ARRAY.tobytes()
    out = numpy.empty_like(ARRAY)
    codec.decode(chunk, out=out)
    assert (out == ARRAY).all()
    assert numcodecs.Zstd().decode(chunk) == ARRAY.tobytes()
    assert codec.decode(numcodecs.Zstd().encode(ARRAY)) == ARRAY.tobytes()


def test_a_chunk_that_does_not_fit_is_an_error() -> None:
    codec = Zstd()
    chunk = codec.encode(ARRAY)
    with pytest.raises(LimitError):
        codec.decode(chunk, out=numpy.empty(10, "<i4"))
    with pytest.raises(ValueError, match="size"):
        codec.decode(chunk, out=numpy.empty(100_000, "<i4"))
    with pytest.raises(ZstdError):
        codec.decode(chunk[:-1])


def test_objects() -> None:
    codec = get_codec({"id": "cpkg_msgpack"})
    assert isinstance(codec, MsgpackObjects)
    array = numpy.empty((2, 3), dtype=object)
    array[:] = [["a", b"b", None], [[1, 2], {"x": 1.5}, 2**63]]
    back = codec.decode(codec.encode(array))
    assert back.shape == (2, 3)
    assert back.tolist() == array.tolist()
    assert codec.decode(codec.encode(numpy.array(5, dtype=object))).item() == 5
    out = numpy.empty((2, 3), dtype=object)
    assert codec.decode(codec.encode(array), out=out) is out
    assert out.tolist() == array.tolist()


@pytest.mark.parametrize(
    "message",
    [5, [1, 2], [[1], "|O", [2]], [[1], "|O", [10**12]], [[[1], []], "|O", [2, 1]], [[1], 5, [1]], [[1], "|O", 1]],
)
def test_a_message_that_is_no_chunk_of_objects_is_an_error(message: object) -> None:
    with pytest.raises(ValueError, match="expected a chunk of cpkg_msgpack"):
        MsgpackObjects().decode(msgpack.packb(message))


def test_an_array_that_is_too_large_is_an_error_before_it_is_made() -> None:
    with pytest.raises(LimitError, match="max_size"):
        MsgpackObjects().decode(msgpack.packb([["a", "b"], "<U400000000", [2]]))
