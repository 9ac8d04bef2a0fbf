# SPDX-License-Identifier: Apache-2.0
"""Measure a short program in this process: the import, the first call, and further calls.

Reads from standard input a JSON object: imports (a statement), call (an expression of a function), argument and
expected (expressions), back (null, or an expression of the function that turns the result into `expected`). The calls
stop after `calls` calls, or after `patience` seconds, but not before `atleast` calls. The answer has the processor
seconds of the import, including the lookup of the function, and of the import with the first call; then the seconds of
the first, second, tenth and hundredth call, of the first hundred together, and of a warm call.
"""

import sys
import time

# `json` is imported after the clock has stopped, because it is one of the libraries whose import is measured
request = eval(sys.stdin.read(), {"null": None, "true": True, "false": False})
names = {}
argument = eval(request["argument"], names)
clock = time.perf_counter

# the import is measured in processor time, because it waits for files; for calls this clock would be too slow
start = time.process_time()
exec(request["imports"], names)
call = eval(request["call"], names)
imported = time.process_time() - start
begin = clock()
result = call(argument)
seconds = [clock() - begin]
deadline = clock() + request["patience"]
while len(seconds) < request["calls"] and (len(seconds) < request["atleast"] or clock() < deadline):
    begin = clock()
    call(argument)
    seconds.append(clock() - begin)

for each in (result, call(argument)):
    found = eval(request["back"], names)(each) if request["back"] else each
    if found != eval(request["expected"], names):
        sys.exit("another object came back")
tail = sorted(seconds[-max(len(seconds) // 5, 1) :])

import json  # noqa: E402

answer = {
    "import": imported,
    "import and first call": imported + seconds[0],
    "first call": seconds[0],
    "second call": seconds[1],
    "10th call": seconds[9],
    "100th call": seconds[99],
    "first 100 calls": sum(seconds[:100]),
    "warmed up": tail[len(tail) // 2],
}
json.dump(answer, sys.stdout)
