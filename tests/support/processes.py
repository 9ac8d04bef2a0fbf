# SPDX-License-Identifier: Apache-2.0
"""Run code in a separate process, for tests that end the process or measure its memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

MEASURED = {"PYPY_GC_NURSERY": "4MB"}
"""
Environment variables for a process whose memory is measured: `run_alone(..., **MEASURED)`, `run_python(...,
env={**os.environ, **MEASURED})`. Without them, PyPy's nursery is half as large as the L3 cache, so a process begins
with 240 MiB on one machine and 4 MiB on another.
"""


def sections(test: str, name: str) -> dict[str, str]:
    """Return the sections of a file next to the file `test`, such as programs, by their headings (lines after ##)."""
    text = Path(test).with_name(name).read_text(encoding="utf-8")
    return dict(section.split("\n", 1) for section in text.split("\n## ")[1:])


def run_alone(module: ModuleType, name: str, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new process in which `name` is the codec `module`; `environment` adds environment variables."""
    prelude = f"""
import importlib, sys
sys.path[:0] = {sys.path!r}
{name} = importlib.import_module({module.__name__!r})
"""
    return run_python("-I", "-c", prelude + code, env={**os.environ, **environment})


def run_python(
    *arguments: str, env: Mapping[str, str], timeout: float = 120, cwd: Path | None = None, input: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run this interpreter in a new process, which reads `input`; return its exit status and output."""
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env=env,
        cwd=cwd,
        input=input,
    )


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skip a test if one of these programs is not installed."""
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


def open_terminal() -> tuple[int, int]:
    """Return the two ends of a new terminal; skip the test if the system has no terminals."""
    pty = pytest.importorskip("pty")
    try:
        return pty.openpty()
    except OSError as exc:  # a chroot or container without /dev/pts
        pytest.skip(f"this system has no terminals: {exc}")
