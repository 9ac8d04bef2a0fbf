# SPDX-License-Identifier: Apache-2.0
"""The cost of a short program, in a process of its own: the import, the first message, then call after call.

Reads from standard input a JSON object: imports (a statement), there and back (expressions of a function), argument (an
expression), calls and patience (when to stop). The answer: seconds of the import, of the import and the first round
trip, of the first and the second call of each function, of a call once warm, and the course of the calls in between.
"""

import sys
import time

# `json` comes after the clock has stopped: it is itself one of the things whose import is measured
request = eval(sys.stdin.read(), {"null": None, "true": True, "false": False})
names = {}

start = time.perf_counter()
exec(request["imports"], names)
imported = time.perf_counter()
there = eval(request["there"], names)
back = eval(request["back"], names)
argument = eval(request["argument"], names)
begun = time.perf_counter()
packed = there(argument)
first_there = time.perf_counter()
result = back(packed)
first_back = time.perf_counter()
if result != argument:
    sys.exit("another object came back")


def course(function, given, first):
    """Call until the patience or the calls are used up: every call's seconds, the first of them measured before."""
    clock = time.perf_counter
    seconds = [first]
    deadline = clock() + request["patience"]
    while len(seconds) < request["calls"] and (len(seconds) < 2 or clock() < deadline):
        begin = clock()
        function(given)
        seconds.append(clock() - begin)
    return seconds


def summary(seconds):
    tail = sorted(seconds[-max(len(seconds) // 5, 1) :])
    points = []
    at = 1
    while at <= len(seconds):
        upto = max(int(at * 1.5), at + 1)
        group = sorted(seconds[at - 1 : upto - 1])
        points.append([at, group[len(group) // 2]])
        at = upto
    return {"first": seconds[0], "second": seconds[1], "warm": tail[len(tail) // 2], "course": points}


answer = {
    "import": imported - start,
    "first message": (imported - start) + (first_back - begun),
    "there": summary(course(there, argument, first_there - begun)),
    "back": summary(course(back, packed, first_back - first_there)),
}
if back(there(argument)) != argument:
    sys.exit("another object came back once warm")

import json  # noqa: E402

json.dump(answer, sys.stdout)
