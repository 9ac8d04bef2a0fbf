# SPDX-License-Identifier: Apache-2.0
import io
from collections.abc import Sequence
from typing import Literal, overload

from typing_extensions import Buffer

from cpkg.zstandard.buffers import BufferSegment as BufferSegment
from cpkg.zstandard.buffers import BufferSegments as BufferSegments
from cpkg.zstandard.buffers import BufferWithSegments as BufferWithSegments
from cpkg.zstandard.buffers import BufferWithSegmentsCollection as BufferWithSegmentsCollection
from cpkg.zstandard.compression_objects import ZstdCompressionChunker as ZstdCompressionChunker
from cpkg.zstandard.compression_objects import ZstdCompressionObj as ZstdCompressionObj
from cpkg.zstandard.compressor import ZstdCompressor as ZstdCompressor
from cpkg.zstandard.constants import *  # noqa: F403
from cpkg.zstandard.decompression_objects import ZstdDecompressionObj as ZstdDecompressionObj
from cpkg.zstandard.decompressor import ZstdDecompressor as ZstdDecompressor
from cpkg.zstandard.dictionary import ZstdCompressionDict as ZstdCompressionDict
from cpkg.zstandard.frames import FrameParameters as FrameParameters
from cpkg.zstandard.frames import frame_content_size as frame_content_size
from cpkg.zstandard.frames import frame_header_size as frame_header_size
from cpkg.zstandard.frames import get_frame_parameters as get_frame_parameters
from cpkg.zstandard.parameters import ZstdCompressionParameters as ZstdCompressionParameters
from cpkg.zstandard.readers import ZstdCompressionReader as ZstdCompressionReader
from cpkg.zstandard.readers import ZstdDecompressionReader as ZstdDecompressionReader
from cpkg.zstandard.writers import ZstdCompressionWriter as ZstdCompressionWriter
from cpkg.zstandard.writers import ZstdDecompressionWriter as ZstdDecompressionWriter
from cpkg.zstd import _File
from purepy.base.errors import ZstdError as ZstdError

__version__: str
backend: str
backend_features: set[str]
CompressionParameters = ZstdCompressionParameters
ZSTD_VERSION: tuple[int, int, int]

def compress(data: Buffer, level: int = 3) -> bytes:
    """Compress `data`, a buffer, into one frame and return it as bytes; `level` is that of ZstdCompressor."""

def decompress(data: Buffer, max_output_size: int = 0) -> bytes:
    """
    Decompress the frame at the start of `data`, a buffer, and return its content as bytes.

    `max_output_size` is the same as for `ZstdDecompressor.decompress`.
    """

def estimate_decompression_context_size() -> int:
    """Return about how many bytes of memory a ZstdDecompressor needs, without the window."""

@overload
def open(
    filename: _File,
    mode: Literal["rb"] = "rb",
    cctx: ZstdCompressor | None = None,
    dctx: ZstdDecompressor | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    closefd: bool | None = None,
) -> ZstdDecompressionReader:
    """
    Open a file of compressed data; `filename` is a path or a file object.

    `mode` is "r", "w", "a" or "x" (default "rb"): with "b" the file is opened for bytes, without it, or with "t",
    for text. For bytes, the result is a ZstdDecompressionReader or a ZstdCompressionWriter, for text an
    io.TextIOWrapper. `cctx` is the ZstdCompressor and `dctx` the ZstdDecompressor to use instead of one with
    default settings. `encoding`, `errors` and `newline` are those of io.TextIOWrapper.
    Closing the result closes a file object only if `closefd` is true. A file that was opened by its path is always
    closed. Raises ValueError for another mode, and TypeError for an object that is neither a path nor a file.
    """

@overload
def open(
    filename: _File,
    mode: Literal["wb", "ab", "xb"],
    cctx: ZstdCompressor | None = None,
    dctx: ZstdDecompressor | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    closefd: bool | None = None,
) -> ZstdCompressionWriter: ...
@overload
def open(
    filename: _File,
    mode: Literal["r", "w", "a", "x", "rt", "wt", "at", "xt"],
    cctx: ZstdCompressor | None = None,
    dctx: ZstdDecompressor | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    closefd: bool | None = None,
) -> io.TextIOWrapper: ...
def train_dictionary(
    dict_size: int,
    samples: Sequence[bytes],
    k: int = 0,
    d: int = 0,
    f: int = 0,
    split_point: float = 0.0,
    accel: int = 0,
    notifications: int = 0,
    dict_id: int = 0,
    level: int = 0,
    steps: int = 0,
    threads: int = 0,
) -> ZstdCompressionDict:
    """
    Train a dictionary of at most `dict_size` bytes on `samples`, a list of bytes.

    Args:
        dict_size: the largest size in bytes.
        samples: the data to learn from.
        k, d: the length of a segment, and of a group of bytes (6 or 8); 0 searches for the best value, except that
            `d` is 8 if `steps` and `threads` are both 0.
        f: the logarithm of the size of the frequency table.
        split_point: the fraction of the samples to learn from; the other samples evaluate the result.
        accel: 1 to 10; higher values are faster and give worse dictionaries.
        notifications: how much libzstd prints to standard error.
        dict_id: the dictionary's number; 0 derives it from the content.
        level: the compression level that the dictionary is meant for.
        steps: how many values of `k` are tried; 4 if `steps` and `threads` are both 0.
        threads: how many threads search; below 0, one per processor.

    Unless stated otherwise, 0 means libzstd's default. The backend `stdlib` uses only `dict_size`, `samples` and
    `dict_id`; `pure` cannot train and raises ZstdError. Raises TypeError and ValueError for wrong arguments, and
    ZstdError if the samples are too small or too few, or if libzstd rejects a parameter.
    """
