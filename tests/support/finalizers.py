# SPDX-License-Identifier: Apache-2.0
"""Files that are given up: from Python 3.13 on, their finalizers tell what they could not write."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module", autouse=True)
def finalizers_may_fail() -> Iterator[None]:
    """Let what cannot be written go untold while a module's tests run, and hold nothing of it."""
    told = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        # a ValueError says that the file below was closed meanwhile
        if not issubclass(unraisable.exc_type, (OSError, ValueError)):
            told(unraisable)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "unraisablehook", hook)
        yield
        for _ in range(3):  # the finalizers of PyPy run one after the other
            gc.collect()
