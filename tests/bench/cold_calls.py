# SPDX-License-Identifier: Apache-2.0
"""
Measure the first calls of a process: `python tests/bench/cold_calls.py`.

Each figure comes from processes that have only created the object before: the first, the second and the tenth call
and the total of the first hundred, packing and unpacking, of cpkg, json of the standard library and msgpack's
fallback. Two more rows bound cpkg on PyPy before its loops are compiled: PyPy's `marshal`, which builds and walks
objects without a JIT, and `marshal` after the C call that converts a message into marshal's bytes, with no other
Python code.

The libraries take turns. The clock is the thread's own, so that other programs count little; each figure is the best of
the processes. json gets the bins of the records as hexadecimal text.
"""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import fresh
import payloads
import turns

from purepy.msgpack import packb

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
if turns.PYPY:
    LIBRARIES["C and marshal"] = """
from cpkg._native.msgpack.pypy.marshal_read import _buffer, _read, _readers, loads
from cpkg.msgpack import packb as pack
handle, output, window = _readers[0].handle, _readers[0].output, _readers[0].window

def unpack(data):
    return loads(window if _read(handle, data, len(data), 0) > 0 else _buffer(output.bytes, output.used))
"""
OTHER_FORMATS = ("json", "marshal alone")
STEPS = ("first call", "second call", "10th call", "first 10 calls", "first 100 calls")
BEFORE = """
import gc, sys
sys.path.append({support!r})
from bench import payloads

def as_text(value):
    if type(value) is dict:
        return {{key: as_text(item) for key, item in value.items()}}
    if type(value) is list:
        return [as_text(item) for item in value]
    return value.hex() if type(value) is bytes else value

value = {payload}
if {library!r} == "json":
    value = as_text(value)
{imports}
argument = {argument}
gc.collect()  # otherwise garbage of the imports would be finalized meanwhile, and PyPy would trace loops twice
"""


def first_calls(payload: str, library: str, direction: str, message: Path) -> list[float] | str:
    """Return the seconds of the steps in a new process, or the last line of its error."""
    argument = "value"
    if direction == "unpack":  # no codec of this process has created it
        argument = "pack(value)" if library in OTHER_FORMATS else f"open({str(message)!r}, 'rb').read()"
    before = BEFORE.format(
        support=str(fresh.FOLDER.parent / "support"),
        payload=PAYLOADS[payload],
        library=library,
        imports=LIBRARIES[library],
        argument=argument,
    )
    request = {"before": before, "clock": "thread_time", "imports": "", "call": direction, "argument": "argument"}
    request.update(expected="value", back="unpack" if direction == "pack" else None)
    request.update(calls=100, atleast=100, patience=0)
    try:
        answer = fresh.run("first_use.py", request, variables={"MSGPACK_PUREPYTHON": "1"})
    except fresh.ChildFailed as exc:
        return str(exc)
    return [answer[step] for step in STEPS]


def main() -> None:
    parser = turns.options(__doc__, rounds=3)
    parser.add_argument("--payload", action="append", choices=PAYLOADS, help="only these objects")
    parser.add_argument("--library", action="append", choices=LIBRARIES, help="only these libraries")
    parser.add_argument("--direction", action="append", choices=("pack", "unpack"), help="only this direction")
    options = parser.parse_args()
    print(f"{turns.heading('msgpack')}, milliseconds, best of {options.rounds} processes")
    with tempfile.TemporaryDirectory() as folder:
        message = Path(folder, "message")
        for payload in options.payload or PAYLOADS:
            try:
                made: Any = eval(PAYLOADS[payload])
            except payloads.PayloadMissing as exc:
                print(f"{payload}: not measured: {exc}")
                continue
            message.write_bytes(packb(made))
            for direction in options.direction or ("pack", "unpack"):
                print()
                turns.row(f"{payload}, {direction}", *(f"  {step:>15}" for step in STEPS), width=18)
                works = {
                    library: functools.partial(first_calls, payload, library, direction, message)
                    for library in options.library or LIBRARIES
                }
                for library, found in turns.in_turns(works, options.rounds).items():
                    failed = next((each for each in found if isinstance(each, str)), None)
                    shown = [f"  {failed}"] if failed else [f"{min(each) * 1e3:17.3f}" for each in zip(*found)]
                    turns.row(f"  {library}", *shown, width=18)


if __name__ == "__main__":
    main()
