# SPDX-License-Identifier: Apache-2.0
"""XXH64 in both forms, compared with values from the xxHash library."""

from __future__ import annotations

import pytest

from purepy.zstd.format import xxh64

# The lengths cover every branch: no stripe, stripes, and each kind of rest.
DATA = bytes(index * 167 + 13 & 255 for index in range(200))
KNOWN = [
    (0, 0xEF46DB3751D8E999),
    (1, 0x2078E1AD38AD738B),
    (3, 0x634D95FC01A189CD),
    (4, 0xEED340908A1AC6C6),
    (7, 0x0DA493621D6DC898),
    (8, 0x76F916C7BB523126),
    (15, 0x4E1C333B057FB6A4),
    (31, 0x65C5FEB01DA7464D),
    (32, 0x7665C921C9BF2EC7),
    (63, 0xB0289CD9324034F0),
    (64, 0xFFF2525C99BF2005),
    (117, 0x7923DA4D72B3EDCA),
    (200, 0x4D9D64CA846491AF),
]


@pytest.fixture(params=["jit", "wide"], autouse=True)
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xxh64, "_stripes", getattr(xxh64, f"_stripes_{request.param}"))


@pytest.mark.parametrize(("size", "expected"), KNOWN)
def test_known_values(size: int, expected: int) -> None:
    assert xxh64.xxh64(DATA[:size]) == expected


@pytest.mark.parametrize("step", [1, 7, 31, 32, 33, 100])
def test_in_pieces(step: int) -> None:
    """Pieces of any size and type give the hash of the whole, and intermediate digests change nothing."""
    state = xxh64.XXH64()
    for at in range(0, len(DATA), step):
        state.update(memoryview(DATA)[at : at + step])
        assert state.digest() == xxh64.xxh64(DATA[: at + step])
