# SPDX-License-Identifier: Apache-2.0
"""The examples for Spark and Ray in docs/records.md, each run unchanged on this machine only."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from documents import blocks, section
from processes import run_python

import cpkg
from cpkg import records


@pytest.mark.parametrize(("module", "heading"), [("pyspark", "Spark"), ("ray", "Ray")])
def test_the_example(tmp_path: Path, module: str, heading: str) -> None:
    pytest.importorskip(module)
    with records.open(tmp_path / "events.rec", "wb", frame_size=1000) as writer:
        writer.extend([{"seconds": number} for number in range(5000)])
    (code,) = blocks(section("records.md", heading), "python")
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(cpkg.__file__).parents[1]),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = run_python("-c", code, env=environment, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) == sum(range(5000))
