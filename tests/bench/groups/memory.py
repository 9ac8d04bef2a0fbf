# SPDX-License-Identifier: Apache-2.0
"""Peak memory: the highest resident set above the one before the work, and claimed address space.

A large buffer that nothing has touched yet is not resident.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping

from processes import MEASURED

from bench import fresh, peers
from bench.cells import OURS, PEP784, Answer, Case, Group, NotHere, read_data

PAGE = 4096
"""The smallest amount of memory that can be measured, in bytes."""
_PATH = f"import sys; sys.path.insert(0, {str(fresh.FOLDER.parent / 'support')!r})"


@functools.lru_cache(maxsize=16)
def sample(case: Case, number: int) -> Mapping[str, Mapping[str, Answer]]:
    """Do the work of a case in a process for each library; return the bytes of memory."""
    if not os.path.exists("/proc/self/clear_refs"):
        raise NotHere("needs Linux's /proc to reset the peak")
    found: dict[str, dict[str, Answer]] = {measure: {} for measure in case.measures}
    for peer in fresh.in_turns(peers.in_children(case.codec), number):
        if peer.name == "json" or (case.streams and peer.name not in (OURS, "msgpack", PEP784)):
            continue
        prepare = [_PATH, peer.imports, f"there = {peer.forth}", f"back = {peer.back}"]
        request = {"setup": "\n".join(prepare + case.setup), "work": "\n".join(case.work), "check": case.check}
        answer = fresh.asked(peer.name, "memory.py", request, variables=MEASURED)
        for measure, of in found.items():
            of[peer.name] = answer if isinstance(answer, str) else max(answer[measure], PAGE)
    return found


# setup, work, check: code for the child process, which can use the library's functions `there` and `back`
CASES = [Case(**entry) for entry in read_data("memory")]
GROUPS = [Group("Peak memory", CASES, lambda case: case.measures, sample=sample, unit="bytes")]
