# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin that skips tests which need a feature that the system lacks, such as processes or threads."""

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
"""Error text of a missing feature -> name of the feature."""
_COUNT: Counter[str] = Counter()
_OURS = {"cpkg", "purepy"}


def lacking(error: BaseException | None) -> str:
    """Return the feature whose lack an error from outside our code (or our own "this system has no") shows, or ""."""
    while error is not None:
        found = ((re.search(pattern, str(error)), what) for pattern, what in LACKS)
        what = next((what.format(*match.groups()) for match, what in found if match), "")
        places = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        is_refusal = "this system has no" in str(error)  # our own code raises such errors
        if what and (is_refusal or not any(_OURS & set(Path(place).parts) for place in places)):
            return what
        error = error.__cause__ or error.__context__
    return ""


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    """Skip a test that failed because the system lacks a feature."""
    outcome = yield
    report = outcome.get_result()
    what = lacking(call.excinfo.value) if report.failed and call.excinfo is not None else ""
    if what:
        _COUNT[what] += 1
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, f"Skipped: this system lacks {what}")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print for each missing feature how many tests were skipped."""
    for what, count in _COUNT.most_common():
        terminalreporter.write_line(f"left out: {count} tests need {what}, which this system lacks")
