# SPDX-License-Identifier: Apache-2.0
"""
The content coding `zstd` of HTTP (RFC 8878, section 7.2; RFC 9659), as the middleware of each framework needs it.

A body is compressed where the client accepts it, and decompressed within a limit: whoever may post 10 kB may post
200 MB of zeros in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from cpkg import zstd
from purepy.base.errors import ZstdError, ZstdLimitError
from purepy.zstd.format.error_codes import WINDOW_TOO_LARGE, located
from purepy.zstd.format.rules import MAGIC, SKIPPABLE_MAGIC_TAIL

CODING: Final = "zstd"
WINDOW_LOG: Final = 23
"""A frame needs a window of at most 8 MiB (RFC 9659, section 3)."""

LEVEL: Final = 3
HIGHEST_LEVEL: Final = 19
"""libzstd's levels above need larger windows."""

MINIMUM_SIZE: Final = 500
MAX_REQUEST_SIZE: Final = 16 * 1024 * 1024

FRAMES_MAX: Final = 1000
FRAME_SIZE: Final = 1024
"""A request's body may have so many frames, and one more for so many bytes."""

# content that is compressed already, or is read event by event
_NOT_WORTH = ("audio/", "font/woff", "image/", "text/event-stream", "video/")
_NOT_WORTH_APPLICATIONS = ("7z-compressed", "bzip2", "gzip", "x-xz", "zip", "zstd")


_WEIGHT = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")

DIGESTS: Final = ("Content-Digest", "Content-MD5", "Digest", "Repr-Digest")
"""Headers that a body with another coding makes wrong (RFC 9530; RFC 3230; RFC 1864)."""


def may_transform(cache_control: str) -> bool:
    """Return whether a header Cache-Control lets the body be changed (RFC 9110, section 7.7)."""
    return "no-transform" not in (directive.strip().lower() for directive in cache_control.split(","))


def largest_body(max_size: int) -> int:
    """Return how large the compressed form of at most `max_size` bytes may be, in bytes; more need not be read."""
    return max_size + max_size // 128 + 1024


def check_level(level: int) -> int:
    """Return `level`, or raise ValueError for one whose frames browsers need not accept."""
    lowest = zstd.CompressionParameter.compression_level.bounds()[0]
    if not lowest <= level <= HIGHEST_LEVEL:
        raise ValueError(f"level must be {lowest} to {HIGHEST_LEVEL}, not {level}: higher ones need a larger window")
    return level


def accepts_zstd(accept_encoding: str) -> bool:
    """Return whether a header Accept-Encoding allows zstd (RFC 9110, section 12.5.3); a weight out of form is none."""
    named = any_other = None
    for item in accept_encoding.lower().split(","):
        coding, *parameters = (part.strip() for part in item.split(";"))
        weight = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                weight = float(parameter[2:]) if _WEIGHT.fullmatch(parameter[2:]) else 0.0
        if coding == CODING:
            named = weight
        elif coding == "*":
            any_other = weight
    return bool(named if named is not None else any_other)


def is_worth_compressing(content_type: str) -> bool:
    """Return whether a body of that type is likely to get smaller, and is not one that is read event by event."""
    kind = content_type.split(";")[0].strip().lower()
    if kind == "image/svg+xml":
        return True
    if kind.startswith("application/"):
        return not kind.endswith(_NOT_WORTH_APPLICATIONS)
    return not kind.startswith(_NOT_WORTH)


def with_vary(vary: str) -> str:
    """Return a header Vary that names Accept-Encoding."""
    names = [name.strip() for name in vary.split(",") if name.strip()]
    if "*" not in names and "accept-encoding" not in (name.lower() for name in names):
        names.append("Accept-Encoding")
    return ", ".join(names)


def weakened(etag: str) -> str:
    """Return an entity tag as a weak one: the bytes are others than those that it was made of (RFC 9110, 8.8.3.1)."""
    return etag if etag.startswith("W/") else "W/" + etag


def decompress_body(body: bytes, max_size: int) -> bytes:
    """
    Return a request's body decompressed, of at most `max_size` bytes.

    Raises LimitError for more, before it is made, and ZstdError for damage, for a window of more than 8 MiB, which no
    sender may ask for, and for a body of more frames than any sender has a use for: each takes time, whatever it holds.
    """
    most = FRAMES_MAX + len(body) // FRAME_SIZE
    # more than there are frames, found without looking for their ends
    if body.count(MAGIC) + body.count(SKIPPABLE_MAGIC_TAIL) > most:
        for number, frame in enumerate(zstd.iter_frames(body)):
            if number >= most:
                raise located(ZstdError(f"the body has more than {most} frames"), frame.offset)
    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: WINDOW_LOG}
    try:
        return zstd.decompress(body, options=options, max_output_size=max_size)
    except ZstdLimitError as exc:
        if exc.code != WINDOW_TOO_LARGE:
            raise
        raise ZstdError(f"a frame asks for a window of more than {1 << WINDOW_LOG} bytes (RFC 9659)") from exc


class BodyCompressor:
    """Compress a response in pieces; the receiver can read each as soon as it is sent."""

    def __init__(self, level: int) -> None:
        self._compressor = zstd.ZstdCompressor(level)

    def compress(self, piece: bytes) -> bytes:
        """Return the compressed form of one more piece, whole."""
        return self._compressor.compress(piece, zstd.ZstdCompressor.FLUSH_BLOCK) if piece else b""

    def finish(self, piece: bytes = b"") -> bytes:
        """Return the compressed form of the last piece and the frame's end."""
        return self._compressor.compress(piece, zstd.ZstdCompressor.FLUSH_FRAME)

    def all_of(self, pieces: Iterable[bytes | memoryview]) -> Iterator[bytes]:
        """Yield the compressed forms of all pieces."""
        for piece in pieces:
            out = self.compress(bytes(piece))
            if out:
                yield out
        yield self.finish()
