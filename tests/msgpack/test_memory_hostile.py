# SPDX-License-Identifier: Apache-2.0
"""The memory of large messages: it comes as huge pages where it can, and goes back to the system, whatever happened.

Each test runs in a process of its own, whose address space nothing else moves.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from types import ModuleType

import pytest
from processes import run_alone

pytestmark = [
    pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux's /proc"),
    pytest.mark.skipif(sys.implementation.name == "pypy", reason="PyPy keeps its memory for itself"),
]

PRELUDE = """
import codecs, gc, os, resource, threading
MIB = 1 << 20

def mapped():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE")

def grown(work):
    "How much more is mapped after four more times of the same work."
    work()
    before = mapped()
    for _ in range(4):
        work()
    return mapped() - before

def feed(unpacker, data):
    "Feed in pieces of 4 KiB; return the objects that came out."
    found = []
    for at in range(0, len(data), 4096):
        unpacker.feed(data[at : at + 4096])
        found.extend(unpacker)
    return found

# beyond 1 MiB, where taking memory ahead begins
records = msgpack.packb([{"id": i, "name": "name %d" % i, "at": [i / 3, i / 7]} for i in range(30_000)])
assert len(records) > 1.2 * MIB
assert len(msgpack.unpackb(records)) == 30_000
"""


def run(msgpack: ModuleType, code: str) -> str:
    result = run_alone(msgpack, "msgpack", PRELUDE + code)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_memory_goes_back(msgpack: ModuleType) -> None:
    code = """
def round_of_calls():
    objects = msgpack.unpackb(records)
    assert objects[-1]["id"] == 29_999
    del objects
    for bad in (records[:-1], records + b"x", b"\\xdc\\x00\\x02" + records + b"\\xc1"):
        try:
            msgpack.unpackb(bad)
        except ValueError:
            pass
        else:
            raise AssertionError("no error")

print(grown(round_of_calls))
"""
    # 16 results of 12 MiB, and what was taken ahead for each; the C library may keep the space of a message
    assert int(run(msgpack, code)) < 16 << 20


def test_memory_of_pieces_goes_back(msgpack: ModuleType) -> None:
    """Whether the object that comes in pieces is complete, wrong, begun anew, or never ended."""
    code = """
def round_of_objects():
    unpacker = msgpack.Unpacker()
    for _ in range(2):
        (objects,) = feed(unpacker, records)
        assert objects[-1]["id"] == 29_999
        del objects
    assert feed(unpacker, records[:-1]) == []
    unpacker.__init__()
    try:
        feed(unpacker, records[:-9] + b"\\xc1")
    except ValueError:
        pass
    else:
        raise AssertionError("no error")
    unpacker = msgpack.Unpacker()
    assert feed(unpacker, records[:-1]) == []  # and is dropped

print(grown(round_of_objects))
"""
    # 20 results of 12 MiB, and what was taken ahead for each
    assert int(run(msgpack, code)) < 16 << 20


def test_little_room_is_enough(msgpack: ModuleType) -> None:
    """Nothing is taken ahead where address space is limited."""
    code = """
objects = msgpack.unpackb(records)
room = mapped()
del objects
resource.setrlimit(resource.RLIMIT_AS, (room + 8 * MIB, resource.RLIM_INFINITY))
print(len(msgpack.unpackb(records)))
"""
    if os.environ.get("LD_PRELOAD"):
        pytest.skip("sanitizers need address space without bounds")
    assert run(msgpack, code) == "30000"


@pytest.mark.parametrize("unpack", ["msgpack.unpackb(data, **options)", "feed(msgpack.Unpacker(**options), data)[0]"])
def test_calls_within_calls_and_threads(msgpack: ModuleType, unpack: str) -> None:
    """An error handler, called in the middle of a large message, unpacks another one; whole, and in pieces."""
    code = (
        f"unpack = lambda data, **options: {unpack}"
        + """
inner = []

def handler(error):
    inner.append(len(unpack(records)))
    return "?", error.end

codecs.register_error("unpacking", handler)
outer = b"\\xdc\\x00\\x04" + records + b"\\xa1\\xff" + records + b"\\xa1\\xff"
def work():
    first, question, second, other = unpack(outer, unicode_errors="unpacking")
    assert (len(first), question, len(second), other) == (30_000, "?", 30_000, "?")

threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(inner == [30_000] * 6)
"""
    )
    assert run(msgpack, code) == "True"


def test_huge_pages_are_asked_for(msgpack: ModuleType) -> None:
    if not msgpack.__name__.startswith("cpkg._native"):
        pytest.skip("the pure codec takes memory as it comes")
    if not os.path.exists("/sys/kernel/mm/transparent_hugepage"):
        pytest.skip("a kernel without transparent huge pages")
    if sysconfig.get_config_var("Py_GIL_DISABLED") or os.environ.get("PYTHONMALLOC"):
        pytest.skip("another allocator")
    code = """
def advised():
    "Mapped memory that is advised to consist of huge pages, in bytes."
    total = size = 0
    with open("/proc/self/smaps") as file:
        for line in file:
            name, _, rest = line.partition(":")
            if name == "Size":
                size = int(rest.split()[0]) * 1024
            elif name == "VmFlags" and "hg" in rest.split():
                total += size
    return total

limits = resource.getrlimit(resource.RLIMIT_AS)[0], resource.getrlimit(resource.RLIMIT_DATA)[0]
if limits != (resource.RLIM_INFINITY,) * 2:
    print("limited")
    sys.exit()
objects = [msgpack.unpackb(records) for _ in range(2)]
whole = advised()
objects += feed(msgpack.Unpacker(), b"\\x93" + records * 3)
print(whole // MIB, (advised() - whole) // MIB)
"""
    found = run(msgpack, code)
    if found == "limited":
        pytest.skip("address space is limited")
    whole, pieces = map(int, found.split())
    assert whole >= 16
    assert pieces >= 16
