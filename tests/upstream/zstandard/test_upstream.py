# SPDX-License-Identifier: Apache-2.0
"""
python-zstandard's own tests, from the sdist of the release that cpkg.zstandard replaces, on each backend.

The sdist is fetched, so these tests have a separate row
(`tox run -e upstream-zstandard-3.11`). All tests run, also those that the suite skips unless ZSTD_SLOW_TESTS is
set. Failing tests are listed with the reason in failing.json; each of them must fail.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest
from backends import available
from sources import run_tests, suite_of

import cpkg.zstandard

pytestmark = pytest.mark.nightly

HERE = Path(__file__).parent
SDIST = (
    "https://files.pythonhosted.org/packages/fd/aa/3e0508d5a5dd96529cdc5a97011299056e14c6505b678fd58938792794b1"
    "/zstandard-0.25.0.tar.gz"
)
SHA256 = "7713e1179d162cf5c7906da876ec2ccb9c3a9dcbdffef0cc7f70c3667a205f0b"
COLLECTED = 292
EXAMPLES = {"native": 30, "dlopen": 30, "stdlib": 30, "pure": 1 if sys.implementation.name == "cpython" else 3}

FAILING = json.loads((HERE / "failing.json").read_text(encoding="utf-8"))
"""
Failing tests by their reasons: on every backend (errors of the original, for which tests/zstandard shows the right
results, or an estimate), with another libzstd than the original's 1.5.7, and on two backends that support less.
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return suite_of(SDIST, SHA256, tmp_path_factory.mktemp("zstandard"), "tests", HERE / "suite_conftest.py")


@pytest.mark.parametrize("backend", list(available("zstd")))
def test_suite(backend: str, suite: Path) -> None:
    """Every test passes except the listed ones."""
    variables = {
        "CPKG_ZSTD_BACKEND": backend,
        "CPKG_SUITE_EXAMPLES": str(EXAMPLES[backend]),
        "HYPOTHESIS_PROFILE": "cpkg",
        "ZSTD_SLOW_TESTS": "1",
    }
    found, output = run_tests(
        suite, "--tb=short", "tests", named=lambda where, name: f"{where.rpartition('.')[2]}.{name}", **variables
    )
    assert sum(map(len, found.values())) == COLLECTED, output
    assert found["skipped"] == []
    assert set(found["failed"]) == expected(backend), output


def test_names(suite: Path) -> None:
    """cpkg has the names and attributes in the original's stub; tests/zstandard/signatures.json has the parameters."""
    missing = []
    for node in ast.parse(next(suite.glob("source/*/zstandard/__init__.pyi")).read_text()).body:
        for part in [node, *getattr(node, "body", [])]:
            name = ast.unparse(part.target) if isinstance(part, ast.AnnAssign) else getattr(part, "name", None)
            place = cpkg.zstandard if part is node else getattr(cpkg.zstandard, node.name)
            if name and not hasattr(place, name) and name not in vars(place).get("__annotations__", {}):
                missing.append(name)
    assert missing == ["next"] * missing.count("next")


def expected(backend: str) -> set[str]:
    """Return the tests that fail."""
    kinds = ["every", *({backend} & {"pure", "stdlib"})]
    if backend != "pure" and available("zstd")[backend].zstd_version_info != (1, 5, 7):
        kinds.append("other libzstd")
    return {test for kind in kinds for tests in FAILING[kind].values() for test in tests}
