# SPDX-License-Identifier: Apache-2.0
"""The progress bar of long commands, with a simulated clock."""

from __future__ import annotations

import contextlib
import io
import re

import pytest

from cpkg.cli import progress
from cpkg.cli.progress import LARGE, Bar


class Terminal(io.StringIO):
    """A terminal that keeps its output."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (4 * LARGE, r"packing \[#{10} {10}\]  50% 2\.1 MB/s 0:04 left 0:04"),
        (None, r"packing 2\.1 MB/s 0:04"),
    ],
)
def test_rate_and_remaining_time(monkeypatch: pytest.MonkeyPatch, size: int | None, text: str) -> None:
    """A bar shows the remaining time only if the size of the input is known."""
    terminal = Terminal()
    now = 0.0
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(progress, "clock", lambda: now)
    monkeypatch.setenv("TERM", "xterm")
    with contextlib.closing(Bar(1, size)) as bar:
        bar.stage("packing")
        for now in (2.0, 4.0, 4.1):
            bar.at(int(now / 2) * LARGE)
    shown = [line.rstrip() for line in terminal.getvalue().split("\r")]
    assert [line for line in shown if re.fullmatch(text, line)] == [shown[-4]], shown
    assert shown[-2:] == ["", ""]
