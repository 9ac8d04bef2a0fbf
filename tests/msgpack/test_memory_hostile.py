# SPDX-License-Identifier: Apache-2.0
"""
Large messages when memory is short, or when unpacking one message unpacks another.

Each test runs in a new process, in which nothing else changes the address space.
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
    pytest.mark.skipif(sys.implementation.name == "pypy", reason="PyPy does not return memory to the system"),
]

PROGRAMS = sections(__file__, "memory_programs.txt")


def run(msgpack: ModuleType, name: str, settings: str = "") -> None:
    result = run_alone(msgpack, "msgpack", PROGRAMS["of a large message"] + settings + PROGRAMS[name])
    assert result.returncode == 0, result.stderr


@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="sanitizers need unlimited address space")
def test_little_room_is_enough(msgpack: ModuleType) -> None:
    """If address space is limited, no memory is reserved in advance, nor for the size that a message declares."""
    run(msgpack, "little room", f"LIES = {list(LIES.values())!r}\n")


def test_calls_within_calls_and_threads(msgpack: ModuleType) -> None:
    """An error handler in the middle of a large message unpacks another one, whole and in pieces."""
    run(msgpack, "calls within calls")
