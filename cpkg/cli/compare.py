# SPDX-License-Identifier: Apache-2.0
"""Run the main job through every combination of backends that loads, check that all agree, and time each."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any, Final, TypeVar

from cpkg import _backend, _job
from purepy.errors import CodecError

T = TypeVar("T")
LEAST_RUNS: Final = 3
_UNLIMITED: Final[dict[str, Any]] = {"max_output_size": -1}


@dataclass
class Row:
    """One way to do the job; speeds in bytes of JSON per second."""

    msgpack: str
    zstd: str
    pack: float
    unpack: float
    size: int
    auto: bool


@dataclass
class Result:
    """The measurements of the demo; `disagreements` is empty if every combination gave the same."""

    json_size: int
    message_size: int
    json_pack: float
    json_unpack: float
    rows: list[Row] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    disagreements: list[str] = field(default_factory=list)


def run(value: Any, *, seconds: float, level: int, progress: Callable[[str, int, int], None]) -> Result:
    """
    Do the job on `value` and return what came out.

    Each direction of each combination runs at least once and then for about `seconds`; the best time counts.
    `progress` is called with what is done next, its number and how many there are.
    """
    missing: list[str] = []
    packers = _load("msgpack", missing)
    compressors = _load("zstd", missing)
    json_pack, text = _time(lambda: json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(), seconds)
    json_unpack, _ = _time(lambda: json.loads(text), seconds)
    result = Result(len(text), 0, len(text) / json_pack, len(text) / json_unpack, missing=missing)
    outputs: dict[str, bytes] = {}
    messages: dict[str, bytes] = {}
    pairs = [(packer, compressor) for packer in packers for compressor in compressors]
    chosen = tuple(_backend.choose(codec).module.BACKEND for codec in ("msgpack", "zstd"))
    for number, (packer, compressor) in enumerate(pairs):
        name = f"msgpack {packer} with zstd {compressor}"
        progress(name, number, len(pairs))
        codecs = _job.Codecs(packers[packer], compressors[compressor])
        try:
            pack, packed = _time(partial(_job.encode, codecs, value, level=level), seconds)
            unpack, back = _time(partial(_job.decode, codecs, packed, **_UNLIMITED), seconds)
            messages[packer] = _job.encode(codecs, value, compress=False)
        except CodecError as exc:
            result.disagreements.append(f"{name}: {exc}")
            continue
        if back != value:
            result.disagreements.append(f"{name}: what comes back is not what was packed")
        outputs[name] = packed
        auto = (packer, compressor) == chosen
        result.rows.append(Row(packer, compressor, len(text) / pack, len(text) / unpack, len(packed), auto))
    _compare(outputs, messages, packers, compressors, result)
    result.message_size = len(next(iter(messages.values()), b""))
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
        codecs = _job.Codecs(packers[first], zstd)
        for packed in dict.fromkeys(outputs.values()):
            content = _job.decompress(codecs, packed, -1)
            if bytes(content) != message:
                writers = ", ".join(name for name, output in outputs.items() if output == packed)
                result.disagreements.append(f"zstd {compressor} does not read what {writers} wrote")


def _time(function: Callable[[], T], seconds: float) -> tuple[float, T]:
    """Return the best time of a call in seconds, and what it returned."""
    best = float("inf")
    runs = 0
    end = time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        value = function()
        now = time.perf_counter()
        best = min(best, now - start)
        runs += 1
        if now >= end and (runs >= LEAST_RUNS or now - start > seconds):
            return best, value
