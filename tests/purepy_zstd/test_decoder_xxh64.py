# SPDX-License-Identifier: Apache-2.0
"""XXH64 in both forms, compared with values from the xxHash library."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from purepy.zstd.format import xxh64

# The lengths cover every branch: no stripe, stripes, and each kind of rest.
DATA = bytes(index * 167 + 13 & 255 for index in range(200))
KNOWN = json.loads(Path(__file__).with_name("xxh64.json").read_text(encoding="utf-8"))


@pytest.fixture(params=["jit", "wide"], autouse=True)
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xxh64, "_stripes", getattr(xxh64, f"_stripes_{request.param}"))


@pytest.mark.parametrize(("size", "expected"), KNOWN)
def test_known_values(size: int, expected: str) -> None:
    assert f"{xxh64.xxh64(DATA[:size]):016X}" == expected


@pytest.mark.parametrize("step", [1, 7, 31, 32, 33, 100])
def test_in_pieces(step: int) -> None:
    """Pieces of any size and type give the hash of the whole, and intermediate digests change nothing."""
    state = xxh64.XXH64()
    for at in range(0, len(DATA), step):
        state.update(memoryview(DATA)[at : at + step])
        assert state.digest() == xxh64.xxh64(DATA[: at + step])
