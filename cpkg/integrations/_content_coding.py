# SPDX-License-Identifier: Apache-2.0
"""
The HTTP content coding `zstd` (RFC 8878, section 7.2; RFC 9659), shared by the middlewares for all frameworks.

A response may be compressed if the client accepts zstd. A request is decompressed only up to a limit, because 10 kB
may decompress to 200 MB of zeros.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from cpkg import zstd
from purepy.base.errors import LimitError, ZstdError, ZstdLimitError
from purepy.zstd.format.error_codes import WINDOW_TOO_LARGE, located
from purepy.zstd.format.rules import MAGIC, SKIPPABLE_MAGIC_TAIL

CODING: Final = "zstd"
WINDOW_LOG: Final = 23
"""The binary logarithm of the largest allowed window of a frame, 8 MiB (RFC 9659, section 3)."""

LEVEL: Final = 3
HIGHEST_LEVEL: Final = 19
"""Higher levels of libzstd need larger windows."""

MINIMUM_SIZE: Final = 500
MAX_REQUEST_SIZE: Final = 16 * 1024 * 1024

FRAMES_MAX: Final = 1000
FRAME_SIZE: Final = 1024
"""A request body may have FRAMES_MAX frames, and one more per FRAME_SIZE bytes."""
# content that is already compressed, or is read event by event
_NOT_WORTH = ("audio/", "font/woff", "image/", "text/event-stream", "video/")
_NOT_WORTH_APPLICATIONS = ("7z-compressed", "bzip2", "gzip", "x-xz", "zip", "zstd")


_WEIGHT = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")

DIGESTS: Final = ("Content-Digest", "Content-MD5", "Digest", "Repr-Digest")
"""Headers that become wrong when the coding of the body changes (RFC 9530; RFC 3230; RFC 1864)."""


def may_transform(cache_control: str) -> bool:
    """Return whether a Cache-Control header allows changing the body (RFC 9110, section 7.7)."""
    return "no-transform" not in (directive.strip().lower() for directive in cache_control.split(","))


def largest_body(max_size: int) -> int:
    """Return the largest compressed size that `max_size` bytes need, in bytes; a longer body need not be read."""
    return max_size + max_size // 128 + 1024


def check_level(level: int) -> int:
    """Return `level`; raises ValueError for a level above 19, whose frames browsers may refuse, or too low for zstd."""
    lowest = zstd.CompressionParameter.compression_level.bounds()[0]
    if not lowest <= level <= HIGHEST_LEVEL:
        reason = ": higher levels need a larger window" if level > HIGHEST_LEVEL else ""
        raise ValueError(f"level must be {lowest} to {HIGHEST_LEVEL}, not {level}{reason}")
    return level


def accepts_zstd(accept_encoding: str) -> bool:
    """Return whether an Accept-Encoding header allows zstd (RFC 9110, section 12.5.3); a malformed weight is 0."""
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
    """Return whether a body of this type probably gets smaller, and is not an event stream."""
    kind = content_type.split(";")[0].strip().lower()
    if kind == "image/svg+xml":
        return True
    if kind.startswith("application/"):
        return not kind.endswith(_NOT_WORTH_APPLICATIONS)
    return not kind.startswith(_NOT_WORTH)


def with_vary(vary: str) -> str:
    """Return a Vary header with Accept-Encoding added, unless the header already contains it or `*`."""
    names = [name.strip() for name in vary.split(",") if name.strip()]
    if "*" not in names and "accept-encoding" not in (name.lower() for name in names):
        names.append("Accept-Encoding")
    return ", ".join(names)


def weakened(etag: str) -> str:
    """Return the weak form of an entity tag, because the bytes of the body changed (RFC 9110, section 8.8.3.1)."""
    return etag if etag.startswith("W/") else "W/" + etag


def decompress_body(body: bytes, max_size: int) -> bytes:
    """
    Return the decompressed body of a request, at most `max_size` bytes.

    Raises LimitError as soon as the decompressed body exceeds `max_size`, and if `body`, which is compressed, has more
    than `largest_body(max_size)` bytes. Raises ZstdError for damage, for a window of more than 8 MiB (RFC
    9659 forbids it), and for a body with too many frames, because even an empty frame takes time.
    """
    too_large = f"expected at most {max_size} bytes: send a smaller body, or raise max_request_size of ZstdMiddleware"
    if len(body) > largest_body(max_size):
        raise LimitError(too_large)
    most = FRAMES_MAX + len(body) // FRAME_SIZE
    # counting magic numbers is fast, and gives an upper bound of the number of frames
    if body.count(MAGIC) + body.count(SKIPPABLE_MAGIC_TAIL) > most:
        for number, frame in enumerate(zstd.iter_frames(body)):
            if number >= most:
                raise located(ZstdError(f"the body has more than {most} frames: send one frame"), frame.offset)
    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: WINDOW_LOG}
    try:
        return zstd.decompress(body, options=options, max_output_size=max_size)
    except ZstdLimitError as exc:
        if exc.code != WINDOW_TOO_LARGE:
            raise LimitError(too_large) from exc
        found = f"a frame needs a window of more than {1 << WINDOW_LOG} bytes (RFC 9659)"
        raise ZstdError(f"{found}: compress with a window log of at most {WINDOW_LOG}") from exc


class BodyCompressor:
    """Compresses a response in pieces; the receiver can read each piece as soon as it is sent."""

    def __init__(self, level: int) -> None:
        self._compressor = zstd.ZstdCompressor(level)

    def compress(self, piece: bytes) -> bytes:
        """Return the complete compressed form of one more piece; b"" for an empty piece."""
        return self._compressor.compress(piece, zstd.ZstdCompressor.FLUSH_BLOCK) if piece else b""

    def finish(self, piece: bytes = b"") -> bytes:
        """Return the compressed form of the last piece, which may be empty, and the end of the frame."""
        return self._compressor.compress(piece, zstd.ZstdCompressor.FLUSH_FRAME)

    def all_of(self, pieces: Iterable[bytes | memoryview]) -> Iterator[bytes]:
        """Yield the compressed form of each piece that is not empty, then the end of the frame."""
        for piece in pieces:
            out = self.compress(bytes(piece))
            if out:
                yield out
        yield self.finish()
