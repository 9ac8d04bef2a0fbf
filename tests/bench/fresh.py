# SPDX-License-Identifier: Apache-2.0
"""Run a script of this folder in a fresh interpreter and return its answer.

Earlier code in a process changes the state of its allocator, caches and garbage collector: in a shared process a case
once took 13 times as long as in a fresh one. For the same reason the children import nothing from this package.
"""

from __future__ import annotations

import atexit
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.cells import OURS

FOLDER = Path(__file__).parent
TIMEOUT = 300


class ChildFailed(Exception):
    """The child ended with an error; the text is its last line."""


def output(
    command: Sequence[Any],
    timeout: float | None,
    given: str | None = None,
    variables: Mapping[str, str] | None = None,
    where: Path | None = None,
) -> str:
    """Run a command and return its standard output. Raise ChildFailed if the command does not exit with 0.

    timeout: in seconds. given: the standard input. variables: added to the environment. where: the working folder.
    """
    # let the first process that imports a module write its bytecode, which pip compiles when it installs a package
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    options = {"env": {**environment, **(variables or {})}, "timeout": timeout, "input": given, "cwd": where}
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise ChildFailed(lines[-1])
    return done.stdout


def memory() -> str | None:
    """Return a folder whose files are in memory, or None if the machine has none."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def folder() -> Path:
    """Return a new folder, in memory if the machine has one; it is removed when this process ends."""
    made = tempfile.mkdtemp(prefix="cpkg-bench-", dir=memory())
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def asked(
    library: str, script: str, request: dict[str, Any], site: bool = True, variables: Mapping[str, str] | None = None
) -> Any:
    """Run `script` (a file of the children folder) on a JSON `request`; return its JSON answer.

    Without `site` the child starts with as few modules as possible. Otherwise installed packages may import modules at
    each start, which are then loaded before a library imports them. `variables` are added to the environment. If
    another library fails, the answer is the text of its error; cpkg's errors are raised.
    """
    import cpkg

    # the child imports the same cpkg as this process, installed or from a source tree, and the peers
    path = [str(Path(cpkg.__file__).parent.parent), *([os.environ.get("PYTHONPATH")] if site else sys.path)]
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, path)), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, *([] if site else ["-S"]), FOLDER / "children" / script]
    try:
        return json.loads(output(command, TIMEOUT, json.dumps(request), {**paths, **(variables or {})}))
    except ChildFailed as failure:
        return excused(library, failure)


class Ended(NamedTuple):
    """A program that ended without an error: its seconds, with the start of Python, and its standard output."""

    seconds: float
    printed: str


def program(library: str, text: str, *arguments: Any) -> Ended | str:
    """Run a Python program with an installed library; the answer is a text, its error, as in `asked`."""
    start = time.perf_counter()
    try:
        # in a folder without modules: the source tree of cpkg would hide the installed package
        printed = output([sys.executable, "-c", text, *arguments], None, where=FOLDER / "data")
    except ChildFailed as failure:
        return excused(library, failure)
    return Ended(time.perf_counter() - start, printed)


def excused(library: str, failure: ChildFailed) -> str:
    """Return the error of another library as text; raise cpkg's failures, and failures without a Python error."""
    if library == OURS or "Error" not in str(failure):
        raise failure
    return str(failure)


def in_turns(things: Sequence[Any], number: int) -> list[Any]:
    """Return the things in another order for each number."""
    return random.Random(number).sample(things, len(things))
