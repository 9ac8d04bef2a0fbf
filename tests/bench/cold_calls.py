# SPDX-License-Identifier: Apache-2.0
"""
Measure the first calls of a process: `python tests/bench/cold_calls.py`.

Each figure comes from processes that did nothing before but make the object: the first, the second and the tenth call
and the total of the first hundred, packing and unpacking, of cpkg, json of the standard library and msgpack's
fallback. Two more bound ours on PyPy before its loops are compiled: its own `marshal`, which makes and walks objects
without a JIT, and that behind the call of C which turns a message into marshal's bytes, without a line of Python more.

The libraries take turns. The clock is the thread's own, so that other programs count little; each figure is the best of
the processes. json has the records' bins as hexadecimal text.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
PAYLOADS = {
    "small": "payloads.small()",
    "regular": "payloads.regular()",
    "large": "payloads.large()",
    "records": "payloads.records(3000)",
    "botocore": "payloads.botocore()",
}
LIBRARIES = {
    "cpkg": "from cpkg.msgpack import packb as pack, unpackb as unpack",
    "cpkg main": "from cpkg import dumps, loads as unpack\npack = lambda value: dumps(value, compress=False)",
    "cpkg pure": "from purepy.msgpack import packb as pack, unpackb as unpack",
    "json": "from json import dumps as pack, loads as unpack",
    "fallback": "from msgpack import packb as pack, unpackb as unpack",
    "marshal alone": "from marshal import dumps, loads as unpack\npack = lambda value: dumps(value, 2)",
}
if platform.python_implementation() == "PyPy":
    LIBRARIES["C and marshal"] = """
from cpkg._native.msgpack.pypy.marshal_read import _buffer, _read, _readers, loads
from cpkg.msgpack import packb as pack
handle, output, window = _readers[0].handle, _readers[0].output, _readers[0].window

def unpack(data):
    return loads(window if _read(handle, data, len(data), 0) > 0 else _buffer(output.bytes, output.used))
"""
OTHER_FORMATS = ("json", "marshal alone")
STEPS = ("first", "second", "tenth", "first ten", "total")

CHILD = r"""
import gc, sys, time
sys.path[:0] = [%(path)r]
from bench import payloads

def as_text(value):
    if type(value) is dict:
        return {key: as_text(item) for key, item in value.items()}
    if type(value) is list:
        return [as_text(item) for item in value]
    return value.hex() if type(value) is bytes else value

value = %(payload)s
if %(library)r == "json":
    value = as_text(value)
%(imports)s
if %(direction)r == "pack":
    call, argument = pack, value
else:
    # made by the standard library or by a process of its own, so that nothing of the codec has run before
    call = unpack
    argument = pack(value) if %(library)r in %(other_formats)r else open(%(message)r, "rb").read()
gc.collect()  # what the imports above left would be finalized meanwhile, which makes PyPy trace loops twice
clock = time.thread_time
seconds = []
for _ in range(%(calls)d):
    begin = clock()
    result = call(argument)
    seconds.append(clock() - begin)
if %(direction)r == "pack":
    result = unpack(result)
if result != value:
    sys.exit("another object came back")
print(seconds)
"""


def environment() -> dict[str, str]:
    """Return the environment of a child: with this checkout's cpkg, if none is installed, and msgpack's fallback."""
    return {
        **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
        "PYTHONPATH": str(FOLDER.parent.parent),
        "MSGPACK_PUREPYTHON": "1",
    }


def run(payload: str, library: str, direction: str, calls: int, message: Path) -> list[float]:
    """Return the seconds of each call in a new process; raises RuntimeError with its last line if it fails."""
    text = CHILD % {
        "path": str(FOLDER.parent),
        "payload": PAYLOADS[payload],
        "library": library,
        "other_formats": OTHER_FORMATS,
        "imports": LIBRARIES[library],
        "direction": direction,
        "message": str(message),
        "calls": calls,
    }
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=environment(), check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
    seconds: list[float] = json.loads(done.stdout)
    return seconds


def figures(seconds: list[float]) -> dict[str, float]:
    """Return the steps of one process."""
    tenth = seconds[min(9, len(seconds) - 1)]
    return dict(zip(STEPS, (seconds[0], seconds[1], tenth, sum(seconds[:10]), sum(seconds))))


def measure(payload: str, direction: str, libraries: list[str], options: Any, message: Path) -> dict[str, Any]:
    """Return, by library, the best of each step, or the text of what failed."""
    found: dict[str, Any] = {}
    for _ in range(options.processes):
        for library in libraries:
            if type(found.get(library)) is str:
                continue
            try:
                one = figures(run(payload, library, direction, options.calls, message))
            except RuntimeError as exc:
                found[library] = str(exc)
                continue
            best = found.setdefault(library, one)
            found[library] = {step: min(best[step], one[step]) for step in STEPS}
    return found


def write_message(payload: str, message: Path) -> None:
    """Write the payload as MessagePack, made by the pure codec in a process of its own."""
    code = (
        f"import sys; sys.path[:0] = [{str(FOLDER.parent)!r}]\nfrom bench import payloads\n"
        f"from purepy.msgpack import packb\nopen({str(message)!r}, 'wb').write(packb({PAYLOADS[payload]}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=100, help="calls per process (default: 100, 2 at least)")
    parser.add_argument("--processes", type=int, default=3, help="processes per figure (default: 3)")
    parser.add_argument("--payload", action="append", choices=PAYLOADS, help="these objects alone")
    parser.add_argument("--library", action="append", choices=LIBRARIES, help="these libraries alone")
    parser.add_argument("--direction", action="append", choices=("pack", "unpack"), help="this direction alone")
    options = parser.parse_args()
    libraries = options.library or list(LIBRARIES)
    print(f"{platform.python_implementation()} {platform.python_version()}, milliseconds, best of {options.processes}")
    message = Path(f"{os.environ.get('TMPDIR', '/tmp')}/cold-calls-{os.getpid()}.mp")
    try:
        for payload in options.payload or PAYLOADS:
            try:
                write_message(payload, message)
            except RuntimeError as exc:
                print(f"{payload}: not measured: {exc}")
                continue
            for direction in options.direction or ("pack", "unpack"):
                print(f"\n{payload}, {direction:8}" + "".join(f"{step:>12}" for step in STEPS))
                for library, result in measure(payload, direction, libraries, options, message).items():
                    if type(result) is str:
                        print(f"  {library:16} {result}")
                        continue
                    print(f"  {library:16}" + "".join(f"{result[step] * 1e3:12.3f}" for step in STEPS))
    finally:
        message.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
