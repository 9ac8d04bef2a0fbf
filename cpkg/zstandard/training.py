# SPDX-License-Identifier: Apache-2.0
"""train_dictionary(): trains a dictionary on samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from cpkg.zstandard.arguments import rename, threads_wanted
from cpkg.zstandard.constants import DICT_TYPE_FULLDICT
from cpkg.zstandard.dictionary import ZstdCompressionDict
from purepy.base.errors import ZstdError
from purepy.zstd.format.zdict import with_advice

if TYPE_CHECKING:
    from purepy.base.types import Named


def make_train_dictionary(codec: Named) -> Callable[..., ZstdCompressionDict]:
    """Return the function `train_dictionary` for a backend's module."""

    def train_dictionary(
        dict_size: int,
        samples: list[bytes],
        k: int = 0,
        d: int = 0,
        f: int = 0,
        split_point: float = 0.0,
        accel: int = 0,
        notifications: int = 0,
        dict_id: int = 0,
        level: int = 0,
        steps: int = 0,
        threads: int = 0,
    ) -> ZstdCompressionDict:
        """
        Train a dictionary of at most `dict_size` bytes on `samples`, a list of bytes.

        Args:
            dict_size: the largest size in bytes.
            samples: the data to learn from.
            k, d: the length of a segment, and of a group of bytes (6 or 8); 0 searches for the best value, except that
                `d` is 8 if `steps` and `threads` are both 0.
            f: the logarithm of the size of the frequency table.
            split_point: the fraction of the samples to learn from; the other samples evaluate the result.
            accel: 1 to 10; higher values are faster and give worse dictionaries.
            notifications: how much libzstd prints to standard error.
            dict_id: the dictionary's number; 0 derives it from the content.
            level: the compression level that the dictionary is meant for.
            steps: how many values of `k` are tried; 4 if `steps` and `threads` are both 0.
            threads: how many threads search; below 0, one per processor.

        Unless stated otherwise, 0 means libzstd's default. The backend `stdlib` uses only `dict_size`, `samples` and
        `dict_id`; `pure` cannot train and raises ZstdError. Raises TypeError and ValueError for wrong arguments, and
        ZstdError if the samples are too small or too few, or if libzstd rejects a parameter.
        """
        if not isinstance(samples, list):
            raise TypeError(f"samples must be a list, not {type(samples).__name__}")
        for sample in samples:
            if not isinstance(sample, bytes):
                raise ValueError(f"samples must be bytes, not {type(sample).__name__}")
        threads = threads_wanted(threads)
        if not steps and not threads:
            d, steps, level = d or 8, 4, level or 3
        try:
            if not codec.IS_WRAPPED:
                content = codec.codec._train(samples, dict_size)
                if dict_id:
                    content = content[:4] + dict_id.to_bytes(4, "little") + content[8:]
            else:
                from cpkg._native.zstd.fast_cover import train as train_native

                fields = {
                    "k": k,
                    "d": d,
                    "f": f,
                    "steps": steps,
                    "nbThreads": threads,
                    "splitPoint": split_point,
                    "accel": accel,
                    "zParams": {"compressionLevel": level, "notificationLevel": notifications, "dictID": dict_id},
                }
                content, k, d = train_native(codec.codec.library, samples, dict_size, fields)
        except ZstdError as exc:
            raise with_advice(rename(exc, "cannot train dict")) from exc
        return ZstdCompressionDict(content, DICT_TYPE_FULLDICT, k, d)

    return train_dictionary
