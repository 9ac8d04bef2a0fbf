# SPDX-License-Identifier: Apache-2.0
"""How a compressor goes on after a chunk, and how a stream object ends: what every stream of Zstandard needs."""

from __future__ import annotations

from typing import Any

CONTINUE, FLUSH_BLOCK, FLUSH_FRAME = 0, 1, 2
"""Modes of compressors (ZSTD_EndDirective)."""


def release(stream: Any) -> None:
    """Let a stream object that is not used again give back what it keeps, if its backend has that."""
    give_back = getattr(stream, "_release", None)
    if give_back is not None:
        give_back()
