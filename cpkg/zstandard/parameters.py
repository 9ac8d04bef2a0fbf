# SPDX-License-Identifier: Apache-2.0
"""ZstdCompressionParameters: libzstd's parameters as one object, and the parameters of a level."""

from __future__ import annotations

from operator import index

from cpkg.zstandard.arguments import threads_wanted
from cpkg.zstandard.constants import MINMATCH_MIN, STRATEGY_FAST, STRATEGY_GREEDY, STRATEGY_LAZY2
from cpkg.zstandard.levels import MATCH_FIELDS, match_parameters
from purepy.zstd.format.error_codes import NAMES, PARAMETER_OUT_OF_BOUND, coded_error
from purepy.zstd.format.parameters import COMPRESSION_BOUNDS, COMPRESSION_FORMAT, CompressionParameter

FORCE_MAX_WINDOW = 1000
"""The key of libzstd's ZSTD_c_forceMaxWindow, which CompressionParameter lacks."""

JOB_SIZE_MIN = 512 << 10

_CONTEXT_SIZE = 512 << 10
"""About the size in bytes of libzstd's context without tables: statistics, literals and sequences of a block."""
_HASH3_LOG_MAX = 17
_LDM_HASH_LOG = 20

_UNDER_OTHER_NAMES = {
    "format": COMPRESSION_FORMAT,
    "write_content_size": CompressionParameter.content_size_flag,
    "write_checksum": CompressionParameter.checksum_flag,
    "write_dict_id": CompressionParameter.dict_id_flag,
    "force_max_window": FORCE_MAX_WINDOW,
    "enable_ldm": CompressionParameter.enable_long_distance_matching,
    "threads": CompressionParameter.nb_workers,
}
"""The keys of parameters that have another name in CompressionParameter, or are missing there."""

_FLAGS = ("write_content_size", "write_checksum", "write_dict_id", "force_max_window")
_CLAMPED = ("compression_level", "job_size", "overlap_log", "threads")
_OF_THREADS = ("job_size", "overlap_log")


class ZstdCompressionParameters:
    """
    Parameters of libzstd for a ZstdCompressor (replaces `zstandard.ZstdCompressionParameters`). Immutable.

    Args:
        format: FORMAT_ZSTD1 or FORMAT_ZSTD1_MAGICLESS.
        compression_level: the level. If it is out of bounds, the nearest allowed value replaces it; the same is true of
            `threads`, `job_size` and `overlap_log`.
        window_log, hash_log, chain_log, search_log, min_match, target_length, strategy: how matches are searched for;
            0, or -1 for `strategy`, means the level's value.
        write_content_size, write_checksum, write_dict_id: 1 to write this field into the frame, 0 to omit it.
        threads: the number of additional threads that compress (0: only the caller's); below 0, one per processor.
        job_size, overlap_log: the size in bytes of each thread's part, and the overlap with the part before, from 1
            (none) to 9 (a window). A `job_size` of 0 and an `overlap_log` of -1 or 0 mean libzstd's defaults.
        force_max_window: 1 to keep all references within the window, also those to a dictionary.
        enable_ldm, ldm_hash_log, ldm_min_match, ldm_bucket_size_log, ldm_hash_rate_log: the search for distant matches.

    Raises ZstdError for any other value out of bounds.
    """

    format: int
    compression_level: int
    window_log: int
    hash_log: int
    chain_log: int
    search_log: int
    min_match: int
    target_length: int
    strategy: int
    write_content_size: int
    write_checksum: int
    write_dict_id: int
    job_size: int
    overlap_log: int
    force_max_window: int
    enable_ldm: int
    ldm_hash_log: int
    ldm_min_match: int
    ldm_bucket_size_log: int
    ldm_hash_rate_log: int
    threads: int

    def __init__(
        self,
        format: int = 0,
        compression_level: int = 0,
        window_log: int = 0,
        hash_log: int = 0,
        chain_log: int = 0,
        search_log: int = 0,
        min_match: int = 0,
        target_length: int = 0,
        strategy: int = -1,
        write_content_size: int = 1,
        write_checksum: int = 0,
        write_dict_id: int = 0,
        job_size: int = 0,
        overlap_log: int = -1,
        force_max_window: int = 0,
        enable_ldm: int = 0,
        ldm_hash_log: int = 0,
        ldm_min_match: int = 0,
        ldm_bucket_size_log: int = 0,
        ldm_hash_rate_log: int = -1,
        threads: int = 0,
    ) -> None:
        given = locals()
        values = {name: index(given[name]) for name in _KEYS}
        values["threads"] = threads_wanted(threads)
        for name in ("strategy", "overlap_log", "ldm_hash_rate_log"):
            if values[name] == -1:
                values[name] = 0
        vars(self).update((name, _checked(name, value)) for name, value in values.items())

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"can't set attribute {name!r}")

    @staticmethod
    def from_level(level: int, source_size: int = 0, dict_size: int = 0, **kwargs: int) -> ZstdCompressionParameters:
        """
        Return a level's parameters of the search for matches, as in libzstd 1.5; all others have their defaults.

        The window and tables are adjusted to `source_size` and `dict_size`, in bytes; 0 means unknown. Other arguments
        (`kwargs`) are those of ZstdCompressionParameters, and take precedence.
        """
        found = match_parameters(index(level), index(source_size), index(dict_size))
        return ZstdCompressionParameters(**{**dict(zip(MATCH_FIELDS, found)), **kwargs})

    def estimated_compression_context_size(self) -> int:
        """Return about how many bytes libzstd needs to compress with these parameters in one thread and one call."""
        given = (getattr(self, name) for name in MATCH_FIELDS)
        of_level = match_parameters(self.compression_level, 0, 0)
        row = dict(zip(MATCH_FIELDS, (value or usual for value, usual in zip(given, of_level))))
        tables = [row["hash_log"]]
        if STRATEGY_GREEDY <= row["strategy"] <= STRATEGY_LAZY2:
            tables.append(row["hash_log"] - 2)  # a byte for each entry
        elif row["strategy"] != STRATEGY_FAST:
            tables.append(row["chain_log"])
        if row["min_match"] == MINMATCH_MIN:
            tables.append(min(_HASH3_LOG_MAX, row["window_log"]))
        if self.enable_ldm == 1:
            tables.append((self.ldm_hash_log or _LDM_HASH_LOG) + 1)
        return _CONTEXT_SIZE + sum(4 << log for log in tables)

    def _pairs(self) -> list[tuple[int, int]]:
        """
        Return pairs of a parameter's key and value for libzstd, without values that equal libzstd's defaults.

        Without threads, `job_size` and `overlap_log` are left out as well.
        """
        values = vars(self)
        defaults = {"write_content_size": 1, "write_dict_id": 1}
        return [
            (_KEYS[name], value)
            for name, value in values.items()
            if value != defaults.get(name, 0) and (values["threads"] or name not in _OF_THREADS)
        ]

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"ZstdCompressionParameters({fields})"


_KEYS = {
    name: int(_UNDER_OTHER_NAMES[name] if name in _UNDER_OTHER_NAMES else CompressionParameter[name])
    for name in ZstdCompressionParameters.__annotations__
}


def _checked(name: str, value: int) -> int:
    if name in _FLAGS:
        return int(value != 0)
    low, high = COMPRESSION_BOUNDS[_KEYS[name]]
    if name in _CLAMPED:
        if name == "job_size" and value:
            low = JOB_SIZE_MIN
        return max(low, min(value, high))
    if value and not low <= value <= high:
        raise coded_error(
            PARAMETER_OUT_OF_BOUND,
            f"unable to set compression context parameter: {NAMES[PARAMETER_OUT_OF_BOUND]}: "
            f"{name}={value}; the valid range is [{low}, {high}]",
        )
    return value


def level_pairs(
    level: int, write_checksum: object, write_content_size: object, write_dict_id: object, threads: int
) -> list[tuple[int, int]]:
    """
    Return pairs of a parameter's key and value for the arguments of a ZstdCompressor without `compression_params`.

    A level or number of threads out of bounds is replaced by the nearest allowed value.
    """
    pairs = []
    if threads:  # first, because setting it changes other parameters
        pairs.append((_KEYS["threads"], _checked("threads", threads_wanted(index(threads)))))
    if level:
        pairs.append((_KEYS["compression_level"], _checked("compression_level", index(level))))
    if write_content_size is not None and not write_content_size:
        pairs.append((_KEYS["write_content_size"], 0))
    if write_checksum:
        pairs.append((_KEYS["write_checksum"], 1))
    if write_dict_id is not None and not write_dict_id:
        pairs.append((_KEYS["write_dict_id"], 0))
    return pairs
