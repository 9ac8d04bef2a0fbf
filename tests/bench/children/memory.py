# SPDX-License-Identifier: Apache-2.0
"""Measure the peak memory of some work in this process.

Reads from standard input a JSON object: setup and work (statements; setup also does the work once on a tiny input, so
that parts of a library that load at their first use are not counted). The answer, in bytes: the largest growth of the
resident set during the work (peak), and the growth of the address space after it.
"""

import ctypes
import gc
import json
import sys


def resident(field):
    with open("/proc/self/status", encoding="ascii", errors="replace") as lines:
        for line in lines:
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    sys.exit(f"no {field} in /proc/self/status")


request = json.load(sys.stdin)
names = {}
exec(request["setup"], names)
work = compile(request["work"], "work", "exec")
gc.collect()
try:
    # return to the system the memory that the setup freed, because the work would reuse it and seem to need none
    ctypes.CDLL(None).malloc_trim(0)
except AttributeError:
    pass  # not glibc
with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
    file.write("5")  # the peak starts again from here
before, claimed = resident("VmRSS"), resident("VmSize")
exec(work, names)
peak = resident("VmHWM")
claimed = resident("VmSize") - claimed
exec(request["check"], names)
json.dump({"peak": max(peak - before, 0), "address space": max(claimed, 0)}, sys.stdout)
