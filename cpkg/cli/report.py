# SPDX-License-Identifier: Apache-2.0
"""The text that `cpkg info` and `cpkg demo` print."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from cpkg import _backend_info
from cpkg.cli.compare import Result
from cpkg.cli.contents import Frame, Summary


def named(chosen: _backend_info.BackendInfo) -> str:
    """Return the name of a backend, with that of its library."""
    return f"{chosen.backend} ({chosen.library})" if chosen.library else chosen.backend


def info_lines(name: str, summary: Summary) -> Iterator[str]:
    yield f"{name}: {summary.size:,} bytes"
    if summary.compressed:
        counts = [(summary.frame_count, "frame"), (summary.skippable_count, "skippable frame")]
        told = ", ".join(f"{count:,} {noun}{'s' * (count != 1)}" for count, noun in counts if count)
        yield f"  container  Zstandard{', ' if told else ''}{told}"
        for frame in summary.frames:
            yield f"  frame      {_frame_line(frame)}"
        left = summary.frame_count + summary.skippable_count - len(summary.frames)
        if left:
            yield f"             and {left:,} more"
        if summary.content:
            yield f"  content    {summary.content:,} bytes, {summary.content / summary.size:.2f} times the file"
        elif summary.content is None:
            yield "  content    of unknown size: not every frame declares it"
    elif summary.size:
        yield "  container  none"
    if summary.message:
        yield f"  message    MessagePack: {summary.message}"
    if summary.note:
        yield f"  note       {summary.note}"


def _frame_line(frame: Frame) -> str:
    where = f"at byte {frame.offset:,}: {frame.size:,} bytes"
    if frame.skippable:
        return f"{where}, skippable"
    size = "undeclared" if frame.content is None else f"{frame.content:,} bytes"
    return (
        f"{where}, content {size}, window {frame.window:,} bytes, checksum {'yes' if frame.checksum else 'no'}, "
        f"dictionary {frame.dictionary or 'none'}, {frame.blocks:,} block{'s' * (frame.blocks != 1)}"
    )


def print_demo(name: str, size: int, result: Result) -> None:
    from rich.box import ASCII2, SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    click.echo(
        f"{name}: {size:,} bytes; as JSON without spaces {result.json_size:,}, as MessagePack {result.message_size:,}"
    )
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else 120)
    table = Table(box=SIMPLE_HEAD if console.encoding.startswith("utf") else ASCII2)
    for title in ("msgpack", "zstd"):
        table.add_column(title, no_wrap=True)
    for title in ("pack MB/s", "unpack MB/s", "bytes", "of JSON"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("auto", no_wrap=True)
    table.add_row(
        "json", "none", speed(result.json_pack), speed(result.json_unpack), f"{result.json_size:,}", "100.0 %", ""
    )
    for row in result.rows:
        share = f"{100 * row.size / result.json_size:.1f} %"
        auto = "<-" if row.auto else ""
        table.add_row(row.msgpack, row.zstd, speed(row.pack), speed(row.unpack), f"{row.size:,}", share, auto)
    console.print(table)
    click.echo("MB/s: millions of bytes of JSON per second, best run. json: Python's own, for comparison.")
    for codec, chosen in _backend_info.backend_info().items():
        click.echo(f"{codec}: {chosen.policy} picks {named(chosen)}: {chosen.reason}")
        if chosen.faster:
            click.echo(f"  to be faster: {chosen.faster}")
    for missing in result.missing:
        click.echo(f"not compared: {missing}")
    if not result.disagreements:
        count = len(result.rows)
        click.echo(f"All {count} combinations agree: the same message, read back by each of them as what was packed.")


def speed(bytes_per_second: float) -> str:
    speed = bytes_per_second / 1e6
    return f"{speed:.0f}" if speed >= 100 else f"{speed:.1f}" if speed >= 1 else f"{speed:.2f}"
