# SPDX-License-Identifier: Apache-2.0
"""Run the main job through every combination of backends that loads, check that all agree, and time each."""

from __future__ import annotations

import itertools
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Final, NamedTuple

from cpkg import _backend
from cpkg.objects import dumps_loads
from purepy.base.errors import CodecError
from purepy.base.pypy import JIT

ROUNDS: Final = 5
_LONGEST_WARM_UP: Final = 10
_CHANGES_LITTLE: Final = 0.2
_UNLIMITED: Final[dict[str, object]] = {"max_output_size": -1}


class Speed(NamedTuple):
    """Bytes of JSON per second: the median of the rounds, and half of their range as a part of it."""

    median: float
    spread: float


@dataclass
class Row:
    """One way to do the job."""

    msgpack: str
    zstd: str
    pack: Speed
    unpack: Speed
    size: int
    auto: bool


@dataclass
class Result:
    """The measurements of the demo; `disagreements` is empty if every combination gave the same."""

    json_size: int
    message_size: int
    json_pack: Speed
    json_unpack: Speed
    rows: list[Row] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    disagreements: list[str] = field(default_factory=list)


def run(value: object, *, seconds: float, level: int, progress: Callable[[str, int, int], None]) -> Result:
    """
    Do the job on `value` and return what came out.

    A first round warms up what is compiled at run time, for `seconds` per direction of each combination, on PyPy until
    as much time again changes little. Then the combinations take turns in ROUNDS rounds, which share `seconds`; the
    best time of each round counts. `progress` is called with what is done next, its number and how many there are.
    """
    missing: list[str] = []
    packers = _load("msgpack", missing)
    compressors = _load("zstd", missing)
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    outputs: dict[str, bytes] = {}
    messages: dict[str, bytes] = {}
    disagreements: list[str] = []
    calls: list[Callable[[], object]] = [
        lambda: json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(),
        lambda: json.loads(text),
    ]
    pairs: list[tuple[str, str]] = []
    for packer, compressor in itertools.product(packers, compressors):
        name = f"msgpack {packer} with zstd {compressor}"
        codecs = dumps_loads.Codecs(packers[packer], compressors[compressor])
        pack = partial(dumps_loads.encode, codecs, value, level=level)
        try:
            packed = pack()
            unpack = partial(dumps_loads.decode, codecs, packed, **_UNLIMITED)
            if unpack() != value:
                disagreements.append(f"{name}: what comes back is not what was packed")
            messages[packer] = dumps_loads.encode(codecs, value, compress=False)
        except CodecError as exc:
            disagreements.append(f"{name}: {exc}")
            continue
        outputs[name] = packed
        pairs.append((packer, compressor))
        calls += [pack, unpack]
    speeds = _speeds(calls, len(text), seconds, progress)
    message = next(iter(messages.values()), b"")
    result = Result(len(text), len(message), speeds[0], speeds[1], [], missing, disagreements)
    chosen = tuple(_backend.choose(codec).module.BACKEND for codec in ("msgpack", "zstd"))
    for pair, output, pack_speed, unpack_speed in zip(pairs, outputs.values(), speeds[2::2], speeds[3::2]):
        result.rows.append(Row(*pair, pack_speed, unpack_speed, len(output), pair == chosen))
    _compare(outputs, messages, packers, compressors, result)
    return result


def _load(codec: str, missing: list[str]) -> dict[str, ModuleType]:
    found = {}
    for backend in _backend.MODULES[codec]:
        try:
            found[backend] = _backend.load(codec, backend)
        except ImportError as exc:
            missing.append(f"{codec} {backend}: {exc}")
    return found


def _compare(
    outputs: dict[str, bytes],
    messages: dict[str, bytes],
    packers: dict[str, ModuleType],
    compressors: dict[str, ModuleType],
    result: Result,
) -> None:
    """Check that all packers wrote the same bytes, and that each decompressor reads what each combination wrote."""
    if not messages:
        result.disagreements.append("no combination of backends does the job")
        return
    first, message = next(iter(messages.items()))
    for packer, other in messages.items():
        if other != message:
            result.disagreements.append(f"msgpack {packer} and {first} pack to different bytes")
    for compressor, zstd in compressors.items():
        codecs = dumps_loads.Codecs(packers[first], zstd)
        for packed in dict.fromkeys(outputs.values()):
            content = dumps_loads.decompress(codecs, packed, -1)
            if bytes(content) != message:
                writers = ", ".join(name for name, output in outputs.items() if output == packed)
                result.disagreements.append(f"zstd {compressor} does not read what {writers} wrote")


def _speeds(
    calls: list[Callable[[], object]], size: int, seconds: float, progress: Callable[[str, int, int], None]
) -> list[Speed]:
    """Return the speed of each call, which works on `size` bytes."""
    speeds: list[list[float]] = [[] for _ in calls]
    progress("warming up", 0, ROUNDS + 1)
    for call in calls:
        _warm_up(call, seconds)
    for number in range(1, ROUNDS + 1):
        progress(f"round {number}", number, ROUNDS + 1)
        for call, found in zip(calls, speeds):
            found.append(size / best_time(call, seconds / ROUNDS))
    medians = map(statistics.median, speeds)
    return [Speed(median, (max(found) - min(found)) / 2 / median) for median, found in zip(medians, speeds)]


def _warm_up(call: Callable[[], object], seconds: float) -> None:
    """
    Repeat a call for `seconds`; on PyPy, until as many seconds again change its best time little.

    Loops are compiled there in the course of that, and some of them late; it ends after ten times `seconds` at most.
    """
    end = time.perf_counter() + _LONGEST_WARM_UP * seconds
    best = best_time(call, seconds)
    while JIT and time.perf_counter() < end:
        before, best = best, best_time(call, seconds)
        if abs(best - before) < _CHANGES_LITTLE * before:
            return


def best_time(call: Callable[[], object], seconds: float) -> float:
    """Return the best time of a call in seconds, of as many calls as `seconds` have room for, one at least."""
    best = float("inf")
    end = time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        call()
        now = time.perf_counter()
        best = min(best, now - start)
        if now >= end:
            return best
