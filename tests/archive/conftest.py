# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of archives."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from archives import ENGINES, make_tree
from processes import run_python, sections

SUPPORT = Path(__file__).parents[1] / "support"
PROGRAMS = sections(__file__, "programs.txt")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test with each available engine: C and Python."""
    monkeypatch.setenv("CPKG_ARCHIVE_BACKEND", request.param)
    return str(request.param)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a tree with a little of everything that needs no special rights."""
    return make_tree(tmp_path / "tree")


@pytest.fixture(scope="session")
def run_preloaded(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Run a program of programs.txt with a library of tests/support loaded before the C library; return the output."""
    folder = tmp_path_factory.mktemp("libraries")

    @functools.cache
    def compiled(name: str) -> Path:
        library = folder / f"{name}.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, SUPPORT / f"{name}.c", "-ldl"], check=True)
        return library

    def run(name: str, program: str, *arguments: object, cwd: Path, **environment: str) -> str:
        preloaded = " ".join(filter(None, (os.environ.get("LD_PRELOAD"), f"{compiled(name)}")))
        variables = {**os.environ, "LD_PRELOAD": preloaded, **environment}
        done = run_python("-c", PROGRAMS[program], *map(str, arguments), env=variables, cwd=cwd)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
