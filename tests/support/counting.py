# SPDX-License-Identifier: Apache-2.0
"""Count the work of a call, for tests that must not depend on time."""

from __future__ import annotations

import sys
from typing import Any, Callable


def calls_of(act: Callable[[], Any]) -> int:
    """Return how many Python functions a call executes."""
    count = 0

    def see(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        act()
    finally:
        sys.setprofile(before)
    return count
