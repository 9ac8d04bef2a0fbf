# SPDX-License-Identifier: Apache-2.0
"""MessagePack as the body of a request or response, for all web frameworks, and a limit for messages from storage."""

from __future__ import annotations

from typing import Any, Final

import cpkg
from cpkg.typed.errors import ValidationError
from purepy.base.errors import ZstdLimitError

MEDIA_TYPE: Final = "application/vnd.msgpack"
"""The registered media type; requests may also use an older name."""

_MEDIA_TYPES: Final = (MEDIA_TYPE, "application/msgpack", "application/x-msgpack")

MAX_SIZE: Final = 64 * 1024 * 1024
"""The limit in bytes for a decompressed message from a broker or entry from a cache, which are not trusted."""


def reason_to_refuse(content_type: str, content_encoding: str) -> str:
    """Return why a body with these headers is not read as a message; "" if it is read."""
    if content_type.split(";")[0].strip().lower() not in _MEDIA_TYPES:
        return f"expected a body of type {' or '.join(_MEDIA_TYPES)}, found {content_type or 'no Content-Type'}"
    if content_encoding.strip().lower() not in ("", "identity"):
        found = f"the body still has Content-Encoding {content_encoding!r}"
        return f"{found}: send the body without it, or add a middleware that decodes it (ZstdMiddleware decodes zstd)"
    return ""


def errors_of(error: ValidationError) -> list[dict[str, object]]:
    """Return validation errors in the form of FastAPI: location, message and type of each."""
    return [
        {
            "type": "validation_error",
            "loc": ("body", *[part if isinstance(part, (str, int)) else repr(part) for part in each.path]),
            "msg": each.problem if each.advice is None else f"{each.problem}; {each.advice}",
        }
        for each in error.errors
    ]


def unpack(body: bytes, **options: Any) -> Any:
    """
    Return the object in a body, with the options and limits of `cpkg.loads`.

    Raises CodecError for damage, beyond a limit, and if the object is not of a given `type`. Unless `options` has
    `max_output_size`, a compressed message must not decompress to more bytes than the body has, because the limit for
    the body should also limit the message.
    """
    try:
        return cpkg.loads(body, **{"max_output_size": max(1, len(body)), **options})
    except ZstdLimitError as exc:
        if "max_output_size" not in options:
            exc.advice = "send dumps(..., compress=False), or compress the body and set Content-Encoding: zstd"
        raise
