# SPDX-License-Identifier: Apache-2.0
"""
Large messages where memory is short, or where unpacking one calls for another.

Each test runs in a process of its own, whose address space nothing else moves.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType

import pytest
from msgpack_messages import LIES
from processes import run_alone, sections

pytestmark = [
    pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux's /proc"),
    pytest.mark.skipif(sys.implementation.name == "pypy", reason="PyPy keeps its memory for itself"),
]

PROGRAMS = sections(__file__, "memory_programs.txt")


def run(msgpack: ModuleType, name: str, settings: str = "") -> None:
    result = run_alone(msgpack, "msgpack", PROGRAMS["of a large message"] + settings + PROGRAMS[name])
    assert result.returncode == 0, result.stderr


@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="sanitizers need address space without bounds")
def test_little_room_is_enough(msgpack: ModuleType) -> None:
    """Where address space is limited, no memory is reserved ahead, nor for the size that a message promises."""
    run(msgpack, "little room", f"LIES = {list(LIES.values())!r}\n")


def test_calls_within_calls_and_threads(msgpack: ModuleType) -> None:
    """An error handler, called in the middle of a large message, unpacks another one; whole, and in pieces."""
    run(msgpack, "calls within calls")
