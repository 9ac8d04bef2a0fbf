# SPDX-License-Identifier: Apache-2.0
"""Patches: frames of new data that refer to old data as a prefix, so that they mostly hold the differences."""

from __future__ import annotations

from purepy.base.buffers import as_bytes, memory_of
from purepy.zstd.format.backend_methods import BackendMethods
from purepy.zstd.format.parameters import CompressionParameter, DecompressionParameter
from purepy.zstd.format.rules import WINDOW_LOG_MAX, WINDOW_LOG_MIN
from purepy.zstd.format.zdict import ZstdDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from purepy.base.types import Buffer
    from purepy.zstd.format.zdict import DictArgument

_PREFIX_MIN = 8  # bytes; libzstd ignores a shorter prefix
_TABLES_MAX = 1 << 17  # bytes; a longer prefix may not fit into the tables of low levels
_WINDOW_LOG_DEFAULT = 27


def _window_log(size: int) -> int:
    return min(max(size.bit_length(), WINDOW_LOG_MIN), WINDOW_LOG_MAX)


def _prefix(old: bytes) -> DictArgument:
    return ZstdDict(old, is_raw=True).as_prefix if len(old) >= _PREFIX_MIN else None


class Patches(BackendMethods):
    """The patch functions of one backend."""

    def patch(self, old: Buffer, new: Buffer, level: int | None = None) -> bytes:
        """
        Return a patch from which `apply_patch` creates `new`, given `old`; both are buffers.

        The patch is a frame whose window covers both, as `zstd --patch-from` writes it, with a checksum of `new`.
        If both together exceed 2 GiB, the window covers only their end. An `old` of less than 8 bytes is not used.
        `level` means the same as in `compress`.
        """
        old = as_bytes(old)
        with memory_of(new) as view:
            size = len(old) + view.nbytes
        parameter = CompressionParameter
        options = {
            int(parameter.compression_level): level or 0,
            int(parameter.window_log): _window_log(size),
            int(parameter.checksum_flag): 1,
        }
        if len(old) > _TABLES_MAX and self._backend.HAS_LONG_MATCHES:
            options[int(parameter.enable_long_distance_matching)] = 1
        patch: bytes = self._backend.compress(new, options=options, zstd_dict=_prefix(old))
        return patch

    def apply_patch(self, old: Buffer, patch: Buffer, *, max_output_size: int | None = None) -> bytes:
        """
        Return the `new` data for which `patch` was created, given the same `old` data; all are buffers.

        Raises ZstdLimitError if the result has more than `max_output_size` bytes, and ZstdError if the patch is damaged
        or needs another `old`.
        """
        old = as_bytes(old)
        declared = self._backend.get_frame_info(patch).decompressed_size or 0
        window_log = max(_WINDOW_LOG_DEFAULT, _window_log(len(old) + declared))
        content: bytes = self._backend.decompress(
            patch,
            _prefix(old),
            {int(DecompressionParameter.window_log_max): window_log},
            max_output_size=max_output_size,
        )
        return content
