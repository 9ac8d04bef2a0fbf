# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests that start the command line as a process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import cpkg


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    root = str(Path(cpkg.__file__).parent.parent)
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path, "TERM": "xterm", "COLUMNS": "100"}
