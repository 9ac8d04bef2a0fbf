# SPDX-License-Identifier: Apache-2.0
"""Functions that fail, and checks of calls that do."""

from __future__ import annotations

from typing import Any, Callable

import pytest


def raising(error: BaseException) -> Any:
    """Return a function that raises an error."""

    def fail(*_: object, **options: object) -> None:
        raise error

    return fail


def each_raises(error: Any, *uses: Callable[[], Any], match: str | None = None) -> list[Any]:
    """Check that each call raises an error; return the errors."""
    found = []
    for use in uses:
        with pytest.raises(error, match=match) as caught:
            use()
        found.append(caught.value)
    return found
