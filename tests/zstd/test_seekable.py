# SPDX-License-Identifier: Apache-2.0
"""SeekableZstdFile: pyzstd's interface, any position in the time for one frame, and clear errors for wrong files."""

from __future__ import annotations

import gc
import io
import os
import random
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from odd_files import Counting, Target
from zstd_data import trained

from purepy.zstd.files.writer import WriteFile
from purepy.zstd.seekable.table import SeekTable, read_seek_table

FRAME = 3000
DATA = b"".join(b"%d %s\n" % (number, b"abcdefgh"[number % 7 :]) for number in range(8000))[:60_000]


def packed(zstd: ModuleType, **more: Any) -> bytes:
    target = io.BytesIO()
    with zstd.SeekableZstdFile(target, "w", max_frame_content_size=FRAME, **more) as file:
        file.write(DATA)
    return target.getvalue()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.zst"


@pytest.mark.parametrize("checksums", [False, True])
def test_round_trip_and_random_access(zstd: ModuleType, checksums: bool) -> None:
    data = packed(zstd, checksums=checksums)
    assert zstd.decompress(data) == DATA
    table = read_seek_table(io.BytesIO(data))
    assert (len(table), table.decompressed_size, table.checksums) == (20, len(DATA), checksums)
    source = random.Random(3)
    with zstd.SeekableZstdFile(io.BytesIO(data)) as file:
        assert file.seek_table_info == (20, table.compressed_size, len(DATA))
        assert file.read() == DATA
        for _ in range(60):
            position, size = source.randrange(len(DATA)), source.randrange(2 * FRAME)
            assert file.seek(position) == position
            assert file.read(size) == DATA[position : position + size]
            assert file.tell() == min(position + size, len(DATA))
        assert file.seek(-7, io.SEEK_END) == len(DATA) - 7
        assert file.seek(3, io.SEEK_CUR) == len(DATA) - 4
        assert file.readline() == DATA[-4:].splitlines(keepends=True)[0]
        assert file.seek(10**9) == len(DATA)
        assert file.read(1) == b""
    assert file.seek_table_info is None


def test_a_file_of_some_megabytes_is_seekable_by_default(zstd: ModuleType) -> None:
    target = io.BytesIO()
    with zstd.SeekableZstdFile(target, "w") as file:
        file.write(bytes((4 << 20) + 1))
    with zstd.SeekableZstdFile(io.BytesIO(target.getvalue()), max_frame_content_size=4 << 20) as file:
        assert file.seek_table_info[0] == 2


def test_it_reads_what_it_needs(zstd: ModuleType) -> None:
    large = random.Random(1).randbytes(400_000)
    target = io.BytesIO()
    with zstd.SeekableZstdFile(target, "w", max_frame_content_size=20_000) as file:
        file.write(large)
    source = Counting(target.getvalue())
    with zstd.SeekableZstdFile(source) as file:
        assert source.taken <= 4096
        file.seek(250_000)
        assert file.read(100) == large[250_000:250_100]
        assert source.taken <= 4096 + 8 * 20_100  # what the file buffers ahead, 128 KiB, and one more frame
        source.taken = 0
        file._buffer.raw.seek(90_000)
        assert file._buffer.raw.read(100) == large[90_000:90_100]
        assert source.taken <= 20_100


def test_writing(zstd: ModuleType, path: Path) -> None:
    with zstd.SeekableZstdFile(path, "w", level_or_option=5) as file:
        assert file.seek_table_info == (0, 0, 0)
        file.write(b"first")
        file.flush(file.FLUSH_FRAME)
        assert file.seek_table_info[::2] == (1, 5)
        file.flush(file.FLUSH_FRAME)
        file.write(b"second")
        file.flush()
        assert file.seek_table_info[::2] == (1, 5)
        assert zstd.decompress(path.read_bytes()[: file.seek_table_info[1]]) == b"first"
    with zstd.SeekableZstdFile(path) as file:
        assert file.seek_table_info[::2] == (2, 11)
        assert file.read() == b"firstsecond"
    options = {zstd.CompressionParameter.compression_level: 1, zstd.CompressionParameter.checksum_flag: 0}
    for checksums in (False, True):
        with zstd.SeekableZstdFile(path, "w", level_or_option=options, checksums=checksums) as file:
            file.write(DATA)
        assert [frame.checksum is not None for frame in zstd.iter_frames(path)] == [checksums, False]


@pytest.mark.parametrize("checksums", [False, True])
def test_appending(zstd: ModuleType, path: Path, checksums: bool) -> None:
    path.write_bytes(packed(zstd, checksums=checksums))
    with zstd.SeekableZstdFile(path, "a") as file:
        assert file.seek_table_info[::2] == (20, len(DATA))
        file.write(b"more")
    with zstd.SeekableZstdFile(str(path), "ab"):
        pass
    with zstd.SeekableZstdFile(os.fsencode(path)) as file:
        assert file.read() == DATA + b"more"
        assert file.seek_table_info[0] == 21
    path.write_bytes(b"")
    with zstd.SeekableZstdFile(path, "a") as file:
        file.write(b"new")
    assert zstd.verify(path)[4:] == (3, True)
    path.write_bytes(b"no table")
    pytest.raises(zstd.SeekableFormatError, zstd.SeekableZstdFile, path, "a")
    assert path.read_bytes() == b"no table"


def test_a_table_that_cannot_be_removed(zstd: ModuleType, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a file to which the system lets programs only append; another table must not follow the table."""
    path.write_bytes(packed(zstd))
    before = path.read_bytes()
    monkeypatch.setattr(WriteFile, "truncate", lambda *_: os.truncate("/nowhere/file", 0))
    pytest.raises(OSError, zstd.SeekableZstdFile, path, "a")
    gc.collect()
    assert path.read_bytes() == before


def test_nothing(zstd: ModuleType, path: Path) -> None:
    path.write_bytes(b"")
    for _ in range(2):
        with zstd.SeekableZstdFile(path) as file:
            if path.stat().st_size:
                assert file.read() == b""
            assert (file.seek(5), file.seek_table_info) == (0, (0, 0, 0))
        with zstd.SeekableZstdFile(path, "w"):
            pass
    assert path.read_bytes() == SeekTable(checksums=True).to_bytes()


def test_a_dictionary(zstd: ModuleType) -> None:
    dictionary = zstd.ZstdDict(DATA[:2000], is_raw=True)
    data = packed(zstd, zstd_dict=dictionary)
    with zstd.SeekableZstdFile(io.BytesIO(data), zstd_dict=dictionary) as file:
        file.seek(40_000)
        assert file.read(10) == DATA[40_000:40_010]


def test_is_seekable_format_file(zstd: ModuleType, path: Path) -> None:
    data = packed(zstd)
    check = zstd.SeekableZstdFile.is_seekable_format_file
    path.write_bytes(data)
    file = io.BytesIO(data)
    file.seek(5)
    assert (check(path), check(file), file.tell()) == (True, True, 5)
    assert check(io.BytesIO())
    assert not check(io.BytesIO(data[:-1]))


def test_a_file_that_cannot_seek(zstd: ModuleType) -> None:
    source = io.BytesIO(packed(zstd))
    source.seekable = lambda: False  # type: ignore[method-assign]
    pytest.raises(TypeError, zstd.SeekableZstdFile, source).match("seekable")


# --- missing, damaged and wrong tables -------------------------------------------------------------------------------


def test_a_missing_seek_table_is_reported_or_replaced_by_a_scan(zstd: ModuleType, path: Path) -> None:
    frames = [zstd.compress(DATA[start : start + FRAME]) for start in range(0, len(DATA), FRAME)]
    frames[5] = zstd.compress(DATA[5 * FRAME : 6 * FRAME], options={zstd.CompressionParameter.content_size_flag: 0})
    frames.insert(3, b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc")
    data = b"".join(frames)
    path.write_bytes(data)
    with pytest.raises(zstd.SeekableFormatError, match=r"no seek table, or is truncated.*scan=True") as caught:
        zstd.SeekableZstdFile(path)
    assert not caught.value.has_table
    index = path.with_name("file.zst.seek")
    with pytest.raises(zstd.SeekableFormatError, match="missing or does not fit") as caught:
        zstd.SeekableZstdFile(path, index=True)
    assert not caught.value.has_table
    assert not index.exists()
    with path.open("rb") as file:
        for given in (path, os.fsencode(path), file):
            pytest.raises(ValueError, zstd.SeekableZstdFile, given, scan=True, index=path).match("is the file itself")
    assert path.read_bytes() == data
    for more in ({"scan": True}, {"scan": True, "index": True}, {"index": True}, {"index": index}):
        with zstd.SeekableZstdFile(path, **more) as file:
            assert file.seek_table_info == (21, len(data), len(DATA))
            file.seek(5 * FRAME + 7)
            assert file.read(FRAME) == DATA[5 * FRAME + 7 : 6 * FRAME + 7]
    assert [entry.name for entry in path.parent.iterdir()].count(index.name) == 1
    path.write_bytes(data + zstd.compress(b"more"))
    pytest.raises(zstd.SeekableFormatError, zstd.SeekableZstdFile, path, index=True).match("does not fit")
    for _ in range(2):
        with zstd.SeekableZstdFile(path, scan=True, index=True) as file:
            assert file.read() == DATA + b"more"
    table = zstd.index_frames(data)
    with zstd.SeekableZstdFile(io.BytesIO(data + table.to_bytes())) as file:
        assert file.read() == DATA


def test_damaged_tables(zstd: ModuleType) -> None:
    data = packed(zstd)
    for cut in (1, 9, 17, 100):
        pytest.raises(zstd.SeekableFormatError, zstd.SeekableZstdFile, io.BytesIO(data[:-cut]))
    with zstd.SeekableZstdFile(io.BytesIO(data[:-5] + b"\x84" + data[-4:]), scan=True) as file:
        assert file.read() == DATA
    with pytest.raises(zstd.ZstdError, match="ends inside the frame"):
        zstd.SeekableZstdFile(io.BytesIO(data[:-1]), scan=True)
    with pytest.raises(zstd.ZstdError, match="expected a frame's magic number"):
        zstd.SeekableZstdFile(io.BytesIO(b"something else"), scan=True)


def entries(zstd: ModuleType) -> tuple[bytes, list[tuple[int, int, int]]]:
    data = packed(zstd)
    table = read_seek_table(io.BytesIO(data))
    found = [table.frame(index) for index in range(len(table))]
    return data[: table.compressed_size], [(frame[1], frame[3], frame[4] or 0) for frame in found]


def test_lying_tables(zstd: ModuleType) -> None:
    """An entry of the table is verified when its frame is read, and not trusted before."""
    frames, honest = entries(zstd)

    def reads(changed: list[tuple[int, int, int]], position: int) -> bytes:
        table = SeekTable(checksums=True)
        for entry in changed:
            table.append(*entry)
        with zstd.SeekableZstdFile(io.BytesIO(frames + table.to_bytes())) as file:
            file.seek(position)
            content = b""
            while len(content) <= FRAME:  # to the end of the frame, and a part of the next one
                content += file._buffer.raw.read(2 * FRAME)
            return content

    def change(index: int, compressed: int = 0, content: int = 0, checksum: int = 0) -> list[tuple[int, int, int]]:
        changed = list(honest)
        size, length, found = changed[index]
        changed[index] = size + compressed, length + content, found ^ checksum
        return changed

    assert reads(honest, 2 * FRAME) == DATA[2 * FRAME : 4 * FRAME]
    cases = [
        (change(2, content=-1), "more content than the table states"),
        (change(2, content=1), "1 fewer bytes of content than the table states"),
        (change(2, checksum=1), "does not have the checksum"),
    ]
    for changed, text in cases:
        with pytest.raises(zstd.SeekableFormatError, match=rf"frame 2, at byte \d+.*{text}") as caught:
            reads(changed, 2 * FRAME)
        assert caught.value.offset == sum(size for size, *_ in honest[:2])
    # overlapping: an entry extends into the next frame, which begins too late; the sizes add up
    shifted = change(2, compressed=5)
    shifted[3] = shifted[3][0] - 5, *shifted[3][1:]
    for position in (2 * FRAME, 3 * FRAME):
        pytest.raises(zstd.ZstdError, reads, shifted, position)
    # a wrong sum is detected at once
    pytest.raises(zstd.SeekableFormatError, reads, change(2, compressed=1), 0).match("bytes of frames, but the frames")
    # two frames in one entry are treated as one frame
    merged = [*honest[:2], (honest[2][0] + honest[3][0], 2 * FRAME, 0), *honest[4:]]
    pytest.raises(zstd.SeekableFormatError, reads, merged, 2 * FRAME).match("does not have the checksum")


def test_frames_without_checksums_are_verified_by_the_table(zstd: ModuleType) -> None:
    honest = entries(zstd)[1]
    no_checksums = [zstd.compress(DATA[start : start + FRAME]) for start in range(0, len(DATA), FRAME)]
    for wrong in (0, 1):
        table = SeekTable(checksums=True)
        for index, frame in enumerate(no_checksums):
            table.append(len(frame), FRAME, honest[index][2] ^ (wrong if index == 4 else 0))
        with zstd.SeekableZstdFile(io.BytesIO(b"".join(no_checksums) + table.to_bytes())) as file:
            if wrong:
                pytest.raises(zstd.SeekableFormatError, file.read).match(r"frame 4.*checksum")
            else:
                assert file.read() == DATA


# --- output that cannot be written -----------------------------------------------------------------------------------


def test_a_close_that_fails_can_be_tried_again(zstd: ModuleType) -> None:
    whole = Target(most=100)
    with zstd.SeekableZstdFile(whole, "w", max_frame_content_size=FRAME) as file:
        file.write(DATA)
    for writes in (0, 1, len(whole.pieces) - 2, len(whole.pieces) - 1):
        target = Target(most=100)
        target.write_plan = [None] * writes + [OSError("no room")] * 9
        file = zstd.SeekableZstdFile(target, "w", max_frame_content_size=FRAME)
        file.write(DATA)
        pytest.raises(OSError, file.close).match("no room")
        assert not file.closed
        target.write_plan = []
        file.close()
        assert target.content == whole.content
        file.close()


def test_pyzstd_reads_and_writes_the_same(zstd: ModuleType, path: Path) -> None:
    pyzstd = pytest.importorskip("pyzstd")
    theirs = io.BytesIO()
    with pyzstd.SeekableZstdFile(theirs, "w", max_frame_content_size=FRAME) as file:
        file.write(DATA)
    for data in (packed(zstd, checksums=False), packed(zstd, checksums=True), theirs.getvalue()):
        found = []
        for module in (pyzstd, zstd):
            with module.SeekableZstdFile(io.BytesIO(data)) as file:
                found.append((file.seek_table_info, file.read(), file.seek(12_345), file.read(10)))
        assert found[0] == found[1] == (found[0][0], DATA, 12_345, DATA[12_345:12_355])


@pytest.mark.parametrize("wrong", [0, 2, 4])
def test_entries_without_content_are_verified(zstd: ModuleType, wrong: int) -> None:
    """Otherwise, a frame whose entry has 0 bytes would be missing from the content."""
    parts = [b"a" * 500, b"", b"b" * 500, b"", b"c" * 500]
    honest, lying = SeekTable(checksums=False), SeekTable(checksums=False)
    frames = [zstd.compress(part) for part in parts]
    for number, (part, frame) in enumerate(zip(parts, frames)):
        honest.append(len(frame), len(part))
        lying.append(len(frame), 0 if number == wrong else len(part))
    content = b"".join(parts)
    for table in (honest, lying):
        table.append(0, 0)  # an entry without a frame
        data = b"".join(frames) + table.to_bytes()
        for read, expected in (
            (lambda data: zstd.SeekableZstdFile(io.BytesIO(data)).read(), content),
            (lambda data: b"".join(zstd.SeekableZstdFile(io.BytesIO(data))), content),
            (lambda data: zstd.verify(data).decompressed_size, len(content)),
        ):
            if table is honest:
                assert read(data) == expected
            else:
                caught = pytest.raises(zstd.SeekableFormatError, read, data)
                caught.match(f"frame {wrong}, .*more content than the table")


# --- zstd's own tools, contrib/seekable_format ------------------------------------------------------------------------

CONTENT = b"hello zstd, seek in me as you please"
TEXT = b"".join(b"line %d of the file\n" % number for number in range(2000))


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source, compiler = os.environ.get("CPKG_ZSTD_SOURCE"), shutil.which("cc")
    if source is None or compiler is None:
        pytest.skip("CPKG_ZSTD_SOURCE names no source of zstd, or there is no compiler")
    folder = tmp_path_factory.mktemp("seekable")
    library, seekable = Path(source, "lib"), Path(source, "contrib", "seekable_format")
    parts = [*(seekable / f"zstdseek_{part}.c" for part in ("compress", "decompress")), library / "common/xxhash.c"]
    for name in ("seekable_compression", "seekable_decompression"):
        includes = [f"-I{place}" for place in (seekable, library, library / "common")]
        files = [str(file) for file in (seekable / f"examples/{name}.c", *parts)]
        options = ["-O1", "-w", "-DXXH_NAMESPACE=ZSTD_", *includes, *files, "-lzstd", "-o", str(folder / name)]
        subprocess.run([compiler, *options], check=True)
    return folder


@pytest.mark.parametrize("checksums", [True, False])
def test_the_tool_reads_ours(zstd: ModuleType, tools: Path, tmp_path: Path, checksums: bool) -> None:
    ours = tmp_path / "ours.zst"
    with zstd.SeekableZstdFile(ours, "w", max_frame_content_size=FRAME, checksums=checksums) as file:
        file.write(TEXT)
    for start, end in (
        (0, len(TEXT)),
        (FRAME - 5, 2 * FRAME + 5),
        (len(TEXT) - 1, len(TEXT)),
        (10 * FRAME, 10 * FRAME + 1),
    ):
        command = [tools / "seekable_decompression", ours, str(start), str(end)]
        assert subprocess.run(command, capture_output=True, check=True).stdout == TEXT[start:end]


def test_ours_reads_what_the_tool_writes(zstd: ModuleType, tools: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(TEXT)
    subprocess.run([tools / "seekable_compression", tmp_path / "text", str(FRAME)], check=True)
    theirs = tmp_path / "text.zst"
    with zstd.SeekableZstdFile(theirs) as file:
        assert file.seek_table_info[::2] == (-(-len(TEXT) // FRAME), len(TEXT))
        assert file.read() == TEXT
        for position in (len(TEXT) - 10, 5, 7 * FRAME - 3):
            file.seek(position)
            assert file.read(7) == TEXT[position : position + 7]
    verified = zstd.verify(theirs)
    assert verified.has_seek_table
    with zstd.SeekableZstdFile(theirs, "a", max_frame_content_size=FRAME) as file:  # append to the same file
        file.write(CONTENT)
    command = [tools / "seekable_decompression", theirs, str(len(TEXT) - 3), str(len(TEXT) + len(CONTENT))]
    assert subprocess.run(command, capture_output=True, check=True).stdout == TEXT[-3:] + CONTENT


# --- iter_frames, index_frames and verify -----------------------------------------------------------------------------

NUMBERED = b"".join(b"line %d\n" % number for number in range(13_000))
HELLO = b"\x5a\x2a\x4d\x18\x05\x00\x00\x00hello"


def test_inspection_reports_the_parts_of_a_frame(zstd: ModuleType) -> None:
    options = {zstd.CompressionParameter.checksum_flag: 1, zstd.CompressionParameter.window_log: 17}
    data = zstd.compress(NUMBERED, options=options)
    (frame,) = zstd.iter_frames(data)
    assert (frame.offset, frame.size, frame.is_skippable) == (0, len(data), False)
    assert frame.magic_number == 0xFD2FB528
    assert frame.content_size == len(NUMBERED) <= frame.content_max
    assert (frame.window_size, frame.dictionary_id) == (1 << 17, 0)
    assert frame.checksum == int.from_bytes(data[-4:], "little")
    assert [block.is_last for block in frame.blocks] == [False] * (len(frame.blocks) - 1) + [True]
    assert frame.blocks[0].offset == frame.header_size
    assert frame.header_size + sum(block.size for block in frame.blocks) + 4 == len(data)


def test_several_frames_of_bytes_and_files(zstd: ModuleType, tmp_path: Path) -> None:
    dictionary = trained(zstd, [NUMBERED[start : start + 200] for start in range(0, 40_000, 100)], 1000)
    parts = [zstd.compress(NUMBERED), HELLO, zstd.compress(b""), zstd.compress(NUMBERED[:300], zstd_dict=dictionary)]
    data = b"".join(parts)
    path = tmp_path / "file.zst"
    path.write_bytes(data)

    found = list(zstd.iter_frames(data))
    assert [frame.size for frame in found] == [len(part) for part in parts]
    assert [frame.is_skippable for frame in found] == [False, True, False, False]
    assert (found[1].magic_number, found[1].content_size, found[1].blocks) == (0x184D2A5A, 0, ())
    assert found[3].dictionary_id == dictionary.dict_id
    with open(path, "rb") as file:
        for source in (bytearray(data), memoryview(data), path, str(path), file, Counting(data, 1000)):
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
    first = zstd.compress(NUMBERED[:200], options={zstd.CompressionParameter.checksum_flag: 1})
    whole = zstd.compress(NUMBERED, options={zstd.CompressionParameter.checksum_flag: 1})
    for data in (first + whole[:-cut], first + whole[:cut], HELLO[:-1], HELLO[:6]):
        caught = pytest.raises(zstd.ZstdError, list, zstd.iter_frames(data))
        assert caught.value.offset in (0, len(first))
        for call in (zstd.verify, zstd.index_frames):
            pytest.raises(zstd.ZstdError, call, data)


def test_data_that_is_no_frame_is_reported(zstd: ModuleType) -> None:
    first = zstd.compress(NUMBERED[:200])
    reserved_bit = b"\x28\xb5\x2f\xfd\x28" + first[5:]
    reserved_block = b"\x28\xb5\x2f\xfd\x00\x70\x07\x00\x00"
    for bad, offset in ((b"garbage", 0), (reserved_bit, 4), (reserved_block, 6), (b"\0" * 30, 0)):
        found = []
        frames = zstd.iter_frames(first + bad)
        found.append(next(frames))
        caught = pytest.raises(zstd.ZstdError, next, frames)
        assert caught.value.offset == len(first) + offset
        assert found[0].size == len(first)


def test_offsets_of_damage_count_from_the_start_of_the_file(zstd: ModuleType) -> None:
    options = {zstd.CompressionParameter.checksum_flag: 1, zstd.CompressionParameter.content_size_flag: 0}
    first = zstd.compress(NUMBERED[:5000], options=options)
    second = zstd.compress(NUMBERED[:3000], options=options)[:-4] + b"sum?"
    table = SeekTable(checksums=False)
    table.append(len(first), 5000)
    table.append(len(second), 3000)
    file = zstd.SeekableZstdFile(io.BytesIO(first + second + table.to_bytes()))
    for call in (file.read, lambda: zstd.index_frames(first + second)):
        assert pytest.raises(zstd.ZstdError, call).value.offset >= len(first)


@pytest.mark.parametrize("reads", range(12))
def test_a_file_truncated_while_its_frames_are_counted(zstd: ModuleType, reads: int) -> None:
    class Shrinking(io.BytesIO):
        left = reads

        def read(self, size: int | None = -1, /) -> bytes:
            self.left -= 1
            return super().read(size) if self.left >= 0 else b""

    compressor = zstd.ZstdCompressor()
    data = compressor.compress(NUMBERED[:1000]) + compressor.flush()  # does not declare its size
    if reads < 6:
        pytest.raises(zstd.ZstdError, zstd.index_frames, Shrinking(data + data))
    else:
        assert len(zstd.index_frames(Shrinking(data + data))) == 2


def test_verify(zstd: ModuleType, tmp_path: Path) -> None:
    checked = zstd.compress(NUMBERED, options={zstd.CompressionParameter.checksum_flag: 1})
    data = checked + HELLO + zstd.compress(NUMBERED)
    path = tmp_path / "file.zst"
    path.write_bytes(data)
    for source in (data, path, io.BytesIO(data)):
        for threads in (None, 2):
            found = zstd.verify(source, threads=threads)
            assert found == (3, 1, 1, len(data), 2 * len(NUMBERED), False)
            assert (found.frames, found.checksums, found.decompressed_size) == (3, 1, 2 * len(NUMBERED))
    pytest.raises(zstd.ZstdLimitError, zstd.verify, data, max_output_size=2 * len(NUMBERED) - 1)
    damaged = bytearray(data)
    damaged[len(checked) - 1] ^= 1
    pytest.raises(zstd.ZstdError, zstd.verify, damaged).match("checksum")


def test_verify_compares_the_seek_table_with_the_frames(zstd: ModuleType) -> None:
    frames = zstd.compress(NUMBERED, frame_size=50_000)
    table = zstd.index_frames(frames)
    for source in (frames + table.to_bytes(), Counting(frames + table.to_bytes(), 3)):
        found = zstd.verify(source)
        assert (found.has_seek_table, found.decompressed_size) == (True, len(NUMBERED))
    moved = type(table)(checksums=False)
    sizes = [(table.frame(index)[1], table.frame(index)[3]) for index in range(len(table))]
    sizes[0], sizes[1] = (sizes[0][0] - 1, sizes[0][1]), (sizes[1][0] + 1, sizes[1][1])
    for size in sizes:
        moved.append(*size)
    with pytest.raises(zstd.SeekableFormatError, match="no frame ends where entry 0 ends"):
        zstd.verify(frames + moved.to_bytes())
    pytest.raises(zstd.SeekableFormatError, zstd.verify, frames + b"\x50" + table.to_bytes()[1:]).match("damaged")
