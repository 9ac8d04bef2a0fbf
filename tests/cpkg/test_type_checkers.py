# SPDX-License-Identifier: Apache-2.0
"""What type checkers make of programs that use this package; run by the row `types`, which has mypy and pyright."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import cpkg

ROOT = Path(cpkg.__file__).parents[1]
MODULES = (
    *("cpkg", "cpkg.archive", "cpkg.errors", "cpkg.msgpack", "cpkg.msgpack.exceptions", "cpkg.msgpack.ext"),
    *("cpkg.records", "cpkg.typed", "cpkg.zstandard", "cpkg.zstd", "cpkg.zstd.tarfile", "cpkg.zstd.zipfile"),
)
TYPED = """
from dataclasses import dataclass
from cpkg import typed
@dataclass
class User:
    id: int
a: int = typed.decode(b"", User).id
b: str = typed.Decoder(list[User]).decode(b"")[0].id
c: User = typed.convert({}, User)
d: int = next(typed.Unpacker(type=User))
"""
WRONG = """
import cpkg
from cpkg import archive, msgpack, zstd
cpkg.loads("text")
msgpack.unpackb(b"", object_hook=3)
zstd.open("x", mode="banana")
archive.extract("x", "y", filter="nonsense")
"""


def mypy(program: Path) -> list[int]:
    """Return the lines that mypy refuses, with its strictest rules."""
    pytest.importorskip("mypy", reason="in the row `types`")
    # an installed package is found by itself, and may not be named
    env = os.environ if ROOT.name == "site-packages" else {**os.environ, "MYPYPATH": str(ROOT)}
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", program.name]
    run = subprocess.run(command, cwd=program.parent, env=env, capture_output=True, text=True, check=False)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    return sorted({int(line.split(":")[1]) for line in run.stdout.splitlines() if ": error: " in line})


def pyright(program: Path) -> list[int]:
    """Return the lines that pyright refuses."""
    pytest.importorskip("basedpyright", reason="in the row `types`")
    settings = {"extraPaths": [str(ROOT)], "typeCheckingMode": "standard", "reportUnusedExpression": False}
    (program.parent / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", program.name]
    run = subprocess.run(command, cwd=program.parent, capture_output=True, text=True, check=False)
    found = json.loads(run.stdout)
    assert found["summary"]["filesAnalyzed"] == 1
    errors = [item for item in found["generalDiagnostics"] if item["severity"] == "error"]
    return sorted({item["range"]["start"]["line"] + 1 for item in errors})


CHECKERS = pytest.mark.parametrize("check", [mypy, pyright])


@CHECKERS
def test_every_public_name_is_seen(check: Callable[[Path], list[int]], tmp_path: Path) -> None:
    lines = []
    for module in MODULES:
        names = importlib.import_module(module).__all__
        lines += [f"import {module}", *(f"{module}.{name}" for name in names)]
    program = tmp_path / "program.py"
    program.write_text("\n".join(lines) + "\n")
    assert len(lines) > 200
    assert [lines[number - 1] for number in check(program)] == []


@CHECKERS
def test_what_is_decoded_has_its_type(check: Callable[[Path], list[int]], tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(TYPED)
    assert check(program) == [8, 10]


@CHECKERS
def test_wrong_arguments_are_refused(check: Callable[[Path], list[int]], tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(WRONG)
    assert check(program) == [4, 5, 6, 7]
