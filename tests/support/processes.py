# SPDX-License-Identifier: Apache-2.0
"""Code that needs a process of its own: it ends it, or measures it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType


def run_alone(module: ModuleType, name: str, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new process where `name` is the codec `module`; `environment` adds to the variables of this one."""
    prelude = f"""
import importlib, sys
sys.path[:0] = {sys.path!r}
{name} = importlib.import_module({module.__name__!r})
"""
    return run_python("-I", "-c", prelude + code, env={**os.environ, **environment})


def run_python(
    *arguments: str, env: Mapping[str, str], timeout: float = 120, cwd: Path | None = None, input: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run this interpreter in a new process, which reads `input`; return its exit status and what it wrote."""
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
