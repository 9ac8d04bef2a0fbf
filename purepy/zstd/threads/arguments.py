# SPDX-License-Identifier: Apache-2.0
"""
The arguments `threads` and `frame_size` of a backend's functions, checked: plans that all threads of a call work by.

`module` is the backend's module, whose functions do the work. Threads are of use where that runs without the GIL: the
pure backend makes the same frames in the calling thread, and decompresses as if no threads were asked for.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Callable, NamedTuple

from purepy.base.cores import python_runs_in_parallel, thread_count
from purepy.base.errors import ZstdError
from purepy.zstd.format.error_codes import truncated_error
from purepy.zstd.format.parameters import DECOMPRESSION_FORMAT, CompressionParameter
from purepy.zstd.format.zdict import DIGESTED, PREFIX, UNDIGESTED, parse_dict_argument
from purepy.zstd.threads.frame_sizes import frame_size_for, is_slow

if TYPE_CHECKING:
    from purepy.base.types import Bytes, Decompressor, FrameCompressor, Parameters
    from purepy.zstd.format.zdict import DictArgument

_STEP = 1 << 20
_NO_MEMORY = 64  # ZSTD_error_memory_allocation
_WORKERS_KEY = int(CompressionParameter.nb_workers)


def useful_threads(module: ModuleType, threads: int | None) -> int:
    """Check the argument `threads`; return how many are of use. None is one, 0 one per core."""
    count = 1 if threads is None else thread_count(threads)
    return count if module.RELEASES_GIL or python_runs_in_parallel() else 1


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
