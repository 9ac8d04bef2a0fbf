# SPDX-License-Identifier: Apache-2.0
"""
`cpkg zstd` as a process: signals, pipes, terminals, broken outputs, and differences from the zstd tool.

Otherwise the same arguments give the same exit status, files and messages as with the tool (zstd_command_lines.txt).
"""

from __future__ import annotations

import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from processes import needs, open_terminal
from zstd_data import check_trains

from cpkg import zstd
from cpkg.cli.zstd import files
from cpkg.cli.zstd import main as zstd_main
from cpkg.cli.zstd.console import Console

DATA = b"".join(b"%d\n" % number for number in range(20_000))


@pytest.fixture
def call(environment: dict[str, str], program: Path, tmp_path: Path) -> Any:
    """Return a function that runs the command in a new folder."""

    def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
        command = [program, "zstd", *arguments]
        if "stdin" not in options:
            options.setdefault("input", b"")
        return subprocess.run(command, **{"cwd": tmp_path, "env": environment, "capture_output": True, **options})

    (tmp_path / "data").write_bytes(DATA)
    (tmp_path / "data1.zst").write_bytes(zstd.compress(DATA))
    return run


@pytest.mark.parametrize("arguments", [["--rm", "data"], ["-d", "--rm", "data.zst"]])
def test_a_source_is_closed_before_it_is_removed(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Windows does not remove open files."""
    sources, removed = [], []

    def opened(*given: Any) -> Any:
        sources.append(files.open_source(*given))
        return sources[-1]

    def remove(name: str) -> None:
        assert [source.file.closed for source in sources] == [True]
        removed.append(name)

    (tmp_path / "data").write_bytes(DATA)
    (tmp_path / "data.zst").write_bytes(zstd.compress(DATA))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(zstd_main, "open_source", opened)
    monkeypatch.setattr(os, "remove", remove)
    assert zstd_main.Command(Console()).run(["-qf", *arguments]) == 0
    assert removed == arguments[-1:]


def start(environment: dict[str, str], folder: Path, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "cpkg", "zstd", *arguments],
        cwd=folder,
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        **options,
    )


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 2), (signal.SIGTERM, -signal.SIGTERM)])
def test_a_signal_leaves_no_files(
    environment: dict[str, str], tmp_path: Path, number: signal.Signals, status: int
) -> None:
    (tmp_path / "out.zst").write_bytes(b"old")
    os.mkfifo(tmp_path / "fifo")
    process = start(environment, tmp_path, "-q", "-f", "fifo", "-o", "out.zst")
    with open(tmp_path / "fifo", "wb", buffering=0) as fifo:
        for _ in range(40):  # more than a pipe buffers, so the command is reading by then
            fifo.write(DATA)
        assert len(list(tmp_path.iterdir())) == 3, "there is a temporary file"
        process.send_signal(number)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            # the signal came between the interpreter's last check for signals and read(); seen once on PyPy
            process.send_signal(number)
        assert process.wait(timeout=60) == status
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fifo", "out.zst"]
    assert (tmp_path / "out.zst").read_bytes() == b"old"


def test_the_reader_goes_away(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "zeros.zst").write_bytes(zstd.compress(bytes(10_000_000)))
    process = start(environment, tmp_path, "-dc", "zeros.zst", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.read(10) == bytes(10)
    process.stdout.close()
    assert process.wait() == -signal.SIGPIPE
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("arguments", [["-c", "data"], ["-dc", "data1.zst"], ["-d"]])
def test_a_full_output(call: Any, tmp_path: Path, arguments: list[str]) -> None:
    with open("/dev/full", "wb") as full, open(tmp_path / "data1.zst", "rb") as source:
        done = call(*arguments, stdout=full, stderr=subprocess.PIPE, stdin=source, capture_output=False)
    assert done.returncode == 70
    assert done.stderr == b"zstd: error 70 : Write error : cannot write block : No space left on device \n"


def test_closed_standard_streams(environment: dict[str, str], program: Path, call: Any, tmp_path: Path) -> None:
    command = f'"{program}" zstd'
    for line, status in ("-c data >&-", 70), ("data 2>&-", 0), ("-q data -o b <&-", 0):
        done = subprocess.run(["sh", "-c", f"{command} {line}"], cwd=tmp_path, env=environment, capture_output=True)
        assert done.returncode == status, done.stderr
    assert zstd.decompress((tmp_path / "data.zst").read_bytes()) == DATA
    assert zstd.decompress((tmp_path / "b").read_bytes()) == DATA


def test_a_terminal(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(DATA)
    (tmp_path / "data.zst").write_bytes(b"old")

    def run(*arguments: str, answer: bytes = b"") -> tuple[int, bytes]:
        master, slave = open_terminal()
        try:
            process = start(environment, tmp_path, *arguments, stdin=slave, stdout=slave, stderr=subprocess.PIPE)
            os.write(master, answer)
            return process.wait(), process.communicate()[1]
        finally:
            os.close(master)
            os.close(slave)

    assert run() == (1, b"stdin is a console, aborting\n")
    status, messages = run("data", answer=b"n\n")
    assert (status, messages) == (1, b"zstd: data.zst already exists; overwrite (y/n) ? Not overwritten  \n \n")
    assert (tmp_path / "data.zst").read_bytes() == b"old"
    status, messages = run("data", answer=b"y\n")
    assert status == 0
    assert zstd.decompress((tmp_path / "data.zst").read_bytes()) == DATA


def test_progress(call: Any) -> None:
    done = call("data", "--progress")
    assert done.returncode == 0
    assert re.search(rb"\rRead: +106 KiB / +106 KiB ==> +\d+%", done.stderr)
    assert done.stderr.endswith(b"data.zst) \n")
    assert b"\r" not in call("-f", "data").stderr


def test_a_failure_keeps_the_old_file(call: Any, tmp_path: Path) -> None:
    """The zstd tool would remove the file first."""
    (tmp_path / "cut.zst").write_bytes((tmp_path / "data1.zst").read_bytes()[:-9])
    (tmp_path / "cut").write_bytes(b"old")
    assert call("-df", "cut.zst").returncode == 1
    assert (tmp_path / "cut").read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 4


def test_holes(call: Any, tmp_path: Path) -> None:
    content = bytes(300_000) + b"x" * 10 + bytes(500_000) + DATA + bytes(400_000)
    (tmp_path / "holes.zst").write_bytes(zstd.compress(content))
    assert call("-q", "-d", "holes.zst").returncode == 0
    status = (tmp_path / "holes").stat()
    assert (tmp_path / "holes").read_bytes() == content
    assert status.st_size == len(content)
    assert status.st_blocks * 512 < 400_000
    assert call("-q", "-d", "-f", "--no-sparse", "holes.zst").returncode == 0
    assert (tmp_path / "holes").read_bytes() == content
    assert call("-dc", "holes.zst").stdout == content


def test_threads_write_frames_at_their_places(call: Any, tmp_path: Path) -> None:
    """Several threads write frames with holes between and after their data, to files of all kinds."""
    chance = random.Random(3)
    parts = [chance.randbytes(3 << 18), bytes(9 << 18), chance.randbytes(5 << 18), bytes(6 << 18)]
    content = b"".join(parts)
    frames = b"".join(zstd.compress(content[start : start + (1 << 18)]) for start in range(0, len(content), 1 << 18))
    (tmp_path / "frames.zst").write_bytes(frames)
    assert call("-q", "-d", "-T3", "frames.zst").returncode == 0
    assert (tmp_path / "frames").read_bytes() == content
    assert (tmp_path / "frames").stat().st_blocks * 512 < 12 << 18
    assert call("-q", "-t", "frames.zst").returncode == 0
    for mode in ("wb", "ab"):
        with open(tmp_path / "out", mode) as out:
            if mode == "wb":
                out.write(b"before")
                out.flush()
            done = call("-dc", "frames.zst", stdout=out, stderr=subprocess.PIPE, capture_output=False)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "out").read_bytes() == b"before" + content + content


@pytest.mark.parametrize("damage", ["a wrong byte", "cut", "trailing garbage", "cut in the garbage"])
def test_damage_after_whole_frames(call: Any, tmp_path: Path, damage: str) -> None:
    content = random.Random(4).randbytes(1 << 18)
    checksum = {zstd.CompressionParameter.checksum_flag: 1}
    frames = zstd.compress(content, options=checksum) * 12
    at = len(frames) * 3 // 4 - 1000  # in the ninth frame
    broken, message = {
        "a wrong byte": (
            frames[:at] + bytes([frames[at] ^ 1]) + frames[at + 1 :],
            b"x.zst : Decoding error (36) : Restored data doesn't match checksum \n",
        ),
        "cut": (frames[:at], b"x.zst : Read error (39) : premature end \n"),
        "trailing garbage": (frames + b"garbage", b"zstd: x.zst: unsupported format \n"),
        "cut in the garbage": (frames + b"g", b"zstd: x.zst: unknown header \n"),
    }[damage]
    (tmp_path / "x.zst").write_bytes(broken)
    done = call("-q", "-d", "x.zst")
    assert (done.returncode, done.stderr) == (1, message)
    assert not (tmp_path / "x").exists()
    with open(tmp_path / "out", "wb") as out:
        done = call("-q", "-dc", "x.zst", stdout=out, stderr=subprocess.PIPE, capture_output=False)
    assert (done.returncode, done.stderr) == (1, message)
    assert (content * 12).startswith((tmp_path / "out").read_bytes())


def test_what_follows_frames_is_passed_through(call: Any, tmp_path: Path) -> None:
    """Also after frames that several threads decompress to their final positions."""
    pieces = [random.Random(number).randbytes(200_000) for number in range(4)]
    (tmp_path / "x.zst").write_bytes(b"".join(map(zstd.compress, pieces)) + b"and the rest")
    done = call("-dcf", "x.zst")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"".join(pieces) + b"and the rest", b"")
    assert call("-d", "--pass-through", "x.zst").returncode == 0
    assert (tmp_path / "x").read_bytes() == b"".join(pieces) + b"and the rest"


def test_a_large_file_in_several_threads(call: Any, tmp_path: Path) -> None:
    size = 70 << 20
    with open(tmp_path / "large", "wb") as file:
        file.write(DATA)
        file.truncate(size)
    assert call("-q", "-T2", "large").returncode == 0
    compressed = (tmp_path / "large.zst").read_bytes()
    assert len(zstd.decompress(compressed)) == size
    done = call("-d", "-T2", "large.zst", "-o", "again")
    assert (done.returncode, done.stderr) == (0, b"large.zst           : 73400320 bytes \n")
    with open(tmp_path / "again", "rb") as file:
        assert file.read(len(DATA) + 10) == DATA + bytes(10)
        assert file.seek(0, 2) == size


def test_names_that_are_no_text(call: Any, tmp_path: Path) -> None:
    name = os.fsdecode(b"data-\xff")
    os.rename(tmp_path / "data", tmp_path / name)
    assert call("-v", name).returncode == 0
    assert (tmp_path / (name + ".zst")).exists()
    done = call("-l", name + ".zst")
    assert (done.returncode, b"data-\xff.zst" in done.stdout) == (0, True)
    assert call("-d", name + ".zst", "-o", "again").returncode == 0
    assert (tmp_path / "again").read_bytes() == DATA


def test_training(call: Any, tmp_path: Path) -> None:
    check_trains()
    samples = tmp_path / "samples"
    samples.mkdir()
    for number in range(200):
        text = "".join(f"user {number * j % 97} name {j} {number}\n" for j in range(20))
        (samples / str(number)).write_text(text)
    done = call("--train", "-r", "samples", "--maxdict=2K", "--dictID=77", "-o", "made")
    assert done.returncode == 0, done.stderr
    assert re.search(rb"Save dictionary of size \d+ into file made \n$", done.stderr)
    dictionary = zstd.ZstdDict((tmp_path / "made").read_bytes())
    assert (dictionary.dict_id, len(dictionary) <= 2048) == (77, True)
    assert call("-D", "made", "samples/7", "-o", "small.zst").returncode == 0
    assert zstd.get_frame_info((tmp_path / "small.zst").read_bytes()).dictionary_id == 77
    assert call("-d", "-D", "made", "small.zst", "-o", "large").returncode == 0
    assert (tmp_path / "large").read_bytes() == (samples / "7").read_bytes()
    done = call("-q", "--train", "-B1K", "data", "-o", "blocks")
    assert done.returncode in (0, 1), done.stderr


def test_max(call: Any, tmp_path: Path) -> None:
    done = call("-q", "--max", "data")
    if b"backend pure" in done.stderr:
        pytest.skip("the pure backend does not support long matches")
    assert (done.returncode, done.stderr) == (0, b"")
    assert call("-t", "data.zst").returncode == 0
    most = call("-q", "--ultra", "-22", "-c", "data").stdout
    assert (tmp_path / "data.zst").stat().st_size <= len(most)


@pytest.mark.parametrize("option", ["-b1", "--show-default-cparams", "--exclude-compressed", "--train-cover", "-S"])
def test_options_of_the_tool_that_are_refused(call: Any, option: str) -> None:
    done = call(option, "data")
    name = option if option.startswith("--") else option[:2]
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(f"Incorrect parameter: {name} \n".encode())


@pytest.mark.parametrize("arguments", [["-d"], ["-t"], ["-dc"]])
def test_a_damaged_dictionary(call: Any, tmp_path: Path, arguments: list[str]) -> None:
    """The exit status is the same as in the tool, whose message is about memory."""
    (tmp_path / "bad").write_bytes(b"\x37\xa4\x30\xec\1\0\0\0 a dictionary with damage in its tables")
    for name in ("data1.zst", "nosuch.zst"):
        done = call(*arguments, "-D", "bad", name)
        assert (done.returncode, done.stdout) == (11, b"")
        assert done.stderr == b"zstd: error 11 : Dictionary is corrupted \n"


def test_what_takes_libzstd(call: Any, environment: dict[str, str], tmp_path: Path) -> None:
    """With the backend `pure`, training and long matches are errors that name other backends; a patch needs neither."""
    pure = {**environment, "CPKG_ZSTD_BACKEND": "pure"}
    (tmp_path / "new").write_bytes(DATA + b"more")
    for arguments in (["--train", "-B1K", "data", "-o", "made"], ["--long", "data"]):
        done = call(*arguments, env=pure)
        assert done.returncode != 0
        assert b"use the native, dlopen or stdlib backend" in done.stderr
    assert call("--patch-from=data", "new", "-o", "patch.zst", env=pure).returncode == 0
    dlopen = {**environment, "CPKG_ZSTD_BACKEND": "dlopen"}
    assert call("-d", "--patch-from=data", "patch.zst", "-o", "again", env=dlopen).returncode == 0
    assert (tmp_path / "again").read_bytes() == DATA + b"more"


def test_it_says_what_has_no_effect(call: Any) -> None:
    done = call("--rsyncable", "--adapt", "data")
    assert done.returncode == 0
    assert done.stderr.startswith(
        b"Warning : --rsyncable is ignored: the output is an ordinary frame \n"
        b"Warning : --adapt is ignored: the level stays as it is \n"
    )


def test_without_click(run_each: Any, call: Any, tmp_path: Path) -> None:
    assert run_each([["zstd", "-q", "data", {}]], ("click", "argparse")) == [[0, "", ""]]
    assert zstd.decompress((tmp_path / "data.zst").read_bytes()) == DATA


@pytest.mark.parametrize("option", ["-h", "-H", "--help", "-V", "-qV"])
def test_help(call: Any, option: str) -> None:
    done = call(option)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (b"usage: cpkg zstd" if "h" in option.lower() else zstd.zstd_version.encode()) in done.stdout


NUMBERS = b"".join(b"%d\n" % number for number in range(1, 5001))
GATE, NIGHTLY = Path(__file__).with_name("zstd_command_lines.txt").read_text(encoding="utf-8").split("\n\n")
CASES = [*GATE.splitlines()[1:], *(pytest.param(case, marks=pytest.mark.nightly) for case in NIGHTLY.splitlines()[1:])]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of the cases."""
    folder = tmp_path_factory.mktemp("files")
    skippable = b"\x50\x2a\x4d\x18\x03\0\0\0abc"
    frame = zstd.compress(NUMBERS, options={zstd.CompressionParameter.checksum_flag: 1})
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


def told(text: bytes) -> str:
    """Return a message without differences between versions and libraries: numbers and widths of columns."""
    words = text.decode(errors="replace")
    words = re.sub(r"Zstandard CLI.*", "Zstandard CLI", words)
    words = re.sub(r"(Incorrect parameter)s?\b.*", r"\1", words, flags=re.DOTALL)
    words = re.sub(r"\d+(\.\d+)?", "#", words).replace("KiB", "B").replace("/.gz/.tgz/.lzma/.xz/.txz/.lz#/.tlz#", "")
    return re.sub(r"\s+", " ", words).strip()


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


@needs("zstd")
@pytest.mark.parametrize("case", CASES)
def test_as_the_tool(sources: Path, environment: dict[str, str], program: Path, tmp_path: Path, case: str) -> None:
    answers = []
    for name, command in (("tool", ["zstd"]), ("ours", [program, "zstd"])):
        folder = tmp_path / name
        shutil.copytree(sources, folder, symlinks=True)
        results = []
        for words in map(shlex.split, case.split(" ; ")):
            stdin, arguments = (words[1], words[2:]) if words[:1] == ["<"] else (os.devnull, words)
            with open(folder / stdin, "rb") as source:
                done = subprocess.run(
                    [*command, *arguments], stdin=source, capture_output=True, cwd=folder, env=environment
                )
            output = done.stdout
            if output[:4] == b"(\xb5/\xfd":
                output = b"".join(zstd.decompress_iter([output]))
            is_report = b"Frames" in output or b"Zstandard" in output
            results.append((done.returncode, told(done.stderr), told(output) if is_report else output))
            if done.returncode < 0 and name == "tool":
                pytest.skip("the tool crashes")
        answers.append((results, contents(folder)))
    assert answers[1][0] == answers[0][0]
    assert answers[1][1] == answers[0][1]
