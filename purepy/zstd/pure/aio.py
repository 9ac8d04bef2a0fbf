# SPDX-License-Identifier: Apache-2.0
"""Zstandard for asyncio over the pure codec."""

from __future__ import annotations

from purepy.zstd.aio.functions import names_of

_names = names_of("purepy.zstd")

acompress = _names["acompress"]
adecompress = _names["adecompress"]
aopen = _names["aopen"]
