# SPDX-License-Identifier: Apache-2.0
"""`cpkg run`: a program runs as with `python`, with our modules in place of missing ones."""

from __future__ import annotations

import json
import os
import zipapp
from pathlib import Path
from typing import Any

import pytest
from extent import some
from processes import run_python

VECTORS = json.loads(Path(__file__).with_name("vectors.json").read_text(encoding="utf-8"))
SHOW = """\
import os, sys
print(__name__, sys.argv, [os.path.realpath(sys.path[0])], os.path.realpath(globals().get("__file__", "none")))
print(__name__ == "__main__" and sys.modules["__main__"].__dict__ is globals())
sys.exit(int(sys.argv[1]))
"""


def program_errors(text: str) -> str:
    """Return the error output of a program, without messages of `cpkg run` about installed packages."""
    return "".join(line for line in text.splitlines(True) if not line.startswith("cpkg run: already installed"))


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Return a folder with the same program in each form that `python` can run."""
    (tmp_path / "folder").mkdir()
    for place in ("script.py", "folder/__main__.py", "with space.py"):
        (tmp_path / place).write_text(SHOW)
    (tmp_path / "link.py").symlink_to("folder/__main__.py")
    zipapp.create_archive(tmp_path / "folder", tmp_path / "app.pyz")
    return tmp_path


FORMS = [
    *(["./folder/../script.py"], ["with space.py"], ["folder"], ["link.py"], ["app.pyz"], ["script.py"]),
    *(["-m", "script"], ["-"], ["-c", SHOW], ["-m", "folder"]),
]


@pytest.mark.parametrize("arguments", some(FORMS, 3), ids=lambda each: " ".join(each[:2]).partition("\n")[0])
def test_as_python(environment: dict[str, str], programs: Path, arguments: list[str]) -> None:
    def run(*command: str) -> Any:
        done = run_python(
            *(*command, *arguments, "3", "-m", "--help"),
            input=SHOW if arguments == ["-"] else None,
            cwd=programs,
            env=environment,
        )
        return done.returncode, done.stdout, program_errors(done.stderr)

    expected = run()
    assert expected[0] == 3
    assert run("-m", "cpkg", "run") == expected


@pytest.mark.once
@pytest.mark.parametrize(("arguments", "status", "told"), VECTORS["errors of run"], ids=str)
def test_what_fails(environment: dict[str, str], programs: Path, arguments: list[str], status: int, told: str) -> None:
    done = run_python("-m", "cpkg", "run", *arguments, cwd=programs, env=environment)
    assert (done.returncode, done.stdout) == (status, "")
    assert told in done.stderr


def test_names(environment: dict[str, str]) -> None:
    code = "import sys, cpkg; print([sorted(finder.names) for finder in sys.meta_path if hasattr(finder, 'names')])"
    done = run_python("-m", "cpkg", "run", "--names=msgpack,backports.zstd", "-c", code, env=environment)
    assert (program_errors(done.stderr), done.stdout) == ("", "[['backports.zstd', 'msgpack']]\n")


def test_without_click(run_each: Any) -> None:
    ((status, output, errors),) = run_each([["run", "-c", "print('ran')", {}]], ("click",))
    assert (status, output, program_errors(errors)) == (0, "ran\n", "")


@pytest.mark.parametrize(("option", "ours"), [([], False), (["--force"], True)])
def test_what_is_installed_is_named(environment: dict[str, str], tmp_path: Path, option: list[str], ours: bool) -> None:
    (tmp_path / "msgpack.py").write_text("packb = None\n")
    path = {**environment, "PYTHONPATH": os.pathsep.join([str(tmp_path), environment.get("PYTHONPATH", "")])}
    code = "import msgpack; print(msgpack.packb is not None)"
    done = run_python("-m", "cpkg", "run", "--names", "msgpack", *option, "-c", code, env=path)
    told = "" if ours else "cpkg run: already installed, not replaced: msgpack (use --force to replace)\n"
    assert (done.stdout, done.stderr) == (f"{ours}\n", told)
