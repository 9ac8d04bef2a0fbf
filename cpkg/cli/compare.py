# SPDX-License-Identifier: Apache-2.0
"""
Run the main job through every combination of backends that loads, check that all agree, and time each.

Each combination has a process of its own, whose environment names its backends. The processes work in turns.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import pickle
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

import cpkg
from cpkg import _backend
from cpkg.objects import dumps_loads
from purepy.base.errors import CodecError
from purepy.base.pypy import JIT

ROUNDS: Final = 5
_LONGEST_WARM_UP: Final = 10
_CHANGES_LITTLE: Final = 0.2
SERVE: str = "from cpkg.cli.compare import serve; serve()"
"""The program of a process."""


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


class _Job:
    """The job by the backends of this process; `calls` are its two directions."""

    def begin(self, text: bytes, level: int) -> tuple[bytes, bytes, bool]:
        """Do the job on the value of a JSON text; return the output, the message, and whether the value came back."""
        value = json.loads(text)
        packed = cpkg.dumps(value, level=level)
        self.calls = partial(cpkg.dumps, value, level=level), partial(cpkg.loads, packed, max_output_size=-1)
        return packed, cpkg.dumps(value, compress=False), self.calls[1]() == value

    def content(self, packed: bytes) -> bytes:
        """Return the message in an output, which another process may have written."""
        return bytes(dumps_loads.decompress(dumps_loads.chosen_codecs(), packed, -1))

    def measure(self, direction: int, measure: Callable[..., Any], seconds: float) -> Any:
        """Return what a function that repeats a call finds for one of the two."""
        return measure(self.calls[direction], seconds)


def serve() -> None:
    """Call methods of a _Job as `_Process.call` asks, by pickles in standard input and standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the demo is interrupted, and ends this process
    job = _Job()
    with contextlib.suppress(EOFError):
        while True:
            name, arguments = pickle.load(sys.stdin.buffer)
            try:
                answer = getattr(job, name)(*arguments)
            except CodecError as exc:
                answer = CodecError(str(exc))
            pickle.dump(answer, sys.stdout.buffer)
            sys.stdout.buffer.flush()


class _Process:
    """A process that does the job by one combination of backends."""

    def __init__(self, packer: str, compressor: str) -> None:
        self.backends = packer, compressor
        self.name = f"msgpack {packer} with zstd {compressor}"
        environment = {**os.environ, "CPKG_MSGPACK_BACKEND": packer, "CPKG_ZSTD_BACKEND": compressor}
        command = [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; {SERVE}"]
        self._process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def call(self, name: str, *arguments: object) -> Any:
        """Call a method of the process's _Job; CodecError with the text of its error, or if the process has ended."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            pickle.dump((name, arguments), process.stdin)
            process.stdin.flush()
            answer = pickle.load(process.stdout)
        except (OSError, EOFError):
            raise CodecError(f"{self.name}: its process has ended") from None
        if isinstance(answer, CodecError):
            raise CodecError(f"{self.name}: {answer}")
        return answer

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


def run(value: object, *, seconds: float, level: int, progress: Callable[[str, int, int], None]) -> Result:
    """
    Do the job on `value` and return what came out.

    A first round warms up what is compiled at run time, for `seconds` per direction of each combination, on PyPy until
    as much time again changes little. Then the combinations take turns in ROUNDS rounds, which share `seconds`; the
    best time of each round counts. `progress` is called with what is done next, its number and how many there are.
    """
    missing: list[str] = []
    disagreements: list[str] = []
    found: dict[_Process, bytes] = {}
    messages: dict[str, bytes] = {}

    def pack() -> bytes:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()

    text = pack()
    # each calls a function that repeats a call, here or in another process
    ways: list[Callable[..., Any]] = [
        lambda measure, seconds: measure(pack, seconds),
        lambda measure, seconds: measure(partial(json.loads, text), seconds),
    ]
    with contextlib.ExitStack() as stack:
        for pair in itertools.product(_loading("msgpack", missing), _loading("zstd", missing)):
            process = _Process(*pair)
            stack.callback(process.end)
            try:
                found[process], messages[pair[0]], is_same = process.call("begin", text, level)
            except CodecError as exc:
                disagreements.append(str(exc))
                continue
            if not is_same:
                disagreements.append(f"{process.name}: what comes back is not what was packed")
            ways += [partial(process.call, "measure", direction) for direction in (0, 1)]
        speeds = _speeds(ways, len(text), seconds, progress)
        _compare(found, messages, disagreements)
    message = next(iter(messages.values()), b"")
    result = Result(len(text), len(message), speeds[0], speeds[1], [], missing, disagreements)
    chosen = tuple(_backend.choose(codec).module.BACKEND for codec in ("msgpack", "zstd"))
    for (process, packed), pack_speed, unpack_speed in zip(found.items(), speeds[2::2], speeds[3::2]):
        row = Row(*process.backends, pack_speed, unpack_speed, len(packed), process.backends == chosen)
        result.rows.append(row)
    return result


def _loading(codec: str, missing: list[str]) -> list[str]:
    """Return the names of the backends of a codec that load here."""
    found = []
    for backend in _backend.MODULES[codec]:
        try:
            _backend.load(codec, backend)
        except ImportError as exc:
            missing.append(f"{codec} {backend}: {exc}")
        else:
            found.append(backend)
    return found


def _compare(found: dict[_Process, bytes], messages: dict[str, bytes], disagreements: list[str]) -> None:
    """Check that all packers wrote the same bytes, and that each decompressor reads what each combination wrote."""
    if not found:
        disagreements.append("no combination of backends does the job")
        return
    first, message = next(iter(messages.items()))
    for packer, other in messages.items():
        if other != message:
            disagreements.append(f"msgpack {packer} and {first} pack to different bytes")
    readers = {process.backends[1]: process for process in found}
    for (compressor, process), packed in itertools.product(readers.items(), dict.fromkeys(found.values())):
        try:
            content = process.call("content", packed)
        except CodecError as exc:
            content = exc
        if content != message:
            writers = ", ".join(writer.name for writer, output in found.items() if output == packed)
            disagreements.append(f"zstd {compressor} does not read what {writers} wrote")


def _speeds(
    ways: list[Callable[..., Any]], size: int, seconds: float, progress: Callable[[str, int, int], None]
) -> list[Speed]:
    """Return the speed of each way, which works on `size` bytes."""
    speeds: list[list[float]] = [[] for _ in ways]
    progress("warming up", 0, ROUNDS + 1)
    for way in ways:
        way(warm_up, seconds)
    for number in range(1, ROUNDS + 1):
        progress(f"round {number}", number, ROUNDS + 1)
        for way, taken in zip(ways, speeds):
            taken.append(size / way(best_time, seconds / ROUNDS))
    medians = map(statistics.median, speeds)
    return [Speed(median, (max(taken) - min(taken)) / 2 / median) for median, taken in zip(medians, speeds)]


def warm_up(call: Callable[[], object], seconds: float) -> None:
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
