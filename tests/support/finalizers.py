# SPDX-License-Identifier: Apache-2.0
"""Abandoned files: from Python 3.13 on, their finalizers report data that could not be written."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module", autouse=True)
def finalizers_may_fail() -> Iterator[None]:
    """Ignore such reports while the tests of a module run, without keeping references to them."""
    told = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        # ValueError means that the underlying file was closed meanwhile
        if not issubclass(unraisable.exc_type, (OSError, ValueError)):
            told(unraisable)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "unraisablehook", hook)
        yield
        for _ in range(3):  # on PyPy, a collection may run only some finalizers
            gc.collect()
