# SPDX-License-Identifier: Apache-2.0
"""The command line as a process: terminals, signals, pipes, and an installation without the extra."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from processes import open_terminal, run_python

import cpkg
from cpkg import zstd
from cpkg.cli.progress import LARGE

MODULE = ["-I", "-m", "cpkg"]
COMMAND = [sys.executable, *MODULE]
ROWS = 6_000  # of 800 bytes each, so that the file is large enough for a bar


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "large.jsonl"
    rows = ({"id": number, "text": f"row {number * 7919 % 1000}".ljust(770)} for number in range(ROWS))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert path.stat().st_size > LARGE
    return path


@pytest.fixture(scope="module")
def packed(large: Path) -> Path:
    path = large.with_name("packed")
    cpkg.dump([json.loads(line) for line in large.read_text().splitlines()], path)
    return path


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("cp1252", b"\\u65e5\\udcff"),
        ("cp1252:surrogateescape", b"\\u65e5\\udcff"),  # like pipes on Windows
        ("utf-8", "\u65e5".encode() + b"\xff"),
        ("utf-8:surrogateescape", "\u65e5".encode() + b"\xff"),
    ],
)
def test_names_that_standard_output_cannot_hold(run_each: Any, tmp_path: Path, encoding: str, shown: bytes) -> None:
    name = os.fsdecode("\u65e5".encode() + b"\xff.zst")
    (tmp_path / name).write_bytes(zstd.compress(b"text"))
    commands = [[*arguments, name, {}] for arguments in (["info"], ["zstd", "-l"], ["zstd", "-lv"])]
    for status, output, _ in run_each(commands, PYTHONIOENCODING=encoding):
        assert (status, shown in output.encode("latin-1")) == (0, True), output


@pytest.mark.once
def test_without_the_extra_an_error_names_it(run_each: Any) -> None:
    as_with_it = [["--version", {}], ["-V", {}], ["backends", {}], ["backends", "--json", {}]]
    demo, plain, *others = run_each(
        [
            ["demo", "--seconds", "0", {}],
            ["--help", {}],
            *as_with_it,
            [{}],
            ["backends", "x", {}],
        ],
        ("click",),
    )
    status, output, error = demo
    assert (status, output, error.count("\n")) == (1, "", 1)
    assert "click" in error
    assert "pip install 'cpkg-codecs[cli]'" in error
    assert plain[0] == 0
    assert "pip install 'cpkg-codecs[cli]'" in plain[1]
    assert others[:4] == run_each(as_with_it)
    assert [(status, error) for status, _, error in others[:4]] == [(0, "")] * 4
    usage, wrong = others[4:]
    assert (usage[0], "backends [--json]  print" in usage[2]) == (2, True)
    assert (wrong[0], "click" in wrong[2]) == (1, True)
    (named,) = run_each([["backends", {}]], ("click",), CPKG_BACKEND="nonsense")
    assert (named[0], named[2].count("\n")) == (1, 1)


def test_another_missing_module_is_not_hidden(environment: dict[str, str]) -> None:
    code = "import sys; sys.modules['purepy.base.errors'] = None\nfrom cpkg.__main__ import main; main()"
    done = run_python("-I", "-c", code, env=environment)
    assert done.returncode == 1
    assert "purepy.base.errors" in done.stderr
    assert "pip install" not in done.stderr


@pytest.mark.parametrize("variable", ["CPKG_MSGPACK_BACKEND", "CPKG_ZSTD_BACKEND", "CPKG_BACKEND"])
def test_a_backend_that_does_not_exist(run_each: Any, variable: str) -> None:
    for status, _, error in run_each([["backends", {}], ["demo", {}]], **{variable: "nonsense"}):
        assert status == 1
        assert f"{variable}=nonsense: expected one of auto, native, dlopen, stdlib, pure" in error
        assert error.count("\n") == 1


def test_pure_backends_can_be_asked_for(run_each: Any) -> None:
    ((status, output, _),) = run_each([["backends", {}]], CPKG_BACKEND="pure")
    assert (status, output.count(": pure on "), output.count("asked for by CPKG_BACKEND=pure")) == (0, 2, 2)


# terminals


def on_terminal(command: list[str | Path], environment: dict[str, str]) -> tuple[int, str]:
    """Run a command whose standard error is a terminal; return its status and the output on the terminal."""
    master, slave = open_terminal()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave, env=environment)
    os.close(slave)
    shown = b""
    while select.select([master], [], [], 60)[0]:
        try:
            piece = os.read(master, 65536)
        except OSError:  # this is how Linux reports the end of a terminal
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    process.communicate(timeout=60)
    return process.returncode, shown.decode(errors="replace")


def test_a_bar_shows_on_a_terminal(environment: dict[str, str], program: Path, large: Path, tmp_path: Path) -> None:
    status, shown = on_terminal([program, "pack", large, "-o", tmp_path / "x"], environment)
    assert status == 0, shown
    assert [part for part in ("packing", "writing", "%") if part not in shown] == []
    assert f"bytes of JSON packed to {(tmp_path / 'x').stat().st_size:,}" in shown
    status, shown = on_terminal([program, "unpack", tmp_path / "x", "-o", tmp_path / "y"], environment)
    assert status == 0, shown
    assert len(cpkg.load(tmp_path / "x")) == ROWS


def test_no_bar_where_none_is_wanted(environment: dict[str, str], program: Path, large: Path, tmp_path: Path) -> None:
    small, out = tmp_path / "small.json", tmp_path / "x"
    small.write_text("[1]")
    assert "packing" not in on_terminal([program, "pack", small, "-o", out], environment)[1]
    assert on_terminal([program, "pack", "-q", large, "-o", out], environment) == (0, "")
    assert "packing" not in on_terminal([program, "pack", large, "-o", out], {**environment, "TERM": "dumb"})[1]


def test_an_error_under_a_bar_is_still_reported(
    environment: dict[str, str], program: Path, large: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(large.read_bytes() + b"{]\n")
    status, shown = on_terminal([program, "pack", broken], environment)
    assert status == 1
    assert f"broken.jsonl:{ROWS + 1}:2: expecting property name" in shown
    assert os.listdir(tmp_path) == ["broken.jsonl"]


@pytest.mark.parametrize(
    ("command", "stream", "status", "told"),
    [
        ("pack -", "stdout", 1, b"refusing to write packed data to a terminal: name a file with -o\n"),
        (
            *("records convert --from jsonl -o - --to records", "stdout", 1),
            b"only text can be written to a terminal: use --to jsonl, or name a file with -o\n",
        ),
        ("unpack", "stdin", 2, b"no FILE, and standard input is a terminal"),
    ],
)
def test_packed_data_and_terminals(
    environment: dict[str, str], program: Path, command: str, stream: str, status: int, told: bytes
) -> None:
    master, slave = open_terminal()
    streams = {**dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE), stream: slave}
    process = subprocess.Popen([program, *command.split()], env=environment, **streams)
    os.close(slave)
    _, error = process.communicate(b"[1]" if stream == "stdout" else None)
    os.close(master)
    assert (process.returncode, error.count(b"\n")) == (status, 1)
    assert error.startswith(b"cpkg: " + told)


# signals and pipes


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_while_reading(environment: dict[str, str], tmp_path: Path, number: int, status: int) -> None:
    out = tmp_path / "x"
    process: Any = subprocess.Popen(
        [*COMMAND, "pack", "-", "-o", str(out)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        # children inherit signals that nohup or a background job of a shell ignores
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    with process:
        # more than a pipe buffers, so the command is reading when everything is written
        process.stdin.write(b"[1," + b"1," * 100_000)
        process.stdin.flush()
        process.send_signal(number)
        _, error = process.communicate(timeout=30)
    assert process.returncode == status
    assert b"Traceback" not in error
    if number == signal.SIGINT:
        assert error.strip() == b"cpkg: interrupted"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_pipe_that_is_read_slowly(environment: dict[str, str], packed: Path, unbuffered: str) -> None:
    """An unbuffered standard output accepts what fits into the pipe; the rest must be written again."""
    command = [*COMMAND, "unpack", str(packed), "-o", "-", "--format", "jsonl"]
    done = subprocess.run(command, stdout=subprocess.PIPE, env={**environment, "PYTHONUNBUFFERED": unbuffered})
    assert [json.loads(line) for line in done.stdout.splitlines()] == cpkg.load(packed)


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_leaves_early(environment: dict[str, str], packed: Path, unbuffered: str) -> None:
    process: Any = subprocess.Popen(
        [*COMMAND, "unpack", str(packed), "-o", "-"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**environment, "PYTHONUNBUFFERED": unbuffered},
    )
    with process:
        assert process.stdout.read(10) == b'[{"id":0,"'
        process.stdout.close()
        error = process.stderr.read()
        process.wait(timeout=60)
    assert error == b""
    assert process.returncode == 128 + signal.SIGPIPE
