# SPDX-License-Identifier: Apache-2.0
"""
Parameters of Zstandard and the fields of a frame's header: types that every backend accepts and returns.

They are defined once, so that options or a FrameInfo from one backend work with all. The numbers are libzstd's
(`ZSTD_cParameter`, `ZSTD_dParameter`, `ZSTD_strategy` in zstd.h), as in `compression.zstd`.
"""

from __future__ import annotations

import enum
import operator

from purepy.zstd.format.rules import ERROR_SIZE, LEVEL_MAX, LEVEL_MIN, WINDOW_LOG_MAX, WINDOW_LOG_MIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from typing_extensions import TypeAlias

COMPRESSION_LEVEL_DEFAULT = 3
"""The level that `level=None` and level 0 mean (ZSTD_CLEVEL_DEFAULT)."""

WINDOW_LOG_MAX_KEY = 100
"""The key of `DecompressionParameter.window_log_max` (ZSTD_d_windowLogMax)."""

COMPRESSION_FORMAT, DECOMPRESSION_FORMAT = 10, 1000
"""
The keys of parameters that are in no enum (ZSTD_c_format, ZSTD_d_format); 1 means frames without magic number.

libzstd's other experimental parameters are not accepted. Every backend supports these two.
"""

# The bounds of all accepted parameters in libzstd 1.5 on 64-bit machines. If a backend's library differs, the backend
# provides the bounds instead: see answer_bounds_from().
COMPRESSION_BOUNDS = {
    COMPRESSION_FORMAT: (0, 1),
    100: (LEVEL_MIN, LEVEL_MAX),
    101: (WINDOW_LOG_MIN, WINDOW_LOG_MAX),
    102: (6, 30),
    103: (6, 30),
    104: (1, 30),
    105: (3, 7),
    106: (0, 131072),
    107: (1, 9),
    130: (1340, 131072),
    160: (0, 2),
    161: (6, 30),
    162: (4, 4096),
    163: (1, 8),
    164: (0, 25),
    200: (0, 1),
    201: (0, 1),
    202: (0, 1),
    400: (0, 256),
    401: (0, 1 << 30),
    402: (0, 9),
}
DECOMPRESSION_BOUNDS = {WINDOW_LOG_MAX_KEY: (WINDOW_LOG_MIN, WINDOW_LOG_MAX), DECOMPRESSION_FORMAT: (0, 1)}

WINDOW_SIZE_MAX_DEFAULT = (1 << 27) + 1
"""The largest window that is decompressed by default, without `window_log_max` (ZSTD_MAXWINDOWSIZE_DEFAULT)."""

_EXPERIMENTAL_TARGET = 1003
"""The key of `target_cblock_size` in libzstd before 1.5.6."""

BoundsSource: TypeAlias = "Callable[[int, bool], tuple[int, int]]"


def table_bounds(key: int, is_compress: bool) -> tuple[int, int]:
    """Return a parameter's lowest and highest value in libzstd 1.5; raises ValueError for an unknown parameter."""
    try:
        return (COMPRESSION_BOUNDS if is_compress else DECOMPRESSION_BOUNDS)[key]
    except KeyError:
        raise invalid_parameter(key, 0, is_compress, None) from None


_bounds_source: BoundsSource = table_bounds


def answer_bounds_from(source: BoundsSource) -> None:
    """
    Let the enums' `bounds()` return the results of `source(key, is_compress)`.

    cpkg.zstd passes the function of the backend that it chose: all backends share the enums, but their libraries
    differ. Until then, `bounds()` returns libzstd 1.5's bounds.
    """
    global _bounds_source
    _bounds_source = source


def in_library(pairs: list[tuple[int, int]], version: tuple[int, ...]) -> list[tuple[int, int]]:
    """
    Return checked compression parameters with the keys that libzstd of this version uses.

    Only the key of `target_cblock_size` differs: it is 130 from version 1.5.6 on, and 1003 before.
    """
    if version >= (1, 5, 6):
        return pairs
    target = CompressionParameter.target_cblock_size
    return [(_EXPERIMENTAL_TARGET if key == target else key, value) for key, value in pairs]


class CompressionParameter(enum.IntEnum):
    """Keys of the `options` dict when compressing (replaces `compression.zstd.CompressionParameter`)."""

    compression_level = 100
    window_log = 101
    hash_log = 102
    chain_log = 103
    search_log = 104
    min_match = 105
    target_length = 106
    strategy = 107

    target_cblock_size = 130
    """About the largest size of a compressed block in bytes, so that a reader gets content early (0: no such limit)."""

    enable_long_distance_matching = 160
    ldm_hash_log = 161
    ldm_min_match = 162
    ldm_bucket_size_log = 163
    ldm_hash_rate_log = 164

    content_size_flag = 200
    checksum_flag = 201
    dict_id_flag = 202

    nb_workers = 400
    job_size = 401
    overlap_log = 402

    def bounds(self) -> tuple[int, int]:
        """
        Return the lowest and the highest allowed value, both inclusive, for the backend in use.

        (0, 0) for `nb_workers` means that the backend compresses only in the calling thread.
        """
        return _bounds_source(int(self), True)


class DecompressionParameter(enum.IntEnum):
    """Keys of the `options` dict when decompressing (replaces `compression.zstd.DecompressionParameter`)."""

    window_log_max = WINDOW_LOG_MAX_KEY

    def bounds(self) -> tuple[int, int]:
        """Return the lowest and the highest allowed value, both inclusive, for the backend in use."""
        return _bounds_source(int(self), False)


class Strategy(enum.IntEnum):
    """
    Values of `CompressionParameter.strategy`, from the fastest to the strongest.

    Only the order is guaranteed; the numbers may change (replaces `compression.zstd.Strategy`).
    """

    fast = 1
    dfast = 2
    greedy = 3
    lazy = 4
    lazy2 = 5
    btlazy2 = 6
    btopt = 7
    btultra = 8
    btultra2 = 9


def invalid_parameter(key: int, value: int, is_compress: bool, bounds: tuple[int, int] | None) -> ValueError:
    """
    Return the ValueError for a parameter that the codec rejects, with the text of `compression.zstd`.

    `bounds` is None if the codec does not know the parameter; `value` is then ignored.
    """
    kind = "compression" if is_compress else "decompression"
    try:
        name = (CompressionParameter if is_compress else DecompressionParameter)(key).name
    except ValueError:
        name = f"unknown parameter (key {key})"
    if bounds is None:
        return ValueError(f"invalid {kind} parameter '{name}'")
    return ValueError(
        f"{kind} parameter '{name}' received an illegal value {value}; the valid range is [{bounds[0]}, {bounds[1]}]"
    )


def invalid_level(level: int, bounds: tuple[int, int]) -> ValueError:
    """Return the ValueError for a compression level out of range, with the text of `compression.zstd`."""
    shown = f" {level}" if -(2**31) <= level < 2**31 else ""
    return ValueError(f"illegal compression level{shown}; the valid range is [{bounds[0]}, {bounds[1]}]")


def checked_level(level: object, options: object, bounds: tuple[int, int]) -> int:
    """
    Return `level` as an int.

    Raises TypeError if it is not an int, or if `options` is not None, and ValueError if it is outside `bounds`.
    """
    if options is not None:
        raise TypeError("Only one of level or options should be used.")
    if not isinstance(level, int):
        raise TypeError("invalid type for level, expected int")
    if not bounds[0] <= level <= bounds[1]:
        raise invalid_level(level, bounds)
    return int(level)


def checked_options(options: object, is_compress: bool, bounds_of: BoundsSource) -> list[tuple[int, int]]:
    """
    Return the keys and values of an `options` dict as pairs of integers that fit a C int, in the same order.

    `bounds_of(key, is_compress)` returns the bounds of a parameter, or raises ValueError for an unknown one; the value
    0, which means the default, is always accepted. Raises TypeError for an object that is not a dict, for a key of the
    other direction's enum, and for a key or value that is not an integer. Raises OverflowError for an integer beyond a
    C int, and ValueError for an unknown parameter or a value out of bounds.
    """
    if not isinstance(options, dict):
        direction = "Zstd" + ("Compressor" if is_compress else "Decompressor")
        raise TypeError(f"{direction}() argument 'options' must be dict, not {type(options).__name__}")
    wrong = DecompressionParameter if is_compress else CompressionParameter
    pairs = []
    for key, value in options.items():
        if type(key) is wrong:
            kind = "compression" if is_compress else "decompression"
            raise TypeError(f"{kind} options dictionary key must not be a {wrong.__name__} attribute")
        pairs.append((_integer(key), _integer(value)))
    for key, value in pairs:
        bounds = bounds_of(key, is_compress)
        if value and not bounds[0] <= value <= bounds[1]:
            if is_compress and key == CompressionParameter.compression_level:
                raise invalid_level(value, bounds)
            raise invalid_parameter(key, value, is_compress, bounds)
    return pairs


def _integer(value: object) -> int:
    number = value.__index__() if hasattr(value, "__index__") else None
    if not isinstance(number, int):
        raise TypeError(f"an integer is required, not {type(value).__name__}")
    if not -(2**31) <= number < 2**31:
        raise OverflowError("Python int too large to convert to C int")
    return int(number)


def size_argument(value: int | None, name: str) -> int | None:
    """
    Return an argument that is a size in bytes as an int, and None for None.

    Raises TypeError if it is neither an integer nor None, and ValueError, which mentions `name`, if it is negative.
    """
    if value is None:
        return None
    number = operator.index(value)
    if number < 0:
        raise ValueError(f"{name} must be 0 or more, not {number}")
    return number


def pledge_argument(size: int | None) -> int | None:
    """Return a pledged size in bytes as an int, and None for None; raise ValueError if no header can declare it."""
    if size is None:
        return None
    number = operator.index(size)
    if not 0 <= number < ERROR_SIZE:
        raise ValueError(f"size argument should be a positive int less than {ERROR_SIZE}")
    return number


def window_size_max(pairs: list[tuple[int, int]]) -> int:
    """
    Return the largest window, in bytes, that checked decompression options allow.

    As in libzstd, the size is 128 MiB + 1 without `window_log_max`, and 128 MiB if `window_log_max` is 0.
    """
    size = WINDOW_SIZE_MAX_DEFAULT
    for key, value in pairs:
        if key == DecompressionParameter.window_log_max:
            size = 1 << value if value else WINDOW_SIZE_MAX_DEFAULT - 1
    return size


class FrameInfo:
    """
    The fields of a frame's header (replaces `compression.zstd.FrameInfo`).

    `decompressed_size` is the size of the content in bytes, or None if the header does not declare it. `dictionary_id`
    is the number of the required dictionary, 0 if the header names none. Unlike the original, the type supports
    pickling, copying and comparison by value.
    """

    __module__ = "cpkg.zstd"  # where callers find it
    __slots__ = ("decompressed_size", "dictionary_id")

    decompressed_size: int | None
    dictionary_id: int

    def __init__(self, decompressed_size: int | None, dictionary_id: int) -> None:
        object.__setattr__(self, "decompressed_size", decompressed_size)
        object.__setattr__(self, "dictionary_id", dictionary_id)

    def __repr__(self) -> str:
        return f"FrameInfo(decompressed_size={self.decompressed_size}, dictionary_id={self.dictionary_id})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FrameInfo):
            return NotImplemented
        return (self.decompressed_size, self.dictionary_id) == (other.decompressed_size, other.dictionary_id)

    def __hash__(self) -> int:
        return hash((self.decompressed_size, self.dictionary_id))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"can't set attribute {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"can't delete attribute {name!r}")

    def __reduce__(self) -> tuple[type[FrameInfo], tuple[int | None, int]]:
        return type(self), (self.decompressed_size, self.dictionary_id)
