# SPDX-License-Identifier: Apache-2.0
"""Streams of cpkg.zstandard: content round-trips in any pieces, with frames from any backend; open()."""

from __future__ import annotations

import io
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from backends import available
from hypothesis import given
from hypothesis import strategies as st
from odd_files import Counting

from cpkg.zstandard.backend_names import names_over

CONTENT = b"".join(b"%d bottles of beer on the wall\n" % number for number in range(3000))


def test_every_way_to_compress(zstandard: SimpleNamespace) -> None:
    compressor = zstandard.ZstdCompressor(level=5, write_checksum=True)
    size = len(CONTENT)
    packer = compressor.compressobj(size)
    target = io.BytesIO()
    with compressor.stream_writer(target, size, closefd=False) as writer:
        for start in range(0, size, 1000):
            assert writer.write(CONTENT[start : start + 1000]) == len(CONTENT[start : start + 1000])
        assert writer.tell() == target.tell()
    copied = io.BytesIO()
    counts = compressor.copy_stream(io.BytesIO(CONTENT), copied, size, read_size=777, write_size=100)
    assert counts == (size, len(copied.getvalue()))
    chunker = compressor.chunker(size, chunk_size=50)
    chunks = [*chunker.compress(CONTENT), *chunker.finish()]
    assert {len(chunk) for chunk in chunks[:-1]} == {50}
    frames = [
        compressor.compress(CONTENT),
        packer.compress(CONTENT) + packer.flush(),
        target.getvalue(),
        copied.getvalue(),
        b"".join(chunks),
        b"".join(compressor.read_to_iter(CONTENT, write_size=10)),
        b"".join(compressor.read_to_iter(io.BytesIO(CONTENT), size, read_size=999)),
        compressor.stream_reader(io.BytesIO(CONTENT), size).read(),
        compressor.stream_reader(bytearray(CONTENT)).readall(),
    ]
    if zstandard.codec.BACKEND != "pure":  # its blocks depend on how much data it gets at a time
        assert len(set(frames)) == 1
    for frame in frames:
        found = zstandard.get_frame_parameters(frame)
        assert (found.content_size, found.has_checksum, found.dict_id) == (size, True, 0)
        for codec in available("zstd").values():
            assert names_over(codec)["decompress"](frame) == CONTENT


def test_every_way_to_decompress(zstandard: SimpleNamespace) -> None:
    decompressor = zstandard.ZstdDecompressor()
    frame = zstandard.compress(CONTENT)
    more = frame + b"\x50\x2a\x4d\x18\x03\0\0\0abc" + zstandard.compress(b"") + zstandard.compress(b"the end")
    target, writer_target = io.BytesIO(), io.BytesIO()
    with decompressor.stream_writer(writer_target, write_size=100, closefd=False) as writer:
        for start in range(0, len(more), 99):
            writer.write(more[start : start + 99])
    assert decompressor.copy_stream(io.BytesIO(more), target, 5, 7) == (len(more), len(CONTENT) + 7)
    unpacker = decompressor.decompressobj(read_across_frames=True)
    assert [
        writer_target.getvalue(),
        target.getvalue(),
        unpacker.decompress(more[:9]) + unpacker.decompress(more[9:]),
        decompressor.stream_reader(more, read_across_frames=True).read(10**7),
        decompressor.stream_reader(io.BytesIO(more), read_size=3).readall(),
    ] == [CONTENT + b"the end"] * 5
    assert decompressor.decompress(more) == CONTENT
    assert b"".join(decompressor.read_to_iter(more, write_size=11)) == CONTENT
    assert b"".join(decompressor.read_to_iter(io.BytesIO(b"head" + more), skip_bytes=4)) == CONTENT
    assert b"".join(decompressor.read_to_iter(Counting(b"head" + more, 3), skip_bytes=4)) == CONTENT
    with pytest.raises(ValueError, match="skip_bytes is 4, the source has 3 bytes"):
        next(decompressor.read_to_iter(io.BytesIO(b"hea"), skip_bytes=4))
    only = decompressor.decompressobj()
    assert only.decompress(more) == CONTENT
    assert only.eof
    assert only.unused_data == more[len(frame) :]
    pytest.raises(zstandard.ZstdError, decompressor.decompress, more, allow_extra_data=False).match("unused data")


def test_reads_stop_between_frames(zstandard: SimpleNamespace) -> None:
    count = 200 if zstandard.codec.BACKEND == "pure" else 5000
    frames = b"".join(zstandard.compress(b"%d" % number) for number in range(count))
    reader = zstandard.ZstdDecompressor().stream_reader(frames)
    for number in range(count):
        assert reader.read(100) == b"%d" % number
    assert reader.read(100) == b""
    buffer = bytearray(10)
    reader = zstandard.ZstdDecompressor().stream_reader(frames, read_across_frames=True)
    assert reader.readinto(buffer) == 10
    assert buffer == b"0123456789"


@given(st.data())
def test_pieces_property(data: st.DataObject) -> None:
    codecs = available("zstd")
    names = {name: SimpleNamespace(**names_over(codec)) for name, codec in codecs.items()}
    writing, reading = (names[data.draw(st.sampled_from(sorted(names)))] for _ in range(2))
    target, written = io.BytesIO(), b""
    writer = writing.ZstdCompressor(level=data.draw(st.integers(-5, 5))).stream_writer(target, closefd=False)
    for piece in data.draw(st.lists(st.binary(max_size=300), max_size=8)):
        piece *= data.draw(st.integers(1, 50))
        writer.write(piece)
        written += piece
        if data.draw(st.booleans()):
            writer.flush(data.draw(st.integers(0, 1)))
    writer.close()
    reader = reading.ZstdDecompressor().stream_reader(
        io.BytesIO(target.getvalue()), data.draw(st.integers(1, 500)), read_across_frames=data.draw(st.booleans())
    )
    found = b""
    sizes = data.draw(st.lists(st.integers(1, 5000), max_size=10))
    for size in sizes:
        if size % 4 == 0:
            memory = bytearray(size)
            found += memory[: reader.readinto(memory)]
        elif size % 4 == 1 and len(found) + size <= len(written):
            assert reader.seek(size, os.SEEK_CUR) == len(found) + size
            found += written[len(found) : len(found) + size]
        else:
            found += reader.read1(size) if size % 4 == 2 else reader.read(size)
        assert reader.tell() == len(found)
    assert found + reader.readall() == written
    assert reader.read(1) == b""
    reader.close()
    assert reader.tell() == len(written)
    pytest.raises(ValueError, reader.read, 64).match("closed")


def test_progress(zstandard: SimpleNamespace) -> None:
    compressor = zstandard.ZstdCompressor()
    assert compressor.frame_progression() == (0, 0, 0)
    packer = compressor.compressobj()
    packer.compress(b"x" * 200_000)
    taken, consumed, _ = compressor.frame_progression()
    assert (taken, consumed) == (200_000, 131072)
    frame_size = len(packer.flush())
    taken, consumed, produced = compressor.frame_progression()
    assert (taken, consumed) == (200_000, 200_000)
    assert produced >= frame_size


def test_memory_sizes(zstandard: SimpleNamespace) -> None:
    compressor, decompressor = zstandard.ZstdCompressor(level=1), zstandard.ZstdDecompressor()
    assert compressor.memory_size() > 100
    assert decompressor.memory_size() > 90_000
    with compressor.stream_writer(io.BytesIO()) as writer:
        writer.write(b"foo")
        assert writer.memory_size() > 100_000
    with decompressor.stream_writer(io.BytesIO()) as unpacker:
        assert unpacker.memory_size() > 90_000
    assert writer.memory_size() == unpacker.memory_size() == 0


def test_magicless(zstandard: SimpleNamespace) -> None:
    parameters = zstandard.ZstdCompressionParameters(format=zstandard.FORMAT_ZSTD1_MAGICLESS)
    frame = zstandard.ZstdCompressor(compression_params=parameters).compress(CONTENT)
    assert zstandard.MAGIC_NUMBER.to_bytes(4, "little") + frame == zstandard.compress(CONTENT) or frame[:4] != b"\x28"
    decompressor = zstandard.ZstdDecompressor(format=zstandard.FORMAT_ZSTD1_MAGICLESS)
    assert decompressor.decompress(frame) == CONTENT
    assert decompressor.stream_reader(io.BytesIO(frame), 3).read() == CONTENT
    assert zstandard.get_frame_parameters(frame, zstandard.FORMAT_ZSTD1_MAGICLESS).content_size == len(CONTENT)
    pytest.raises(zstandard.ZstdError, zstandard.decompress, frame)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_threads_after_a_fork(zstandard: SimpleNamespace) -> None:
    if zstandard.codec.parameter_bounds(400, True)[1] == 0:
        pytest.raises(zstandard.ZstdError, zstandard.ZstdCompressor, threads=2).match("threads=2")
        return
    compressor = zstandard.ZstdCompressor(threads=2)
    wanted = compressor.compress(CONTENT)
    child = os.fork()
    if child == 0:
        os._exit(0 if compressor.compress(CONTENT) == wanted else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert compressor.compress(CONTENT) == wanted


def test_open(zstandard: SimpleNamespace, tmp_path: Path) -> None:
    path = tmp_path / "data.zst"
    with zstandard.open(path, "w", newline="\n", encoding="utf-8") as text:
        text.write("grün\n")
    with zstandard.open(str(path), "ab") as appended:
        appended.write(b"blau\n")
    with zstandard.open(path, "rt", encoding="utf-8") as text:
        assert list(text) == ["grün\n", "blau\n"]
    pytest.raises(FileExistsError, zstandard.open, path, "xb")
    inner = io.BytesIO()
    with zstandard.open(inner, "wb", cctx=zstandard.ZstdCompressor(level=9)) as written:
        written.write(CONTENT)
    with zstandard.open(io.BytesIO(inner.getvalue()), closefd=True) as read:
        assert read.read(5) == CONTENT[:5]
        assert read.seek(100) == 100
        assert read.read() == CONTENT[100:]


# --- BufferWithSegments, its collection, and batches ------------------------------------------------------------------

ITEMS = [b"item %d " % number * (number % 40) for number in range(500)]


@pytest.mark.parametrize("threads", [0, 3, -1])
def test_batches(zstandard: SimpleNamespace, threads: int) -> None:
    compressor = zstandard.ZstdCompressor(level=1, write_checksum=True)
    frames = compressor.multi_compress_to_buffer(ITEMS, threads=threads)
    assert [frame.tobytes() for frame in frames] == [compressor.compress(item) for item in ITEMS]
    assert frames.size() == sum(len(frame) for frame in frames)
    decompressor = zstandard.ZstdDecompressor()
    contents = decompressor.multi_decompress_to_buffer(frames, threads=threads)
    assert [content.tobytes() for content in contents] == ITEMS
    assert len(contents) == len(ITEMS)
    again = compressor.multi_compress_to_buffer(contents, threads=threads)
    assert [frame.tobytes() for frame in again] == [frame.tobytes() for frame in frames]


@pytest.mark.parametrize("threads", [1, 50])
def test_one_item_that_fails(zstandard: SimpleNamespace, threads: int) -> None:
    with pytest.raises(TypeError, match="item 2 not a bytes like object"):
        zstandard.ZstdCompressor().multi_compress_to_buffer([b"a", b"b", 3], threads=threads)
    frames = [zstandard.compress(item) for item in ITEMS]
    frames[321] = frames[321][:-1]
    with pytest.raises(zstandard.ZstdError, match="error decompressing item 321"):
        zstandard.ZstdDecompressor().multi_decompress_to_buffer(frames, threads=threads)
