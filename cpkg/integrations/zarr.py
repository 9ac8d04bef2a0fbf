# SPDX-License-Identifier: Apache-2.0
"""
Compress chunks of Zarr arrays of format 3 with our codec; those of format 2 take `cpkg.integrations.numcodecs`.

    from cpkg.integrations import zarr as zstd_for_zarr
    zstd_for_zarr.register()

    zarr.create_array("data.zarr", shape=(1000, 1000), dtype="f4", compressors=zstd_for_zarr.ZstdCodec(level=7))

The name in the metadata is the format's own, `zstd`, and so is what is written: arrays are read without this package,
and after `register` those that others wrote are read by it.
"""

from __future__ import annotations

from functools import cached_property

try:
    import zarr
    from zarr.registry import register_codec
except ImportError as exc:
    raise ImportError("cpkg.integrations.zarr needs zarr 3: pip install zarr") from exc

from cpkg.integrations.numcodecs import Zstd

__all__ = ["ZstdCodec", "register"]


class ZstdCodec(zarr.codecs.ZstdCodec):
    """
    Compress chunks with Zstandard, as zarr's own ZstdCodec does, whose checks and metadata it has.

    level: Zstandard's (default 3, for which 0 stands). checksum: whether frames carry one (default False).
    """

    @cached_property
    def _zstd_codec(self) -> Zstd:
        return Zstd(level=self.level, checksum=self.checksum)


def register() -> None:
    """Have zarr take this codec for every array whose metadata name `zstd`, in this process."""
    register_codec("zstd", ZstdCodec)
    zarr.config.set({"codecs.zstd": f"{ZstdCodec.__module__}.{ZstdCodec.__qualname__}"})
