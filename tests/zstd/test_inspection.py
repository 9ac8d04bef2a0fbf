# SPDX-License-Identifier: Apache-2.0
"""iter_frames, index_frames and verify: inspecting frames without decompressing them, and verifying them."""

from __future__ import annotations

import io
from pathlib import Path
from types import ModuleType

import pytest
from odd_files import Counting, Trickling
from zstd_data import trained

DATA = b"".join(b"line %d\n" % number for number in range(13_000))
SKIPPABLE = b"\x5a\x2a\x4d\x18\x05\x00\x00\x00hello"


def test_inspection_reports_the_parts_of_a_frame(zstd: ModuleType) -> None:
    options = {zstd.CompressionParameter.checksum_flag: 1, zstd.CompressionParameter.window_log: 17}
    data = zstd.compress(DATA, options=options)
    (frame,) = zstd.iter_frames(data)
    assert (frame.offset, frame.size, frame.is_skippable) == (0, len(data), False)
    assert frame.magic_number == 0xFD2FB528
    assert frame.content_size == len(DATA) <= frame.content_max
    assert (frame.window_size, frame.dictionary_id) == (1 << 17, 0)
    assert frame.checksum == int.from_bytes(data[-4:], "little")
    assert [block.is_last for block in frame.blocks] == [False] * (len(frame.blocks) - 1) + [True]
    assert frame.blocks[0].offset == frame.header_size
    assert frame.header_size + sum(block.size for block in frame.blocks) + 4 == len(data)


def test_types_of_blocks(zstd: ModuleType) -> None:
    window = b"\x00\x70"  # no flags, a window of 16 MiB
    rle = (5000 << 3 | 1 << 1).to_bytes(3, "little") + b"x"
    raw = (3 << 3 | 1).to_bytes(3, "little") + b"abc"
    data = b"\x28\xb5\x2f\xfd" + window + rle + raw
    assert zstd.decompress(data) == b"x" * 5000 + b"abc"
    (frame,) = zstd.iter_frames(data)
    assert [tuple(block) for block in frame.blocks] == [("rle", 6, 4, 5000, False), ("raw", 10, 6, 3, True)]
    assert (frame.content_size, frame.content_max, frame.window_size) == (None, 5003, 16 << 20)
    (frame,) = zstd.iter_frames(zstd.compress(DATA[:1000]))
    assert frame.blocks[0].type == "compressed"
    assert frame.blocks[0].content_size is None
    assert frame.window_size == 1000


def test_several_frames_of_bytes_and_files(zstd: ModuleType, tmp_path: Path) -> None:
    dictionary = trained(zstd, [DATA[start : start + 200] for start in range(0, 40_000, 100)], 1000)
    parts = [zstd.compress(DATA), SKIPPABLE, zstd.compress(b""), zstd.compress(DATA[:300], zstd_dict=dictionary)]
    data = b"".join(parts)
    path = tmp_path / "file.zst"
    path.write_bytes(data)

    found = list(zstd.iter_frames(data))
    assert [frame.size for frame in found] == [len(part) for part in parts]
    assert [frame.is_skippable for frame in found] == [False, True, False, False]
    assert (found[1].magic_number, found[1].content_size, found[1].blocks) == (0x184D2A5A, 0, ())
    assert found[3].dictionary_id == dictionary.dict_id
    with open(path, "rb") as file:
        for source in (bytearray(data), memoryview(data), path, str(path), file, Trickling(data)):
            assert list(zstd.iter_frames(source)) == found
    table = zstd.index_frames(path, zstd_dict=dictionary)
    assert [table.frame(index)[1] for index in range(4)] == [len(part) for part in parts]


def test_a_large_skippable_frame_is_passed_over(zstd: ModuleType) -> None:
    size = 30 << 20
    data = b"\x50\x2a\x4d\x18" + size.to_bytes(4, "little") + bytes(size) + zstd.compress(b"x")
    file = Counting(data)
    assert [frame.is_skippable for frame in zstd.iter_frames(file)] == [True, False]
    assert file.taken < 1 << 20


@pytest.mark.parametrize("cut", [1, 2, 4, 5, 9, 12, 100])
def test_incomplete_data_is_reported(zstd: ModuleType, cut: int) -> None:
    first = zstd.compress(DATA[:200], options={zstd.CompressionParameter.checksum_flag: 1})
    whole = zstd.compress(DATA, options={zstd.CompressionParameter.checksum_flag: 1})
    for data in (first + whole[:-cut], first + whole[:cut], SKIPPABLE[:-1], SKIPPABLE[:6]):
        with pytest.raises(zstd.ZstdError) as caught:
            list(zstd.iter_frames(data))
        assert caught.value.offset in (0, len(first))
        for call in (zstd.verify, zstd.index_frames):
            pytest.raises(zstd.ZstdError, call, data)


def test_data_that_is_no_frame_is_reported(zstd: ModuleType) -> None:
    first = zstd.compress(DATA[:200])
    reserved_bit = b"\x28\xb5\x2f\xfd\x28" + first[5:]
    reserved_block = b"\x28\xb5\x2f\xfd\x00\x70\x07\x00\x00"
    for bad, offset in ((b"garbage", 0), (reserved_bit, 4), (reserved_block, 6), (b"\0" * 30, 0)):
        found = []
        frames = zstd.iter_frames(first + bad)
        found.append(next(frames))
        caught = pytest.raises(zstd.ZstdError, next, frames)
        assert caught.value.offset == len(first) + offset
        assert found[0].size == len(first)


@pytest.mark.parametrize("reads", range(12))
def test_a_file_truncated_while_its_frames_are_counted(zstd: ModuleType, reads: int) -> None:
    class Shrinking(io.BytesIO):
        left = reads

        def read(self, size: int | None = -1, /) -> bytes:
            self.left -= 1
            return super().read(size) if self.left >= 0 else b""

    compressor = zstd.ZstdCompressor()
    data = compressor.compress(DATA[:1000]) + compressor.flush()  # does not declare its size
    if reads < 6:
        with pytest.raises(zstd.ZstdError):
            zstd.index_frames(Shrinking(data + data))
    else:
        assert len(zstd.index_frames(Shrinking(data + data))) == 2


def test_verify(zstd: ModuleType, tmp_path: Path) -> None:
    checked = zstd.compress(DATA, options={zstd.CompressionParameter.checksum_flag: 1})
    data = checked + SKIPPABLE + zstd.compress(DATA)
    path = tmp_path / "file.zst"
    path.write_bytes(data)
    for source in (data, path, io.BytesIO(data)):
        for threads in (None, 2):
            found = zstd.verify(source, threads=threads)
            assert found == (3, 1, 1, len(data), 2 * len(DATA), False)
            assert (found.frames, found.checksums, found.decompressed_size) == (3, 1, 2 * len(DATA))
    pytest.raises(zstd.ZstdLimitError, zstd.verify, data, max_output_size=2 * len(DATA) - 1)
    damaged = bytearray(data)
    damaged[len(checked) - 1] ^= 1
    pytest.raises(zstd.ZstdError, zstd.verify, damaged).match("checksum")


def test_verify_compares_the_seek_table_with_the_frames(zstd: ModuleType) -> None:
    frames = zstd.compress(DATA, frame_size=50_000)
    table = zstd.index_frames(frames)
    few = Counting(frames + table.to_bytes())
    few.most = 3
    for source in (frames + table.to_bytes(), few):
        found = zstd.verify(source)
        assert (found.has_seek_table, found.decompressed_size) == (True, len(DATA))
    moved = type(table)(checksums=False)
    sizes = [(table.frame(index)[1], table.frame(index)[3]) for index in range(len(table))]
    sizes[0], sizes[1] = (sizes[0][0] - 1, sizes[0][1]), (sizes[1][0] + 1, sizes[1][1])
    for size in sizes:
        moved.append(*size)
    with pytest.raises(zstd.SeekableFormatError, match="no frame ends where entry 0 ends"):
        zstd.verify(frames + moved.to_bytes())
    with pytest.raises(zstd.SeekableFormatError, match="damaged"):
        zstd.verify(frames + b"\x50" + table.to_bytes()[1:])
