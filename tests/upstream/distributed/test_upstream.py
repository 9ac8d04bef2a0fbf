# SPDX-License-Identifier: Apache-2.0
"""
dask.distributed's own tests of its communication and protocol, unchanged, with cpkg as its msgpack and zstandard.

Neither its wheel nor its sdist contains them: they come from Debian's sources, which are fetched, in a separate row
(`tox run -e upstream-distributed`).
Some tests depend on timing and fail on a busy machine: failed tests run again, with cpkg and with the originals.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sources import outcomes, unpack

pytestmark = pytest.mark.nightly

import cpkg

ROOT = Path(cpkg.__file__).parents[1]
IN_PLACE = Path(__file__).parents[2] / "support" / "in_place"
SOURCE = "https://deb.debian.org/debian/pool/main/d/dask.distributed/dask.distributed_2024.12.1+ds.orig.tar.xz"
SHA256 = "e9c010426e74c79b4cbb01dc0b7eb0046dc152453447e0c2631750105dbcea24"
FOLDERS = ("distributed/comm/tests", "distributed/protocol/tests")
PASSED_MIN = 300
"""The least number of passing tests; with fewer, requirements are missing and tests were skipped."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the unpacked sources."""
    return unpack(SOURCE, SHA256, tmp_path_factory.mktemp("distributed"))


def run(tree: Path, tests: tuple[str, ...], *, in_place: bool) -> tuple[set[str], int, str]:
    """Run tests; return the failed ones, the number of passed ones, and the output."""
    report = tree / "report.xml"
    report.unlink(missing_ok=True)
    paths = [str(IN_PLACE), str(ROOT)] if in_place else []
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    options = ["-q", "-p", "no:cacheprovider", "--tb=short", "--timeout=120", f"--junitxml={report}"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    done = subprocess.run(command, env=environment, cwd=tree, capture_output=True, text=True, check=False)
    assert report.exists(), done.stdout + done.stderr
    found = outcomes(report, lambda where, name: f"{where.replace('.', '/')}.py::{name}")
    return set(found["failed"]), len(found["passed"]), done.stdout


def test_cpkg_replaces_the_originals(tree: Path) -> None:
    code = "import msgpack, zstandard; print(msgpack.packb.__module__, zstandard.__name__)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(IN_PLACE), str(ROOT)])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    packer, compressor = done.stdout.split()
    assert packer.startswith(("cpkg", "purepy", "_msgpack"))
    assert compressor == "cpkg.zstandard"


def test_suite(tree: Path) -> None:
    """Tests that fail with cpkg fail with the originals as well."""
    failed, passed, output = run(tree, FOLDERS, in_place=True)
    assert passed >= PASSED_MIN, output[-20000:]
    if failed:
        again, _, output = run(tree, tuple(sorted(failed)), in_place=True)
        theirs = run(tree, tuple(sorted(again)), in_place=False)[0] if again else set()
        assert again <= theirs, output[-20000:]
