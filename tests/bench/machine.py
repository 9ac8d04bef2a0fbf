# SPDX-License-Identifier: Apache-2.0
"""Describe the interpreter and machine of a row, without the names of the machine and its user."""

from __future__ import annotations

import gc
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def interpreter() -> str:
    """Name the interpreter with its version, as rows are named: `CPython 3.14.2`, `PyPy 7.3.11 (3.9.16)`."""
    language = platform.python_version()
    if sys.implementation.name == "pypy":
        version = ".".join(map(str, sys.implementation.version[:3]))
        return f"PyPy {version} ({language})"
    gil = getattr(sys, "_is_gil_enabled", None)
    return f"CPython {language}{'' if gil is None or gil() else ' free-threaded'}"


def row_name() -> str:
    """Name the row like the tox environments: `3.14t-native`, `pypy3.9-auto`, from the interpreter and the policy.

    BENCH_BUILD, which the rows of wheels set, replaces the policy: a wheel is not the build of the native row.
    """
    prefix = "pypy" if sys.implementation.name == "pypy" else ""
    policies = map(os.environ.get, ("BENCH_BUILD", "CPKG_BACKEND", "CPKG_ZSTD_BACKEND"))
    suffix = "t" if "free-threaded" in interpreter() else ""
    return f"{prefix}{sys.version_info[0]}.{sys.version_info[1]}{suffix}-{next(filter(None, policies), 'auto')}"


def _cpu() -> str:
    path = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*: *(.*)", path.read_text(encoding="utf-8") if path.exists() else "", re.MULTILINE)
    return found[1].strip() if found else platform.processor() or platform.machine()


def _revision() -> str | None:
    try:
        done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None


def _nursery() -> int | None:
    """Return the bytes of PyPy's nursery: PYPY_GC_NURSERY, or what PyPy derives from the processor's caches."""
    stats = getattr(gc, "get_stats", lambda: None)()
    return getattr(getattr(stats, "_s", None), "nursery_size", None)


def describe() -> dict[str, Any]:
    """Return the conditions of the figures: interpreter, processor, memory, nursery, kernel, library versions, time."""
    return {
        "interpreter": interpreter(),
        "compiler": platform.python_compiler(),
        "cpu": _cpu(),
        "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else None,
        "nursery": _nursery(),
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
        "revision": _revision(),
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    }
