# SPDX-License-Identifier: Apache-2.0
"""
Pack and unpack data with every combination of backends that loads, check that all agree, and time each.

Each combination runs in its own process, whose environment names the backends.
"""

from __future__ import annotations

import itertools
import json
import os
import pickle
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

import cpkg
from cpkg import _backend, backend_info
from cpkg._backend_info import states
from cpkg.cli.fitting import counted
from cpkg.cli.plain import named
from purepy.base.errors import CodecError
from purepy.base.pypy import JIT
from purepy.zstd.format.rules import is_frame

ROUNDS: Final = 5
_LONGEST_WARM_UP: Final = 10
_CHANGES_LITTLE: Final = 0.2
SERVE: str = "from cpkg.cli.compare import serve; serve()"
"""The program that each process runs."""


class Speed(NamedTuple):
    """Bytes of JSON per second: the median of the rounds, and half of their range as a fraction of the median."""

    median: float
    spread: float


@dataclass
class Row:
    """
    The measurements of one combination of backends; `size` is the size of the packed data in bytes.

    `auto` is whether this is the combination in use here.
    """

    msgpack: str
    zstd: str
    pack: Speed
    unpack: Speed
    size: int
    auto: bool


@dataclass
class Result:
    """
    The measurements of the demo; sizes are in bytes.

    `missing` has the reasons why backends were not compared. `disagreements` is empty if all combinations work and
    agree.
    """

    json_size: int
    json_pack: Speed
    json_unpack: Speed
    message_size: int = 0
    rows: list[Row] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    disagreements: list[str] = field(default_factory=list)


def serve() -> None:
    """
    Pack and unpack with the backends of this process.

    Reads the data as a pickle from standard input and writes the results, or an error, as a pickle to standard output.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C interrupts the demo, which then ends this process
    text, level, seconds = pickle.load(sys.stdin.buffer)
    value = json.loads(text)
    answer: object
    try:
        packed = cpkg.dumps(value, level=level)
        calls = partial(cpkg.dumps, value, level=level), partial(cpkg.loads, packed, max_output_size=-1)
        is_same = calls[1]() == value
        answer = packed, cpkg.dumps(value, compress=False), is_same, *(_speed(call, text, seconds) for call in calls)
    except CodecError as exc:
        answer = CodecError(str(exc))
    pickle.dump(answer, sys.stdout.buffer)


def _served(packer: str, compressor: str, job: object) -> Any:
    """
    Run `serve` on `job` in a process with these backends, and return the results.

    Raises CodecError if the process fails or answers with an error.
    """
    environment = {**os.environ, "CPKG_MSGPACK_BACKEND": packer, "CPKG_ZSTD_BACKEND": compressor}
    command = [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; {SERVE}"]
    done = subprocess.run(command, env=environment, input=pickle.dumps(job), stdout=subprocess.PIPE, check=False)
    answer = pickle.loads(done.stdout) if done.returncode == 0 else CodecError("its process ended unexpectedly")
    if isinstance(answer, CodecError):
        raise CodecError(f"{_name(packer, compressor)}: {answer}")
    return answer


def _name(packer: str, compressor: str) -> str:
    return f"msgpack {packer} with zstd {compressor}"


def run(value: object, *, seconds: float, level: int, progress: Callable[[str], None]) -> Result:
    """
    Pack and unpack `value` with all combinations and return the measurements; `level` is the Zstandard level.

    Each direction of each combination warms up for `seconds`; on PyPy, until another `seconds` change its speed only
    a little. ROUNDS rounds then share `seconds`, and the best time of each round counts. `progress` is called with the
    text to show.
    """
    chosen = tuple(_backend.choose(codec).module.BACKEND for codec in ("msgpack", "zstd"))  # fails before the work
    pack = partial(json.dumps, value, ensure_ascii=False, separators=(",", ":"))
    text = pack().encode()
    progress("json")
    result = Result(
        len(text), _speed(lambda: pack().encode(), text, seconds), _speed(partial(json.loads, text), text, seconds)
    )
    outputs: dict[tuple[str, str], bytes] = {}
    messages: dict[str, bytes] = {}
    pairs = list(itertools.product(_loading("msgpack", result.missing), _loading("zstd", result.missing)))
    for number, pair in enumerate(pairs, 1):
        progress(f"{number}/{len(pairs)} {_name(*pair)}")
        try:
            outputs[pair], messages[pair[0]], is_same, pack_speed, unpack_speed = _served(*pair, (text, level, seconds))
        except CodecError as exc:
            result.disagreements.append(str(exc))
            continue
        if not is_same:
            result.disagreements.append(f"{_name(*pair)}: the unpacked data differs from the packed data")
        result.rows.append(Row(*pair, pack_speed, unpack_speed, len(outputs[pair]), pair == chosen))
    result.message_size = len(next(iter(messages.values()), b""))
    result.disagreements += _disagreements(outputs, messages)
    return result


def _loading(codec: str, missing: list[str]) -> list[str]:
    """Return the backends of a codec that load here; add the reasons why others do not load to `missing`."""
    found = states(codec)
    missing += [f"{codec} {backend}: {reason}" for backend, reason in found.items() if reason]
    return [backend for backend, reason in found.items() if not reason]


def _disagreements(outputs: dict[tuple[str, str], bytes], messages: dict[str, bytes]) -> list[str]:
    """
    Return a message for each backend that packed other bytes than the first, or does not read an output.

    `outputs` has the output of each pair of backends (MessagePack, Zstandard), `messages` the packed message of each
    MessagePack backend. Each Zstandard backend decompresses every output.
    """
    if not outputs:
        return ["no combination of backends works"]
    first, message = next(iter(messages.items()))
    found = [
        f"msgpack {packer} and {first} pack to different bytes" for packer in messages if messages[packer] != message
    ]
    compressors = dict.fromkeys(compressor for _, compressor in outputs)
    for compressor, packed in itertools.product(compressors, dict.fromkeys(outputs.values())):
        try:
            content = _backend.load("zstd", compressor).decompress(packed) if is_frame(packed) else packed
        except CodecError:
            content = None
        if content != message:
            writers = ", ".join(_name(*writer) for writer, output in outputs.items() if output == packed)
            found.append(f"zstd {compressor} does not read what {writers} wrote")
    return found


def _speed(call: Callable[[], object], text: bytes, seconds: float) -> Speed:
    """Return the speed of a call that packs or unpacks a JSON text; after a warm-up, time it for `seconds`."""
    warm_up(call, seconds)
    speeds = [len(text) / best_time(call, seconds / ROUNDS) for _ in range(ROUNDS)]
    median = statistics.median(speeds)
    return Speed(median, (max(speeds) - min(speeds)) / 2 / median)


def warm_up(call: Callable[[], object], seconds: float) -> None:
    """
    Repeat a call for `seconds`; on PyPy, until another `seconds` change its best time only a little.

    PyPy compiles loops during the warm-up, some of them late. The warm-up ends after about ten times `seconds` at most.
    """
    end = time.perf_counter() + _LONGEST_WARM_UP * seconds
    best = best_time(call, seconds)
    while JIT and time.perf_counter() < end:
        before, best = best, best_time(call, seconds)
        if abs(best - before) < _CHANGES_LITTLE * before:
            return


def best_time(call: Callable[[], object], seconds: float) -> float:
    """Repeat a call for `seconds`, at least once, and return the best time in seconds."""
    best = float("inf")
    end = time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        call()
        now = time.perf_counter()
        best = min(best, now - start)
        if now >= end:
            return best


def demo_lines(name: str, size: int, result: Result) -> Iterator[str]:
    """Yield the lines that `cpkg demo` prints; the lines of the table have at most 60 columns."""
    sizes = f"as JSON without spaces {result.json_size:,}, as MessagePack {result.message_size:,}"
    yield f"{name}: {counted(size, 'byte')}; {sizes}"
    yield ""
    yield f"{'msgpack':7} {'zstd':6} {'pack MB/s':>13} {'unpack MB/s':>13} {'bytes':>11}"
    rows = [("json", "none", result.json_pack, result.json_unpack, result.json_size, "")]
    rows += [(row.msgpack, row.zstd, row.pack, row.unpack, row.size, "auto") for row in result.rows if row.auto]
    rows += [(row.msgpack, row.zstd, row.pack, row.unpack, row.size, "") for row in result.rows if not row.auto]
    for packer, compressor, pack, unpack, bytes_, auto in rows:
        line = f"{packer:7} {compressor:6} {_shown(pack):>13} {_shown(unpack):>13} {bytes_:>11,} {auto}"
        yield line.rstrip()
    yield ""
    yield f"MB/s: millions of bytes of JSON per second, the median of {ROUNDS} rounds (half of their range)."
    yield "json: Python's json module, for comparison. auto: the backends in use here."
    for codec, chosen in backend_info().items():
        yield f"{codec}: {chosen.policy} picks {named(chosen)}: {chosen.reason.partition('; ')[0]}"
        if chosen.faster:
            yield f"  to be faster: {chosen.faster}"
    for missing in result.missing:
        yield f"not compared: {missing}"
    if not result.disagreements:
        count = len(result.rows)
        yield f"All {count} combinations agree: they pack the same message, and each reads it back unchanged."


def _shown(found: Speed) -> str:
    """Return a speed in MB/s with its spread in per cent."""
    number = found.median / 1e6
    text = f"{number:.0f}" if number >= 100 else f"{number:.1f}" if number >= 1 else f"{number:.2f}"
    return f"{text} ({100 * found.spread:.0f} %)"
