# SPDX-License-Identifier: Apache-2.0
"""`cpkg zstd` beside the `zstd` tool: the same arguments give the same exit status, files and messages."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cpkg import zstd
from cpkg.cli.zstd import compress as zstd_compress  # noqa: F401 - for the children
from cpkg.cli.zstd import decompress as zstd_decompress  # noqa: F401 - for the children
from cpkg.cli.zstd import help as zstd_help  # noqa: F401 - for the children
from cpkg.cli.zstd import list as zstd_list  # noqa: F401 - for the children
from cpkg.cli.zstd import train as zstd_train  # noqa: F401 - for the children
from cpkg.cli.zstd.main import main

TOOL = shutil.which("zstd")
pytestmark = pytest.mark.skipif(TOOL is None, reason="there is no zstd tool to compare with")

NUMBERS = b"".join(b"%d\n" % number for number in range(1, 5001))
CORE = r"""
a
a ; a
a ; -f a
a ; -d a.zst
a ; -dk a.zst -o again
-20 b
--fast=5 b
--fast=0 b
-T2 a
--long=9 b
--long a ; -d a.zst -o again
--zstd=bad=2 a
--no-check a ; -l a.zst ; -lv a.zst
a b
a b -v ; -dfv a.zst b.zst
a b -o out
a b -o out -f ; -d out -o again
--rm a b
--rm -c a
-t a1.zst garbage.zst many.zst
-t cut.zst
-l a1.zst many.zst
-lv many.zst
-l a a1.zst nosuch
-l garbage.zst
-d many.zst
-d tail.zst
-d empty.zst
-d many.zst garbage.zst a1.zst -o all -f
-dcf one
-dcf garbage.zst many.zst tail.zst
-dc --pass-through garbage.zst
-dcf --no-pass-through tail.zst
-d --pass-through garbage.zst -o out
< garbage.zst -dcf
< tail.zst -dcf
-d --pass-through one -o out
-T257 -q a
--patch-from=a a -o out
--patch-from=a -f link -o out
-D a a
--show-default-cparams a b --fast=3
--show-default-cparams -q -19 -D reference a
< a --show-default-cparams -c
--show-default-cparams -d a1.zst -o out
-d window.zst -o out
-d --long=31 window.zst -o out
-d nosuch.zst
-r folder ; -dr folder --rm -f
-r folder --output-dir-mirror mirror
link a
a -o a -f
-D nosuch a
-D b a -o x.zst ; -d -D b x.zst -o again
-D b a -o x.zst ; -d x.zst -o again
--patch-from=a reference -o patch ; -d --patch-from=a patch -o again
--filelist=names
a -- -x
--badopt
-o
< a -c
< a - b -c -q
< cut.zst -d
< a -dcf
"""
MORE = r"""
-k a ; --rm -f a
a ; -df a.zst
-1 b ; -9 -f b
-5k3 b
-0 b
-19 b
--ultra -22 b
--ultra -23 b
--fast b
--fast=99999999 b
--fastest b
-T0 a
-T a
-T99999999999 a
--threads=2 a
--threads 2 a
--single-thread a
-B1M -T2 a
--long=10 b
--long=40 b
--longer b
--zstd=wlog=18,clog=17,hlog=17,slog=4,mml=4,tlen=16,strat=5 a
--zstd=wlog=23 a
--zstd=wlog=99 a
--check -C a ; -l a.zst
--no-content-size a ; -l a.zst ; -d a.zst -o again
a b -q
a b -v
a b -c
a b -o out -f --rm
a a
--rm a -o out
-t a1.zst
-t a1.zst many.zst
-t nosuch.zst a1.zst
-t garbage.zst
-t tail.zst
-t one
-t empty
--rm -t a1.zst
-l a1.zst
-lv a1.zst
-l many.zst
-l
-d many.zst -o again --rm
-d cut.zst
-d garbage.zst
-d one -o out
-d a1.zst -o nodir/a
-d many.zst a1.zst -o all -f
-dc a1.zst
-dc a1.zst many.zst
-dc garbage.zst
-dc one
-dcf a
--pass-through -dc one
--no-pass-through -dcf one
--decompress --stdout a1.zst
--uncompress a1.zst
-d --compress a
-z -d -z a
-d -M1 a1.zst
-d -M64 a1.zst
-d --memory=1MB a1.zst
-d -M2048MB window.zst -o out
nosuch
a nosuch
-c nosuch
-qq nosuch
folder
-r folder
-r folder -v
-r folder a nosuch --output-dir-flat out
--output-dir-flat folder a b
--output-dir-flat
-r void
empty
empty -o x.zst ; -d x.zst -o again
a1.zst
a1.zst --exclude-compressed
a a1.zst --exclude-compressed
link
-f link
a -o folder
a -o /dev/null
a -o /dev/null -f
-dc a1.zst -o /dev/null -v
-D empty a
-D folder a
-D b a -o x.zst ; -d -D reference x.zst -o again
-d -D b a1.zst -o again
--no-dictID -D b a
--patch-from=a b reference
--patch-from=a -D b reference
--filelist names
--filelist=nosuch
--filelist=names reference
-- a
--train a b -o made
--train
--train -r samples -o made -q --maxdict=1
-d zeros.zst -o out
-d --no-sparse zeros.zst -o out
-d --sparse zeros.zst -o out
-qV
-y
--content-size=10 a
--format=nothing a
--format=zstd a
--no-asyncio --auto-threads=logical --priority=rt a
--size-hint=1M --target-compressed-block-size=1K a
-n a
a --no-progress
--keep --force --quiet a
--verbose a
--maxdict a
-o -c
''
a ''
< a -o out.zst
< a - -o out.zst
< a -v
< a
< a --stream-size=23893 -c
< a1.zst -d
< a1.zst -dv
< a1.zst -d -o out
< many.zst -dc
< garbage.zst -dc
< a -d
< a1.zst -t
< a1.zst -t -
< a1.zst -l
"""


def case_list() -> list[Any]:
    return CORE.strip().splitlines() + [
        pytest.param(case, marks=pytest.mark.nightly) for case in MORE.strip().splitlines()
    ]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the cases name."""
    folder = tmp_path_factory.mktemp("files")
    skippable = b"\x50\x2a\x4d\x18\x03\0\0\0abc"
    options = {zstd.CompressionParameter.checksum_flag: 1}
    frame = zstd.compress(NUMBERS, options=options)
    window = bytearray(zstd.ZstdCompressor(1, None).compress(NUMBERS, zstd.ZstdCompressor.FLUSH_BLOCK))
    window[5] = 21 << 3  # the byte behind the frame header descriptor: 2 GiB
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


def run_tool(arguments: list[str], stdin: str, folder: Path) -> tuple[int, bytes, bytes]:
    with open(folder / stdin, "rb") as source:
        done = subprocess.run([str(TOOL), *arguments], stdin=source, capture_output=True, cwd=folder)
    return done.returncode, done.stdout, done.stderr


def run_ours(arguments: list[str], stdin: str, folder: Path) -> tuple[int, bytes, bytes]:
    """Run the command in a fork, which costs less than an interpreter."""
    child = os.fork()
    if not child:
        status = 99
        try:
            os.chdir(folder)
            for number, name, mode in ((0, stdin, os.O_RDONLY), (1, ".out", os.O_RDWR), (2, ".err", os.O_RDWR)):
                descriptor = os.open(name, mode | (os.O_CREAT | os.O_APPEND if number else 0))
                os.dup2(descriptor, number)
                os.close(descriptor)
            sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
            status = main(arguments)
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    streams = []
    for name in (".out", ".err"):
        streams.append((folder / name).read_bytes())
        (folder / name).unlink()
    return status, streams[0], streams[1]


def told(text: bytes) -> str:
    """Return a message without what differs between versions, and with libraries: numbers, and widths of columns."""
    words = text.decode(errors="replace")
    words = re.sub(r"Zstandard CLI.*", "Zstandard CLI", words)
    words = re.sub(r"(Incorrect parameter)s?\b.*", r"\1", words, flags=re.DOTALL)
    words = re.sub(r"\d+(\.\d+)?", "#", words).replace("KiB", "B").replace("/.gz/.tgz/.lzma/.xz/.txz/.lz#/.tlz#", "")
    words = re.sub(r"\s+", " ", words)
    return words.replace("  ", " ").strip()


def contents(folder: Path) -> dict[str, Any]:
    """Return what is in a folder: content (decompressed), mode and time of every file."""
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


@pytest.mark.parametrize("case", case_list())
def test_as_the_tool(files: Path, tmp_path: Path, case: str) -> None:
    answers = []
    for name, run in (("tool", run_tool), ("ours", run_ours)):
        folder = tmp_path / name
        shutil.copytree(files, folder, symlinks=True)
        results = []
        for arguments, stdin in steps(case):
            status, output, messages = run(arguments, stdin, folder)
            if output[:4] == b"(\xb5/\xfd":
                output = b"".join(zstd.decompress_iter([output]))
            is_report = b"Frames" in output or b"Zstandard" in output
            results.append((status, told(messages), told(output) if is_report else output))
            if status < 0 and run is run_tool:
                pytest.skip("the tool crashes")
        answers.append((results, contents(folder)))
    assert answers[1][0] == answers[0][0]
    assert answers[1][1] == answers[0][1]
