# SPDX-License-Identifier: Apache-2.0
"""`cpkg zstd -l`: describe compressed files from the headers of their frames and blocks."""

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
    """
    The facts about one file, or the totals of several; `content` is None if a frame does not declare its size.

    `frames`, which includes the `skippable` ones, `compressed` and `content` are totals. `window` and `dictionary` come
    from the file's last frame that is not skippable. `checksum` comes from the last frame that has a checksum, and is
    None if no frame has a checksum. These three are not set for several files.
    """

    def __init__(self) -> None:
        self.frames = self.skippable = self.compressed = self.window = self.dictionary = 0
        self.content: int | None = 0
        self.checksum: int | None = None

    def add(self, frame: Frame) -> None:
        """Add a frame to the facts about a file; does not change `compressed`."""
        self.frames += 1
        if frame.is_skippable:
            self.skippable += 1
            return
        self._add_content(frame.content_size)
        self.window = frame.window_size
        self.dictionary = frame.dictionary_id
        if frame.checksum is not None:
            self.checksum = frame.checksum

    def add_file(self, facts: _Facts) -> None:
        """Add the numbers of frames and the sizes of a file to the totals."""
        self.frames += facts.frames
        self.skippable += facts.skippable
        self.compressed += facts.compressed
        self._add_content(facts.content)

    def _add_content(self, size: int | None) -> None:
        self.content = None if self.content is None or size is None else self.content + size

    @property
    def ratio(self) -> float:
        return (self.content or 0) / self.compressed if self.compressed else 0.0


class _Unreadable(Exception):
    pass


def list_files(names: list[str], console: Console) -> int:
    """
    Describe files, one per line, or each on several lines with -v; return the exit status.

    The status is 1 if a file cannot be read or is not Zstandard throughout, if there are no files, or if standard input
    is among them.
    """
    if STDIN in names:
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
    checks = []
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
        total.add_file(facts)
        checks.append(facts.checksum is not None)
        if in_detail:
            _print_details(name, facts, console)
        else:
            _print_row(facts, "XXH64" if checks[-1] else "None", name, console)
    if len(names) > 1 and not in_detail:
        print(_RULE, end="")
        _print_row(total, "XXH64" if all(checks) else "", f"{len(checks)} files", console)
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
            # the text of the tool zstd, also for foreign bytes after a frame
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
    checksum = f" {facts.checksum:08x}" if facts.checksum is not None and facts.frames == 1 else ""
    print("Check: None\n" if facts.checksum is None else f"Check: XXH64{checksum}\n")
