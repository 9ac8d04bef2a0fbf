# SPDX-License-Identifier: Apache-2.0
"""Tests that abandon open files: since Python 3.13, the finalizers of such files report data that they cannot write."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module", autouse=True)
def finalizers_may_fail() -> Iterator[None]:
    """Ignore these reports while the tests of a module run, without keeping references to the exceptions."""
    before = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        # ValueError means that the underlying file was closed meanwhile
        if not issubclass(unraisable.exc_type, (OSError, ValueError)):
            before(unraisable)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "unraisablehook", hook)
        yield
        for _ in range(3):  # on PyPy, a collection may run only some finalizers
            gc.collect()
