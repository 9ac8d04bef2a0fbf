# SPDX-License-Identifier: Apache-2.0
"""The command line in a hostile shell: closed streams, full devices, odd names, early signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cpkg

pytestmark = pytest.mark.once

VECTORS = json.loads(Path(__file__).with_name("vectors.json").read_text(encoding="utf-8"))
Shell = Callable[[str], "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def shell(environment: dict[str, str], program: Path, tmp_path: Path) -> Shell:
    """Return a function that runs a script in a directory with [1] in a.json and a.mpz; `cpkg` is the command line."""
    (tmp_path / "a.json").write_bytes(b"[1]")
    (tmp_path / "a.mpz").write_bytes(b"\x91\x01")

    def run(script: str) -> subprocess.CompletedProcess[bytes]:
        path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, env={**environment, "PATH": path}, capture_output=True, timeout=120
        )

    return run


@pytest.mark.parametrize(("script", "message"), VECTORS["errors in a shell"])
def test_one_line_reports_an_error(shell: Shell, script: str, message: str) -> None:
    done = shell(script)
    assert (done.returncode, done.stdout, done.stderr.decode()) == (1, b"", f"cpkg: {message}\n")


def test_standard_streams(shell: Shell) -> None:
    done = shell("cpkg pack <a.json")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"\x91\x01", b"")
    done = shell("cpkg nonsense")
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    done = shell("cat a.json | cpkg pack /dev/stdin -o /dev/stdout | cpkg info /dev/stdin")
    assert b"array of 1 item" in done.stdout, done.stderr
    assert shell("cpkg nonsense 2>/dev/full").returncode == 2


def test_closed_streams(shell: Shell, tmp_path: Path) -> None:
    for name, streams in (("x", "2>&-"), ("y", "<&- >&- 2>&-")):
        done = shell(f"cpkg pack a.json -o {name} {streams}")
        assert (done.returncode, (tmp_path / name).read_bytes()) == (0, b"\x91\x01")
    assert shell("cpkg nonsense 2>&-").returncode == 2
    assert shell("cpkg pack missing.json 2>&-").returncode == 1


@pytest.mark.parametrize("arguments", ["--help", "info a.mpz", "backends"])
def test_a_reader_that_is_not_there(shell: Shell, arguments: str) -> None:
    """A named pipe ensures that the reader is gone before anything is written."""
    done = shell(
        f"mkfifo pipe; exec 3<>pipe 4>pipe 5<pipe; (exec 3>&- 5>&-; read -r go <a.json; cpkg {arguments} >&4) &\n"
        "exec 3>&- 4>&- 5>&-; wait $!"
    )
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


def test_empty_names(shell: Shell) -> None:
    for command in ("pack", "unpack", "info", "demo"):
        done = shell(f"cpkg {command} ''")
        assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)
        assert b"empty" in done.stderr


def test_an_open_file_is_written_through(shell: Shell, tmp_path: Path) -> None:
    for name in ("/dev/stdout", "/dev/fd/1", "link"):
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to("/dev/stdout")
        done = shell(f"{{ echo before; cpkg unpack a.mpz -o {name}; echo after; }} > out; cat out")
        assert (done.stdout, done.stderr) == (b"before\n[1]\nafter\n", b"")
        assert (tmp_path / "link").is_symlink()


def test_a_pipe_that_does_not_block(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "noise").write_bytes(cpkg.dumps(list(range(100_000))))
    for unbuffered, output in (("", "/dev/stdout"), ("1", "-")):
        source, target = os.pipe()
        os.set_blocking(target, False)
        command = [sys.executable, "-I", "-m", "cpkg", "unpack", "noise", "-o", output]
        settings = {**environment, "PYTHONUNBUFFERED": unbuffered}
        done = subprocess.run(command, stdout=target, stderr=subprocess.PIPE, cwd=tmp_path, env=settings)
        assert done.returncode == 1
        assert b"write could not complete without blocking" in done.stderr or b"unavailable" in done.stderr
        assert done.stderr.count(b"\n") == 1
        os.close(source)
        os.close(target)


@pytest.mark.parametrize("module", ["click", "cpkg.cli", "cpkg.cli.json_text"])
def test_a_signal_at_start_up(environment: dict[str, str], module: str) -> None:
    code = f"""
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.argv = ["cpkg", "pack", "-"]
from cpkg.__main__ import main
sys.exit(main())
"""
    done: Any = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"cpkg: interrupted\n")


def test_completion(run_each: Any) -> None:
    completions = VECTORS["completions"]
    commands = [[{"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}] for words in completions]
    results = run_each(commands, _CPKG_COMPLETE="bash_complete")
    for completed, (status, output, _) in zip(completions.values(), results):
        assert (status, output[: len(completed)]) == (0, completed)
