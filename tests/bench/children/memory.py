# SPDX-License-Identifier: Apache-2.0
"""The peak memory of one piece of work, in a process of its own.

Reads from standard input a JSON object: setup and work (statements; setup also runs it once on a tiny input so that
what a library loads at first use is not counted). The answer: by how many bytes the resident set rose above where it
was before the work, at its highest (peak), by how many the address space had grown afterwards, and the seconds that the
work took.
"""

import ctypes
import gc
import json
import sys
import time


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
    # what the setup freed goes back to the system, or the work would reuse it and look as if it needed nothing
    ctypes.CDLL(None).malloc_trim(0)
except AttributeError:
    pass  # not glibc
with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
    file.write("5")  # the peak starts again from here
before, claimed = resident("VmRSS"), resident("VmSize")
start = time.perf_counter()
exec(work, names)
seconds = time.perf_counter() - start
peak = resident("VmHWM")
claimed = resident("VmSize") - claimed
exec(request["check"], names)
json.dump({"peak": max(peak - before, 0), "address space": max(claimed, 0), "seconds": seconds}, sys.stdout)
