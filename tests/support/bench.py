# SPDX-License-Identifier: Apache-2.0
"""The package in tests/bench, under one name for pytest, `python tests/bench` and its child processes."""

from pathlib import Path

# tests/ itself is not on the path: its folders have the names of packages (msgpack, zstd, cpkg)
__path__ = [str(Path(__file__).resolve().parent.parent / "bench")]
