# SPDX-License-Identifier: Apache-2.0
"""The values that Python has no type for (replaces `msgpack.ext`)."""

from __future__ import annotations

from purepy.base.lazy import public_dir
from purepy.msgpack.ext import ExtType, Raw, Timestamp

__all__ = ["ExtType", "Raw", "Timestamp"]
__dir__ = public_dir(__name__)
