# SPDX-License-Identifier: Apache-2.0
"""The documentation of compression.zstd about its functions and enums, on every backend."""

from __future__ import annotations

import pickle
import sys
from types import ModuleType

import pytest
from documents import check_examples
from extent import IS_THOROUGH
from zstd_data import FRAME_ABC, TEXT

import cpkg.zstd
from cpkg._backend import choose

DROP_IN = (
    *("COMPRESSION_LEVEL_DEFAULT", "CompressionParameter", "DecompressionParameter", "FrameInfo", "Strategy"),
    *("ZstdCompressor", "ZstdDecompressor", "ZstdDict", "ZstdError", "ZstdFile", "compress", "decompress"),
    *("finalize_dict", "get_frame_info", "get_frame_size", "open", "train_dict", "zstd_version", "zstd_version_info"),
)


def test_has_every_name(zstd: ModuleType) -> None:
    assert [name for name in DROP_IN if not hasattr(zstd, name)] == []
    assert set(DROP_IN) <= set(zstd.__all__)


def test_checksum_flag(zstd: ModuleType) -> None:
    flag = zstd.CompressionParameter.checksum_flag
    plain, checked = (zstd.compress(TEXT, options={flag: value}) for value in (0, 1))
    assert plain == zstd.compress(TEXT)
    assert len(checked) == len(plain) + 4
    assert zstd.decompress(checked) == TEXT
    pytest.raises(zstd.ZstdError, zstd.decompress, checked[:-1] + bytes([checked[-1] ^ 1]))


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


def test_error_pickles(zstd: ModuleType) -> None:
    info = pytest.raises(zstd.ZstdError, zstd.decompress, FRAME_ABC + b"garbage")
    error = pickle.loads(pickle.dumps(info.value))
    assert type(error) is type(info.value)
    assert str(error) == str(info.value)
    assert (error.offset, error.code, error.name) == (info.value.offset, info.value.code, info.value.name)


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
