# SPDX-License-Identifier: Apache-2.0
"""The documentation of compression.zstd about its functions and enums, on every backend."""

from __future__ import annotations

import array
import copy
import inspect
import pickle
import sys
from types import ModuleType

import pytest
import zstd_data
from zstd_data import FRAME_ABC, FRAME_ABC_UNSIZED, PAYLOADS, SKIPPABLE, TEXT

import cpkg.zstd
from cpkg._backend import choose

DROP_IN = (
    *("COMPRESSION_LEVEL_DEFAULT", "CompressionParameter", "DecompressionParameter", "FrameInfo", "Strategy"),
    *("ZstdCompressor", "ZstdDecompressor", "ZstdDict", "ZstdError", "ZstdFile", "compress", "decompress"),
    *("finalize_dict", "get_frame_info", "get_frame_size", "open", "train_dict", "zstd_version", "zstd_version_info"),
)


def test_has_every_name(zstd: ModuleType) -> None:
    """All 18 names of __all__, and FrameInfo, which is public without being in it."""
    assert [name for name in DROP_IN if not hasattr(zstd, name)] == []
    assert set(DROP_IN) <= set(zstd.__all__)


def test_version(zstd: ModuleType) -> None:
    assert zstd.zstd_version == ".".join(map(str, zstd.zstd_version_info))
    assert len(zstd.zstd_version_info) == 3
    assert zstd.COMPRESSION_LEVEL_DEFAULT == 3


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
@pytest.mark.parametrize("level", [None, -5, 0, 1, 3, 6])
def test_round_trip(zstd: ModuleType, payload: bytes, level: int | None) -> None:
    compressed = zstd.compress(payload, level)
    assert zstd.decompress(compressed) == payload
    assert len(compressed) <= len(payload) + len(payload) // 255 + 64


def test_compress_writes_the_content_size(zstd: ModuleType) -> None:
    assert zstd.get_frame_info(zstd.compress(TEXT)).decompressed_size == len(TEXT)


def test_level_none_and_zero_are_the_default(zstd: ModuleType) -> None:
    assert zstd.compress(TEXT) == zstd.compress(TEXT, 0) == zstd.compress(TEXT, level=3) == zstd.compress(TEXT, None)


def test_bool_is_a_level(zstd: ModuleType) -> None:
    assert zstd.compress(TEXT, True) == zstd.compress(TEXT, 1)


@pytest.mark.parametrize(
    "make", [bytearray, memoryview, lambda data: array.array("B", data), lambda data: memoryview(data)[::1]]
)
def test_takes_any_buffer(zstd: ModuleType, make: type) -> None:
    compressed = zstd.compress(make(TEXT))
    assert compressed == zstd.compress(TEXT)
    assert zstd.decompress(make(compressed)) == TEXT
    assert zstd.get_frame_size(make(compressed)) == len(compressed)


def test_items_larger_than_a_byte(zstd: ModuleType) -> None:
    numbers = array.array("Q", range(1000))
    assert zstd.decompress(zstd.compress(numbers)) == numbers.tobytes()


@pytest.mark.parametrize("bad", ["text", 3, None, [b"x"]])
def test_refuses_what_is_no_buffer(zstd: ModuleType, bad: object) -> None:
    for function in (zstd.compress, zstd.decompress, zstd.get_frame_info, zstd.get_frame_size):
        with pytest.raises(TypeError):
            function(bad)


def test_refuses_a_view_with_gaps(zstd: ModuleType) -> None:
    for function in (zstd.compress, zstd.decompress):
        with pytest.raises(BufferError):
            function(memoryview(TEXT)[::2])


def test_argument_names_and_order(zstd: ModuleType) -> None:
    """decompress() has the dictionary before the options, compress() after them."""
    assert list(inspect.signature(zstd.compress).parameters)[:4] == ["data", "level", "options", "zstd_dict"]
    assert list(inspect.signature(zstd.decompress).parameters)[:3] == ["data", "zstd_dict", "options"]
    assert zstd.decompress(data=zstd.compress(data=b"a", level=1, options=None, zstd_dict=None)) == b"a"
    with pytest.raises(TypeError):
        zstd.compress()
    with pytest.raises(TypeError):
        zstd.compress(b"", 1, None, None, None)
    with pytest.raises(TypeError):
        zstd.compress(b"", strength=1)
    with pytest.raises(TypeError):
        zstd.decompress(b"", None, None, 5)


def test_level_and_options_exclude_each_other(zstd: ModuleType) -> None:
    for options in ({}, {zstd.CompressionParameter.checksum_flag: 1}):
        with pytest.raises(TypeError, match="Only one of level or options"):
            zstd.compress(b"", 1, options)


@pytest.mark.parametrize("level", [3.0, "3", b"3", []])
def test_level_type(zstd: ModuleType, level: object) -> None:
    with pytest.raises(TypeError):
        zstd.compress(b"", level)


@pytest.mark.parametrize("level", [23, -131073, 2**31, -(2**31) - 1, 2**1000, -(2**1000)])
def test_level_range(zstd: ModuleType, level: int) -> None:
    with pytest.raises(ValueError, match=r"illegal compression level.*; the valid range is \[-131072, 22\]"):
        zstd.compress(b"", level)


def test_option_range(zstd: ModuleType) -> None:
    parameter = zstd.CompressionParameter
    for key, value in ((parameter.window_log, 100), (parameter.min_match, 2), (parameter.compression_level, 23)):
        with pytest.raises(ValueError, match=r"valid range is \[-?\d+, \d+\]"):
            zstd.compress(b"", options={key: value})
    with pytest.raises(ValueError, match="compression parameter 'window_log' received an illegal value 100; the valid"):
        zstd.compress(b"", options={parameter.window_log: 100})
    with pytest.raises(ValueError, match="decompression parameter 'window_log_max' received an illegal value 99; the"):
        zstd.decompress(FRAME_ABC, options={zstd.DecompressionParameter.window_log_max: 99})


@pytest.mark.parametrize("data", PAYLOADS.values(), ids=PAYLOADS)
def test_options_hold_for_one_call(zstd: ModuleType, data: bytes) -> None:
    """Bytes as from a compressor of its own, whatever the calls before asked for."""
    parameter = zstd.CompressionParameter
    for options in (
        {},
        {parameter.compression_level: 1},
        {parameter.compression_level: 5, parameter.checksum_flag: True, parameter.content_size_flag: 0},
        {201: 1, 100: 1},
        {parameter.strategy: zstd.Strategy.btopt, parameter.window_log: 15, parameter.enable_long_distance_matching: 1},
        {parameter.nb_workers: 0, parameter.compression_level: -5},
    ):
        fresh = zstd.ZstdCompressor(options=options)
        frame = zstd.compress(data, options=options)
        assert frame == fresh.compress(data, fresh.FLUSH_FRAME)
        assert zstd.decompress(frame, options={zstd.DecompressionParameter.window_log_max: 0}) == data
        plain = zstd.ZstdCompressor()
        assert zstd.compress(data) == plain.compress(data, plain.FLUSH_FRAME)
    for bad in (data, "text"):  # of two bad arguments the parameter is reported
        with pytest.raises(ValueError):
            zstd.compress(bad, options={parameter.compression_level: 1, parameter.min_match: 99})
    with pytest.raises(TypeError):
        zstd.compress("text", options={parameter.compression_level: 1})
    assert zstd.compress(data) == zstd.compress(data, options={}) == zstd.compress(data, None, None)


def test_option_ints_of_other_classes(zstd: ModuleType) -> None:
    class Other(int):
        def __index__(self) -> int:
            return 1

    parameter = zstd.CompressionParameter
    expected = zstd.compress(TEXT, options={parameter.compression_level: 1})
    assert zstd.compress(TEXT, options={parameter.compression_level: Other(7)}) == expected
    for bounds in ((9, False), (10, True), (31, True), (32, False), (-1, False)):
        options = {zstd.DecompressionParameter.window_log_max: bounds[0]}
        if bounds[1]:
            assert zstd.decompress(FRAME_ABC, options=options) == b"abc"
        else:
            with pytest.raises(ValueError, match="window_log_max"):
                zstd.decompress(FRAME_ABC, options=options)


def test_unknown_option(zstd: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"invalid compression parameter 'unknown parameter \(key 9999\)'"):
        zstd.compress(b"", options={9999: 1})
    with pytest.raises(ValueError, match=r"invalid decompression parameter 'unknown parameter \(key 9999\)'"):
        zstd.decompress(FRAME_ABC, options={9999: 1})


def test_option_types(zstd: ModuleType) -> None:
    with pytest.raises(TypeError, match="DecompressionParameter"):
        zstd.compress(b"", options={zstd.DecompressionParameter.window_log_max: 20})
    with pytest.raises(TypeError, match="CompressionParameter"):
        zstd.decompress(FRAME_ABC, options={zstd.CompressionParameter.window_log: 20})
    for options in (b"", [], 3, {"checksum_flag": 1}, {201: "1"}, {201: 1.0}):
        with pytest.raises(TypeError):
            zstd.compress(b"", options=options)


def test_numbers_that_no_c_int_holds(zstd: ModuleType) -> None:
    """As in the standard module."""
    for number in (2**31, -(2**31) - 1, 2**40, 2**70):
        for options in ({number: 1}, {201: number}):
            with pytest.raises(OverflowError, match="C int"):
                zstd.ZstdCompressor(options=options)
            with pytest.raises(OverflowError, match="C int"):
                zstd.compress(b"", options=options)
        for options in ({number: 1}, {100: number}):
            with pytest.raises(OverflowError, match="C int"):
                zstd.ZstdDecompressor(options=options)
            with pytest.raises(OverflowError, match="C int"):
                zstd.decompress(FRAME_ABC, options=options)


def test_options_take_plain_ints_and_enums(zstd: ModuleType) -> None:
    parameter = zstd.CompressionParameter
    named = {parameter.compression_level: 1, parameter.checksum_flag: 1}
    assert zstd.compress(TEXT, options=named) == zstd.compress(TEXT, options={100: 1, 201: True})
    strategy = {parameter.strategy: zstd.Strategy.greedy}
    assert zstd.decompress(zstd.compress(TEXT, options=strategy)) == TEXT


def test_checksum_flag(zstd: ModuleType) -> None:
    flag = zstd.CompressionParameter.checksum_flag
    plain, checked = (zstd.compress(TEXT, options={flag: value}) for value in (0, 1))
    assert plain == zstd.compress(TEXT)
    assert len(checked) == len(plain) + 4
    assert zstd.decompress(checked) == TEXT
    with pytest.raises(zstd.ZstdError):
        zstd.decompress(checked[:-1] + bytes([checked[-1] ^ 1]))


def test_content_size_flag(zstd: ModuleType) -> None:
    for value, size in ((0, None), (1, len(TEXT))):
        compressed = zstd.compress(TEXT, options={zstd.CompressionParameter.content_size_flag: value})
        assert zstd.get_frame_info(compressed).decompressed_size == size
        assert zstd.decompress(compressed) == TEXT


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


@pytest.mark.parametrize(
    ("data", "content"),
    [
        (FRAME_ABC, b"abc"),
        (FRAME_ABC_UNSIZED, b"abc"),
        (SKIPPABLE, b""),
        (FRAME_ABC + FRAME_ABC_UNSIZED, b"abcabc"),
        (SKIPPABLE + FRAME_ABC + SKIPPABLE + FRAME_ABC + SKIPPABLE, b"abcabc"),
    ],
)
def test_decompress_reads_all_frames(zstd: ModuleType, data: bytes, content: bytes) -> None:
    assert zstd.decompress(data) == content


@pytest.mark.parametrize("data", [b"", FRAME_ABC[:1], FRAME_ABC[:5], FRAME_ABC[:-1], FRAME_ABC * 2 + FRAME_ABC[:-1]])
def test_truncated(zstd: ModuleType, data: bytes) -> None:
    with pytest.raises(
        zstd.ZstdError, match="Compressed data ended before the end-of-stream marker was reached"
    ) as info:
        zstd.decompress(data)
    assert info.value.offset == len(data)


@pytest.mark.parametrize("tail", [b"\0\0\0\0", b"garbage", b"\x28\xb5\x2f\xfe..."])
def test_trailing_bytes(zstd: ModuleType, tail: bytes) -> None:
    with pytest.raises(zstd.ZstdError, match="Unknown frame descriptor") as info:
        zstd.decompress(FRAME_ABC + tail)
    assert info.value.offset == len(FRAME_ABC)
    assert info.value.code == 10
    assert info.value.name == "Unknown frame descriptor"


def test_window_log_max(zstd: ModuleType) -> None:
    """A frame that asks for more than 128 MiB needs leave; one that asks for less than the option does not."""
    huge = bytes.fromhex("28b52ffd 00 90 190000") + b"abc"  # 256 MiB
    key = zstd.DecompressionParameter.window_log_max
    with pytest.raises(zstd.ZstdLimitError, match="window_log_max") as info:
        zstd.decompress(huge)
    assert info.value.code == 16
    assert zstd.decompress(huge, options={key: 28}) == b"abc"
    with pytest.raises(zstd.ZstdError):
        zstd.decompress(bytes.fromhex("28b52ffd 00 58 190000") + b"abc", options={key: 20})  # 2 MiB


def test_frame_info(zstd: ModuleType) -> None:
    info = zstd.get_frame_info(FRAME_ABC[:6])
    assert (info.decompressed_size, info.dictionary_id) == (3, 0)
    assert zstd.get_frame_info(FRAME_ABC_UNSIZED).decompressed_size is None
    assert repr(info) == "FrameInfo(decompressed_size=3, dictionary_id=0)"
    skippable = zstd.get_frame_info(SKIPPABLE)
    assert (skippable.decompressed_size, skippable.dictionary_id) == (0, 0)
    with pytest.raises(AttributeError):
        info.decompressed_size = 4
    with pytest.raises(AttributeError):
        info.other = 4


def test_frame_info_pickles_and_compares(zstd: ModuleType) -> None:
    """The original pickles but cannot be loaded again."""
    info = zstd.get_frame_info(FRAME_ABC)
    assert pickle.loads(pickle.dumps(info)) == copy.deepcopy(info) == info
    assert info != zstd.get_frame_info(FRAME_ABC_UNSIZED)


@pytest.mark.parametrize("data", [b"", b"\x28\xb5\x2f\xfd", b"no frame at all"])
def test_frame_info_of_no_frame(zstd: ModuleType, data: bytes) -> None:
    with pytest.raises(zstd.ZstdError, match="not less than the frame header"):
        zstd.get_frame_info(data)


def test_frame_size(zstd: ModuleType) -> None:
    assert zstd.get_frame_size(FRAME_ABC + b"trailing") == len(FRAME_ABC)
    assert zstd.get_frame_size(SKIPPABLE + FRAME_ABC) == len(SKIPPABLE)
    for data in (b"", FRAME_ABC[:-1], SKIPPABLE[:-1], b"no frame at all"):
        with pytest.raises(zstd.ZstdError, match="not less than this complete frame"):
            zstd.get_frame_size(data)


def test_bounds(zstd: ModuleType) -> None:
    for parameters, is_compress in ((zstd.CompressionParameter, True), (zstd.DecompressionParameter, False)):
        for parameter in parameters:
            low, high = zstd.parameter_bounds(parameter, is_compress)
            assert type(low) is type(high) is int
            assert low <= high
    assert zstd.parameter_bounds(100, True) == (-131072, 22)
    # libzstd's largest window, where addresses have 32 bits, is half of what it is elsewhere
    assert zstd.parameter_bounds(100, False) == (10, 30 if sys.maxsize < 2**32 and zstd.BACKEND != "pure" else 31)
    assert [int(strategy) for strategy in zstd.Strategy] == list(range(1, 10))


def test_enums_have_the_bounds_of_the_backend_in_use() -> None:
    bounds = choose("zstd").module.parameter_bounds
    for parameter in cpkg.zstd.CompressionParameter:
        assert parameter.bounds() == bounds(parameter, True)
    for parameter in cpkg.zstd.DecompressionParameter:
        assert parameter.bounds() == bounds(parameter, False)


def test_enums_pickle(zstd: ModuleType) -> None:
    for member in (zstd.CompressionParameter.window_log, zstd.Strategy.btopt):
        assert pickle.loads(pickle.dumps(member)) is member


def test_error_pickles(zstd: ModuleType) -> None:
    with pytest.raises(zstd.ZstdError) as info:
        zstd.decompress(FRAME_ABC + b"garbage")
    error = pickle.loads(pickle.dumps(info.value))
    assert type(error) is type(info.value)
    assert str(error) == str(info.value)
    assert (error.offset, error.code, error.name) == (info.value.offset, info.value.code, info.value.name)


def test_functions_pickle(zstd: ModuleType) -> None:
    """They are sent to other processes by pool.map()."""
    assert pickle.loads(pickle.dumps(zstd.decompress))(pickle.loads(pickle.dumps(zstd.compress))(TEXT)) == TEXT


def test_result_is_fresh_each_time(zstd: ModuleType) -> None:
    """Contexts are kept between calls: one call's data must not show in the next one's."""
    expected = {name: zstd.compress(payload) for name, payload in PAYLOADS.items()}
    for _ in range(3):
        for name, payload in reversed(PAYLOADS.items()):
            zstd.compress(payload, 1)
            zstd.compress(payload, options={zstd.CompressionParameter.checksum_flag: 1})
            assert zstd.compress(payload) == expected[name]
    with pytest.raises(zstd.ZstdError):
        zstd.decompress(zstd_data.FRAME_LIAR)
    assert zstd.decompress(expected["text"]) == TEXT


def test_wrong_keywords_name_the_function(zstd: ModuleType) -> None:
    """Not what it is made of."""
    with pytest.raises(TypeError, match=r"^compress\(\) got an unexpected keyword argument 'levl'"):
        zstd.compress(b"", levl=3)
    with pytest.raises(TypeError, match=r"^train_dict\(\) got an unexpected keyword argument 'size'"):
        zstd.train_dict([b"a"], 100, size=3)
