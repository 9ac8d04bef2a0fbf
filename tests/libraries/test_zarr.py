# SPDX-License-Identifier: Apache-2.0
"""Zarr: arrays of both formats, with our codecs in place of its own, and read without them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numcodecs
import numpy
import pytest
import zarr
from zarr.codecs import ZstdCodec as OwnCodec

from cpkg import zstd
from cpkg.integrations import zarr as plug
from cpkg.integrations.numcodecs import Zstd
from purepy.errors import LimitError, ZstdError

DATA = numpy.arange(10_000, dtype="<i4").reshape(100, 100)


OWN = {"codecs.zstd": f"{OwnCodec.__module__}.{OwnCodec.__qualname__}"}


@pytest.fixture
def registered() -> Iterator[None]:
    with zarr.config.set(OWN):  # which puts back what was set before
        plug.register()
        yield


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "data.zarr")


def chunk_of(path: str) -> Path:
    """Return the one file that is no metadata."""
    metadata = ("zarr.json", ".zarray", ".zattrs")
    (chunk,) = (file for file in Path(path).rglob("*") if file.is_file() and file.name not in metadata)
    return chunk


def make(path: str, **options: Any) -> Any:
    array = zarr.create_array(path, shape=DATA.shape, chunks=DATA.shape, dtype=DATA.dtype, **options)
    array[:] = DATA
    return array


def test_format_3_is_written_and_read_with_ours(path: str, registered: None, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(Zstd, "encode", lambda self, data: made.append(self.level) or zstd.compress(data, self.level))
    make(path, compressors=plug.ZstdCodec(level=7, checksum=True))
    assert made == [7]
    array = zarr.open_array(path, mode="r")
    assert [type(codec) for codec in array.compressors] == [plug.ZstdCodec]
    assert (array[:] == DATA).all()


def test_format_3_is_the_same_to_zarr_itself(path: str) -> None:
    make(path, compressors=plug.ZstdCodec(level=7))
    with zarr.config.set(OWN):
        array = zarr.open_array(path, mode="r")
    assert [type(codec) for codec in array.compressors] == [OwnCodec]
    assert (array[:] == DATA).all()


def test_format_3_of_zarr_itself_is_read_by_ours(path: str, registered: None) -> None:
    make(path, compressors=OwnCodec(level=1))
    array = zarr.open_array(path, mode="r")
    assert [type(codec) for codec in array.compressors] == [plug.ZstdCodec]
    assert (array[:] == DATA).all()


def test_format_2(path: str) -> None:
    make(path, zarr_format=2, compressors=Zstd(level=5))
    array = zarr.open_array(path, mode="r")
    assert array.compressors == (Zstd(level=5),)
    assert (array[:] == DATA).all()
    assert numcodecs.Zstd().decode(chunk_of(path).read_bytes()) == DATA.tobytes()


@pytest.mark.parametrize("options", [{"compressors": plug.ZstdCodec()}, {"compressors": Zstd(), "zarr_format": 2}])
def test_a_damaged_chunk_is_an_error(
    path: str, registered: None, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    array = make(path, **options)
    chunk = chunk_of(path)
    content = chunk.read_bytes()
    chunk.write_bytes(content[:-1])
    with pytest.raises(ZstdError):
        array[:]
    chunk.write_bytes(zstd.compress(bytes(10**7)))
    monkeypatch.setattr(Zstd, "max_size", 10**6)
    with pytest.raises(LimitError):
        array[:]
