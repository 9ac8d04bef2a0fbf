# SPDX-License-Identifier: Apache-2.0
"""
msgpack's own tests, from the release that cpkg.msgpack replaces, on the facade, and on each backend but the facade's.

Not one may fail. The tests which msgpack keeps for its C extension tell it by the name of its module, so that they
run here on every backend.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from backends import available
from sources import python_path

import cpkg.msgpack
from cpkg import _backend

SUITE = Path(__file__).parent / "suite"
COLLECTED = 161  # tests in the folder of msgpack 1.2.4

MODULES = {"facade": cpkg.msgpack, **available("msgpack")}
del MODULES[_backend.choose("msgpack").module.BACKEND]


@pytest.mark.parametrize("module", MODULES)
def test_suite(module: str, tmp_path: Path) -> None:
    """Every test of the folder passes, or is skipped for a reason of the interpreter's."""
    # without pytest's plugins, which it does not use, and which take as long as its tests
    alone = {"PYTHONPATH": python_path(), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environ = {**os.environ, "CPKG_SUITE_MODULE": MODULES[module].__name__, **alone}
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-c", tmp_path / "pytest.ini"]
    run = subprocess.run(
        [*command, "--rootdir", SUITE, "--confcutdir", SUITE, SUITE], env=environ, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped|error)", run.stdout)}
    assert run.returncode == 0, run.stdout + run.stderr
    assert counts.get("passed", 0) + counts.get("skipped", 0) == COLLECTED, run.stdout
    # frozendict needs Python 3.15; PyPy has no sys.getrefcount, and its 7.3.11 no tracemalloc (4 cases)
    assert counts.get("skipped", 0) <= (1 if sys.implementation.name == "cpython" else 6), run.stdout
