# SPDX-License-Identifier: Apache-2.0
"""
Checks of the arguments `threads` and `frame_size` of a backend's functions, and the plans that a call's threads share.

`module` is the backend's module, whose functions do the work. Threads help only where that work runs without the GIL.
Where it needs the GIL, the same frames are created in the calling thread, and decompression ignores `threads`.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Callable, NamedTuple

from purepy.base.cores import checked_int, python_runs_in_parallel, thread_count
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
"""The largest content of one frame in bytes, as in zstd's seekable format."""

_DEFAULT_SIZE_MIN, _DEFAULT_SIZE_MAX = 16 << 20, 64 << 20
_WINDOWS_PER_FRAME = 16
# pairs of the highest level and the window log that it and lower levels have, for content of more than 256 KiB
_WINDOW_LOGS = ((1, 19), (2, 20), (8, 21), (16, 22), (19, 23), (20, 25), (21, 26))
_WINDOW_LOG_LONG = 27


def useful_threads(module: ModuleType, threads: int | None) -> int:
    """Check `threads` (None: one, 0: one per core); return how many to use: one where more would not be faster."""
    count = 1 if threads is None else thread_count(threads)
    return count if module.RELEASES_GIL or python_runs_in_parallel() else 1


def _parameters(level: int | None, options: Parameters) -> dict[int, int]:
    found = {int(key): int(value) for key, value in options.items()} if options else {}
    if level:
        found[int(CompressionParameter.compression_level)] = int(level)
    return {key: value for key, value in found.items() if value}


def frame_size_for(frame_size: int | None, level: int | None, options: Parameters) -> int:
    """
    Return the content size of every frame but the last: the argument `frame_size`, or a size that suits the parameters.

    The default is sixteen windows, so that frames lose little by starting without history, but at least 16 MiB and at
    most 64 MiB. Raises TypeError unless the argument is None or an integer, and ValueError for less than 1 KiB or more
    than 1 GiB.
    """
    if frame_size is not None:
        size = checked_int("frame_size", frame_size)
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
    """Return whether compressing a frame takes so long that its thread must check for a stop before it is finished."""
    found = _parameters(level, options)
    return (
        found.get(int(CompressionParameter.compression_level), 0) >= _SLOW_LEVEL
        or found.get(int(CompressionParameter.strategy), 0) >= _SLOW_STRATEGY
    )


class CompressionPlan(NamedTuple):
    """A backend's functions and the caller's checked arguments for compressing all frames of an output."""

    compress: Callable[..., bytes]
    compressor_type: Callable[..., FrameCompressor]
    threads: int
    frame_size: int
    level: int | None
    options: Parameters
    zstd_dict: DictArgument
    is_slow: bool

    def frame(self, data: Bytes, check: Callable[[], None]) -> bytes:
        """Compress `data` and return the frame; if `is_slow`, call `check()` (it may raise Stopped) before each MiB."""
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
    Check the arguments of a compression into several frames, and return them as a plan.

    Raises the errors of `compress` for `level`, `options` and `zstd_dict`, and TypeError or ValueError for a wrong
    `threads` or `frame_size`. Also raises ValueError for the option `nb_workers`, another way to use several cores, and
    for a prefix, which other readers apply only to the first frame.
    """
    count = useful_threads(module, threads)
    module.ZstdCompressor(level, options, zstd_dict)
    size = frame_size_for(frame_size, level, options)
    if options and options.get(_WORKERS_KEY):
        raise ValueError(
            "nb_workers cannot be combined with threads or frame_size: leave out nb_workers, or both of them"
        )
    if zstd_dict is not None and parse_dict_argument(zstd_dict, UNDIGESTED)[1] == PREFIX:
        raise ValueError(
            "a prefix works for one frame, but threads or frame_size create several: use as_undigested_dict"
        )
    if options is not None:
        options = dict(options)
    slow = is_slow(level, options)
    return CompressionPlan(module.compress, module.ZstdCompressor, count, size, level, options, zstd_dict, slow)


class DecompressionPlan(NamedTuple):
    """
    A backend's functions and the caller's checked arguments for decompressing all frames of an input.

    `truncated(given)` returns the error for an input that ends inside a frame, after `given` bytes.
    """

    decompress: Callable[..., bytes]
    decompress_into: Callable[..., int]
    decompressor_type: Callable[..., Decompressor]
    threads: int
    zstd_dict: DictArgument
    options: Parameters
    truncated: Callable[[int], Exception]

    def new_decompressor(self) -> Decompressor:
        """Return a decompressor for several frames."""
        return self.decompressor_type(self.zstd_dict, self.options, multi_frame=True)


def plan_decompression(
    module: ModuleType,
    threads: int | None,
    zstd_dict: DictArgument,
    options: Parameters,
    truncated: Callable[[int], Exception] = truncated_error,
) -> DecompressionPlan | None:
    """
    Check `threads`; return the plan for decompressing with several threads, or None if one thread does all the work.

    That is so if `threads` means one thread, if the GIL prevents parallel work, for frames without magic number, and
    with a prefix. `zstd_dict` and `options` are assumed to be checked; see DecompressionPlan for `truncated`.
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
