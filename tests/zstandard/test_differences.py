# SPDX-License-Identifier: Apache-2.0
"""Where cpkg.zstandard differs from python-zstandard 0.25 on purpose: each row of the table in docs/zstandard.md."""

from __future__ import annotations

import io
import os
import struct
from types import SimpleNamespace
from typing import Any

import pytest
from odd_files import Slow
from threads import run_threads

from purepy.errors import ZstdLimitError

CONTENT = b"".join(b"line %d of some content\n" % number for number in range(2000))


class Kept(io.BytesIO):
    """A file whose content can be had after it was closed."""

    content = b""

    def close(self) -> None:
        if not self.closed:
            self.content = self.getvalue()
        super().close()


@pytest.fixture
def frame(zstandard: SimpleNamespace) -> bytes:
    """A frame that declares its content's size."""
    made: bytes = zstandard.compress(CONTENT)
    return made


def test_truncated_input_is_an_error(zstandard: SimpleNamespace, frame: bytes) -> None:
    """Input that ends inside a frame is an error, not the end; what lies in front of it can be read."""
    decompressor = zstandard.ZstdDecompressor()
    for cut in (1, 5, 17, len(frame) - 1):
        with pytest.raises(zstandard.ZstdError, match="ended before"):
            decompressor.stream_reader(io.BytesIO(frame[:cut])).read()
        with pytest.raises(zstandard.ZstdError, match="ended before"):
            decompressor.stream_reader(frame[:cut], read_across_frames=True).readall()
        with pytest.raises(zstandard.ZstdError, match="ended before"):
            list(decompressor.read_to_iter(frame[:cut]))
        with pytest.raises(zstandard.ZstdError, match="ended before"):
            decompressor.copy_stream(io.BytesIO(frame[:cut]), io.BytesIO())
        target = Kept()
        writer = decompressor.stream_writer(target)
        writer.write(frame[:cut])
        with pytest.raises(zstandard.ZstdError, match="ended before"):
            writer.close()
        assert writer.closed
        assert target.closed
    reader = decompressor.stream_reader(zstandard.compress(b"first") + frame[:9])
    assert reader.read(100) == b"first"
    for _ in range(2):
        with pytest.raises(zstandard.ZstdError, match="ended before"):
            reader.read(100)


def test_an_error_stays(zstandard: SimpleNamespace, frame: bytes) -> None:
    """After an error a stream goes on raising it: what comes next would not follow what came before."""
    damaged = frame + b"this is no frame"
    reader = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(damaged), read_across_frames=True)
    assert reader.read(len(CONTENT)) == CONTENT
    for _ in range(3):
        with pytest.raises(zstandard.ZstdError, match="Unknown frame descriptor"):
            reader.read(1)
    unpacker = zstandard.ZstdDecompressor().decompressobj()
    for data in (b"this is no frame", frame):
        with pytest.raises(zstandard.ZstdError, match="Unknown frame descriptor"):
            unpacker.decompress(data)


def test_a_writer_given_up_does_not_complain(zstandard: SimpleNamespace, frame: bytes) -> None:
    """A `with` block that ends by an exception lets that one through."""

    def give_up() -> None:
        with zstandard.ZstdDecompressor().stream_writer(io.BytesIO()) as writer:
            writer.write(frame[:20])
            raise KeyError

    with pytest.raises(KeyError):
        give_up()


def test_output_limits_hold(zstandard: SimpleNamespace, frame: bytes) -> None:
    """`max_output_size` holds whatever the header declares, and takes no memory of its own."""
    decompressor = zstandard.ZstdDecompressor()
    unsized = zstandard.ZstdCompressor(write_content_size=False).compress(CONTENT)
    for data in (frame, unsized):
        assert decompressor.decompress(data, max_output_size=len(CONTENT)) == CONTENT
        assert decompressor.decompress(data, max_output_size=2**62) == CONTENT
        for limit in (1, len(CONTENT) - 1):
            with pytest.raises(ZstdLimitError):
                decompressor.decompress(data, max_output_size=limit)
    assert decompressor.decompress(frame, max_output_size=-1) == CONTENT
    with pytest.raises(zstandard.ZstdError, match="could not determine content size"):
        decompressor.decompress(unsized, max_output_size=-1)


def test_a_declared_size_is_not_believed(zstandard: SimpleNamespace) -> None:
    """A header that declares a terabyte takes no memory for it; one that declares 0 bytes is decoded all the same."""
    huge = bytes.fromhex("28b52ffde0") + struct.pack("<Q", 1 << 40) + bytes.fromhex("010000")
    with pytest.raises(zstandard.ZstdError):
        zstandard.decompress(huge)
    empty = zstandard.compress(b"")
    assert zstandard.decompress(empty) == b""
    for damaged in (empty[:-1], empty[:6] + b"garbage"):
        with pytest.raises(zstandard.ZstdError):
            zstandard.decompress(damaged)


def test_windows_are_limited_in_one_call_too(zstandard: SimpleNamespace) -> None:
    """`max_window_size` holds for frames that declare their content's size, in bytes and not in powers of two."""
    frame = zstandard.ZstdCompressor(compression_params=zstandard.ZstdCompressionParameters(window_log=17)).compress(
        os.urandom(1 << 17)
    )
    for limit in (1 << 16, (1 << 17) - 1):
        decompressor = zstandard.ZstdDecompressor(max_window_size=limit)
        with pytest.raises(ZstdLimitError, match="Frame requires too much memory"):
            decompressor.decompress(frame)
        with pytest.raises(ZstdLimitError, match="Frame requires too much memory"):
            decompressor.stream_reader(frame).read()
    assert len(zstandard.ZstdDecompressor(max_window_size=1 << 17).decompress(frame)) == 1 << 17


def test_close_after_an_error(zstandard: SimpleNamespace) -> None:
    """A writer that failed does not end the frame, so that a reader finds out, and closes the other file."""
    target = Kept()
    writer = zstandard.ZstdCompressor().stream_writer(target, size=len(CONTENT) + 5)
    writer.write(CONTENT)
    with pytest.raises(zstandard.ZstdError, match="Src size is incorrect"):
        writer.write(CONTENT)
    with pytest.raises(zstandard.ZstdError, match="Src size is incorrect"):
        writer.flush()
    writer.close()
    assert target.closed
    with pytest.raises(zstandard.ZstdError):
        zstandard.ZstdDecompressor().decompress(target.content, len(CONTENT) * 2)

    class Full(io.BytesIO):
        def write(self, data: Any) -> int:
            raise OSError(28, "No space left on device")

    full = Full()
    writer = zstandard.ZstdCompressor().stream_writer(full)
    writer.write(b"abc")
    with pytest.raises(OSError, match="No space"):
        writer.flush()
    with pytest.raises(zstandard.ZstdError, match="No space"):
        writer.write(b"abc")
    writer.close()
    assert full.closed


def test_raw_files_get_all(zstandard: SimpleNamespace) -> None:
    """A file whose write() takes less than it is given is given the rest."""
    slow = Slow()
    with zstandard.ZstdCompressor().stream_writer(slow) as writer:
        writer.write(CONTENT)
    assert zstandard.ZstdDecompressor().decompress(slow.content, len(CONTENT)) == CONTENT


def test_objects_may_be_shared(zstandard: SimpleNamespace) -> None:
    """Threads share a compressor, a decompressor and their streams; nothing crashes, and results are right."""
    compressor = zstandard.ZstdCompressor(dict_data=zstandard.ZstdCompressionDict(CONTENT[:5000]))
    decompressor = zstandard.ZstdDecompressor(dict_data=zstandard.ZstdCompressionDict(CONTENT[:5000]))
    target = io.BytesIO()
    writer = compressor.stream_writer(target, closefd=False)
    rounds = 5 if zstandard.codec.BACKEND == "pure" else 50

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
    """Two streams of one object at a time do not disturb each other, nor does a call between."""
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


def test_batches_of_nothing(zstandard: SimpleNamespace) -> None:
    """No frames, and frames without content: the original ends the process."""
    decompressor = zstandard.ZstdDecompressor()
    with pytest.raises(ValueError, match="no source elements found"):
        decompressor.multi_decompress_to_buffer([])
    found = decompressor.multi_decompress_to_buffer([zstandard.compress(b"")] * 3, threads=2)
    assert [item.tobytes() for item in found] == [b""] * 3


def test_estimates_never_crash(zstandard: SimpleNamespace) -> None:
    """Long distance matching without a shortest match ends the original's process; threads give a nonsense number."""
    parameters = zstandard.ZstdCompressionParameters
    assert parameters(enable_ldm=1).estimated_compression_context_size() < 2**40
    assert parameters(threads=2).estimated_compression_context_size() < 2**40


@pytest.mark.parametrize("size", [-2, -(2**63), -(2**70), 2**64 - 2, 2**64 - 1, 2**64, 2**70])
def test_a_size_that_no_content_has(zstandard: SimpleNamespace, size: int) -> None:
    """Is an error at once, in place of one at the end; -1 stands for none."""
    compressor = zstandard.ZstdCompressor()
    for call in (
        lambda: compressor.compressobj(size=size),
        lambda: compressor.chunker(size=size),
        lambda: compressor.stream_writer(io.BytesIO(), size=size),
        lambda: compressor.stream_reader(io.BytesIO(), size=size),
        lambda: compressor.copy_stream(io.BytesIO(), io.BytesIO(), size=size),
        lambda: list(compressor.read_to_iter(io.BytesIO(b"a"), size=size)),
    ):
        with pytest.raises(ValueError, match="size argument should be"):
            call()
    assert compressor.copy_stream(io.BytesIO(CONTENT), io.BytesIO(), size=-1)[0] == len(CONTENT)


@pytest.mark.parametrize(("size", "error"), [(0, ValueError), (-1, ValueError), (2**64, OverflowError)])
def test_a_size_of_pieces_that_cannot_be(
    zstandard: SimpleNamespace, frame: bytes, size: int, error: type[Exception]
) -> None:
    compressor, decompressor = zstandard.ZstdCompressor(), zstandard.ZstdDecompressor()
    for call in (
        lambda: compressor.copy_stream(io.BytesIO(), io.BytesIO(), read_size=size),
        lambda: compressor.copy_stream(io.BytesIO(), io.BytesIO(), write_size=size),
        lambda: compressor.stream_reader(io.BytesIO(), read_size=size),
        lambda: compressor.stream_writer(io.BytesIO(), write_size=size),
        lambda: compressor.read_to_iter(b"", read_size=size),
        lambda: compressor.chunker(chunk_size=size),
        lambda: decompressor.copy_stream(io.BytesIO(), io.BytesIO(), write_size=size),
        lambda: decompressor.stream_reader(io.BytesIO(), read_size=size),
        lambda: decompressor.stream_writer(io.BytesIO(), write_size=size),
        lambda: decompressor.read_to_iter(frame, read_size=size),
        lambda: decompressor.decompressobj(write_size=size),
    ):
        with pytest.raises(error):
            call()


def test_other_odd_arguments_of_streams(zstandard: SimpleNamespace, frame: bytes) -> None:
    """`whence`, `skip_bytes`, an empty buffer, and writing to what reads."""
    decompressor = zstandard.ZstdDecompressor()
    for skip in (-1, 2**64):
        with pytest.raises(ValueError, match="skip_bytes must be smaller than read_size"):
            decompressor.read_to_iter(frame, skip_bytes=skip)
    for reader in (decompressor.stream_reader(frame), zstandard.ZstdCompressor().stream_reader(b"abc")):
        assert reader.readinto(bytearray()) == 0
        for method, value in (("write", b"a"), ("writelines", [b"a"])):
            with pytest.raises(OSError):
                getattr(reader, method)(value)
    with pytest.raises(ValueError, match="whence"):
        decompressor.stream_reader(frame).seek(0, 3)


@pytest.mark.parametrize("content_size", [True, False])
def test_skippable_frames_in_front_are_passed_over(zstandard: SimpleNamespace, content_size: bool) -> None:
    """As pzstd writes them."""
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
        with pytest.raises(zstandard.ZstdError):
            decompressor.decompress(skippable + rest, max_output_size=len(CONTENT))
