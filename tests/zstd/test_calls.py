# SPDX-License-Identifier: Apache-2.0
"""Calls whose result depends only on their arguments, on every backend: values, errors, and the texts of errors."""

from __future__ import annotations

import copy
import functools
import inspect
import io
import pickle
import sys
from array import array
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import zstd_data
from call_tables import calls, check_call


def closed(file: Any) -> Any:
    file.close()
    return file


@functools.cache
def names(zstd: ModuleType) -> dict[str, Any]:
    """Return the names that rows use: of the backend, of the shared data, and shorthands."""

    def begun() -> Any:
        compressor = zstd.ZstdCompressor()
        compressor.compress(b"abc")
        return compressor

    def round_trip(data: bytes, level: int | None) -> bool:
        packed = zstd.compress(data, level)
        return zstd.decompress(packed) == data and len(packed) <= len(data) + len(data) // 255 + 64

    text = zstd_data.TEXT[:20_000]
    return {
        **vars(zstd_data),
        **{name: getattr(zstd, name) for name in zstd.__all__},
        "copy": copy,
        "pickle": pickle,
        "signature": inspect.signature,
        "array": array,
        "maxsize": sys.maxsize,
        "closed": closed,
        "BytesIO": io.BytesIO,
        "UnsupportedOperation": io.UnsupportedOperation,
        "C": zstd.CompressionParameter,
        "D": zstd.DecompressionParameter,
        "TEXT": text,
        "raw": zstd.ZstdDict(text[:2000], is_raw=True),
        "broken": zstd.ZstdDict(bytes.fromhex("37a430ec") + b"abcdefghijklmnopqrstuvwxyz"),
        "packed": zstd.compress(text),
        "unsized": zstd.compress(text, options={zstd.CompressionParameter.content_size_flag: 0}),
        "dictionary": zstd_data.trained(zstd, zstd_data.SAMPLES, 3000),
        "tool": Path(__file__).with_name("seekable_compression.zst"),
        "begun": begun,
        "round_trip": round_trip,
        "reader": lambda: zstd.ZstdFile(io.BytesIO(zstd_data.FRAME_ABC)),
        "writer": lambda: zstd.ZstdFile(io.BytesIO(), "w"),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calls")
    (folder / "there").write_bytes(zstd_data.FRAME_ABC)
    return folder


@calls(Path(__file__).with_name("calls.txt"), every=2)
def test_call(zstd: ModuleType, folder: Path, call: str, outcome: list[str]) -> None:
    check_call(call, outcome, {**names(zstd), "there": folder / "there", "absent": folder / "absent"})
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"there": zstd_data.FRAME_ABC}


@calls(Path(__file__).with_name("training_calls.txt"), every=2)
def test_training_call(zstd: ModuleType, call: str, outcome: list[str]) -> None:
    zstd_data.check_trains(zstd)
    check_call(call, outcome, names(zstd))
