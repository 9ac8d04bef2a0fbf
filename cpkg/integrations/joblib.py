# SPDX-License-Identifier: Apache-2.0
"""
Compress what joblib dumps with Zstandard.

    from cpkg.integrations import joblib as zstd_for_joblib
    zstd_for_joblib.register()

    joblib.dump(model, "model.pkl.zst")                 # by its name
    joblib.dump(model, "model.pkl", compress=("zstd", 9))
    joblib.load("model.pkl")                            # told by its first bytes
"""

from __future__ import annotations

from typing import Any

try:
    from joblib import register_compressor
    from joblib.compressor import CompressorWrapper
except ImportError as exc:
    raise ImportError("cpkg.integrations.joblib needs joblib: pip install joblib") from exc

from cpkg import zstd
from purepy.zstd_format import MAGIC

__all__ = ["ZstdCompressorWrapper", "register"]


class ZstdCompressorWrapper(CompressorWrapper):
    """Open files compressed with Zstandard for joblib; levels are Zstandard's, of which joblib allows 1 to 9."""

    def __init__(self) -> None:
        super().__init__(obj=zstd.ZstdFile, prefix=MAGIC, extension=".zst")

    def compressor_file(self, fileobj: Any, compresslevel: int | None = None) -> zstd.ZstdFile:
        """Return a file to write to; like zlib's, it carries a checksum."""
        parameter = zstd.CompressionParameter
        options: dict[int, int] = {parameter.compression_level: compresslevel or 0, parameter.checksum_flag: 1}
        return zstd.ZstdFile(fileobj, "wb", options=options)

    def decompressor_file(self, fileobj: Any) -> zstd.ZstdFile:
        """Return a file to read from."""
        return zstd.ZstdFile(fileobj, "rb")


def register() -> None:
    """Register the compressor `zstd`; does nothing if one of that name is there."""
    from joblib.compressor import _COMPRESSORS

    if "zstd" not in _COMPRESSORS:
        register_compressor("zstd", ZstdCompressorWrapper())
