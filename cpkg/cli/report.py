# SPDX-License-Identifier: Apache-2.0
"""The text that `cpkg info` and `cpkg demo` print."""

from __future__ import annotations

from collections.abc import Iterator

from cpkg import backend_info
from cpkg.cli.compare import ROUNDS, Result, Speed
from cpkg.cli.contents import Summary
from cpkg.cli.fitting import counted, squeezed
from cpkg.cli.plain import named
from purepy.zstd.format.scanner import Frame


def info_lines(name: str, summary: Summary) -> Iterator[str]:
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


def demo_lines(name: str, size: int, result: Result) -> Iterator[str]:
    """Yield the lines that `cpkg demo` prints; those of its table have at most 60 columns."""
    sizes = f"as JSON without spaces {result.json_size:,}, as MessagePack {result.message_size:,}"
    yield f"{name}: {counted(size, 'byte')}; {sizes}"
    yield ""
    yield f"{'msgpack':7} {'zstd':6} {'pack MB/s':>13} {'unpack MB/s':>13} {'bytes':>11}"
    rows = [("json", "none", result.json_pack, result.json_unpack, result.json_size, "")]
    rows += [(row.msgpack, row.zstd, row.pack, row.unpack, row.size, "auto") for row in result.rows if row.auto]
    rows += [(row.msgpack, row.zstd, row.pack, row.unpack, row.size, "") for row in result.rows if not row.auto]
    for packer, compressor, pack, unpack, bytes_, auto in rows:
        line = f"{packer:7} {compressor:6} {speed(pack):>13} {speed(unpack):>13} {bytes_:>11,} {auto}"
        yield line.rstrip()
    yield ""
    yield f"MB/s: millions of bytes of JSON per second, the median of {ROUNDS} rounds (half of their range)."
    yield "json: Python's own, for comparison. auto: the backends that are in use here."
    for codec, chosen in backend_info().items():
        yield f"{codec}: {chosen.policy} picks {named(chosen)}: {chosen.reason.partition('; ')[0]}"
        if chosen.faster:
            yield f"  to be faster: {chosen.faster}"
    for missing in result.missing:
        yield f"not compared: {missing}"
    if not result.disagreements:
        count = len(result.rows)
        yield f"All {count} combinations agree: the same message, read back by each of them as what was packed."


def speed(found: Speed) -> str:
    """Return a speed in MB/s with its spread in per cent."""
    number = found.median / 1e6
    text = f"{number:.0f}" if number >= 100 else f"{number:.1f}" if number >= 1 else f"{number:.2f}"
    return f"{text} ({100 * found.spread:.0f} %)"
