# SPDX-License-Identifier: Apache-2.0
"""The exceptions of MessagePack (replaces `msgpack.exceptions`)."""

from __future__ import annotations

from purepy.msgpack.exceptions import *  # noqa: F403
from purepy.msgpack.exceptions import __all__ as __all__
