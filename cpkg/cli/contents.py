# SPDX-License-Identifier: Apache-2.0
"""
Describe a packed file without unpacking it, from frame headers, block headers and the first bytes of the message.

Each block has a 3-byte header, from which the position of the next block follows (RFC 8878, section 3.1.1). A file
therefore costs one seek per block, and memory for the descriptions of the blocks of the first frames. Blocks usually
have 128 KiB of content. Only the first 64 KiB of content are decompressed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final

from cpkg import _backend
from cpkg.cli.fitting import NOT_ONE, TAR, counted, following, other_format, squeezed
from purepy.base.errors import CodecError, ZstdError
from purepy.base.mistaken import RECORDS, advice_for, is_tar
from purepy.msgpack.formats import ARRAY, BIN, EXT, IMMEDIATE, INVALID, MAP, NUMBER, STR, value_header
from purepy.zstd.format.error_codes import SRC_SIZE_WRONG
from purepy.zstd.format.rules import MAGIC, is_frame
from purepy.zstd.format.scanner import Frame, scan_frames

SHOWN_FRAMES: Final = 8
"""The number of frames that are kept with their details; a file can have a frame per hundred bytes."""
_READ: Final = 64 * 1024

_NAMES: Final = {
    IMMEDIATE: "integer",
    NUMBER: "integer",
    STR: "string",
    BIN: "binary",
    EXT: "extension",
    ARRAY: "array",
    MAP: "map",
}
_SCALARS: Final = {0xC0: "nil", 0xC2: "false", 0xC3: "true", 0xCA: "32-bit float", 0xCB: "64-bit float"}


@dataclass
class Summary:
    """
    The description of a packed file that `inspect_file` returns; sizes are in bytes.

    `frames` has the details of the first SHOWN_FRAMES frames of both kinds. `skippable_count` counts all skippable
    frames, `frame_count` all others. `content` is the decompressed size, None if a frame does not declare it. `message`
    describes the MessagePack object (such as "map of 3 entries"), and `items` is its number of items, None if it is
    neither an array nor a map. `note` is a remark or None.
    """

    size: int
    compressed: bool
    frames: list[Frame] = field(default_factory=list)
    frame_count: int = 0
    skippable_count: int = 0
    content: int | None = 0
    message: str = ""
    items: int | None = None
    note: str | None = None


class DamagedError(ValueError):
    """The file ends too early or contradicts its first bytes; `summary` has the results up to the damage."""

    def __init__(self, reason: str, summary: Summary) -> None:
        super().__init__(reason)
        self.summary = summary


def inspect_file(file: BinaryIO) -> Summary:
    """
    Return a description of the contents of a seekable file.

    Raises DamagedError if the file is empty or truncated, has a damaged header, or is not MessagePack. Reads only the
    headers and the first bytes, so damage inside blocks and in the rest of the message is not detected.
    """
    size = file.seek(0, 2)
    file.seek(0)
    summary = Summary(size, compressed=False)
    if not size:
        raise DamagedError("the file is empty", summary)
    head = file.read(_READ)
    if not is_frame(head):
        if size > 1 and MAGIC.startswith(head):
            raise DamagedError("truncated: the file ends inside the magic number of a Zstandard frame", summary)
        summary.content = size
        _describe(head, size, summary)
        return summary
    summary.compressed = True
    _walk(file, summary)
    if advice_for(head) is RECORDS:
        summary.note = "a record file: see 'cpkg records info'"
        return summary
    _describe(_first_bytes(file, summary), summary.content, summary)
    return summary


def _walk(file: BinaryIO, summary: Summary) -> None:
    """Add all frames of the file to the summary; raises DamagedError."""
    try:
        for frame in scan_frames(file, is_strict=False):
            if len(summary.frames) < SHOWN_FRAMES:
                summary.frames.append(frame)
            if frame.is_skippable:
                summary.skippable_count += 1
            else:
                summary.frame_count += 1
                if summary.content is not None:
                    summary.content = None if frame.content_size is None else summary.content + frame.content_size
    except ZstdError as exc:
        is_cut = exc.code == SRC_SIZE_WRONG
        reason = f"truncated: the file ends inside the frame at byte {exc.offset}" if is_cut else str(exc)
        raise DamagedError(reason, summary) from None


def _first_bytes(file: BinaryIO, summary: Summary) -> bytes:
    """
    Return the first bytes of the content; b"" if it cannot be read, or if the first SHOWN_FRAMES frames are empty.

    If the content cannot be read, the note in the summary gives the reason.
    """
    frame = next((frame for frame in summary.frames if not frame.is_skippable and frame.content_size != 0), None)
    if frame is None:
        return b""
    if frame.dictionary_id:
        summary.note = f"compressed with dictionary {frame.dictionary_id}, which is needed to read the content"
        return b""
    file.seek(0)
    try:
        with _backend.zstd().open(file, "rb") as content:
            return bytes(content.read1(_READ))
    except (CodecError, EOFError) as exc:
        summary.note = f"the content cannot be read: {exc.args[0]}"  # without advice for callers
        return b""


def _describe(head: bytes, size: int | None, summary: Summary) -> None:
    """
    Set `message`, `items` and `note` of the summary from the first bytes of the message.

    `size` is the size of the message in bytes, None if unknown. Raises DamagedError if the first bytes are not
    MessagePack, or if the message needs more than `size` bytes.
    """
    if not head:
        summary.message = "unknown"
        if summary.note is None:
            summary.note = "the first frames are empty"
        return
    if is_tar(head):
        summary.note = TAR[summary.compressed]
        return
    byte = head[0]
    family, header, length = value_header(head, 0)
    if family == INVALID:
        raise DamagedError(f"not MessagePack: no type begins with the byte {byte:02x}", summary)
    if len(head) < header:
        raise DamagedError("truncated: the message ends inside its first header", summary)
    if family in (ARRAY, MAP):
        summary.items = length
        one, many = ("item", "items") if family == ARRAY else ("entry", "entries")
        summary.message = f"{_NAMES[family]} of {length:,} {one if length == 1 else many}"
        least = header + length * (1 if family == ARRAY else 2)  # an item is at least a byte
    else:
        least = header + length + (family == EXT)  # an extension has a byte for its code
        name = _SCALARS.get(byte) or _NAMES[family]
        summary.message = f"{name} ({least:,} {'byte' if least == 1 else 'bytes'})"
    if size is None:
        return
    if size < least:
        raise DamagedError(f"truncated: {summary.message} needs at least {counted(least - size, 'byte')} more", summary)
    if size > least and not summary.items:
        hint = other_format(head, compressed=summary.compressed) or NOT_ONE
        summary.note = f"{following(size - least)}{hint}"


def info_lines(name: str, summary: Summary) -> Iterator[str]:
    """Yield the lines that `cpkg info` prints."""
    yield f"{name}: {counted(summary.size, 'byte')}"
    if summary.compressed:
        counts = [(summary.frame_count, "frame"), (summary.skippable_count, "skippable frame")]
        yield f"  container  {', '.join(['Zstandard', *(counted(*count) for count in counts if count[0])])}"
        for frame in summary.frames:
            yield f"  frame      {_frame_line(frame)}"
        left = summary.frame_count + summary.skippable_count - len(summary.frames)
        if left:
            yield f"             and {left:,} more"
        if summary.content:
            yield f"  content    {counted(summary.content, 'byte')}, {squeezed(summary.content, summary.size)}"
        elif summary.content is None:
            yield "  content    of unknown size: not every frame declares it"
    elif summary.size:
        yield "  container  none"
    if summary.message:
        yield f"  message    MessagePack: {summary.message}"
    if summary.note:
        yield f"  note       {summary.note}"


def _frame_line(frame: Frame) -> str:
    where = f"at byte {frame.offset:,}: {counted(frame.size, 'byte')}"
    if frame.is_skippable:
        return f"{where}, skippable"
    size = "undeclared" if frame.content_size is None else counted(frame.content_size, "byte")
    checksum = "no" if frame.checksum is None else "yes"
    return (
        f"{where}, content {size}, window {counted(frame.window_size, 'byte')}, checksum {checksum}, "
        f"dictionary {frame.dictionary_id or 'none'}, {counted(len(frame.blocks), 'block')}"
    )
