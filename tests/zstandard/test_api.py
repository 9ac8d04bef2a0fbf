# SPDX-License-Identifier: Apache-2.0
"""The surface of python-zstandard 0.25: names, arguments, defaults, values."""

from __future__ import annotations

import inspect
import io
import pickle
from types import SimpleNamespace
from typing import Any

import pytest

import cpkg.zstandard

# The functions and methods of the original's stub, with their parameters in its order.
SIGNATURES = {
    "ZstdCompressor": "level dict_data compression_params write_checksum write_content_size write_dict_id threads",
    "ZstdCompressor.compressobj": "size",
    "ZstdCompressor.chunker": "size chunk_size",
    "ZstdCompressor.copy_stream": "ifh ofh size read_size write_size",
    "ZstdCompressor.stream_reader": "source size read_size closefd",
    "ZstdCompressor.stream_writer": "writer size write_size write_return_read closefd",
    "ZstdCompressor.read_to_iter": "reader size read_size write_size",
    "ZstdCompressor.frame_progression": "",
    "ZstdCompressor.memory_size": "",
    "ZstdCompressor.multi_compress_to_buffer": "data threads",
    "ZstdDecompressor": "dict_data max_window_size format",
    "ZstdDecompressor.decompress": "data max_output_size read_across_frames allow_extra_data",
    "ZstdDecompressor.stream_reader": "source read_size read_across_frames closefd",
    "ZstdDecompressor.decompressobj": "write_size read_across_frames",
    "ZstdDecompressor.read_to_iter": "reader read_size write_size skip_bytes",
    "ZstdDecompressor.stream_writer": "writer write_size write_return_read closefd",
    "ZstdDecompressor.copy_stream": "ifh ofh read_size write_size",
    "ZstdDecompressor.decompress_content_dict_chain": "frames",
    "ZstdDecompressor.multi_decompress_to_buffer": "frames decompressed_sizes threads",
    "ZstdDecompressor.memory_size": "",
    "ZstdCompressionDict": "data dict_type k d",
    "ZstdCompressionDict.precompute_compress": "level compression_params",
    "ZstdCompressionParameters.from_level": "level source_size dict_size kwargs",
    "ZstdCompressionObj.compress": "data",
    "ZstdCompressionObj.flush": "flush_mode",
    "ZstdCompressionWriter.flush": "flush_mode",
    "ZstdDecompressionObj.decompress": "data",
    "ZstdDecompressionObj.flush": "length",
    "BufferWithSegments": "data segments",
    "frame_content_size": "data",
    "frame_header_size": "data",
    "get_frame_parameters": "data format",
    "estimate_decompression_context_size": "",
    "train_dictionary": "dict_size samples k d f split_point accel notifications dict_id level steps threads",
    "open": "filename mode cctx dctx encoding errors newline closefd",
    "compress": "data level",
    "decompress": "data max_output_size",
}
FILE_METHODS = [
    *("close", "closed", "flush", "isatty", "read", "readable", "readall", "readinto", "readline", "readlines"),
    *("seekable", "tell", "writable", "write", "writelines", "__enter__", "__exit__", "__iter__", "__next__"),
]
WRITER_METHODS = [*FILE_METHODS, "fileno", "memory_size", "seek", "truncate"]


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(zstandard: SimpleNamespace, name: str) -> None:
    """Each takes the arguments of the original, by position and by name."""
    thing: Any = zstandard
    for part in name.split("."):
        thing = getattr(thing, part)
    found = [parameter for parameter in inspect.signature(thing).parameters if parameter not in ("self", "cls")]
    assert found == SIGNATURES[name].split()


def test_file_types(zstandard: SimpleNamespace) -> None:
    """Readers and writers have the methods of the original's."""
    for reader in (zstandard.ZstdCompressionReader, zstandard.ZstdDecompressionReader):
        assert [name for name in [*FILE_METHODS, "read1", "readinto1"] if not hasattr(reader, name)] == []
    for writer in (zstandard.ZstdCompressionWriter, zstandard.ZstdDecompressionWriter):
        assert [name for name in WRITER_METHODS if not hasattr(writer, name)] == []
    assert hasattr(zstandard.ZstdDecompressionReader, "seek")


def test_all_names_are_there() -> None:
    """`__all__` has what the module has, and the module says whose interface it is."""
    assert [name for name in cpkg.zstandard.__all__ if not hasattr(cpkg.zstandard, name)] == []
    assert cpkg.zstandard.__version__ == "0.25.0"
    assert cpkg.zstandard.backend_features == {
        "buffer_types",
        "multi_compress_to_buffer",
        "multi_decompress_to_buffer",
    }
    assert cpkg.zstandard.COMPRESSION_RECOMMENDED_OUTPUT_SIZE == 131591
    assert cpkg.zstandard.DECOMPRESSION_RECOMMENDED_INPUT_SIZE == 131075
    assert cpkg.zstandard.MAGIC_NUMBER == 4247762216


def test_types_of_a_stream(zstandard: SimpleNamespace) -> None:
    """A compressor's objects are of the types that the module names, and its methods belong to it."""
    compressor, decompressor = zstandard.ZstdCompressor(), zstandard.ZstdDecompressor()
    made = (
        (compressor.compressobj(), zstandard.ZstdCompressionObj),
        (compressor.chunker(), zstandard.ZstdCompressionChunker),
        (compressor.stream_reader(b""), zstandard.ZstdCompressionReader),
        (compressor.stream_writer(io.BytesIO()), zstandard.ZstdCompressionWriter),
        (decompressor.decompressobj(), zstandard.ZstdDecompressionObj),
        (decompressor.stream_reader(b""), zstandard.ZstdDecompressionReader),
        (decompressor.stream_writer(io.BytesIO()), zstandard.ZstdDecompressionWriter),
    )
    for thing, kind in made:
        assert type(thing) is kind
    assert type(compressor).__module__ == "cpkg.zstandard"


def test_subclasses(zstandard: SimpleNamespace) -> None:
    """Both types can be derived from, with methods that call the inherited ones."""

    class Counting(zstandard.ZstdCompressor):  # type: ignore[misc, name-defined]
        calls = 0

        def compress(self, data: bytes) -> bytes:
            self.calls += 1
            frame: bytes = super().compress(data)
            return frame

    counting = Counting(level=5)
    assert zstandard.decompress(counting.compress(b"abc")) == b"abc"
    assert counting.calls == 1


def test_wrong_arguments(zstandard: SimpleNamespace) -> None:
    """Values out of bounds and objects of other types are errors of the types that the original raises."""
    with pytest.raises(ValueError, match="level must be less than 23"):
        zstandard.ZstdCompressor(level=23)
    with pytest.raises(TypeError, match="dict_data must be"):
        zstandard.ZstdCompressor(dict_data=b"abc")
    with pytest.raises(TypeError, match="compression_params must be"):
        zstandard.ZstdCompressor(compression_params={})
    with pytest.raises(zstandard.ZstdError, match="Parameter is out of bound"):
        zstandard.ZstdCompressionParameters(window_log=5)
    with pytest.raises(TypeError):
        zstandard.ZstdCompressionParameters(window_log="5")
    for limit in (5, 2**33):
        with pytest.raises(zstandard.ZstdError, match="unable to set max window size"):
            zstandard.ZstdDecompressor(max_window_size=limit)
    with pytest.raises(zstandard.ZstdError, match="unable to set decoding format"):
        zstandard.ZstdDecompressor(format=7)
    for call in (
        lambda: zstandard.ZstdCompressor().chunker(chunk_size=0),
        lambda: zstandard.ZstdCompressor().stream_reader(b"", read_size=0),
        lambda: zstandard.ZstdDecompressor().read_to_iter(b"", write_size=0),
        lambda: zstandard.open("x", "r+"),
        lambda: zstandard.ZstdCompressor().stream_writer(5),
    ):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError):
        zstandard.open(5)


def test_clamped_parameters(zstandard: SimpleNamespace) -> None:
    """Values that the original takes for the nearest bound are taken so."""
    made = zstandard.ZstdCompressionParameters(
        compression_level=100, threads=1000, job_size=5, overlap_log=10, write_checksum=7
    )
    found = made.compression_level, made.threads, made.job_size, made.overlap_log, made.write_checksum
    assert found == (22, 256, 524288, 9, 1)
    with pytest.raises(AttributeError):
        made.threads = 3
    again = pickle.loads(pickle.dumps(made))
    assert repr(again) == repr(made)


@pytest.mark.parametrize(
    ("level", "source_size", "dict_size", "wanted"),
    [
        (1, 0, 0, (19, 13, 14, 1, 7, 0, 1)),
        (3, 16384, 0, (14, 14, 15, 2, 4, 0, 2)),
        (-5, 0, 1000, (14, 12, 13, 1, 5, 5, 1)),
        (9, 5000, 110000, (17, 16, 17, 5, 4, 8, 5)),
        (22, 10**7, 0, (24, 25, 25, 9, 3, 999, 9)),
        (13, 513, 10, (10, 11, 11, 5, 3, 32, 8)),
    ],
)
def test_parameters_of_a_level(
    zstandard: SimpleNamespace, level: int, source_size: int, dict_size: int, wanted: tuple[int, ...]
) -> None:
    """from_level() gives what libzstd 1.5.7 gives (taken from the original)."""
    made = zstandard.ZstdCompressionParameters.from_level(level, source_size, dict_size, threads=2)
    fields = ("window_log", "chain_log", "hash_log", "search_log", "min_match", "target_length", "strategy")
    assert tuple(getattr(made, field) for field in fields) == wanted
    assert made.threads == 2


def test_estimates(zstandard: SimpleNamespace) -> None:
    """The estimated sizes of contexts are those of libzstd 1.5.7 (taken from the original)."""
    parameters = zstandard.ZstdCompressionParameters
    assert parameters(compression_level=1).estimated_compression_context_size() == 582680
    assert parameters(compression_level=19).estimated_compression_context_size() == 85196950
    assert parameters.from_level(5, window_log=14).estimated_compression_context_size() > 3_000_000
    assert parameters(enable_ldm=1).estimated_compression_context_size() > 2**23
    assert zstandard.estimate_decompression_context_size() > 90000


@pytest.mark.parametrize("value", [None, [], "x", 1.5])
def test_numbers_are_asked_for_as_the_original_does(zstandard: SimpleNamespace, value: Any) -> None:
    frame = zstandard.compress(b"abc" * 100)
    compressor, decompressor = zstandard.ZstdCompressor(), zstandard.ZstdDecompressor()
    for call in (
        lambda: zstandard.ZstdDecompressor(max_window_size=value),
        lambda: zstandard.ZstdDecompressor(format=value),
        lambda: zstandard.ZstdCompressor(threads=value),
        lambda: compressor.multi_compress_to_buffer([b"a"], threads=value),
        lambda: compressor.stream_reader(b"abc", size=value),
        lambda: compressor.read_to_iter(b"abc", size=value),
        lambda: decompressor.decompress(frame, max_output_size=value),
        lambda: decompressor.decompressobj(write_size=value),
        lambda: decompressor.read_to_iter(frame, skip_bytes=value),
    ):
        with pytest.raises(TypeError):
            call()


def test_leaving_a_block_returns_false(zstandard: SimpleNamespace) -> None:
    compressor, decompressor = zstandard.ZstdCompressor(), zstandard.ZstdDecompressor()
    for file in (
        compressor.stream_reader(b"abc"),
        compressor.stream_writer(io.BytesIO()),
        decompressor.stream_reader(zstandard.compress(b"abc")),
        decompressor.stream_writer(io.BytesIO()),
    ):
        assert file.__enter__() is file
        assert file.__exit__(ValueError, ValueError("x"), None) is False


def test_readinto_takes_contiguous_buffers(zstandard: SimpleNamespace) -> None:
    apart = memoryview(bytearray(20))[::2]
    for reader in (
        zstandard.ZstdDecompressor().stream_reader(zstandard.compress(b"abc")),
        zstandard.ZstdCompressor().stream_reader(b"abc"),
    ):
        for method in (reader.readinto, reader.readinto1):
            for buffer in (apart, b"abc", "abc"):
                with pytest.raises(TypeError):
                    method(buffer)
