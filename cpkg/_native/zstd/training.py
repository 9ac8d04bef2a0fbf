# SPDX-License-Identifier: Apache-2.0
"""Training dictionaries over libzstd, as `compression.zstd` does."""

from __future__ import annotations

from cpkg._native import buffers
from cpkg._native.zstd.library import Library
from purepy.zstd.format.error_codes import SRC_SIZE_WRONG
from purepy.zstd.format.zdict import MIN_DICT_SIZE, ZstdDict, can_train, check_finalize_arguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from cpkg._native.cffi_types import CData


class Training:
    """The functions that make dictionaries, over one Library."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def train_dict(self, samples: Iterable[Any], dict_size: int) -> ZstdDict:
        """
        Train a dictionary on samples (replaces `compression.zstd.train_dict`).

        Args:
            samples (Iterable[Buffer]): what the content will look like, 7 at least.
            dict_size (int): the most bytes of the dictionary, 256 at least.

        Raises TypeError and ValueError for wrong arguments and samples without data, ZstdError for too little to learn
        from.
        """
        if not isinstance(dict_size, int):
            raise TypeError(f"dict_size must be an int object, not {type(dict_size).__qualname__!r}.")
        data, sizes = self._joined(samples)
        if not data:
            raise ValueError("samples contained no data; can't train dictionary.")
        library = self.library

        def train(memory: CData) -> int:
            if dict_size >= MIN_DICT_SIZE and not can_train(list(sizes)):
                return library.error_result(SRC_SIZE_WRONG)
            size: int = library.lib.ZDICT_trainFromBuffer(memory, dict_size, data, sizes, len(sizes))
            return size

        return self._dictionary(dict_size, "Unable to train the Zstandard dictionary", train)

    def finalize_dict(self, zstd_dict: ZstdDict, /, samples: Iterable[Any], dict_size: int, level: int) -> ZstdDict:
        """
        Return a dictionary of the given content, with tables for samples (replaces `compression.zstd.finalize_dict`).

        Args:
            zstd_dict (ZstdDict): the content, which is cut at its start if it does not fit.
            samples (Iterable[Buffer]): what the content will look like.
            dict_size (int): the most bytes of the dictionary, 256 at least.
            level (int): the level that it is meant for.

        Raises TypeError and ValueError for wrong arguments, ZstdError if no dictionary can be made of them.
        """
        check_finalize_arguments(zstd_dict, dict_size, level)
        data, sizes = self._joined(samples)
        if not data:
            raise ValueError("The samples are empty content, can't finalize the dictionary.")
        content = zstd_dict.dict_content
        parameters = self.library.ffi.new("ZDICT_params_t *", {"compressionLevel": level})
        return self._dictionary(
            dict_size,
            "Unable to finalize the Zstandard dictionary",
            lambda memory: self.library.lib.ZDICT_finalizeDictionary(
                memory, dict_size, content, len(content), data, sizes, len(sizes), parameters[0]
            ),
        )

    def _joined(self, samples: Iterable[Any]) -> tuple[bytes, Any]:
        views = [buffers.readable(sample) for sample in samples]
        return b"".join(views), self.library.ffi.new("size_t[]", [len(view) for view in views])

    def _dictionary(self, dict_size: int, what: str, fill: Any) -> ZstdDict:
        if dict_size <= 0:
            raise ValueError("dict_size argument should be positive number.")
        library = self.library
        memory = library.new_nonzero("char[]", dict_size)
        size = fill(memory)
        if library.lib.ZDICT_isError(size):
            raise library.error(size, what)
        return ZstdDict(library.ffi.buffer(memory, size)[:])
