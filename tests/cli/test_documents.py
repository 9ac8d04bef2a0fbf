# SPDX-License-Identifier: Apache-2.0
"""Run the commands and examples in the documents."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from documents import DOCS, blocks, check_examples


def sessions(page: str) -> list[tuple[str, str]]:
    """Return the commands in the console blocks of a page, in order, each with its output."""
    found: list[tuple[str, str]] = []
    for block in blocks((DOCS / page).read_text(encoding="utf-8"), "console"):
        for line in block.splitlines(keepends=True):
            if line.startswith("$ "):
                found.append((line[2:].strip(), ""))
            else:
                found[-1] = (found[-1][0], found[-1][1] + line)
    return found


@pytest.mark.once
@pytest.mark.parametrize(
    ("page", "least"),
    [("cli.md", 17), ("integrations.md", 3), ("archives.md", 5), ("records.md", 8), ("start/quickstart.md", 8)],
)
def test_the_command_lines(environment: dict[str, str], program: Path, tmp_path: Path, page: str, least: int) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "cpkg").symlink_to(program)
    python = tmp_path / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    commands = sessions(page)
    assert len(commands) >= least
    for command, expected in commands:
        done = subprocess.run(
            ["sh", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=work,
            env={**environment, "PATH": path},
            text=True,
        )
        assert rough(done.stdout, command) == rough(expected, command), command


def rough(text: str, command: str) -> str:
    """Return the text without numbers that depend on the compressor, and without messages about installed packages."""
    text = re.sub(r"^cpkg run: already installed.*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"\d[\d.,]*", "#", text) if "text.mpz" in command else text


# in 3.12 and 3.13, shutil.unpack_archive warns about any tar archive, because it passes no filter
@pytest.mark.filterwarnings("ignore:Python 3.14 will, by default, filter:DeprecationWarning")
@pytest.mark.parametrize("page", ["objects.md", "archives.md", "start/quickstart.md"])
def test_the_python_examples(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # examples may change the directory; monkeypatch restores it
    check_examples(page, 5)


def test_the_example_of_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = blocks((DOCS.parent / "README.md").read_text(encoding="utf-8"), "python")
    exec(example, {})


@pytest.mark.parametrize("name", ["cli.md", "objects.md", "index.md", "start/quickstart.md", "../README.md"])
def test_no_message_suggests_another_projects_package(name: str) -> None:
    """`cpkg` on PyPI belongs to an unrelated project."""
    assert not re.search(r"pip install '?cpkg(?!-codecs)", (DOCS / name).read_text())
