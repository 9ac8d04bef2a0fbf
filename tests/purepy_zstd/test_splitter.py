# SPDX-License-Identifier: Apache-2.0
"""FrameSplitter: a stream is split into whole frames, and into pieces of large frames."""

from __future__ import annotations

import io
import random

import pytest

import purepy.zstd
from purepy.base.errors import ZstdError, ZstdLimitError
from purepy.zstd.format import splitter
from purepy.zstd.format.splitter import FrameSplitter, Pieces, WholeFrame

DATA = random.Random(3).randbytes(40_000)
CONTENTS = [DATA[:100], b"", DATA[:9000], bytes(5000), DATA]
SKIPPABLE = b"\x50\x2a\x4d\x18\x88\x13\0\0" + bytes(5000)
CHECKED = {purepy.zstd.CompressionParameter.checksum_flag: 1}
FRAMES = [purepy.zstd.compress(content, options=CHECKED) for content in CONTENTS]
STREAM = SKIPPABLE + b"".join(frame + SKIPPABLE for frame in FRAMES)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splitter, "READ_SIZE", 4096)
    monkeypatch.setattr(splitter, "WHOLE_CONTENT_MAX", 10_000)


@pytest.mark.parametrize("most", [1, 7, 4096])
def test_frames_come_whole_and_large_ones_in_pieces(most: int) -> None:
    file = io.BytesIO(STREAM)
    cut = FrameSplitter(lambda size: file.read(min(size, most)))
    found = []
    for item in cut:
        assert isinstance(item, Pieces) == (len(found) == 4)
        if isinstance(item, WholeFrame):
            assert item.size == len(CONTENTS[len(found)])
        views, pieces = [], []
        for piece in item.data if isinstance(item, Pieces) else [item.data]:
            views.append(memoryview(cut._buffer))  # as on PyPy 8, which releases views late
            pieces.append(piece)
        found.append(b"".join(pieces))
    assert found == FRAMES
    assert cut.consumed == len(STREAM)


def test_error_of_a_truncated_frame_in_pieces_has_the_offset_of_the_frame() -> None:
    start = STREAM.index(FRAMES[4])
    cut = FrameSplitter(io.BytesIO(STREAM[: start + len(FRAMES[4]) - 100]).read)
    large = next(item for item in cut if isinstance(item, Pieces))
    with pytest.raises(ZstdError, match=f"within a block .in the frame at byte {start:,}.$") as caught:
        list(large.data)
    assert caught.value.offset == start


@pytest.mark.parametrize("most", [1, 4096])
def test_zeros_end_a_stream(most: int) -> None:
    file = io.BytesIO(STREAM + bytes(9000))
    cut = FrameSplitter(lambda size: file.read(min(size, most)))
    assert sum(len(list(item.data)) > 0 for item in cut) == len(FRAMES)
    assert cut.consumed == len(STREAM) + 9000
    file = io.BytesIO(FRAMES[0] + bytes(9000) + FRAMES[0])
    with pytest.raises(ZstdError, match=f"zeros and then other bytes .at byte {len(FRAMES[0])}.") as caught:
        list(FrameSplitter(lambda size: file.read(min(size, most))))
    assert caught.value.offset == len(FRAMES[0])


def test_errors_are_described() -> None:
    def split(data: bytes) -> list[WholeFrame | Pieces]:
        return list(FrameSplitter(io.BytesIO(data).read))

    for size in range(len(SKIPPABLE) + 1, len(SKIPPABLE) + len(FRAMES[0])):
        with pytest.raises(ZstdError, match=r"truncated: it ends within a .* \(in the frame at byte 5,008\)") as caught:
            split(STREAM[:size])
        assert caught.value.offset == len(SKIPPABLE)
    with pytest.raises(ZstdError, match=r"truncated: it ends within a skippable frame \(in the frame at byte 0\)"):
        split(SKIPPABLE[:-1])
    pytest.raises(ZstdError, split, FRAMES[0] + b"garbage!!").match("expected a frame's magic number")
    pytest.raises(ZstdLimitError, split, b"\x28\xb5\x2f\xfd\x00\x90\x01\0\0").match("window_log_max")
    assert len(split(b"\x28\xb5\x2f\xfd\x00\x88\x01\0\0")) == 1  # the largest window that is allowed
    pytest.raises(ZstdError, split, b"\x28\xb5\x2f\xfd\x21\x05\x00\x01\0\0").match("dictionary")
