# SPDX-License-Identifier: Apache-2.0
"""ZstdCompressionDict: a dictionary, its load mode, and its prepared forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpkg.zstandard.constants import DICT_TYPE_AUTO, DICT_TYPE_FULLDICT, DICT_TYPE_RAWCONTENT
from cpkg.zstandard.levels import MATCH_FIELDS
from cpkg.zstandard.parameters import ZstdCompressionParameters
from purepy.base.buffers import view_of
from purepy.zstd.format.error_codes import DICTIONARY_WRONG, NAMES, coded_error
from purepy.zstd.format.parameters import CompressionParameter
from purepy.zstd.format.rules import DICTIONARY_MAGIC
from purepy.zstd.format.zdict import DIGESTED, PREFIX, UNDIGESTED, ZstdDict

if TYPE_CHECKING:
    from typing_extensions import Buffer

_SIZE_MIN = 8
"""The least size in bytes of a dictionary; libzstd ignores shorter ones."""

_MATCH_KEYS = {int(CompressionParameter[name]): name for name in MATCH_FIELDS}
_LEVEL = int(CompressionParameter.compression_level)


class ZstdCompressionDict:
    """
    A dictionary for compression and decompression (replaces `zstandard.ZstdCompressionDict`).

    `data` is a buffer, which is copied. `dict_type` is DICT_TYPE_AUTO (a dictionary if the data has a dictionary's
    header, otherwise raw content), DICT_TYPE_RAWCONTENT (raw content in any case) or DICT_TYPE_FULLDICT (using data
    without the header raises ZstdError); other values raise ValueError. Raw content of fewer than 8 bytes has no
    effect. `k` and `d` are the training parameters and are only stored. Threads may share a dictionary.
    """

    k: int
    d: int

    def __init__(self, data: Buffer, dict_type: int = DICT_TYPE_AUTO, k: int = 0, d: int = 0) -> None:
        if dict_type not in (DICT_TYPE_AUTO, DICT_TYPE_RAWCONTENT, DICT_TYPE_FULLDICT):
            raise ValueError(f"invalid dictionary load mode: {dict_type}; must use DICT_TYPE_* constants")
        self._data = bytes(view_of(data))
        self._type = dict_type
        self.k = k
        self.d = d
        self._is_full = self._data[:4] == DICTIONARY_MAGIC and len(self._data) >= _SIZE_MIN
        self._zstd_dict = ZstdDict(self._data, is_raw=True) if len(self._data) >= _SIZE_MIN else None
        self._prepared: ZstdCompressionParameters | int | None = None

    def __len__(self) -> int:
        return len(self._data)

    def dict_id(self) -> int:
        """Return the number in the dictionary's header, by which frames refer to it; 0 if the data has no header."""
        return int.from_bytes(self._data[4:8], "little") if self._is_full else 0

    def as_bytes(self) -> bytes:
        """Return the bytes of the dictionary."""
        return self._data

    def precompute_compress(self, level: int = 0, compression_params: ZstdCompressionParameters | None = None) -> None:
        """
        Let compressors created from now on use `level`, or `compression_params`, with the dictionary.

        They replace the compressor's own level and its parameters of the search for matches; other parameters in
        `compression_params` are ignored. With `level`, compressors also share the dictionary's tables, except for raw
        content that has a dictionary header. A dictionary of fewer than 8 bytes changes nothing. Raises ValueError
        unless exactly one of the two is given (a level of 0 counts as not given), and ZstdError if `dict_type` is
        DICT_TYPE_FULLDICT but the data has no dictionary header.
        """
        if level and compression_params:
            raise ValueError("must only specify one of level or compression_params")
        if not level and not compression_params:
            raise ValueError("must specify one of level or compression_params")
        self._check("unable to precompute dictionary")
        self._prepared = compression_params or level

    def _check(self, what: str) -> None:
        if self._type == DICT_TYPE_FULLDICT and not self._is_full:
            raise coded_error(
                DICTIONARY_WRONG, f"{what}: {NAMES[DICTIONARY_WRONG]}: it does not start with a dictionary header"
            )

    def _for_compression(self, pairs: list[tuple[int, int]]) -> tuple[list[tuple[int, int]], ZstdDict | None, int]:
        """
        Return the parameters to compress with, the dictionary, and how to load it: DIGESTED, UNDIGESTED or PREFIX.

        The parameters are the compressor's `pairs`, with the level and search parameters of `precompute_compress`, if
        it was called. If the dictionary has fewer than 8 bytes, returns `pairs` unchanged and None as dictionary.
        Raises ZstdError for DICT_TYPE_FULLDICT without a header.
        """
        self._check("could not load compression dictionary")
        found = self._zstd_dict
        if found is None:
            return pairs, None, UNDIGESTED
        how = PREFIX if self._is_full and self._type == DICT_TYPE_RAWCONTENT else UNDIGESTED
        prepared = self._prepared
        if prepared is None:
            return pairs, found, how
        kept = [pair for pair in pairs if pair[0] not in _MATCH_KEYS and pair[0] != _LEVEL]
        if isinstance(prepared, ZstdCompressionParameters):
            chosen = ((key, getattr(prepared, name)) for key, name in _MATCH_KEYS.items())
            return kept + [pair for pair in chosen if pair[1]], found, how
        return [*kept, (_LEVEL, prepared)], found, DIGESTED if how == UNDIGESTED else how

    def _for_decompression(self) -> tuple[ZstdDict | None, int]:
        """Return the dictionary (None if it has fewer than 8 bytes) and how to load it: DIGESTED or PREFIX."""
        self._check("could not create decompression dict")
        is_prefix = self._is_full and self._type == DICT_TYPE_RAWCONTENT
        return self._zstd_dict, PREFIX if is_prefix else DIGESTED

    def __repr__(self) -> str:
        return f"<ZstdCompressionDict dict_id={self.dict_id()} size={len(self)}>"

    def __reduce__(self) -> tuple[object, ...]:
        return ZstdCompressionDict, (self._data, self._type, self.k, self.d)


def dictionary_argument(dict_data: object) -> ZstdCompressionDict | None:
    """Return `dict_data`, a ZstdCompressionDict or None; raises TypeError for any other object."""
    if dict_data is not None and not isinstance(dict_data, ZstdCompressionDict):
        raise TypeError(f"dict_data must be zstd.ZstdCompressionDict, not {type(dict_data).__name__}")
    return dict_data
