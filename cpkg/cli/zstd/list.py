# SPDX-License-Identifier: Apache-2.0
"""`cpkg zstd -l`: describe compressed files by the headers of their frames and blocks."""

from __future__ import annotations

import os
import sys

from cpkg.cli.zstd.console import Console
from cpkg.cli.zstd.options import STDIN
from purepy.base.errors import ZstdError
from purepy.zstd.format.error_codes import PREFIX_UNKNOWN, SRC_SIZE_WRONG
from purepy.zstd.format.rules import is_frame
from purepy.zstd.format.scanner import Frame, scan_frames

_HEADER = "Frames  Skips  Compressed  Uncompressed  Ratio  Check  Filename\n"
_RULE = "-" * 65 + " \n"


class _Facts:
    """The sums of what a file holds, or several; `content` is None once a frame does not declare its size."""

    def __init__(self) -> None:
        self.frames = 0
        self.skippable = 0
        self.compressed = 0
        self.content: int | None = 0
        self.window = 0
        self.dictionary = 0
        self.checked = False
        self.checksum = ""

    def add(self, frame: Frame) -> None:
        """Add a frame to the sums."""
        self.frames += 1
        if frame.is_skippable:
            self.skippable += 1
            return
        if self.content is not None:
            self.content = None if frame.content_size is None else self.content + frame.content_size
        self.window = frame.window_size
        self.dictionary = frame.dictionary_id
        if frame.checksum is not None:
            self.checked = True
            self.checksum = f"{frame.checksum:08x}"

    @property
    def ratio(self) -> float:
        return (self.content or 0) / self.compressed if self.compressed else 0.0


class _Unreadable(Exception):
    pass


def list_files(names: list[str], console: Console) -> int:
    """Describe files, one per line, or on several with -v; return 1 if one of them cannot be read."""
    for name in names:
        if name == STDIN:
            return console.fail("zstd: --list does not support reading from standard input \n")
    if not names:
        if not sys.stdin.isatty():
            console.say(1, "zstd: --list does not support reading from standard input \n")
        return console.fail("No files given \n")
    in_detail = console.level > 2
    failed = False
    if not in_detail:
        print(_HEADER, end="")
    total = _Facts()
    total.checked = True
    count = 0
    for name in names:
        try:
            facts = _facts_of(name, console)
        except _Unreadable as exc:
            print(exc, end="\n\n" if in_detail else "\n", flush=True)
            failed = True
            continue
        except OSError:
            console.say(1, f"Error : {name} is not a file \n")
            failed = True
            continue
        count += 1
        total.frames += facts.frames
        total.skippable += facts.skippable
        total.compressed += facts.compressed
        total.content = None if None in (total.content, facts.content) else total.content + facts.content  # type: ignore[operator]
        total.checked &= facts.checked
        if in_detail:
            _print_details(name, facts, console)
        else:
            _print_row(facts, "XXH64" if facts.checked else "None", name, console)
    if len(names) > 1 and not in_detail:
        print(_RULE, end="")
        _print_row(total, "XXH64" if total.checked else "", f"{count} files", console)
    sys.stdout.flush()
    return int(failed)


def _facts_of(name: str, console: Console) -> _Facts:
    if not os.path.isfile(name):
        raise OSError
    facts = _Facts()
    with open(name, "rb") as file:
        facts.compressed = os.fstat(file.fileno()).st_size
        if not is_frame(file.read(4)):
            raise _Unreadable(f'File "{name}" not compressed by zstd ')
        try:
            for frame in scan_frames(file, with_blocks=False, is_strict=False):
                facts.add(frame)
        except ZstdError as exc:
            if exc.code == SRC_SIZE_WRONG:
                raise _Unreadable(f'File "{name}" is truncated ') from None
            if exc.code != PREFIX_UNKNOWN:
                console.say(1, f'Error while parsing "{name}" \n')
            raise _Unreadable(f'File "{name}" not compressed by zstd ') from None
    return facts


def _print_row(facts: _Facts, check: str, name: str, console: Console) -> None:
    compressed = console.wide(facts.compressed)
    if facts.content is None:
        print(f"{facts.frames:6}  {facts.skippable:5}  {compressed}                       {check:>5}  {name}")
    else:
        content = console.wide(facts.content, 8)
        print(f"{facts.frames:6}  {facts.skippable:5}  {compressed}  {content}  {facts.ratio:5.3f}  {check:>5}  {name}")


def _print_details(name: str, facts: _Facts, console: Console) -> None:
    def sized(label: str, number: int) -> None:
        print(f"{label} Size: {''.join(console.size(number))} ({number} B)")

    print(f"{name} ")
    print(f"# Zstandard Frames: {facts.frames - facts.skippable}")
    if facts.skippable:
        print(f"# Skippable Frames: {facts.skippable}")
    print(f"DictID: {facts.dictionary}")
    sized("Window", facts.window)
    sized("Compressed", facts.compressed)
    if facts.content is not None:
        sized("Decompressed", facts.content)
        print(f"Ratio: {facts.ratio:.4f}")
    if not facts.checked:
        print("Check: None")
    elif facts.frames == 1:
        print(f"Check: XXH64 {facts.checksum}")
    else:
        print("Check: XXH64")
    print()
