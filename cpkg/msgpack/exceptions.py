# SPDX-License-Identifier: Apache-2.0
"""The exceptions of MessagePack (replaces `msgpack.exceptions`)."""

from __future__ import annotations

from purepy.base.lazy import public_dir
from purepy.msgpack import exceptions
from purepy.msgpack.exceptions import *  # noqa: F403

__all__: list[str] = []
__all__ += exceptions.__all__
__dir__ = public_dir(__name__)
