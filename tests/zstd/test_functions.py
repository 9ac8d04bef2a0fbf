# SPDX-License-Identifier: Apache-2.0
"""The documentation of compression.zstd about its functions and enums, on every backend."""

from __future__ import annotations

import io
import pickle
import sys
from types import ModuleType
from typing import Any, Callable

import pytest
from documents import check_examples
from extent import IS_THOROUGH
from odd_files import Counting
from seeds import noise
from zstd_data import FRAME_ABC, FRAME_ABC_UNSIZED, SKIPPABLE, TEXT
from zstd_ways import in_parts

import cpkg.zstd
from cpkg._backend import choose
from purepy.base.errors import ZstdLimitError
from purepy.zstd.format.padding import Unpadded


def test_workers(zstd: ModuleType) -> None:
    parameter = zstd.CompressionParameter
    if parameter.nb_workers.bounds()[1] == 0 or zstd.parameter_bounds(400, True)[1] == 0:
        pytest.skip("compresses in the calling thread only")
    data = TEXT * 20
    options = {parameter.nb_workers: 2, parameter.job_size: 1 << 20, parameter.compression_level: 1}
    assert zstd.decompress(zstd.compress(data, options=options)) == data
    compressor = zstd.ZstdCompressor(options=options)
    pieces = [compressor.compress(data), compressor.compress(data, compressor.FLUSH_BLOCK), compressor.flush()]
    assert zstd.decompress(b"".join(pieces)) == data * 2


def test_bounds(zstd: ModuleType) -> None:
    for parameters, is_compress in ((zstd.CompressionParameter, True), (zstd.DecompressionParameter, False)):
        for parameter in parameters:
            low, high = zstd.parameter_bounds(parameter, is_compress)
            assert type(low) is type(high) is int
            assert low <= high
    # with 32-bit addresses, libzstd's largest window is half as large
    assert zstd.parameter_bounds(100, False) == (10, 30 if sys.maxsize < 2**32 and zstd.BACKEND != "pure" else 31)


def test_enums_have_the_bounds_of_the_backend_in_use() -> None:
    bounds = choose("zstd").module.parameter_bounds
    for parameter in cpkg.zstd.CompressionParameter:
        assert parameter.bounds() == bounds(parameter, True)
    for parameter in cpkg.zstd.DecompressionParameter:
        assert parameter.bounds() == bounds(parameter, False)


@pytest.mark.parametrize("limit", [None, 1])
def test_error_pickles(zstd: ModuleType, limit: int | None) -> None:
    error = pytest.raises(zstd.ZstdError, zstd.decompress, FRAME_ABC + b"garbage", max_output_size=limit).value
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is type(error) is (zstd.ZstdError if limit is None else ZstdLimitError)
    assert isinstance(error.offset, int)
    assert (str(copied), copied.offset, copied.code, copied.name) == (str(error), error.offset, error.code, error.name)


def test_examples(zstd: ModuleType) -> None:
    if zstd.BACKEND == "pure" and not IS_THOROUGH:
        pytest.skip("takes seconds")
    but = "Dictionaries" if zstd.BACKEND == "pure" else ""  # the first example there trains a dictionary
    check_examples("zstd.md", 30, {"zstd": zstd}, without="from cpkg import zstd", but=but)


def test_an_array_with_gaps(zstd: ModuleType) -> None:
    """The same error from every backend, although numpy raises ValueError for it."""
    gaps = pytest.importorskip("numpy").zeros((4, 4), "u1")[:, ::2]
    for call in (zstd.compress, zstd.decompress, zstd.ZstdCompressor().compress, zstd.ZstdDecompressor().decompress):
        pytest.raises(BufferError, call, gaps).match(r"found a strided ndarray: pass bytes\(data\)")


@pytest.mark.parametrize("way", ["compress", "stream", "threads"])
def test_target_of_a_compressed_block(zstd: ModuleType, way: str) -> None:
    key = zstd.CompressionParameter.target_cblock_size
    count = 2_000 if zstd.BACKEND == "pure" else 10_000
    data = b"".join(b"%d bottles of beer, %d on the wall\n" % (number, number * number) for number in range(count))

    def sizes(options: dict[int, int]) -> list[int]:
        if way == "stream":
            compressor = zstd.ZstdCompressor(options=options)
            frame = compressor.compress(data) + compressor.flush()
        else:
            frame = zstd.compress(data, options=options, threads=2 if way == "threads" else None)
        assert zstd.decompress(frame) == data
        return [block.size for found in zstd.iter_frames(frame) for block in found.blocks]

    usual, targeted = sizes({100: 3}), sizes({100: 3, int(key): 2000})
    assert len(targeted) > len(usual)
    assert max(targeted) < 4000 < max(usual)
    assert sizes({100: 3, key: 0}) == usual
    assert zstd.parameter_bounds(int(key), True) == (1340, 131072)
    for wrong in (1, 1339, 131073):
        with pytest.raises(ValueError, match="'target_cblock_size' received an illegal value"):
            zstd.compress(data, options={key: wrong})


# --- names and options that compression.zstd does not have ------------------------------------------------------------


@pytest.mark.parametrize("step", [1, 2, 7, 1000])
@pytest.mark.parametrize("max_length", [-1, 1, 2, 5])
def test_multi_frame(zstd: ModuleType, step: int, max_length: int) -> None:
    data = FRAME_ABC + SKIPPABLE + FRAME_ABC_UNSIZED + FRAME_ABC
    decompressor = zstd.ZstdDecompressor(multi_frame=True)
    assert not decompressor.eof
    parts = in_parts(decompressor, (data[at : at + step] for at in range(0, len(data), step)), max_length)
    assert b"".join(parts) == b"abc" * 3
    assert max_length < 0 or max(map(len, parts)) <= max_length
    assert (decompressor.eof, decompressor.needs_input, decompressor.unused_data) == (True, True, b"")


def test_copy_stream(zstd: ModuleType) -> None:
    compressed, seen = io.BytesIO(), []
    copied = zstd.copy_stream(
        io.BytesIO(TEXT), compressed, level=1, size=len(TEXT), read_size=5000, progress=lambda *now: seen.append(now)
    )
    assert copied == (len(TEXT), len(compressed.getvalue())) == seen[-1]
    assert seen == sorted(seen)
    content = io.BytesIO()
    compressed.seek(0)
    assert zstd.copy_stream(compressed, content, mode="decompress") == copied[::-1]
    assert content.getvalue() == TEXT


def test_copy_stream_stops_when_progress_raises(zstd: ModuleType) -> None:
    def progress(read: int, written: int) -> None:
        raise KeyboardInterrupt

    target = io.BytesIO()
    pytest.raises(KeyboardInterrupt, zstd.copy_stream, [TEXT] * 50, target, progress=progress)
    pytest.raises(zstd.ZstdError, zstd.decompress, target.getvalue())


def test_failed_pledge_loses_nothing(zstd: ModuleType) -> None:
    """In compression.zstd a failed call resets the object, and the next frame lacks its beginning."""
    compressor = zstd.ZstdCompressor()
    compressor.set_pledged_input_size(6)
    output = compressor.compress(b"abc")
    for call in (lambda: compressor.compress(b"much too much"), compressor.flush):
        pytest.raises(zstd.ZstdError, call).match("Src size is incorrect")
        assert compressor.last_mode == compressor.CONTINUE
    output += compressor.compress(b"def", compressor.FLUSH_FRAME)
    assert zstd.decompress(output) == b"abcdef"
    assert zstd.get_frame_info(output).decompressed_size == 6


def test_buffers_are_free_after_the_call(zstd: ModuleType) -> None:
    data, frame, room = bytearray(TEXT), bytearray(zstd.compress(TEXT)), bytearray(len(TEXT) + 1000)
    zstd.compress(data)
    zstd.decompress(frame)
    zstd.ZstdCompressor().compress(data)
    zstd.ZstdDecompressor().decompress(frame)
    zstd.compress_into(data, room)
    zstd.decompress_into(frame, room)
    for buffer in (data, frame, room):
        buffer.append(0)


# --- zero bytes after frames, as tapes and pipes leave them -----------------------------------------------------------


CONTENT = b"some content\n" * 1000
WAYS: dict[str, Callable[[ModuleType, bytes, bool], bytes]] = {
    "decompress": lambda zstd, data, padding: zstd.decompress(data, padding=padding),
    "decompress a bytearray": lambda zstd, data, padding: zstd.decompress(bytearray(data), padding=padding),
    "decompress with threads": lambda zstd, data, padding: zstd.decompress(data, threads=2, padding=padding),
    "decompress_iter": lambda zstd, data, padding: b"".join(
        zstd.decompress_iter((data[i : i + 3] for i in range(0, len(data), 3)), padding=padding)
    ),
    "decompress_iter with threads": lambda zstd, data, padding: b"".join(
        zstd.decompress_iter(io.BytesIO(data), read_size=7, threads=2, padding=padding)
    ),
    "read": lambda zstd, data, padding: zstd.ZstdFile(io.BytesIO(data), padding=padding).read(),
    "read with threads": lambda zstd, data, padding: zstd.ZstdFile(io.BytesIO(data), threads=2, padding=padding).read(),
    "lines": lambda zstd, data, padding: b"".join(zstd.open(Counting(data, 7), padding=padding)),
    "text": lambda zstd, data, padding: zstd.open(io.BytesIO(data), "rt", newline="\n", padding=padding)
    .read()
    .encode(),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_padding(zstd: ModuleType, way: Callable[[ModuleType, bytes, bool], bytes]) -> None:
    frame = zstd.compress(CONTENT)
    for frames, content in ((frame, CONTENT), (frame + SKIPPABLE + frame, 2 * CONTENT), (SKIPPABLE, b"")):
        assert way(zstd, frames, True) == content
        for size in (1, 3, 4, 3000):
            assert way(zstd, frames + bytes(size), True) == content
            pytest.raises((zstd.ZstdError, EOFError), way, zstd, frames + bytes(size), False)
            for wrong in (b"x", frame, b"\0" * 4 + frame):
                pytest.raises(zstd.ZstdError, way, zstd, frames + bytes(size) + wrong, True)
        pytest.raises((zstd.ZstdError, EOFError), way, zstd, frames[:-1], True)
        with pytest.raises((zstd.ZstdError, EOFError)):
            way(zstd, frames[:-1] + bytes(9), True) if content else way(zstd, frames[:9], True)
    for nothing in (b"", bytes(8)):
        pytest.raises((zstd.ZstdError, EOFError), way, zstd, nothing, True)


def test_a_padded_file_can_seek(zstd: ModuleType) -> None:
    data = zstd.compress(CONTENT) + bytes(10_000)
    for source in (io.BytesIO(data), Counting(data, 7)):
        with zstd.ZstdFile(source, padding=True) as file:
            assert file.seek(0, io.SEEK_END) == len(CONTENT)
            assert (file.seek(5), file.read()) == (5, CONTENT[5:])
            assert file.read() == b""
    pytest.raises(TypeError, zstd.ZstdFile, io.BytesIO(), "w", padding=True).match("illegal in write mode")


@pytest.mark.parametrize("size", [1, 2, 5, 17, 1000])
def test_the_filter_changes_nothing_else(zstd: ModuleType, size: int) -> None:
    """In pieces of any size; a frame whose checksum or content ends with zero bytes stays whole."""
    raw = zstd.compress(bytes(range(256)) + bytes(40), options={100: -100})
    for data in (
        raw,
        raw + SKIPPABLE + bytes([0x50, 0x2A, 0x4D, 0x18, 4, 0, 0, 0]) + bytes(4),
        bytes(50),
        b"no frame" * 9,
    ):
        unpadded: Any = Unpadded()
        assert b"".join(unpadded.feed(data[i : i + size]) for i in range(0, len(data), size)) == data


# --- patch() and apply_patch(): the differences of new data from old data ---------------------------------------------


@pytest.mark.parametrize("size", [0, 7, 8, 5000, 150_000, 3_000_000])
@pytest.mark.parametrize("level", [None, 1, 9])
def test_patches_are_small_and_right(zstd: ModuleType, size: int, level: int | None) -> None:
    if size > (5000 if level else 150_000) and (zstd.BACKEND == "pure" or level == 9):
        pytest.skip("takes long, or the tables of the level do not hold so much")
    old = noise(size)
    for new in (b"", old, old[: size // 3] + b"changed" + old[size // 3 + 5 :] + b"more", bytes(5000)):
        patch = zstd.patch(bytearray(old), memoryview(new), level)
        assert zstd.apply_patch(bytearray(old), patch) == new
        assert len(patch) <= 120 + size // 500 or size < 8
        if patch != zstd.compress(new):
            assert zstd.get_frame_info(patch).decompressed_size == len(new)


def test_patches_are_compatible_with_the_tool(zstd: ModuleType) -> None:
    old = noise(200_000)
    patch = zstd.patch(old, old + b"new")
    (frame,) = zstd.iter_frames(patch)
    assert frame.checksum is not None
    assert zstd.decompress(patch, zstd.ZstdDict(old, is_raw=True).as_prefix) == old + b"new"


def test_another_old_is_an_error(zstd: ModuleType) -> None:
    old = noise(200_000)
    patch = zstd.patch(old, old + b"new")
    for other in (old[:1000] + b"X" + old[1001:], old[:100_000], b"", bytes(200_000)):
        pytest.raises(zstd.ZstdError, zstd.apply_patch, other, patch)
    pytest.raises(zstd.ZstdError, zstd.apply_patch, old, patch[:-5])
