# SPDX-License-Identifier: Apache-2.0
"""The tests of blake2signer itself, with our codecs."""

from __future__ import annotations

import os
import re
from pathlib import Path

from processes import run_python

import cpkg

# These tests expect properties of JSON and zlib: tokens signed with them, 16 bytes that get smaller, and smaller sizes
# at higher levels, where Zstandard already finds the smallest frame at level 1.
NOT_OURS = ("test_versions_compat", "test_compression_ratio_can_be_changed", "test_dumps_loads_compression_level")


def test_its_tests_pass(tmp_path: Path) -> None:
    conformance = Path(__file__).with_name("conformance_nightly.txt").read_text(encoding="utf-8")
    (tmp_path / "test_conformance.py").write_text(conformance)
    # a configuration without warnings as errors and strict xfail, which these tests do not support
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    chosen = " and ".join(f"not ({name} and not {name}_default)" for name in NOT_OURS)
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, "test_conformance.py"]
    environment = {**os.environ, "PYTHONPATH": str(Path(cpkg.__file__).parent.parent), "PYTEST_ADDOPTS": ""}
    done = run_python(*command, env=environment, timeout=600, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    counts = {word: int(count) for count, word in re.findall(r"(\d+) (passed|xpassed|failed|error)", done.stdout)}
    # most tests are expected to fail without blake3, but pass with blake2
    assert counts.get("passed", 0) + counts.get("xpassed", 0) > 150, done.stdout[-1000:]
