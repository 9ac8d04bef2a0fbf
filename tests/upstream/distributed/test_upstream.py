# SPDX-License-Identifier: Apache-2.0
"""
dask.distributed's own tests of its communication and protocol, unchanged, with cpkg as its msgpack and zstandard.

Neither its wheel nor its sdist contains them: they come from Debian's sources, which are fetched, in a separate row
(`tox run -e upstream-distributed`).
Some tests depend on timing and fail on a busy machine: failed tests run again, with cpkg and with the originals.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from processes import run_python
from sources import run_tests, unpack

pytestmark = pytest.mark.nightly

import cpkg

OURS = os.pathsep.join([f"{Path(__file__).parents[2] / 'support' / 'in_place'}", f"{Path(cpkg.__file__).parents[1]}"])
SOURCE = "https://deb.debian.org/debian/pool/main/d/dask.distributed/dask.distributed_2024.12.1+ds.orig.tar.xz"
SHA256 = "e9c010426e74c79b4cbb01dc0b7eb0046dc152453447e0c2631750105dbcea24"
FOLDERS = ("distributed/comm/tests", "distributed/protocol/tests")
PASSED_MIN = 300
"""The least number of passing tests; with fewer, requirements are missing and tests were skipped."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the unpacked sources."""
    return unpack(SOURCE, SHA256, tmp_path_factory.mktemp("distributed"))


def run(tree: Path, *tests: str, path: str) -> tuple[dict[str, list[str]], str]:
    """Run tests with this PYTHONPATH; return them by result, and the output."""
    return run_tests(
        tree, "--tb=short", "--timeout=120", *tests,
        named=lambda where, name: f"{where.replace('.', '/')}.py::{name}", PYTHONPATH=path,
    )  # fmt: skip


def test_cpkg_replaces_the_originals(tree: Path) -> None:
    code = "import msgpack, zstandard; print(msgpack.packb.__module__, zstandard.__name__)"
    done = run_python("-c", code, env={**os.environ, "PYTHONPATH": OURS})
    packer, compressor = done.stdout.split()
    assert packer.startswith(("cpkg", "purepy", "_msgpack"))
    assert compressor == "cpkg.zstandard"


def test_suite(tree: Path) -> None:
    """Tests that fail with cpkg fail with the originals as well."""
    found, output = run(tree, *FOLDERS, path=OURS)
    assert len(found["passed"]) >= PASSED_MIN, output
    if found["failed"]:
        again, output = run(tree, *found["failed"], path=OURS)
        theirs = run(tree, *again["failed"], path="")[0]["failed"] if again["failed"] else []
        assert {*again["failed"]} <= {*theirs}, output
