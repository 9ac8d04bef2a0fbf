# SPDX-License-Identifier: Apache-2.0
"""The command line as a process of its own: terminals, signals, pipes, and an installation without the extra."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import stat
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest
from processes import run_python

import cpkg
from cpkg import zstd

MODULE = ["-I", "-m", "cpkg"]
COMMAND = [sys.executable, *MODULE]
ROWS = 60_000  # of 80 bytes: over the size from which on a bar is shown


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "large.jsonl"
    with open(path, "w") as file:
        for number in range(ROWS):
            file.write(json.dumps({"id": number, "text": f"row {number * 7919 % 1000}".ljust(50)}) + "\n")
    assert path.stat().st_size > 4 * 2**20
    return path


def test_the_module_runs(environment: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run([*COMMAND, "pack"], input=b"[1]", capture_output=True, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"\x91\x01", b"")
    done = subprocess.run([*COMMAND, "pack"], input=b"[", capture_output=True, env=environment)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"cpkg: standard input:1:2: expecting value\n"
    done = subprocess.run([*COMMAND, "nonsense"], capture_output=True, env=environment)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("cp1252", b"\\u65e5\\udcff"),
        ("cp1252:surrogateescape", b"\\u65e5\\udcff"),  # what Windows has for pipes
        ("utf-8", "\u65e5".encode() + b"\xff"),
        ("utf-8:surrogateescape", "\u65e5".encode() + b"\xff"),
    ],
)
def test_names_that_standard_output_cannot_hold(
    environment: dict[str, str], tmp_path: Path, encoding: str, shown: bytes
) -> None:
    name = os.fsdecode("\u65e5".encode() + b"\xff.zst")
    (tmp_path / name).write_bytes(zstd.compress(b"text"))
    settings = {**environment, "PYTHONIOENCODING": encoding}
    for arguments in (["info", name], ["zstd", "-l", name], ["zstd", "-lv", name]):
        command = [sys.executable, "-m", "cpkg", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, env=settings)
        assert (done.returncode, shown in done.stdout) == (0, True), done


@pytest.mark.once
@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_the_extra_it_says_what_to_install(environment: dict[str, str], missing: str) -> None:
    # a module that is None in sys.modules cannot be imported; the demo is the command that needs rich
    code = f"import sys; sys.modules[{missing!r}] = None; sys.argv = ['cpkg', 'demo', '--seconds', '0']\n"
    code += "from cpkg.__main__ import main; sys.exit(main())"
    done = run_python("-I", "-c", code, env=environment)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert missing in done.stderr
    assert "pip install 'cpkg-codecs[cli]'" in done.stderr
    for arguments in (["--version"], ["-V"], ["backends"], ["backends", "--json"]):
        plain = code.replace("['cpkg', 'demo', '--seconds', '0']", str(["cpkg", *arguments]))
        found = run_python("-I", "-c", plain, env=environment)
        assert (found.returncode, found.stderr) == (0, "")
        assert found.stdout == run_python(*MODULE, *arguments, env=environment).stdout
    found = run_python("-I", "-c", code.replace("'demo', '--seconds', '0'", "'--help'"), env=environment)
    assert found.returncode == 0
    assert "pip install 'cpkg-codecs[cli]'" in found.stdout
    for arguments, status, said in (
        ([], 2, "backends [--json]  print"),
        (["backends", "--help"], 0, "usage: cpkg backends [--json]: print"),
        (["backends", "x"], 2, "cpkg: unknown argument of backends: x (usage: cpkg backends [--json])"),
    ):
        plain = code.replace("['cpkg', 'demo', '--seconds', '0']", str(["cpkg", *arguments]))
        found = run_python("-I", "-c", plain, env=environment)
        assert (found.returncode, said in (found.stderr if status else found.stdout)) == (status, True)
    named = {**environment, "CPKG_BACKEND": "nonsense"}
    found = run_python("-I", "-c", code.replace("'demo', '--seconds', '0'", "'backends'"), env=named)
    assert (found.returncode, found.stderr.count("\n")) == (1, 1)


def test_another_missing_module_is_not_hidden(environment: dict[str, str]) -> None:
    code = "import sys; sys.modules['purepy.errors'] = None\nfrom cpkg.__main__ import main; main()"
    done = run_python("-I", "-c", code, env=environment)
    assert done.returncode == 1
    assert "purepy.errors" in done.stderr
    assert "pip install" not in done.stderr


@pytest.mark.parametrize("variable", ["CPKG_MSGPACK_BACKEND", "CPKG_ZSTD_BACKEND", "CPKG_BACKEND"])
def test_a_backend_that_does_not_exist(environment: dict[str, str], variable: str) -> None:
    for command in ("backends", "demo"):
        done = run_python(*MODULE, command, env={**environment, variable: "nonsense"})
        assert done.returncode == 1
        assert f"{variable}=nonsense: expected one of auto, native, dlopen, stdlib, pure" in done.stderr
        assert done.stderr.count("\n") == 1


def test_pure_backends_can_be_asked_for(environment: dict[str, str]) -> None:
    done = run_python(*MODULE, "backends", env={**environment, "CPKG_BACKEND": "pure"})
    assert done.returncode == 0, done.stderr
    assert "msgpack: pure on " in done.stdout
    assert "zstd: pure on " in done.stdout
    assert "asked for by CPKG_BACKEND=pure" in done.stdout


# terminals


def open_terminal() -> tuple[int, int]:
    """Return the two ends of a new terminal."""
    try:
        return pty.openpty()
    except OSError as exc:  # a chroot or container without /dev/pts
        pytest.skip(f"no terminal can be made here: {exc}")


def wait_until_read(pipe: Any, seconds: float = 60) -> None:
    """Return when the other end has read what was written to a pipe."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        waiting = fcntl.ioctl(pipe.fileno(), termios.FIONREAD, bytes(4))
        if not any(waiting):
            return
        time.sleep(0.01)
    raise AssertionError("nobody reads")


def on_terminal(command: list[str], environment: dict[str, str], *, seconds: float = 60) -> tuple[int, str]:
    """Run a command whose standard error is a terminal; return its status and what the terminal got."""
    master, slave = open_terminal()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave, env=environment)
    os.close(slave)
    shown = b""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([master], [], [], 0.2)[0]:
            try:
                piece = os.read(master, 65536)
            except OSError:  # Linux tells the end of a terminal so
                break
            if not piece:
                break
            shown += piece
        elif process.poll() is not None:
            break
    os.close(master)
    process.communicate(timeout=seconds)
    return process.returncode, shown.decode(errors="replace")


def test_a_bar_shows_on_a_terminal(environment: dict[str, str], large: Path, tmp_path: Path) -> None:
    status, shown = on_terminal([*COMMAND, "pack", str(large), "-o", str(tmp_path / "x")], environment)
    assert status == 0, shown
    for stage in ("packing", "writing"):
        assert stage in shown
    assert "%" in shown
    assert f"bytes of JSON packed to {(tmp_path / 'x').stat().st_size:,}" in shown
    status, shown = on_terminal([*COMMAND, "unpack", str(tmp_path / "x"), "-o", str(tmp_path / "y")], environment)
    assert status == 0, shown
    assert len(cpkg.load(tmp_path / "x")) == ROWS


def test_no_bar_where_none_is_wanted(environment: dict[str, str], large: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.json"
    small.write_text("[1]")
    out = ["-o", str(tmp_path / "x")]
    assert "packing" not in on_terminal([*COMMAND, "pack", str(small), *out], environment)[1]
    assert on_terminal([*COMMAND, "pack", "-q", str(large), *out], environment) == (0, "")
    assert "packing" not in on_terminal([*COMMAND, "pack", str(large), *out], {**environment, "TERM": "dumb"})[1]
    done = subprocess.run([*COMMAND, "pack", str(large), *out], capture_output=True, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_an_error_under_a_bar_is_still_told(environment: dict[str, str], large: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(large.read_bytes() + b"{]\n")
    status, shown = on_terminal([*COMMAND, "pack", str(broken)], environment)
    assert status == 1
    assert f"broken.jsonl:{ROWS + 1}:2: expecting property name" in shown
    assert os.listdir(tmp_path) == ["broken.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["pack", "-"], b"packed data is not written to a terminal: name a file with -o"),
        (
            ["records", "convert", "--from", "jsonl", "-o", "-", "--to", "records"],
            b"records are written to a terminal as text alone: take --to jsonl, or name a file with -o",
        ),
    ],
    ids=["pack", "convert"],
)
def test_packed_data_is_not_written_to_a_terminal(
    environment: dict[str, str], arguments: list[str], told: bytes
) -> None:
    master, slave = open_terminal()
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdin=subprocess.PIPE, stdout=slave, stderr=subprocess.PIPE, env=environment
    )
    os.close(slave)
    _, error = process.communicate(b"[1]")
    os.close(master)
    assert process.returncode == 1
    assert error == b"cpkg: " + told + b"\n"


def test_a_terminal_is_not_read_from(environment: dict[str, str]) -> None:
    master, slave = open_terminal()
    done = subprocess.run([*COMMAND, "unpack"], stdin=slave, capture_output=True, env=environment, timeout=60)
    os.close(slave)
    os.close(master)
    assert done.returncode == 2
    assert b"standard input is a terminal" in done.stderr


# signals and pipes


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_while_reading(environment: dict[str, str], tmp_path: Path, number: int, status: int) -> None:
    out = tmp_path / "x"
    process: Any = subprocess.Popen(
        [*COMMAND, "pack", "-", "-o", str(out)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        # what nohup or a shell's background job ignores is ignored in its children too
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    with process:
        process.stdin.write(b"[1,")
        process.stdin.flush()
        wait_until_read(process.stdin)  # earlier than that Python itself answers
        process.send_signal(number)
        _, error = process.communicate(timeout=30)
    assert process.returncode == status
    assert b"Traceback" not in error
    if number == signal.SIGINT:
        assert error.strip() == b"cpkg: interrupted"
    assert os.listdir(tmp_path) == []


@pytest.mark.once
def test_a_signal_at_any_time_leaves_a_whole_file_or_none(
    environment: dict[str, str], large: Path, tmp_path: Path
) -> None:
    out = tmp_path / "x"
    expected = None
    for delay in (0.3, 0.6, 0.8, 1.0, 1.2, 2.5):
        process = subprocess.Popen(
            [*COMMAND, "pack", str(large), "-o", str(out)], stderr=subprocess.DEVNULL, env=environment
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=delay)
        process.send_signal(signal.SIGINT)  # nothing if it is done
        process.wait(timeout=60)
        assert set(os.listdir(tmp_path)) <= {"x"}
        if out.exists():
            expected = expected or cpkg.dumps([json.loads(line) for line in large.read_text().splitlines()])
            assert out.read_bytes() == expected
            out.unlink()


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_pipe_that_is_read_slowly(environment: dict[str, str], large: Path, tmp_path: Path, unbuffered: str) -> None:
    """An unbuffered standard output takes what fits into the pipe, and the rest has to be written again."""
    packed = tmp_path / "x"
    environment = {**environment, "PYTHONUNBUFFERED": unbuffered}
    subprocess.run([*COMMAND, "pack", str(large), "-o", str(packed)], check=True, env=environment)
    done = subprocess.run(
        [*COMMAND, "unpack", str(packed), "-o", "-", "--format", "jsonl"], stdout=subprocess.PIPE, env=environment
    )
    assert [json.loads(line) for line in done.stdout.splitlines()] == cpkg.load(packed)


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_leaves_early(environment: dict[str, str], large: Path, tmp_path: Path, unbuffered: str) -> None:
    packed = tmp_path / "x"
    environment = {**environment, "PYTHONUNBUFFERED": unbuffered}
    subprocess.run([*COMMAND, "pack", str(large), "-o", str(packed)], check=True, env=environment)
    process: Any = subprocess.Popen(
        [*COMMAND, "unpack", str(packed), "-o", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    with process:
        assert process.stdout.read(10) == b'[{"id":0,"'
        process.stdout.close()
        error = process.stderr.read()
        process.wait(timeout=60)
    assert error == b""
    assert process.returncode == 128 + signal.SIGPIPE


def test_no_room_on_the_device(environment: dict[str, str]) -> None:
    full = Path("/dev/full")
    if not full.is_char_device():
        pytest.skip("no /dev/full here")
    with open(full, "wb") as out:
        done = subprocess.run([*COMMAND, "pack"], input=b"[1]", stdout=out, stderr=subprocess.PIPE, env=environment)
    assert done.returncode == 1
    assert done.stderr == b"cpkg: No space left on device\n"
    done = subprocess.run([*COMMAND, "pack", "-o", str(full)], input=b"[1]", stderr=subprocess.PIPE, env=environment)
    assert done.returncode == 1
    assert done.stderr == b"cpkg: /dev/full: No space left on device\n"


def test_pipes_and_devices_work_as_files(environment: dict[str, str], tmp_path: Path) -> None:
    script = (
        f'"{sys.executable}" -I -m cpkg pack /dev/stdin -o /dev/stdout | "{sys.executable}" -I -m cpkg info /dev/stdin'
    )
    done = subprocess.run(["sh", "-c", script], input=b"[1]", capture_output=True, env=environment)
    assert b"array of 1 item" in done.stdout, done.stderr


def test_the_output_gets_the_permissions_of_open(environment: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "x"
    subprocess.run(
        ["sh", "-c", f'umask 027; "{sys.executable}" -I -m cpkg pack -o "{out}"'],
        input=b"1",
        check=True,
        env=environment,
    )
    assert stat.S_IMODE(out.stat().st_mode) == 0o640


def peak_of_packing(source: Path, target: Path, environment: dict[str, str]) -> int:
    """Return the bytes of memory that packing took at most, with those of the interpreter."""
    code = f"""
import sys
from cpkg.__main__ import main
sys.argv = ["cpkg", "pack", {str(source)!r}, "-o", {str(target)!r}]
assert main() == 0
# not ru_maxrss, which begins with what the parent had
print([line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")][0])
"""
    done = run_python("-c", code, env=environment)
    assert done.returncode == 0, done.stderr
    return int(done.stdout) * 1024


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no /proc to tell how much memory was taken")
@pytest.mark.skipif(sys.implementation.name == "pypy", reason="PyPy's collector comes by when the pieces are many")
@pytest.mark.parametrize("form", ["array", "lines", "values"])
def test_memory_of_what_is_packed_in_pieces(environment: dict[str, str], tmp_path: Path, form: str) -> None:
    """A tenth of the input has to do much the same, so that the interpreter's own memory does not count."""
    peaks = {}
    indent = 1 if form == "values" else None
    for rows in (6_000, 60_000):
        texts = [json.dumps({"id": row, "text": "x" * 400}, indent=indent) for row in range(rows)]
        path = tmp_path / f"{rows}.json"
        path.write_text(f"[{','.join(texts)}]" if form == "array" else "\n".join(texts))
        peaks[rows] = peak_of_packing(path, tmp_path / "x", environment)
    # The message, which is nearly as long as the text, is held twice while the buffer that it is in grows; bytes, text
    # and objects would be four times as much.
    assert peaks[60_000] - peaks[6_000] < 2.5 * path.stat().st_size
    assert len(cpkg.load(tmp_path / "x")) == 60_000


def test_values_as_jq_prints_them_through_a_pipe(environment: dict[str, str], large: Path) -> None:
    rows = [json.loads(line) for line in large.read_text().splitlines()]
    text = "".join(json.dumps(row, indent=2) + "\n" for row in rows).encode()
    done = subprocess.run([*COMMAND, "pack"], input=text, capture_output=True, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert cpkg.loads(done.stdout) == rows
