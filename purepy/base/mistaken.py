# SPDX-License-Identifier: Apache-2.0
"""
Recognize data of other formats that was passed as a MessagePack message.

All of these formats begin with a byte that is a complete MessagePack object: a small integer, or an empty map. So the
check runs only after a message has turned out to be wrong.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

RECORDS: Final = "the data is a record file: read it with cpkg.records.open"

_BEGINNINGS: Final = (
    (b"\x28\xb5\x2f\xfd", "the data is a Zstandard frame: read a compressed message with cpkg.loads"),
    (b"\x1f\x8b", "the data is compressed with gzip: decompress it first"),
    (b"\xfd7zXZ", "the data is compressed with xz: decompress it first"),
    (b"BZh", "the data is compressed with bzip2: decompress it first"),
    (b"PK\x03\x04", "the data is a ZIP archive: read it with zipfile.ZipFile"),
)
_JSON: Final = {0x7B: 0x7D, 0x5B: 0x5D, 0x22: 0x22}
"""The last character of a JSON object, array or string by its first character."""


def is_tar(data: bytes) -> bool:
    """Return whether data begins with a header that has the magic of ustar or GNU tar."""
    return data[257:262] == b"ustar"


def ends(unpacked: object, extra: bytes) -> bytes:
    """
    Return about the first and last 300 bytes of data that was unpacked as `unpacked`, with `extra` left over.

    Returns b"" if `unpacked` is not an object of one byte with which other formats begin.
    """
    kept = extra[:300] + extra[-300:]  # enough to recognize a format; all of `extra` may be large
    if type(unpacked) is int and -0x20 <= unpacked < 0x80:
        return bytes([unpacked & 0xFF]) + kept
    return b"\x80" + kept if unpacked == {} and type(unpacked) is dict else b""


def advice_for(data: bytes) -> str | None:
    """Return a text that names the format of `data` and how to read it; None for any other format."""
    if len(data) < 2 or 0x80 < data[0] < 0xE0:
        return None
    for beginning, advice in _BEGINNINGS:
        if data.startswith(beginning):
            return advice
    if data[1:4] == b"\x2a\x4d\x18" and data[8:12] == b"RecF":
        return RECORDS
    if data[0] == 0x80 and 2 <= data[1] <= 5 and data.endswith(b"."):
        return "the data is a pickle: read it with pickle.loads if you trust it"
    if is_tar(data):
        return "the data is a tar archive: read it with tarfile, or its .tar.zst file with cpkg.archive"
    text = data.removeprefix(b"\xef\xbb\xbf").strip()
    if text and _JSON.get(text[0]) == text[-1] and min(text[:64].translate(None, b"\t\n\r")) >= 0x20:
        return "the data is JSON text: read it with json.loads, and JSON Lines line by line"
    return None
