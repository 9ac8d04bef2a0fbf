# SPDX-License-Identifier: Apache-2.0
"""The commands of `cpkg archive`, in this process and as processes in a pipe."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from archives import contents

pytest.importorskip("click")
from click.testing import CliRunner, Result

import cpkg
from cpkg.cli.commands import cli

pytestmark = pytest.mark.once
APART: dict[str, Any] = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}


def run(*arguments: Any, status: int = 0, stdin: bytes = b"") -> Result:
    result = CliRunner(**APART).invoke(cli, ["archive", *map(str, arguments)], input=stdin, prog_name="cpkg")
    assert result.exit_code == status, result.output
    return result


def test_create_list_verify_extract(tree: Path, tmp_path: Path) -> None:
    made = tmp_path / "a.tar.zst"
    result = run("create", made, "-C", tree, ".")
    assert result.stdout == result.stderr == ""
    names = run("list", made).stdout.splitlines()
    assert len(names) == len(contents(tree)) + 1
    assert {"./", "./sub/deep/er/file", "./new\\nline", "./no utf-8 \\xff\\xfe", "./link"} <= set(names)
    assert "no damage" in run("verify", made).stdout
    assert run("extract", made, "-C", tmp_path / "out", "-v").stderr.count("\n") == len(names)
    assert contents(tmp_path / "out") == contents(tree)
    line = run("list", "-l", made, "./link").stdout
    assert line.startswith("lrwxrwxrwx ")
    assert line.endswith(" ./link -> text\n")


def test_options_reach_the_archive(tree: Path, tmp_path: Path) -> None:
    made = tmp_path / "a.tar.zst"
    (tmp_path / "names").write_bytes(b"text\nsub/deep\n")
    (tmp_path / "patterns").write_text("*er\n\n")
    run("create", made, "-C", tree, "--files-from", tmp_path / "names", "-X", tmp_path / "patterns", "--mtime", 5)
    assert run("list", made).stdout == "text\nsub/deep/\n"
    run("create", made, "-C", tree, "sub", "--exclude", "secret", "--include", "*e*", "--owner", "7:8", "-T", 1)
    listed = run("list", made, "sub/deep/er/file", "sub/secret", status=1)
    assert (listed.stdout, listed.stderr) == ("sub/deep/er/file\n", "cpkg: sub/secret: not found in the archive\n")
    assert " 7/8 " in run("list", "-l", made).stdout
    run("create", made, "-C", tree, "sub", "--no-recursion")
    assert run("list", made).stdout == "sub/\n"
    first = made.read_bytes()
    run("create", made, "-C", tree, "sub", "--reproducible")
    run("create", tmp_path / "b", "-C", tree, "sub", "--reproducible", "-T", 3)
    assert made.read_bytes() == (tmp_path / "b").read_bytes() != first
    run("extract", made, "sub/deep", "--strip-components", 2, "-C", tmp_path / "out")
    assert sorted(contents(tmp_path / "out")) == ["er", "er/file"]


def test_problems_are_reported_and_set_the_status(tree: Path, tmp_path: Path) -> None:
    made = tmp_path / "a.tar.zst"
    (tmp_path / "names").write_text("text\nmissing\n")
    result = run("create", made, "-C", tree, "--files-from", tmp_path / "names", status=1)
    assert result.stderr == "cpkg: missing: cannot be read: No such file or directory\n"
    assert run("list", made).stdout == "text\n"
    assert "no PATH" in run("create", made, status=2).stderr
    assert "UID:GID" in run("create", made, ".", "--owner", "me", status=2).stderr
    assert "--max-size" in run("extract", made, "--max-size", "100", "-C", tmp_path / "out", status=1).stderr
    made.write_bytes(made.read_bytes()[:-200])
    for command in ("verify", "list", "extract"):
        result = run(command, made, *(["-C", tmp_path / "out"] if command == "extract" else []), status=1)
        assert result.stderr.startswith(f"cpkg: {made}: ")
        assert "truncated" in result.stderr
    assert "No such file" in run("list", tmp_path / "nothing", status=1).stderr


def test_a_path_that_cannot_be_read_leaves_the_old_archive(tree: Path, tmp_path: Path) -> None:
    made = tmp_path / "a.tar.zst"
    message = f"cpkg: {tmp_path / 'tre'}: cannot be read: No such file or directory; {made} is not written\n"
    assert run("create", made, tree, tmp_path / "tre", status=1).stderr == message
    assert not made.exists()
    run("create", made, "-C", tree, "text")
    assert run("create", made, tree, tmp_path / "tre", status=1).stderr == message
    assert run("list", made).stdout == "text\n"


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("a", ["-T", "99999"], "threads must be"),
        ("a", ["--frame-size", "1"], "frame_size must be"),
        ("a", ["--mtime", "nan"], "seconds since 1970"),
        ("a", ["--mtime", "1e300"], "seconds since 1970"),
        ("a", ["--owner", "99999999999:0"], "numbers of a user and a group"),
        ("a", ["--exclude", "a\0b"], "contain NUL"),
        ("a", ["--reproducible"], "SOURCE_DATE_EPOCH"),
        ("x.tar.gz", [], "x.tar.gz: create writes Zstandard archives: name it {}/x.tar.zst\n"),
    ],
)
def test_options_that_cannot_be(
    name: str, options: list[str], message: str, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line reports the error, and nothing is written."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "today")
    error = run("create", tmp_path / name, tree, *options, status=1).stderr
    assert error.count("\n") == 1
    assert message.format(tmp_path) in error
    assert os.listdir(tmp_path) == ["tree"]


def test_a_file_that_is_not_an_archive_is_not_replaced(tree: Path, tmp_path: Path) -> None:
    """If ARCHIVE is forgotten, the first PATH is taken as ARCHIVE, which is a file of the user."""
    made = tmp_path / "city.json"
    made.write_text("{}")
    error = run("create", made, tree, status=1).stderr
    assert error == f"cpkg: {made}: exists and is not a Zstandard archive; use -f to replace it, or name another file\n"
    assert made.read_text() == "{}"
    run("create", made, tree, "-f")
    before = made.read_bytes()
    run("create", made, tree / "text")
    assert made.read_bytes() != before
    made.write_bytes(b"")
    run("create", made, tree / "text")
    assert made.read_bytes()


@pytest.mark.parametrize("command", ["create", "list", "extract", "verify"])
def test_every_command_refuses_an_unknown_backend(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    run("create", tmp_path / "a", "-C", tree, "text")
    monkeypatch.setenv("CPKG_ARCHIVE_BACKEND", "foo")
    error = run(command, tmp_path / "a", *(["-C", tree] if command == "create" else []), status=1).stderr
    assert error.startswith("cpkg: CPKG_ARCHIVE_BACKEND=foo: expected one of auto, native, ")


def test_files_of_other_formats_are_called_so(tree: Path, tmp_path: Path) -> None:
    made = tmp_path / "a"
    for mode, told in (
        ("w", "; an uncompressed tar archive: compress it with 'cpkg zstd'\n"),
        ("w:gz", "; the data is compressed with gzip: decompress it first\n"),
    ):
        with tarfile.open(made, mode) as file:
            file.add(tree / "text", "text")
        for command in ("list", "verify", "extract"):
            assert run(command, made, status=1).stderr.endswith(told)
    assert f"{made}: Not a directory" in run("extract", made, "-C", made, status=1).stderr
    for data in (cpkg.dumps("text" * 1000), b"a,b"):
        made.write_bytes(data)
        assert "'cpkg info' describes the file" in run("list", made, status=1).stderr
    run("create", made, "-C", tree, "text", "-f", "-l", -50)
    made.write_bytes(made.read_bytes()[:60])
    error = run("list", made, status=1).stderr  # damaged, not of another format
    assert "; the data is" not in error
    assert "cpkg info" not in error


def test_hints_about_standard_input_read_no_file_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "standard input").write_bytes(b"{}")
    monkeypatch.chdir(tmp_path)
    assert "JSON" in run("list", "standard input", status=1).stderr
    assert "JSON" not in run("list", "-", status=1, stdin=b"neither").stderr


def test_through_pipes(tree: Path, tmp_path: Path) -> None:
    command = f"'{sys.executable}' -I -m cpkg archive"
    script = f"{command} create - -C '{tree}' . | {command} extract - -C '{tmp_path / 'out'}'\n"
    script += f"{command} create - -C '{tree}' . missing | head -c 10 >/dev/null"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert contents(tmp_path / "out") == contents(tree)
    assert done.stderr.count("\n") == 1  # about the file that is missing; a closed pipe is not an error
