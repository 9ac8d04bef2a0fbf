# SPDX-License-Identifier: Apache-2.0
"""joblib: dump and load by name, level and magic number."""

from __future__ import annotations

import random
from pathlib import Path

import joblib
import pytest

from cpkg import zstd
from cpkg.integrations import joblib as plug

DATA = {"list": list(range(10_000)), "text": "text" * 1000}


@pytest.mark.parametrize("compress", [None, "zstd", ("zstd", 1), ("zstd", 9)])
def test_a_round_trip(tmp_path: Path, compress: object) -> None:
    plug.register()
    plug.register()
    path = tmp_path / ("data.zst" if compress is None else "data")
    joblib.dump(DATA, path, **({} if compress is None else {"compress": compress}))
    assert zstd.get_frame_info(path.read_bytes()[:20]).dictionary_id == 0
    assert joblib.load(path) == DATA


def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    plug.register()
    path = tmp_path / "data.zst"
    joblib.dump(DATA, path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(EOFError):
        joblib.load(path)


def test_a_changed_byte_is_found_by_the_checksum(tmp_path: Path) -> None:
    plug.register()
    path = tmp_path / "data.zst"
    data = random.Random(1).randbytes(1000)
    joblib.dump(data, path)
    frame = bytearray(path.read_bytes())
    frame[frame.index(data[500:510])] ^= 1
    path.write_bytes(frame)
    with pytest.raises(zstd.ZstdError, match=r"[Cc]hecksum"):
        joblib.load(path)
