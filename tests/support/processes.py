# SPDX-License-Identifier: Apache-2.0
"""Code that needs a process of its own: it ends it, or measures it."""

from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType


def run_alone(module: ModuleType, name: str, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new process where `name` is the codec `module`; `environment` adds to the variables of this one."""
    prelude = f"""
import importlib, sys
sys.path[:0] = {sys.path!r}
{name} = importlib.import_module({module.__name__!r})
"""
    return subprocess.run(
        [sys.executable, "-I", "-c", prelude + code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **environment},
    )
