# SPDX-License-Identifier: Apache-2.0
"""
msgspec's own tests of MessagePack, types and conversion, with cpkg.typed under its names (shim.py).

The tests come from its sdist, which is fetched (`tox run -e upstream-msgspec`), and run on each backend of MessagePack.
Not run are tests of JSON, YAML, TOML, structs as such, schemas and inspection, whose forms differ. Failing tests are
listed by patterns, each with its reason, in failing.json: every pattern must match a failing test, and no other test
may fail.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from types import ModuleType

import pytest
from sources import run_tests, unpack

pytestmark = pytest.mark.nightly

HERE = Path(__file__).parent
SDIST = (
    "https://files.pythonhosted.org/packages/d0/e6/6dcf9306ff3c5e486578f3bf29ed11dfbdbbc2a8bf0caf7e07d392887fda"
    "/msgspec-0.22.0.tar.gz"
)
SHA256 = "0a13624a4969159fe35d8c2a3d377b2b61bbd8585e327440d5e52725affcce38"
MODULES = ("msgpack", "common", "convert", "constraints", "to_builtins", "raw")
LEAST_PASSED = 1600
NOT_OURS = '@pytest.mark.parametrize(\n    "func, expected"'
"""The start of the tests of signatures for functions that cpkg.typed does not have."""

FAILING = json.loads((HERE / "failing.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with msgspec's tests, and with a conftest that replaces msgspec by the shim."""
    tests = unpack(SDIST, SHA256, tmp_path_factory.mktemp("msgspec")) / "tests" / "unit"
    common = tests / "test_common.py"
    common.write_text(common.read_text().partition(NOT_OURS)[0])
    (tests / "shim.py").write_text((HERE / "shim.py").read_text())
    conftest = tests / "conftest.py"
    first = "import sys\n\nsys.path.insert(0, __file__.rpartition('/')[0])\nimport shim\n\nshim.install()\n"
    conftest.write_text(first + conftest.read_text())
    return tests


def test_suite(suite: Path, msgpack: ModuleType) -> None:
    """Every test passes except the listed ones."""
    found, output = run_tests(
        suite.parents[1],
        *("-p", "no:randomly", "-k", "not json", f"--rootdir={suite.parents[1]}", "-c", os.devnull),
        *(suite / f"test_{name}.py" for name in MODULES),
        named=lambda where, name: f"{where}.{name.partition('[')[0]}",
        CPKG_MSGPACK_BACKEND=msgpack.BACKEND,
    )
    assert len(found["passed"]) > LEAST_PASSED, output
    failed = found["failed"]
    others = sorted({name for name in failed if not any(re.search(pattern, name) for pattern in FAILING.values())})
    assert not others, others
    idle = [pattern for pattern in FAILING.values() if not any(re.search(pattern, name) for name in failed)]
    assert not idle, idle
