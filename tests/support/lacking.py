# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest for systems without processes, threads and the like: tests that need them are left out."""

from __future__ import annotations

import re
import traceback
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

LACKS = (
    (r"does not support (processes)", "{}"),
    (r"(Function) not implemented", "{}s like fork"),
    (r"can't start new (thread)", "{}s of the tests' own"),
    (r"module '(os|signal|socket|time|tracemalloc)' has no attribute '(\w+)'", "{}.{}"),
    (r"No module named '(resource|fcntl|_ssl|pwd|grp|termios|pty|mmap)'", "{}"),
    (r"this system has no (hard links|fifos|devices in directories)", "{}"),
)
"""What an error says where the system lacks something, and what that is."""
_COUNT: Counter[str] = Counter()
_OURS = {"cpkg", "purepy"}


def lacking(error: BaseException | None) -> str:
    """Return what the system lacks, by an error that is not of our own code; else an empty string."""
    while error is not None:
        found = ((re.search(pattern, str(error)), what) for pattern, what in LACKS)
        what = next((what.format(*match.groups()) for match, what in found if match), "")
        places = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        is_refusal = "this system has no" in str(error)  # which is for our own code to say
        if what and (is_refusal or not any(_OURS & set(Path(place).parts) for place in places)):
            return what
        error = error.__cause__ or error.__context__
    return ""


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    """Skip a test that failed for want of something that the system lacks."""
    outcome = yield
    report = outcome.get_result()
    what = lacking(call.excinfo.value) if report.failed and call.excinfo is not None else ""
    if what:
        _COUNT[what] += 1
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, f"Skipped: this system lacks {what}")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many tests were left out for which reason."""
    for what, count in _COUNT.most_common():
        terminalreporter.write_line(f"left out: {count} tests need {what}, which this system lacks")
