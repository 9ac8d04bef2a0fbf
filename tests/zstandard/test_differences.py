# SPDX-License-Identifier: Apache-2.0
"""Intentional differences from python-zstandard 0.25: rows of the table in docs/zstandard.md; more are in calls.txt."""

from __future__ import annotations

import io
import sys
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from odd_files import Target
from seeds import noise
from threads import run_threads

from purepy.base.errors import ZstdLimitError

CONTENT = b"".join(b"line %d of some content\n" % number for number in range(2000))


def test_truncated_input_is_an_error(zstandard: SimpleNamespace) -> None:
    """Input that ends inside a frame raises an error, not the end; the content before it can be read."""
    frame, decompressor = zstandard.compress(CONTENT), zstandard.ZstdDecompressor()
    for cut in (1, 5, 17, len(frame) - 1):
        for call in (
            decompressor.stream_reader(io.BytesIO(frame[:cut])).read,
            decompressor.stream_reader(frame[:cut], read_across_frames=True).readall,
            lambda data=frame[:cut]: list(decompressor.read_to_iter(data)),
            lambda data=frame[:cut]: decompressor.copy_stream(io.BytesIO(data), io.BytesIO()),
        ):
            pytest.raises(zstandard.ZstdError, call).match("ended before")
        target = Target()
        writer = decompressor.stream_writer(target)
        writer.write(frame[:cut])
        pytest.raises(zstandard.ZstdError, writer.close).match("ended before")
        assert writer.closed
        assert target.closed
    reader = decompressor.stream_reader(zstandard.compress(b"first") + frame[:9])
    assert reader.read(100) == b"first"
    for _ in range(2):
        pytest.raises(zstandard.ZstdError, reader.read, 100).match("ended before")


def test_an_error_is_raised_again(zstandard: SimpleNamespace) -> None:
    frame = zstandard.compress(CONTENT)
    damaged = frame + b"this is no frame"
    reader = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(damaged), read_across_frames=True)
    for _ in range(2):
        pytest.raises(zstandard.ZstdError, reader.readall).match("Unknown frame descriptor")
    assert reader.read(len(CONTENT)) == CONTENT
    for _ in range(3):
        pytest.raises(zstandard.ZstdError, reader.read, 1).match("Unknown frame descriptor")
    unpacker = zstandard.ZstdDecompressor().decompressobj()
    for data in (b"this is no frame", frame):
        pytest.raises(zstandard.ZstdError, unpacker.decompress, data).match("Unknown frame descriptor")


def test_windows_are_limited_in_one_call_too(zstandard: SimpleNamespace) -> None:
    """`max_window_size` also limits frames that declare their size, in bytes and not in powers of two."""
    frame = zstandard.ZstdCompressor(compression_params=zstandard.ZstdCompressionParameters(window_log=17)).compress(
        noise(1 << 17)
    )
    for limit in (1 << 16, (1 << 17) - 1):
        decompressor = zstandard.ZstdDecompressor(max_window_size=limit)
        pytest.raises(ZstdLimitError, decompressor.decompress, frame).match("Frame requires too much memory")
        pytest.raises(ZstdLimitError, decompressor.stream_reader(frame).read).match("Frame requires too much memory")
    assert len(zstandard.ZstdDecompressor(max_window_size=1 << 17).decompress(frame)) == 1 << 17
    frame = b"\x28\xb5\x2f\xfd\0\x90" + b"\2\0\x10a" * 2 + b"\3\0\x10a"  # a window of 256 MiB, blocks of 128 KiB
    assert len(zstandard.ZstdDecompressor(max_window_size=1 << 31).stream_reader(frame).read()) == 3 << 17
    pytest.raises(ZstdLimitError, zstandard.ZstdDecompressor().stream_reader(frame).read)


def test_offsets_count_skippable_frames(zstandard: SimpleNamespace) -> None:
    skippable = b"\x50\x2a\x4d\x18\4\0\0\0abcd"
    decompress = zstandard.ZstdDecompressor().decompress
    frame = zstandard.ZstdCompressor().compress(b"a" * 100)
    for data in (b"garbage", frame[:5], frame[:9], frame[:-4] + b"\x07\0\0\0"):
        alone, after = (pytest.raises(zstandard.ZstdError, decompress, start + data) for start in (b"", skippable))
        assert alone.value.offset is not None
        assert after.value.offset == alone.value.offset + len(skippable)


def test_close_after_an_error(zstandard: SimpleNamespace) -> None:
    """A writer that failed does not end the frame, so that readers detect it, but closes the other file."""
    target = Target()
    writer = zstandard.ZstdCompressor().stream_writer(target, size=len(CONTENT) + 5)
    writer.write(CONTENT)
    pytest.raises(zstandard.ZstdError, writer.write, CONTENT).match("Src size is incorrect")
    pytest.raises(zstandard.ZstdError, writer.flush).match("Src size is incorrect")
    writer.close()
    assert target.closed
    pytest.raises(zstandard.ZstdError, zstandard.ZstdDecompressor().decompress, target.content, len(CONTENT) * 2)

    full = Target()
    full.write_plan = [OSError(28, "No space left on device")] * 2
    writer = zstandard.ZstdCompressor().stream_writer(full)
    writer.write(b"abc")
    pytest.raises(OSError, writer.flush).match("No space")
    pytest.raises(zstandard.ZstdError, writer.write, b"abc").match("No space")
    writer.close()
    assert full.closed


def test_raw_files_receive_all_data(zstandard: SimpleNamespace) -> None:
    slow = Target(most=7)
    with zstandard.ZstdCompressor().stream_writer(slow) as writer:
        writer.write(CONTENT)
    assert zstandard.ZstdDecompressor().decompress(slow.content, len(CONTENT)) == CONTENT


def test_objects_may_be_shared(zstandard: SimpleNamespace) -> None:
    compressor = zstandard.ZstdCompressor(dict_data=zstandard.ZstdCompressionDict(CONTENT[:5000]))
    decompressor = zstandard.ZstdDecompressor(dict_data=zstandard.ZstdCompressionDict(CONTENT[:5000]))
    target = io.BytesIO()
    writer = compressor.stream_writer(target, closefd=False)
    rounds = 5 if zstandard.codec.BACKEND == "pure" else 20

    def work(number: int) -> None:
        data = CONTENT[number * 100 : 20000]
        for _ in range(rounds):
            assert decompressor.decompress(compressor.compress(data)) == data
            writer.write(b"%d" % number * 100)
            packer, unpacker = compressor.compressobj(), decompressor.decompressobj()
            assert unpacker.decompress(packer.compress(data) + packer.flush()) == data

    assert run_threads(*[lambda number=number: work(number) for number in range(4)]) == []
    writer.close()
    content = decompressor.stream_reader(target.getvalue()).read()
    assert sorted(content[start] for start in range(0, len(content), 100)) == sorted(b"0123" * rounds)


def test_streams_of_one_compressor_are_independent(zstandard: SimpleNamespace) -> None:
    compressor, decompressor = zstandard.ZstdCompressor(), zstandard.ZstdDecompressor()
    first, second = compressor.compressobj(), compressor.compressobj()
    frames = [first.compress(CONTENT), second.compress(CONTENT[::-1]), compressor.compress(b"between")]
    frames[0] += first.flush()
    frames[1] += second.flush()
    readers = [decompressor.stream_reader(frame) for frame in frames]
    assert readers[0].read(10) == CONTENT[:10]
    assert readers[1].read(10) == CONTENT[::-1][:10]
    assert decompressor.decompress(frames[2]) == b"between"
    assert readers[0].read() == CONTENT[10:]
    assert readers[1].read() == CONTENT[::-1][10:]


@pytest.mark.parametrize("content_size", [True, False])
def test_leading_skippable_frames_are_skipped(zstandard: SimpleNamespace, content_size: bool) -> None:
    """pzstd writes such frames."""
    compressor = zstandard.ZstdCompressor(write_content_size=content_size)
    frame = compressor.compress(CONTENT)
    skippable = b"\x50\x2a\x4d\x18\x04\0\0\0" + len(frame).to_bytes(4, "little")
    decompressor = zstandard.ZstdDecompressor()
    for count in (1, 3):
        data = skippable * count + frame
        assert decompressor.decompress(data, max_output_size=len(CONTENT)) == CONTENT
        assert decompressor.decompress(memoryview(data), len(CONTENT), allow_extra_data=False) == CONTENT
    if content_size:
        assert zstandard.decompress(skippable + frame) == CONTENT
    for rest in (b"", frame[:3], skippable[:7]):
        for limit in (0, len(CONTENT)):
            pytest.raises(zstandard.ZstdError, decompressor.decompress, skippable + rest, max_output_size=limit)


def test_objects_are_initialized_again(zstandard: SimpleNamespace) -> None:
    """New streams have the new settings; a frame that has begun keeps its settings."""
    compressor = zstandard.ZstdCompressor(level=1, write_checksum=True)
    data = b"some content " * 1000
    frame = compressor.compress(data)
    stream = compressor.compressobj()
    begun = stream.compress(data)
    dictionary = zstandard.ZstdCompressionDict(data, zstandard.DICT_TYPE_RAWCONTENT)
    for _ in range(2):
        compressor.__init__(level=3, write_checksum=False, dict_data=dictionary)
        begun += stream.compress(data)
        assert zstandard.get_frame_parameters(compressor.compress(data)).has_checksum is False
        assert zstandard.get_frame_parameters(compressor.compressobj().flush() or b"").has_checksum is False
    begun += stream.flush()
    assert zstandard.get_frame_parameters(begun).has_checksum is True
    decompressor = zstandard.ZstdDecompressor()
    assert decompressor.decompress(begun, 4 * len(data)) == 3 * data
    assert decompressor.decompress(frame) == data
    packed = compressor.compress(data)
    assert len(packed) < len(frame)
    decompressor.__init__(dict_data=dictionary)
    assert decompressor.decompress(packed) == data
    decompressor.__init__(max_window_size=1 << 10)
    pytest.raises(zstandard.ZstdError, decompressor.decompress, zstandard.ZstdCompressor().compress(bytes(1 << 20)))


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="PyPy frees when its collector comes by")
def test_an_object_holds_two_dictionaries_at_most(zstandard: SimpleNamespace) -> None:
    """An object holds those of its first and of its latest settings; a stream holds its own."""
    gone = []

    def dictionary() -> Any:
        made = zstandard.ZstdCompressionDict(CONTENT + b"%d" % len(gone), zstandard.DICT_TYPE_RAWCONTENT)
        gone.append(weakref.ref(made._zstd_dict))
        return made

    held = dictionary()
    compressor, decompressor = zstandard.ZstdCompressor(dict_data=held), zstandard.ZstdDecompressor(dict_data=held)
    for _ in range(4):
        stream = compressor.compressobj()
        frame = stream.compress(CONTENT)
        compressor.__init__(dict_data=(latest := dictionary()))
        frame += stream.flush()
        assert decompressor.decompress(frame, len(CONTENT)) == CONTENT
        decompressor.__init__(dict_data=latest)
        assert decompressor.decompress(compressor.compress(CONTENT)) == CONTENT
    del held, latest, stream
    assert sum(found() is not None for found in gone) <= 2


def test_a_whole_frame_needs_no_stream(zstandard: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream takes PyPy a hundred times as long for a short frame."""
    if not zstandard.codec.IS_WRAPPED:
        pytest.skip("there is no library that decompresses a frame in one call")
    dictionary = zstandard.ZstdCompressionDict(CONTENT, zstandard.DICT_TYPE_RAWCONTENT)
    compressor, decompressor = zstandard.ZstdCompressor(dict_data=dictionary), zstandard.ZstdDecompressor()
    plain, with_dictionary, empty = zstandard.compress(CONTENT), compressor.compress(CONTENT), zstandard.compress(b"")
    assert decompressor.decompress(plain + plain) == CONTENT
    with monkeypatch.context() as patch:
        patch.delattr("cpkg._native.zstd.presets.DecompressionPreset._new_stream")
        assert decompressor.decompress(plain) == decompressor.decompress(plain + empty) == CONTENT
        decompressor = zstandard.ZstdDecompressor(dict_data=dictionary)
        for _ in range(2):
            assert decompressor.decompress(with_dictionary) == CONTENT
            decompressor.__init__(dict_data=dictionary)
    pytest.raises(zstandard.ZstdError, decompressor.decompress, with_dictionary[:-1])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_text_has_the_mark_of_its_encoding(zstandard: SimpleNamespace, encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "text.zst"
    for mode, size in (("w", 1), ("a", 2)):
        with zstandard.open(path, mode, encoding=encoding) as file:
            file.write("text")
        if sys.implementation.name == "cpython" or mode == "w":
            with zstandard.open(path, "r", encoding=encoding) as file:
                assert file.read() == "text" * size
