# SPDX-License-Identifier: Apache-2.0
"""
Messages of a dask.distributed cluster with msgpack and zstandard, and with cpkg instead.

`python tests/bench/dask_comm.py`: a client, a scheduler and two worker processes over TCP, small calls and texts of
1.9 MB that are compressed; both sides alternate, each figure is the best of its rounds.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import turns

ROOT = Path(__file__).resolve().parents[2]
SUPPORT = ROOT / "tests" / "support"
CALLS = 600


def session(in_place: bool) -> dict[str, float]:
    """Run one session; return the time of each part, in seconds."""
    paths = [str(ROOT), *([str(SUPPORT / "in_place")] if in_place else [])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, str(SUPPORT / "comm_session.py"), "zstd", str(CALLS)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    works = {side: functools.partial(session, side) for side in (False, True)}
    found = turns.in_turns(works, turns.options(__doc__, rounds=2).parse_args().rounds)
    for part, count in (("small", CALLS), ("large", max(CALLS // 60, 1))):
        theirs, ours = (min(figures[part] for figures in found[side]) / count * 1e3 for side in works)
        gain = f"({theirs / ours:.2f} times)"
        print(f"{part}: {theirs:.2f} ms a call with msgpack and zstandard, {ours:.2f} with cpkg {gain}")


if __name__ == "__main__":
    main()
