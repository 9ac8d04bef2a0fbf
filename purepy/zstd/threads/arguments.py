# SPDX-License-Identifier: Apache-2.0
"""
The arguments `threads` and `frame_size` of a backend's functions, checked: plans that all threads of a call work by.

`module` is the backend's module, whose functions do the work. Threads are of use where that runs without the GIL: the
pure backend makes the same frames in the calling thread, and decompresses as if no threads were asked for.
"""

from __future__ import annotations

import operator
from types import ModuleType
from typing import TYPE_CHECKING, Callable, NamedTuple

from purepy.base.cores import python_runs_in_parallel, thread_count
from purepy.base.errors import ZstdError
from purepy.zstd.format.error_codes import truncated_error
from purepy.zstd.format.parameters import COMPRESSION_LEVEL_DEFAULT, DECOMPRESSION_FORMAT, CompressionParameter
from purepy.zstd.format.zdict import DIGESTED, PREFIX, UNDIGESTED, parse_dict_argument

if TYPE_CHECKING:
    from purepy.base.types import Bytes, Decompressor, FrameCompressor, Parameters
    from purepy.zstd.format.zdict import DictArgument

_STEP = 1 << 20
_NO_MEMORY = 64  # ZSTD_error_memory_allocation
_WORKERS_KEY = int(CompressionParameter.nb_workers)
_SLOW_LEVEL, _SLOW_STRATEGY = 10, 6

FRAME_SIZE_MIN = 1 << 10
FRAME_SIZE_MAX = 1 << 30
"""The most content of one frame, as in zstd's seekable format."""

_DEFAULT_SIZE_MIN, _DEFAULT_SIZE_MAX = 16 << 20, 64 << 20
_WINDOWS_PER_FRAME = 16
# the highest level that has a window of that logarithm, for content of more than 256 KiB
_WINDOW_LOGS = ((1, 19), (2, 20), (8, 21), (16, 22), (19, 23), (20, 25), (21, 26))
_WINDOW_LOG_LONG = 27


def useful_threads(module: ModuleType, threads: int | None) -> int:
    """Check the argument `threads`; return how many are of use. None is one, 0 one per core."""
    count = 1 if threads is None else thread_count(threads)
    return count if module.RELEASES_GIL or python_runs_in_parallel() else 1


def _parameters(level: int | None, options: Parameters) -> dict[int, int]:
    found = {int(key): int(value) for key, value in options.items()} if options else {}
    if level:
        found[int(CompressionParameter.compression_level)] = int(level)
    return {key: value for key, value in found.items() if value}


def frame_size_for(frame_size: int | None, level: int | None, options: Parameters) -> int:
    """
    Return the content's size of each frame but the last: the argument `frame_size`, or what suits checked parameters.

    That is sixteen windows, so that little is lost by each beginning without history, but at least 16 MiB and at most
    64 MiB. Raises TypeError for what is no integer, ValueError for a size below 1 KiB or above 1 GiB.
    """
    if frame_size is not None:
        size = operator.index(frame_size)
        if not FRAME_SIZE_MIN <= size <= FRAME_SIZE_MAX:
            raise ValueError(f"frame_size must be {FRAME_SIZE_MIN} to {FRAME_SIZE_MAX} bytes, not {size}")
        return size
    found = _parameters(level, options)
    chosen = found.get(int(CompressionParameter.compression_level), COMPRESSION_LEVEL_DEFAULT)
    window_log = next((log for highest, log in _WINDOW_LOGS if chosen <= highest), _WINDOW_LOG_LONG)
    if found.get(int(CompressionParameter.enable_long_distance_matching)) == 1:
        window_log = _WINDOW_LOG_LONG
    window_log = found.get(int(CompressionParameter.window_log), window_log)
    return min(max(_WINDOWS_PER_FRAME << window_log, _DEFAULT_SIZE_MIN), _DEFAULT_SIZE_MAX)


def is_slow(level: int | None, options: Parameters) -> bool:
    """Say whether a frame takes so long that a thread has to look in between whether it is still wanted."""
    found = _parameters(level, options)
    return (
        found.get(int(CompressionParameter.compression_level), 0) >= _SLOW_LEVEL
        or found.get(int(CompressionParameter.strategy), 0) >= _SLOW_STRATEGY
    )


class CompressionPlan(NamedTuple):
    """What all frames of an output are compressed with: a backend's functions and the caller's checked arguments."""

    compress: Callable[..., bytes]
    compressor_type: Callable[..., FrameCompressor]
    threads: int
    frame_size: int
    level: int | None
    options: Parameters
    zstd_dict: DictArgument
    is_slow: bool

    def frame(self, data: Bytes, check: Callable[[], None]) -> bytes:
        """Compress one frame; where that takes long, call `check` in between."""
        try:
            return self._frame(data, check)
        except ZstdError as exc:
            if exc.code == _NO_MEMORY:
                raise MemoryError(str(exc)) from exc
            raise

    def _frame(self, data: Bytes, check: Callable[[], None]) -> bytes:
        if not self.is_slow:
            return self.compress(data, self.level, self.options, self.zstd_dict)
        compressor = self.compressor_type(self.level, self.options, self.zstd_dict)
        compressor.set_pledged_input_size(len(data))
        pieces = [compressor.compress(b"")]
        for start in range(0, len(data), _STEP):
            check()
            pieces.append(compressor.compress(data[start : start + _STEP]))
        pieces.append(compressor.flush())
        return b"".join(pieces)


def plan_compression(
    module: ModuleType,
    threads: int | None,
    frame_size: int | None,
    level: int | None,
    options: Parameters,
    zstd_dict: DictArgument,
) -> CompressionPlan:
    """
    Check the arguments of a compression into several frames.

    Raises what `compress` raises for `level`, `options` and `zstd_dict`, besides ValueError for `nb_workers` (both are
    ways to use several cores) and for a prefix, which other readers know in front of the first frame only.
    """
    count = useful_threads(module, threads)
    module.ZstdCompressor(level, options, zstd_dict)
    size = frame_size_for(frame_size, level, options)
    if options and options.get(_WORKERS_KEY):
        raise ValueError("threads and nb_workers exclude each other: leave nb_workers out")
    if zstd_dict is not None and parse_dict_argument(zstd_dict, UNDIGESTED)[1] == PREFIX:
        raise ValueError("threads and frame_size make several frames, a prefix is for one: use as_undigested_dict")
    if options is not None:
        options = dict(options)
    slow = is_slow(level, options)
    return CompressionPlan(module.compress, module.ZstdCompressor, count, size, level, options, zstd_dict, slow)


class DecompressionPlan(NamedTuple):
    """What all frames of an input are decompressed with: a backend's functions and the caller's checked arguments."""

    decompress: Callable[..., bytes]
    decompress_into: Callable[..., int]
    decompressor_type: Callable[..., Decompressor]
    threads: int
    zstd_dict: DictArgument
    options: Parameters
    truncated: Callable[[int], Exception]

    def new_decompressor(self) -> Decompressor:
        """Return a decompressor that goes over all frames."""
        return self.decompressor_type(self.zstd_dict, self.options, multi_frame=True)


def plan_decompression(
    module: ModuleType,
    threads: int | None,
    zstd_dict: DictArgument,
    options: Parameters,
    truncated: Callable[[int], Exception] = truncated_error,
) -> DecompressionPlan | None:
    """
    Check `threads`; return None if several are of no use, else what they decompress with.

    They are of none for frames without magic number, and with a prefix, which is for one frame. `truncated(given)`
    makes the error of an input that ends inside a frame, after so many bytes.
    """
    count = useful_threads(module, threads)
    if count == 1 or (options and options.get(DECOMPRESSION_FORMAT)):
        return None
    if zstd_dict is not None and parse_dict_argument(zstd_dict, DIGESTED)[1] == PREFIX:
        return None
    if options is not None:
        options = dict(options)
    return DecompressionPlan(
        module.decompress, module.decompress_into, module.ZstdDecompressor, count, zstd_dict, options, truncated
    )
