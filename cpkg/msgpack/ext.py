# SPDX-License-Identifier: Apache-2.0
"""The types of values for which Python itself has no type (replaces `msgpack.ext`)."""

from __future__ import annotations

from purepy.base.lazy import public_dir
from purepy.msgpack.ext import ExtType, Raw, Timestamp

__all__ = ["ExtType", "Raw", "Timestamp"]
__dir__ = public_dir(__name__)
