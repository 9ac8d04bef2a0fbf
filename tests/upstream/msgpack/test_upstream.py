# SPDX-License-Identifier: Apache-2.0
"""
msgpack's own tests, from the sdist of the release that cpkg.msgpack replaces, on each backend and on the facade.

The sdist is fetched, so these tests have a separate row (`tox run -e upstream-msgpack`). None may fail.
msgpack's tests recognize its C extension by the name of its module, so the tests for the extension run here on every
backend.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from backends import available
from sources import run_tests, suite_of

import cpkg.msgpack
from cpkg import _backend

pytestmark = pytest.mark.nightly

HERE = Path(__file__).parent
SDIST = (
    "https://files.pythonhosted.org/packages/cc/52/1ec7ead2c7528bf3d1db73e886fa4df10f9e6f0eb7854a448b7090cfcef7"
    "/msgpack-1.2.4.tar.gz"
)
SHA256 = "475c44e12f2a5de766a8448783f149c9b33f3f49b88953c6cd739a77d93c732c"
COLLECTED = 161

MODULES = {"facade": cpkg.msgpack, **available("msgpack")}
del MODULES[_backend.choose("msgpack").module.BACKEND]


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return suite_of(SDIST, SHA256, tmp_path_factory.mktemp("msgpack"), "test", HERE / "suite_conftest.py")


@pytest.mark.parametrize("module", MODULES)
def test_suite(module: str, suite: Path) -> None:
    """Every test passes, or is skipped because of the interpreter."""
    # without pytest's plugins: the suite does not use them, and they take as long as its tests
    variables = {"CPKG_SUITE_MODULE": MODULES[module].__name__, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    found, output = run_tests(suite, "-rs", "test", named="{}.{}".format, **variables)
    assert found["failed"] == [], output
    assert sum(map(len, found.values())) == COLLECTED, output
    # frozendict needs Python 3.15; PyPy has no sys.getrefcount, and its 7.3.11 no tracemalloc (4 cases)
    assert len(found["skipped"]) <= (1 if sys.implementation.name == "cpython" else 6), output
