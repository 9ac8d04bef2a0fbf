# SPDX-License-Identifier: Apache-2.0
"""dask.distributed with cpkg as its msgpack and zstandard."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from processes import run_python

pytest.importorskip("distributed")

import cpkg

SUPPORT = Path(__file__).parents[1] / "support"


def test_a_cluster_that_speaks_through_ours() -> None:
    """Client, scheduler and workers pack and compress all their messages with cpkg."""
    paths = [SUPPORT / "in_place", Path(cpkg.__file__).parents[1]]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    done = run_python(str(SUPPORT / "comm_session.py"), env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    for packer, compressor in (seen["here"], *seen["workers"]):
        assert packer.startswith(("cpkg", "purepy", "_msgpack"))
        assert compressor.startswith("cpkg.zstandard")
    assert len(seen["workers"]) == 2


def test_frames_of_its_protocol_are_the_same() -> None:
    """distributed unpacks with msgpack the messages that it packed with cpkg, and vice versa."""
    pytest.importorskip("msgpack")
    code = Path(__file__).with_name("frames.txt").read_text(encoding="utf-8")
    plain = {**os.environ, "PYTHONPATH": str(Path(cpkg.__file__).parents[1])}
    ours = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SUPPORT / "in_place"), plain["PYTHONPATH"]])}
    for first, second in ((plain, ours), (ours, plain)):
        dumped = run_python("-c", code, "dump", env=first)
        assert dumped.stdout, dumped.stderr
        loaded = run_python("-c", code, "load", env=second, input=dumped.stdout)
        assert loaded.returncode == 0, loaded.stderr
