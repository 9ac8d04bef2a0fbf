# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests that start the command line as a process."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
from forked import command_program
from processes import run_python

import cpkg

_RUN_EACH = Path(__file__).with_name("run_each.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    root = str(Path(cpkg.__file__).parent.parent)
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path, "TERM": "xterm", "COLUMNS": "100"}


@pytest.fixture(scope="session")
def program(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the path of a program that runs the command line, faster than a new interpreter; see `forked.py`."""
    with command_program(tmp_path_factory.mktemp("program"), environment) as path:
        yield path


@pytest.fixture
def run_each(environment: dict[str, str], tmp_path: Path) -> Callable[..., list[list[Any]]]:
    """
    Return a function that runs commands one after the other in a new process, in the folder of the test.

    A command consists of its arguments and a dictionary with additional environment variables. For each command, the
    function returns exit status, standard output and standard error, where each character is a byte.
    """

    def run(commands: list[list[Any]], missing: tuple[str, ...] = (), **variables: str) -> list[list[Any]]:
        given = json.dumps([commands, missing])
        done = run_python("-c", _RUN_EACH, env={**environment, **variables}, cwd=tmp_path, input=given)
        assert (done.returncode, done.stderr) == (0, "")
        results: list[list[Any]] = json.loads(done.stdout)
        return results

    return run
