# SPDX-License-Identifier: Apache-2.0
"""Dictionary training with libzstd's fast cover algorithm and all its parameters."""

from __future__ import annotations

from typing import Any

from cpkg._native.zstd.library import Library
from purepy.base.errors import ZstdError
from purepy.zstd.format.error_codes import SRC_SIZE_WRONG
from purepy.zstd.format.zdict import MIN_DICT_SIZE, MIN_TRAINED

_TRAIN = "ZDICT_optimizeTrainFromBuffer_fastCover"
_SPLIT_POINT = 0.75
_MIN_TRAINED_SAMPLES = 5


def train(library: Library, samples: list[bytes], dict_size: int, fields: dict[str, Any]) -> tuple[bytes, int, int]:
    """
    Return a dictionary of at most `dict_size` bytes, and the best values found for `k` and `d`.

    `fields` has the fields of libzstd's ZDICT_fastCover_params_t; 0 means libzstd's default. Raises ValueError for a
    size that is not positive. Raises ZstdError if the samples are too few or too small, for parameters that libzstd
    rejects, and if the library lacks the algorithm.
    """
    if dict_size <= 0:
        raise ValueError("dict_size must be positive")
    lib, ffi = library.lib, library.ffi
    what = "Unable to train the Zstandard dictionary"
    try:
        call = getattr(lib, _TRAIN)
        is_there = bool(ffi.addressof(lib, _TRAIN))
    except AttributeError:
        is_there = False
    if not is_there:
        raise ZstdError(f"{what}: this libzstd was built without {_TRAIN}")
    sizes = [len(sample) for sample in samples]
    if dict_size >= MIN_DICT_SIZE and not _can_train(sizes, fields["splitPoint"] or _SPLIT_POINT):
        raise library.error(library.error_result(SRC_SIZE_WRONG), what)
    parameters = ffi.new("ZDICT_fastCover_params_t *", fields)
    memory = library.new_nonzero("char[]", dict_size)
    size = call(memory, dict_size, b"".join(samples), ffi.new("size_t[]", sizes), len(sizes), parameters)
    if lib.ZDICT_isError(size):
        raise library.error(size, what)
    return ffi.buffer(memory, size)[:], parameters.k, parameters.d


def _can_train(sizes: list[int], split_point: float) -> bool:
    """
    Return whether the samples to learn from are enough: at least 5 of them, with at least 8 bytes in total.

    The samples to learn from are the first `split_point` * len(sizes) samples, or all if `split_point` is 1. `sizes`
    are the sizes of all samples. With fewer bytes libzstd would crash.
    """
    count = int(len(sizes) * split_point) if split_point < 1 else len(sizes)
    return count >= _MIN_TRAINED_SAMPLES and sum(sizes[:count]) >= MIN_TRAINED
