# SPDX-License-Identifier: Apache-2.0
"""MessagePack as the body of a request or a response, the same for every web framework, and a limit on stored ones."""

from __future__ import annotations

from typing import Any, Final

import cpkg

MEDIA_TYPE: Final = "application/vnd.msgpack"
"""The registered name; requests may also use one of the older ones."""

_MEDIA_TYPES: Final = (MEDIA_TYPE, "application/msgpack", "application/x-msgpack")

MAX_SIZE: Final = 64 * 1024 * 1024
"""Bytes that a broker's message or a cache's entry may become: what they hand out is not trusted without a limit."""


def reason_to_refuse(content_type: str, content_encoding: str) -> str:
    """Say why a body with these headers is not read as a message; empty if it is."""
    if content_type.split(";")[0].strip().lower() not in _MEDIA_TYPES:
        return f"expected a body of type {' or '.join(_MEDIA_TYPES)}, not {content_type or 'one without a type'}"
    if content_encoding.strip().lower() not in ("", "identity"):
        return f"the body has the coding {content_encoding!r}, which nothing decoded: ZstdMiddleware takes zstd alone"
    return ""


def unpack(body: bytes, **options: Any) -> Any:
    """
    Return the object in a body, with the options and limits of `cpkg.loads`.

    Raises CodecError for damage and beyond a limit. A message that is compressed may not be larger than the body: the
    limit on that is meant to bound what is unpacked.
    """
    return cpkg.loads(body, **{"max_output_size": max(1, len(body)), **options})
