# SPDX-License-Identifier: Apache-2.0
"""The progress bar of long commands, by a clock of the test."""

from __future__ import annotations

import contextlib
import functools
import io
import re

import pytest

pytest.importorskip("rich")

import rich.console

from cpkg.cli.progress import LARGE, Bar


class Terminal(io.StringIO):
    """A terminal that keeps what it is sent."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("size", "text"),
    [(4 * LARGE, r"packing \S+ +50% 2\.1 MB/s 0:00:04 left 0:00:04"), (None, r"packing \S+ 2\.1 MB/s 0:00:02")],
)
def test_rate_and_remaining_time(monkeypatch: pytest.MonkeyPatch, size: int | None, text: str) -> None:
    """A bar shows the end only where the size of the input is known."""
    terminal = Terminal()
    now = 0.0
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(
        rich.console, "Console", functools.partial(rich.console.Console, width=120, get_time=lambda: now)
    )
    monkeypatch.setenv("TERM", "xterm")
    with contextlib.closing(Bar(1, size)) as bar:
        bar.stage("packing")
        for now in (2.0, 4.0):
            bar.at(int(now / 2) * LARGE)
    shown = re.split(r"[\r\n]", re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", terminal.getvalue()))
    assert any(re.fullmatch(text, line) for line in shown), shown
