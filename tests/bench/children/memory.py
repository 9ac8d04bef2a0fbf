# SPDX-License-Identifier: Apache-2.0
"""The peak memory of one piece of work, in a separate process.

Reads from standard input a JSON object: setup and work (statements; setup also runs it once on a tiny input so that
lazily loaded parts of a library are not counted). The answer: the highest rise of the resident set above its size
before the work (peak) and the growth of the address space afterwards, in bytes.
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
    # return memory that the setup freed to the system, or the work would reuse it and seem to need none
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
