# SPDX-License-Identifier: Apache-2.0
"""`cpkg zstd` and the `zstd` tool: the same arguments give the same exit status, files and messages."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import needs

from cpkg import zstd

pytestmark = needs("zstd")

NUMBERS = b"".join(b"%d\n" % number for number in range(1, 5001))
GATE, NIGHTLY = Path(__file__).with_name("zstd_command_lines.txt").read_text(encoding="utf-8").split("\n\n")
CASES = [*GATE.splitlines()[1:], *(pytest.param(case, marks=pytest.mark.nightly) for case in NIGHTLY.splitlines()[1:])]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of the cases."""
    folder = tmp_path_factory.mktemp("files")
    skippable = b"\x50\x2a\x4d\x18\x03\0\0\0abc"
    options = {zstd.CompressionParameter.checksum_flag: 1}
    frame = zstd.compress(NUMBERS, options=options)
    window = bytearray(zstd.ZstdCompressor(1, None).compress(NUMBERS, zstd.ZstdCompressor.FLUSH_BLOCK))
    window[5] = 21 << 3  # the byte after the frame header descriptor: 2 GiB
    window += b"\x01\x00\x00"
    for name, content in {
        "a": NUMBERS,
        "reference": NUMBERS[100:] + b"the end",
        "b": NUMBERS[:300],
        "one": b"x",
        "empty": b"",
        "empty.zst": b"",
        "names": b"a\nb\n",
        "a1.zst": frame,
        "many.zst": frame + frame + skippable,
        "cut.zst": frame[:100],
        "garbage.zst": frame + b"garbage",
        "tail.zst": frame + b"x",
        "window.zst": bytes(window),
        "zeros.zst": zstd.compress(bytes(500_000)),
        "folder/f": b"x\n",
        "folder/inner/g": NUMBERS[:99],
        **{f"samples/{number}": b"user %d %d\n" % (number, number**3) * 30 for number in range(20)},
    }.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(content)
    (folder / "void").mkdir()
    (folder / "link").symlink_to("a")
    os.chmod(folder / "b", 0o640)
    os.utime(folder / "b", (10**9, 10**9))
    return folder


def run(command: list[str | Path], stdin: str, folder: Path, environment: dict[str, str]) -> tuple[int, bytes, bytes]:
    with open(folder / stdin, "rb") as source:
        done = subprocess.run(command, stdin=source, capture_output=True, cwd=folder, env=environment)
    return done.returncode, done.stdout, done.stderr


def told(text: bytes) -> str:
    """Return a message without differences between versions and libraries: numbers and widths of columns."""
    words = text.decode(errors="replace")
    words = re.sub(r"Zstandard CLI.*", "Zstandard CLI", words)
    words = re.sub(r"(Incorrect parameter)s?\b.*", r"\1", words, flags=re.DOTALL)
    words = re.sub(r"\d+(\.\d+)?", "#", words).replace("KiB", "B").replace("/.gz/.tgz/.lzma/.xz/.txz/.lz#/.tlz#", "")
    words = re.sub(r"\s+", " ", words)
    return words.replace("  ", " ").strip()


def contents(folder: Path) -> dict[str, Any]:
    """Return the decompressed content, mode and time of every file in a folder."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink() or path.is_dir():
            found[name] = os.readlink(path) if path.is_symlink() else "directory"
            continue
        data: Any = path.read_bytes()
        try:
            data = ("compressed", zstd.decompress(data))
        except zstd.ZstdError:
            data = "a frame that needs more" if data[:4] == b"(\xb5/\xfd" else data
        status = path.stat()
        kept = status.st_mtime if status.st_mtime == 10**9 else None
        found[name] = (data, oct(status.st_mode), kept)
    return found


def steps(case: str) -> Iterator[tuple[list[str], str]]:
    for step in case.split(" ; "):
        words = shlex.split(step)
        if words[:1] == ["<"]:
            yield words[2:], words[1]
        else:
            yield words, "/dev/null"


@pytest.mark.parametrize("case", CASES)
def test_as_the_tool(files: Path, environment: dict[str, str], program: Path, tmp_path: Path, case: str) -> None:
    answers = []
    for name, command in (("tool", ["zstd"]), ("ours", [program, "zstd"])):
        folder = tmp_path / name
        shutil.copytree(files, folder, symlinks=True)
        results = []
        for arguments, stdin in steps(case):
            status, output, messages = run([*command, *arguments], stdin, folder, environment)
            if output[:4] == b"(\xb5/\xfd":
                output = b"".join(zstd.decompress_iter([output]))
            is_report = b"Frames" in output or b"Zstandard" in output
            results.append((status, told(messages), told(output) if is_report else output))
            if status < 0 and name == "tool":
                pytest.skip("the tool crashes")
        answers.append((results, contents(folder)))
    assert answers[1][0] == answers[0][0]
    assert answers[1][1] == answers[0][1]
