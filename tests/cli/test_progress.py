# SPDX-License-Identifier: Apache-2.0
"""What the progress bar of long commands shows."""

from __future__ import annotations

import contextlib
import io
import re
import time

import pytest

pytest.importorskip("rich")

from cpkg.cli.progress import LARGE, Bar


class Terminal(io.StringIO):
    """A terminal that keeps what it is sent."""

    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, size: int | None) -> str:
    """Return what a bar shows of twice LARGE bytes, of `size`, that came at two times."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with contextlib.closing(Bar(1, size)) as bar:
        bar.stage("packing")
        bar.at(LARGE)
        time.sleep(0.05)
        bar.at(2 * LARGE)
    return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", terminal.getvalue())


def test_rate_and_remaining_time(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, 4 * LARGE)
    assert re.search(r"packing .* 50% \d[\d.]* [kM]B/s 0:00:\d\d left 0:\d\d:\d\d", text)


def test_without_a_size_there_is_no_end_to_name(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, None)
    assert re.search(r"packing .* \d[\d.]* [kM]B/s 0:00:\d\d", text)
    assert "%" not in text
    assert "left" not in text
