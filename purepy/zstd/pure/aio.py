# SPDX-License-Identifier: Apache-2.0
"""Zstandard for asyncio over the pure codec."""

from __future__ import annotations

from purepy.zstd.aio.functions import AsyncFunctions

_functions = AsyncFunctions("purepy.zstd")
acompress = _functions.acompress
adecompress = _functions.adecompress
aopen = _functions.aopen
