# SPDX-License-Identifier: Apache-2.0
"""A compressor's `level` and `options`, with the checks of `compression.zstd`."""

from __future__ import annotations

from purepy.zstd.encoder.levels import MatchParameters, fit, parameters_for
from purepy.zstd.format.parameters import (
    COMPRESSION_FORMAT,
    COMPRESSION_LEVEL_DEFAULT,
    BoundsSource,
    CompressionParameter,
    checked_level,
    checked_options,
    table_bounds,
)
from purepy.zstd.format.rules import BLOCK_SIZE_MAX, LEVEL_MAX, LEVEL_MIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from purepy.base.types import Parameters

LEVEL_BOUNDS = (LEVEL_MIN, LEVEL_MAX)

# One thread compresses, as in a libzstd built without threads.
_THREADS = (CompressionParameter.nb_workers, CompressionParameter.job_size, CompressionParameter.overlap_log)
_MATCHING = [(CompressionParameter[name], name) for name in MatchParameters._fields]
_LONG_WINDOW_LOG = 27
# Values of enable_long_distance_matching: 0 leaves it to the level, which here means off, and 2 is off.
_ON = 1


def parameter_bounds(key: int, is_compress: bool) -> tuple[int, int]:
    """Return a parameter's bounds, (0, 0) if it is about threads; raises ValueError for an unknown parameter."""
    if is_compress and key in _THREADS:
        return 0, 0
    return table_bounds(key, is_compress)


class EncoderOptions:
    """The settings from `level` and `options`; the level determines match parameters that are 0 or missing."""

    __slots__ = (
        "checksum",
        "content_size",
        "dict_id",
        "level",
        "long_distance",
        "magicless",
        "overrides",
        "pairs",
        "target_size",
    )

    def __init__(
        self, level: int | None = None, options: Parameters = None, bounds_of: BoundsSource = parameter_bounds
    ) -> None:
        self.level = COMPRESSION_LEVEL_DEFAULT
        self.content_size = True
        self.checksum = False
        self.dict_id = True
        self.magicless = False
        self.overrides: dict[str, object] = {}
        self.long_distance = False
        self.target_size = BLOCK_SIZE_MAX
        self.pairs: list[tuple[int, int]] = []
        """The keys and values of `options` or, if `level` is given, `compression_level` with the level (3 for 0)."""
        if level is not None:
            self.level = checked_level(level, options, LEVEL_BOUNDS) or COMPRESSION_LEVEL_DEFAULT
            self.pairs = [(CompressionParameter.compression_level, self.level)]
        elif options is not None:
            self.pairs = checked_options(options, True, bounds_of)
            self._take(dict(self.pairs))

    def _take(self, values: dict[int, int]) -> None:
        self.level = values.get(CompressionParameter.compression_level) or COMPRESSION_LEVEL_DEFAULT
        self.content_size = bool(values.get(CompressionParameter.content_size_flag, True))
        self.checksum = bool(values.get(CompressionParameter.checksum_flag, False))
        self.dict_id = bool(values.get(CompressionParameter.dict_id_flag, True))
        self.target_size = values.get(CompressionParameter.target_cblock_size) or BLOCK_SIZE_MAX
        self.magicless = bool(values.get(COMPRESSION_FORMAT, 0))
        self.overrides = {name: values[key] for key, name in _MATCHING if values.get(key)}
        self.long_distance = values.get(CompressionParameter.enable_long_distance_matching) == _ON
        if self.long_distance:
            self.overrides.setdefault("window_log", _LONG_WINDOW_LOG)

    def match_parameters(self, size: int | None, prefix_size: int = 0) -> MatchParameters:
        """Return the match finder's parameters for `size` bytes (None: unknown) after `prefix_size` bytes of prefix."""
        parameters = parameters_for(self.level, size, prefix_size)
        if self.overrides:
            parameters = fit(parameters._replace(**self.overrides), size, prefix_size)
        return parameters
