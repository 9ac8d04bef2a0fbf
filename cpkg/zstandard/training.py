# SPDX-License-Identifier: Apache-2.0
"""train_dictionary(): a dictionary made from samples."""

from __future__ import annotations

from typing import Any

from cpkg.zstandard.common import rename, threads_wanted
from cpkg.zstandard.constants import DICT_TYPE_FULLDICT
from cpkg.zstandard.dictionary import ZstdCompressionDict
from purepy.errors import ZstdError


def train(
    codec: Any,
    dict_size: int,
    samples: Any,
    k: int,
    d: int,
    f: int,
    split_point: float,
    accel: int,
    notifications: int,
    dict_id: int,
    level: int,
    steps: int,
    threads: int,
) -> ZstdCompressionDict:
    """Do what `train_dictionary` is documented to do, with a backend's module."""
    if not isinstance(samples, list):
        raise TypeError("samples must be a list")
    for sample in samples:
        if not isinstance(sample, bytes):
            raise ValueError("samples must be bytes")
    threads = threads_wanted(threads)
    if not steps and not threads:
        d, steps, level = d or 8, 4, level or 3
    options: dict[str, Any] = {
        "k": k,
        "d": d,
        "f": f,
        "split_point": split_point,
        "accel": accel,
        "notifications": notifications,
        "dict_id": dict_id,
        "level": level,
        "steps": steps,
        "threads": threads,
    }
    try:
        if codec.BACKEND == "pure":
            from purepy.zstd.encoder.training import train as train_pure

            content, k, d = train_pure(samples, dict_size, k=k, d=d, dict_id=dict_id, level=level)
        else:
            from cpkg._native.zstd.fast_cover import train as train_native

            content, k, d = train_native(codec.codec.library, samples, dict_size, **options)
    except ZstdError as exc:
        raise rename(exc, "cannot train dict") from exc
    return ZstdCompressionDict(content, DICT_TYPE_FULLDICT, k, d)
