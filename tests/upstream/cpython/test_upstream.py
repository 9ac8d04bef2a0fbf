# SPDX-License-Identifier: Apache-2.0
"""
CPython's own tests of Zstandard, with cpkg.zstd instead of compression.zstd.

From 3.14 on these are the interpreter's tests for zstd, tarfile, zipfile and shutil, if they are installed (Debian's
package libpython3.14-testsuite). Before 3.14 they are the tests for zstd in backports.zstd's sdist, which is fetched
(`tox run -e upstream-stdlib-3.11`): its other tests are for the newest tarfile and zipfile, while cpkg extends the
interpreter's own. Failing tests are listed with the reason in failing.json; each of them must fail.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from backends import available
from sources import python_path, unpack

pytestmark = pytest.mark.nightly

HERE = Path(__file__).parent
SDIST = (
    "https://files.pythonhosted.org/packages/ff/9c/13569626440e88f09d16f43ec1c2aa0d10a523be2811414580d1cfb7c9f3"
    "/backports_zstd-1.8.0.tar.gz"
)
SHA256 = "9dae4f4c481716e3db473d667457b4f508ff7459c0931b567a5c9677fb3db316"
MODULES = {
    "compression.zstd": ["test.test_zstd", "test.test_tarfile", "test.test_zipfile.test_core", "test.test_shutil"],
    "backports.zstd": ["test.test_zstd"],
}
FAILING = json.loads((HERE / "failing.json").read_text(encoding="utf-8"))
"""The failing tests by their reasons, for a module and for backends."""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return the working directory, and the name of the module that the tests are for."""
    folder = tmp_path_factory.mktemp("cpython")
    if sys.version_info >= (3, 14):
        if importlib.util.find_spec("test.test_zstd") is None:
            pytest.skip("this interpreter has no tests: libpython3.14-testsuite on Debian")
        return folder, "compression.zstd"
    return unpack(SDIST, SHA256, folder) / "tests", "backports.zstd"


@pytest.mark.parametrize("backend", list(available("zstd")))
def test_suite(backend: str, suite: tuple[Path, str]) -> None:
    """Every test passes except the listed ones."""
    folder, name = suite
    environ = {**os.environ, "CPKG_ZSTD_BACKEND": backend, "PYTHONPATH": python_path(folder)}
    command = [sys.executable, HERE / "runner.py", name, *MODULES[name]]
    run = subprocess.run(command, env=environ, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-5000:]
    result = json.loads(run.stdout.splitlines()[-1])
    assert result["run"] > 110 * (1 + (name == "compression.zstd"))
    expected = {test for key in (name, backend) for tests in FAILING.get(key, {}).values() for test in tests}
    failed = {test.partition("test.")[2]: text for test, text in result["failed"].items()}
    assert set(failed) == expected, "\n".join(text for test, text in failed.items() if test not in expected)
