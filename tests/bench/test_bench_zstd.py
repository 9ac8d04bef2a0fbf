# SPDX-License-Identifier: Apache-2.0
"""Zstandard one-shot: compress and decompress, against the peers and against libzstd's own in-memory figure."""

from __future__ import annotations

import functools
import re
import subprocess
import tempfile
from dataclasses import dataclass
from typing import Any

import pytest

from bench import harness, machine, payloads, peers
from bench.cases import Case
from bench.peers import Library, Peer

GROUP = "Zstandard one-shot"
LIMIT = "libzstd (zstd -b)"


@dataclass(frozen=True)
class ZstdCase(Case):
    """Which bytes, how many, at which level."""

    data: str = "corpus"
    size: str = "1MiB"
    level: int = 3

    @property
    def payload(self) -> bytes:
        """The bytes to compress."""
        return payloads.BYTES[self.data](payloads.SIZES[self.size])


def _cases() -> list[ZstdCase]:
    cases = [
        ZstdCase(
            f"{size} level {level}",
            quick=level == 3 and size in ("1KiB", "1MiB"),
            small=size in ("1KiB", "16KiB") and level == 3,
            # level 17 of 128 MiB takes a minute per library and pass
            slow=size == "1GiB" or (size == "128MiB" and level > 3),
            size=size,
            level=level,
        )
        for size in payloads.SIZES
        for level in (3, 10, 17)
        if size != "1GiB" or level == 3
    ]
    for data in (name for name in payloads.BYTES if name != "corpus"):
        cases += [
            ZstdCase(
                f"{size} {data} level {level}",
                data=data,
                size=size,
                level=level,
                slow=slow,
                # its blocks are raw
                copies=("decompress",) if data == "random" else (),
            )
            for size, level, slow in (
                ("1KiB", 3, False),
                ("1MiB", 3, False),
                # what does not compress, or always does, hardly depends on the level
                ("1MiB", 10, data != "json"),
                ("1MiB", 17, data != "json"),
                ("128MiB", 3, True),
            )
        ]
    return cases


CASES = _cases()
OPERATIONS = ("compress", "decompress")

# A call of more seconds than that is not asked of the pure backend.
PURE_PATIENCE = 30


@functools.lru_cache(maxsize=4)
def frame(case: ZstdCase) -> bytes:
    """Compress the case's bytes once, with a library that is not under test where there is one."""
    for peer in [*(p for p in peers.of("zstd") if not p.ours), *peers.of("zstd")]:
        library = peers.load(peer).library
        if library is not None and library.compressor is not None and peer.format == "zstd":
            return bytes(library.compressor(case.level)(case.payload))
    raise harness.NotRun("no library at all makes a frame here")


def independent_decompress(peer: Peer, data: bytes) -> bytes:
    """Decompress with another library than `peer`, or with itself where there is no other."""
    others = [p for p in peers.of("zstd") if p.format == peer.format and p.name != peer.name]
    for other in [*others, peer]:
        library = peers.load(other).library
        if library is not None and library.decompress is not None:
            return bytes(library.decompress(data))
    raise harness.NotRun("no library decompresses here")


def _too_slow(library: Library, case: ZstdCase, operation: str) -> str | None:
    if library is None or library.backend != "pure":
        return None
    size = payloads.SIZES[case.size] * (3 if case.level > 9 and operation == "compress" else 1)
    return harness.too_slow_pure(size, operation, PURE_PATIENCE)


@pytest.mark.parametrize("peer", peers.of("zstd"), ids=lambda peer: peer.name)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_one_shot(
    benchmark: Any,
    settings: harness.Settings,
    not_run: Any,
    case: ZstdCase,
    operation: str,
    peer: Peer,
    bench_pass: int,
) -> None:
    """Compress or decompress the case's bytes in one call."""
    library, info = harness.begin(GROUP, case, operation, peer, bench_pass, not_run)
    info["size"] = payloads.SIZES[case.size]
    reason = _too_slow(library, case, operation)
    if reason:
        not_run(info, reason)
    data = case.payload
    compress = library.compressor(case.level)
    info["data"] = payloads.digest(data)
    if library.shown_level is not None:
        info["options"] = f"level {library.shown_level(case.level)}"
    if operation == "compress":

        def check(result: bytes) -> None:
            assert independent_decompress(peer, result) == data, f"{peer.name} wrote other bytes"
            info["compressed"] = len(result)

        harness.measure(benchmark, settings, compress, data, check, info)
    else:
        packed = frame(case) if peer.format == "zstd" else compress(data)

        def check(result: bytes) -> None:
            assert result == data, f"{peer.name} gave other bytes back"

        info["compressed"] = len(packed)
        harness.measure(benchmark, settings, library.decompress, packed, check, info)


_FIGURE = re.compile(r"([\d.]+) MB/s\s*,\s*([\d.]+) MB/s")


@functools.lru_cache(maxsize=2)
def libzstd_figure(case: ZstdCase) -> dict[str, float]:
    """Run the zstd tool's in-memory benchmark on the case's bytes: operation -> bytes per second.

    It checks its round trip itself and makes no copy, so it is the limit of any binding.
    """
    tool = machine.zstd_tool()
    if tool is None:
        raise harness.NotRun("the zstd command line tool is not installed")
    with tempfile.NamedTemporaryFile(prefix="cpkg-bench-") as file:
        file.write(case.payload)
        file.flush()
        command = [tool, f"-b{case.level}", f"-e{case.level}", "-i1", "--single-thread", file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    figures = _FIGURE.findall(done.stdout + done.stderr)
    if not figures:
        raise harness.NotRun(f"no figure in what {' '.join(command[1:4])} printed")
    compress, decompress = (float(figure) * 1e6 for figure in figures[-1])
    return {"compress": compress, "decompress": decompress}


@pytest.mark.benchmark(timer=harness.reported_time)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_libzstd_itself(
    benchmark: Any, settings: harness.Settings, not_run: Any, case: ZstdCase, operation: str, bench_pass: int
) -> None:
    """Take libzstd's own figure for the same bytes and level from the command line tool, which repeats for a second."""
    size = payloads.SIZES[case.size]
    info: dict[str, Any] = {
        "group": GROUP,
        "case": case.name,
        "operation": operation,
        "library": LIMIT,
        "ours": False,
        "limit": True,
        "pass": bench_pass,
        "size": size,
        "confirmed": True,
    }
    try:
        figure = libzstd_figure(case)
    except harness.NotRun as reason:
        not_run(info, str(reason))
    harness.measure_reported(benchmark, settings, lambda: size / figure[operation], 1, info)


# it gives its own best of a second of repetitions
test_libzstd_itself.first_pass_only = True  # type: ignore[attr-defined]
