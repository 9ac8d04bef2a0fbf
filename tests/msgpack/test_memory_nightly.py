# SPDX-License-Identifier: Apache-2.0
"""The memory of messages is bounded by the input, uses huge pages, and is returned to the system afterwards."""

from __future__ import annotations

import gc
import os
import sys
import sysconfig
from types import ModuleType
from typing import Any

import pytest
from memory import peak_of
from msgpack_messages import LIES
from processes import run_alone, sections

pytestmark = pytest.mark.skipif(sys.implementation.name == "pypy", reason="PyPy does not return memory to the system")


HEADERS = (b"\xdc\xff\xff", b"\xdd\x00\x0f\xff\xff", b"\xde\x7f\xff", b"\x9f", b"\x8f\xa1a")
LONG_LIES = {f"1 MiB of {header!r}": (header * (2**20 // len(header) + 1))[: 2**20] for header in HEADERS}


@pytest.mark.parametrize("options", [{}, {"object_hook": lambda obj: obj}], ids=["plain", "hooked"])
@pytest.mark.parametrize("data", [*LIES.values(), *LONG_LIES.values()], ids=[*LIES, *LONG_LIES])
def test_wrong_sizes_take_no_memory(msgpack: ModuleType, data: bytes, options: dict[str, Any]) -> None:
    """A declared size is not trusted: an error, or a wait for more data, with memory in proportion to the input."""
    options = {"max_array_len": 2**32, "max_map_len": 2**32, **options}

    def whole() -> None:
        with pytest.raises((ValueError, TypeError)):
            msgpack.unpackb(data, **options)

    def stream() -> None:
        unpacker = msgpack.Unpacker(max_buffer_size=2**31 - 1, **options)
        unpacker.feed(data)
        with pytest.raises((msgpack.OutOfData, ValueError, TypeError)):
            unpacker.unpack()

    for call in (whole, stream):
        assert peak_of(call) <= 100 * len(data) + 50_000


ITEMS: list[tuple[bytes, dict[str, Any]]] = [
    *((item, {}) for item in (b"\xa0", b"\x90", b"\x80", b"\x91\xc0", b"\x81\xa0\xc0")),
    *((item, {}) for item in (b"\xd4\x05\x00", b"\xc7\x00\x05", b"\xd6\xff\x00\x00\x00\x00")),
    *((item, {"bin_view": True}) for item in (b"\xc4\x00", b"\xc4\x01x")),
    *((b"\x91\xc0", {"use_list": False}), (b"\x81\x00\xc0", {"strict_map_key": False})),
    *((b"\x81\xa0\xc0", {"object_pairs_hook": list}), (b"\xc0", {"raw_depth": 1})),
]
NESTED = [(b"\x91", b"\x90"), (b"\x81\x01", b"\x80")]
SMALL = [
    *((b"\xdd\x00\x00\x4e\x20" + item * 20_000, options) for item, options in ITEMS),
    *((b"\xdc\x00\x28" + (begin * 1022 + end) * 40, {"strict_map_key": False}) for begin, end in NESTED),
    *((begin * 1023 + end, {"strict_map_key": False}) for begin, end in NESTED),
]


@pytest.mark.parametrize(("data", "options"), SMALL, ids=lambda value: str(value[:20] if len(value) > 20 else value))
@pytest.mark.parametrize("whole", [True, False])
def test_memory_is_bounded_by_the_input(msgpack: ModuleType, data: bytes, options: dict[str, Any], whole: bool) -> None:
    """At most 100 bytes per byte, or half of the interpreter's smallest dict with an item, plus room for nesting."""
    has_dicts = {0x80, 0x81} & {*data} and "object_pairs_hook" not in options
    per_byte = max(100, sys.getsizeof({1: {}}) / 2 + 1 if has_dicts else 0)
    unpacker = msgpack.Unpacker(**options)

    def unpack() -> Any:
        if whole:
            return msgpack.unpackb(data, **options)
        unpacker.feed(data)
        return list(unpacker)

    assert peak_of(unpack) <= per_byte * len(data) + 96 * 1024


@pytest.mark.parametrize("rest", [b"", b"\x92\x01"], ids=["nothing", "part of a message"])
def test_idle_unpackers_are_small(msgpack: ModuleType, rest: bytes) -> None:
    """Ten thousand idle connections take kilobytes each, whatever they received before."""
    import tracemalloc  # PyPy 7.3.11 does not have it

    count = 200
    kept: list[Any] = []

    def make() -> None:
        for _ in range(count):
            stream = msgpack.Unpacker()
            stream.feed(msgpack.packb([b"x" * 100_000] * 2) + rest)
            assert len(list(stream)) == 1
            kept.append(stream)

    make()
    kept.clear()
    gc.collect()
    tracemalloc.start()
    try:
        make()
        assert tracemalloc.get_traced_memory()[0] / count < 8 * 1024
    finally:
        tracemalloc.stop()


PROGRAMS = sections(__file__, "memory_programs.txt")

in_linux = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux's /proc")


def run(msgpack: ModuleType, name: str) -> str:
    result = run_alone(msgpack, "msgpack", PROGRAMS["of memory that is mapped"] + PROGRAMS[name])
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


@in_linux
@pytest.mark.parametrize("work", ["whole", "pieces"])
def test_memory_goes_back(msgpack: ModuleType, work: str) -> None:
    """Memory is returned whether the object is complete, invalid, begun again, or never completed."""
    # 16 or 20 results of 12 MiB, and the memory taken in advance for each; the C library may keep one message's space
    assert int(run(msgpack, work)) < 16 << 20


@in_linux
@pytest.mark.skipif(not os.path.exists("/sys/kernel/mm/transparent_hugepage"), reason="the kernel has no huge pages")
@pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED") or os.environ.get("PYTHONMALLOC")),
    reason="another allocator is used",
)
def test_huge_pages_are_requested(msgpack: ModuleType) -> None:
    if msgpack.BACKEND != "native":
        pytest.skip("the pure codec takes no memory in advance")
    found = run(msgpack, "huge pages")
    if found == "limited":
        pytest.skip("address space is limited")
    whole, pieces = map(int, found.split())
    assert whole >= 16
    assert pieces >= 16
