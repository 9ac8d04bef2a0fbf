# SPDX-License-Identifier: Apache-2.0
"""train_dictionary(): a dictionary made from samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from cpkg.zstandard.arguments import rename, threads_wanted
from cpkg.zstandard.constants import DICT_TYPE_FULLDICT
from cpkg.zstandard.dictionary import ZstdCompressionDict
from purepy.base.errors import ZstdError

if TYPE_CHECKING:
    from purepy.base.types import Named


def make_train_dictionary(codec: Named) -> Callable[..., ZstdCompressionDict]:
    """Return `train_dictionary` over a backend's module."""

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
        Return a dictionary of at most `dict_size` bytes, trained on a list of bytes.

        `k` (length of a segment) and `d` (6 or 8, of a group of bytes) are looked for unless given, in `steps` tries;
        `f` is the logarithm of the size of the table of frequencies, `split_point` the part of the samples to learn
        from (the rest is for trying out), `accel` 1 to 10 trades quality for speed, `dict_id` is the dictionary's
        number (0: derived from its content), `level` what it is meant for, `threads` how many threads look,
        `notifications` how much libzstd writes to standard error. Raises TypeError and ValueError for wrong arguments,
        ZstdError if there is too little to learn from.
        """
        if not isinstance(samples, list):
            raise TypeError("samples must be a list")
        for sample in samples:
            if not isinstance(sample, bytes):
                raise ValueError("samples must be bytes")
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
            raise rename(exc, "cannot train dict") from exc
        return ZstdCompressionDict(content, DICT_TYPE_FULLDICT, k, d)

    return train_dictionary
