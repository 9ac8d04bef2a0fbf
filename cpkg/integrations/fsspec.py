# SPDX-License-Identifier: Apache-2.0
"""
Read and write compressed files through fsspec (and so Dask, pandas by URL, ...) with our codec.

    from cpkg.integrations import fsspec as zstd_for_fsspec
    zstd_for_fsspec.register(level=7)

    fsspec.open("s3://bucket/data.jsonl.zst", "rt", compression="infer")

fsspec finds Zstandard by itself after `cpkg.install()`; this replaces what it found, and can set a level.
"""

from __future__ import annotations

from typing import Any

try:
    from fsspec.compression import register_compression
except ImportError as exc:
    raise ImportError("cpkg.integrations.fsspec needs fsspec: pip install fsspec") from exc

from cpkg import zstd

__all__ = ["register"]


def register(*, level: int = zstd.COMPRESSION_LEVEL_DEFAULT) -> None:
    """Register the compression `zstd`, for names that end with `.zst`, in place of fsspec's; `level` is for writing."""

    def open_file(file: Any, mode: str = "rb", **options: Any) -> Any:
        if "r" not in mode:
            options.setdefault("level", level)
        make: Any = zstd.ZstdFile
        return make(file, mode, **options)

    register_compression("zstd", open_file, ["zst"], force=True)
