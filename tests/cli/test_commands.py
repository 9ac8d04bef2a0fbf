# SPDX-License-Identifier: Apache-2.0
"""The commands of the command line, in this process."""

from __future__ import annotations

import _signal
import array
import contextlib
import datetime as dt
import decimal
import gzip
import inspect
import io
import json
import os
import re
import signal
import struct
import sys
import uuid
from pathlib import Path
from textwrap import dedent
from typing import Any, NoReturn

import click
import pytest
from backends import available
from bombs import on_one_way
from click.testing import CliRunner, Result
from zstd_frames import MAGIC, RAW, block

import cpkg
from cpkg import _backend, archive, records, zstd
from cpkg.cli import compare, inout, progress
from cpkg.cli.commands import cli
from cpkg.cli.progress import LARGE as SHOWN
from cpkg.cli.progress import Bar
from cpkg.cli.standard_streams import when_terminated
from cpkg.objects import dumps_loads
from purepy.msgpack.ext import ExtType, Timestamp

VECTORS = json.loads(Path(__file__).with_name("vectors.json").read_text(encoding="utf-8"))


# click before 8.2 mixes standard error into standard output unless told not to
APART: dict[str, Any] = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}


def run(*arguments: Any, stdin: bytes = b"") -> Result:
    return CliRunner(**APART).invoke(cli, [str(argument) for argument in arguments], input=stdin, prog_name="cpkg")


def failure(*arguments: Any, stdin: bytes = b"", status: int = 1) -> str:
    """Run a command that must fail with nothing on standard output, and return its error line."""
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == status, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("cpkg: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def frame_of(*blocks: bytes, declared: bytes = b"", descriptor: int = 0, window: bytes = b"\x50") -> bytes:
    """Return a frame of raw blocks."""
    body = b"".join(block(content, RAW, last=content is blocks[-1]) for content in blocks)
    return MAGIC + bytes([descriptor]) + window + declared + body


@pytest.mark.parametrize(("command", "stdin", "status", "message"), VECTORS["failures"])
def test_a_failure_is_one_line(command: str, stdin: str, status: int, message: str) -> None:
    """The line names the position; `test_json_input.py` tests the other errors of `pack`."""
    assert message in failure(*command.split(), stdin=stdin.encode("latin-1"), status=status)


def test_the_recursion_limit_stays_that_of_the_caller() -> None:
    """Deep objects need a higher limit, with which endless recursion would crash the caller's process."""
    before = sys.getrecursionlimit()
    deep = b"[" * 1000 + b"]" * 1000
    assert run("pack", stdin=deep).exit_code == 0
    assert sys.getrecursionlimit() == before
    assert run("pack", stdin=b"[").exit_code == 1
    assert sys.getrecursionlimit() == before


# pack


@pytest.mark.parametrize("text", VECTORS["round trips"])
def test_pack_and_unpack(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    assert run("pack", tmp_path / "x.json").exit_code == 0
    packed = tmp_path / "x.mpz"
    assert cpkg.load(packed) == json.loads(text)
    result = run("unpack", packed, "-o", tmp_path / "back.json")
    assert (result.exit_code, result.output) == (0, "")
    assert json.loads((tmp_path / "back.json").read_text()) == json.loads(text)
    assert sorted(os.listdir(tmp_path)) == ["back.json", "x.json", "x.mpz"]
    streamed = run("pack", stdin=text.encode()).stdout_bytes
    assert streamed == run("pack", "-", stdin=text.encode()).stdout_bytes == packed.read_bytes()
    assert run("unpack", "-", "-o", "-", stdin=streamed).stdout == (tmp_path / "back.json").read_text()


@pytest.mark.parametrize("name", ["x.jsonl", "x.ndjson", "x.JSONL"])
def test_json_lines_become_an_array(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b'{"a": 1}\r\n\n[2]\n"\xe2\x80\xa8"')
    assert run("pack", tmp_path / name).exit_code == 0
    assert cpkg.load(tmp_path / f"{name}.mpz") == [{"a": 1}, [2], "\u2028"]
    (tmp_path / name).unlink()
    assert run("unpack", tmp_path / f"{name}.mpz").exit_code == 0
    assert (tmp_path / name).read_bytes() == b'{"a":1}\n[2]\n"\xe2\x80\xa8"\n'


@pytest.mark.parametrize(("suffix", "compress"), [(".zst", cpkg.zstd.compress), (".gz", gzip.compress)])
def test_compressed_text_is_packed_by_its_name(tmp_path: Path, suffix: str, compress: Any) -> None:
    data = compress(b'{"a": 1}\n{"a": 2}\n')
    path = tmp_path / f"x.jsonl{suffix}"
    path.write_bytes(data)
    assert run("pack", path).exit_code == 0
    assert cpkg.load(tmp_path / "x.jsonl.mpz") == [{"a": 1}, {"a": 2}]
    path.write_bytes(data[:-9])
    assert failure("pack", path, "-o", tmp_path / "y").startswith(f"cpkg: {path}: ")
    path.write_bytes(b"[1]")
    assert failure("pack", path, "-o", tmp_path / "y").startswith(f"cpkg: {path}: ")
    assert not (tmp_path / "y").exists()


def test_json_lines_are_recognised_and_can_be_asked_for(tmp_path: Path) -> None:
    assert cpkg.loads(run("pack", stdin=b"1\n2\n").stdout_bytes) == [1, 2]
    assert cpkg.loads(run("pack", stdin=b"1\n").stdout_bytes) == 1
    assert cpkg.loads(run("pack", "--format", "jsonl", stdin=b"1\n").stdout_bytes) == [1]
    assert cpkg.loads(run("pack", "--format", "jsonl", stdin=b"").stdout_bytes) == []
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n{"a": }\n')
    assert f"{tmp_path / 'x.jsonl'}:2:7: expecting value" in failure("pack", tmp_path / "x.jsonl")
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    assert "for CSV, see 'cpkg records convert --from csv'" in failure("pack", tmp_path / "x.csv")
    packed = cpkg.dumps([1, [2]])
    assert run("unpack", "--format", "jsonl", stdin=packed).stdout == "1\n[2]\n"


def test_compression_options() -> None:
    data = json.dumps(["the same text"] * 1000).encode()
    assert run("pack", stdin=data).stdout_bytes == cpkg.dumps(json.loads(data))
    assert run("pack", "--compress", "never", stdin=data).stdout_bytes == cpkg.dumps(json.loads(data), compress=False)
    assert run("pack", "--compress", "always", stdin=b"1").stdout_bytes == cpkg.dumps(1, compress=True)
    assert run("pack", "-l", "19", stdin=data).stdout_bytes == cpkg.dumps(json.loads(data), level=19)
    one = run("pack", "--sort-keys", stdin=b'{"b":1,"a":2}').stdout_bytes
    assert one == run("pack", "--sort-keys", stdin=b'{"a":2,"b":1}').stdout_bytes


def test_what_pack_takes_besides() -> None:
    for data, value in (
        (b"\xef\xbb\xbf[1]", [1]),
        ('[1, "é"]'.encode("utf-16"), [1, "é"]),
        (b"[1e308, 1e-999, 123e300]", [1e308, 0.0, 123e300]),
    ):
        assert cpkg.loads(run("pack", stdin=data).stdout_bytes) == value
    infinite = run("pack", "--allow-nan", stdin=b"[Infinity, -Infinity]").stdout_bytes
    assert cpkg.loads(infinite) == [float("inf"), float("-inf")]
    deep = b"[" * 1024 + b"]" * 1024
    assert run("unpack", stdin=run("pack", stdin=deep).stdout_bytes).stdout_bytes.strip() == deep


# where output goes


def test_the_default_output_is_not_overwritten(tmp_path: Path) -> None:
    source = tmp_path / "x.json"
    source.write_text("[1]")
    (tmp_path / "x.mpz").write_text("old")
    assert "x.mpz: already exists; use -f to replace it, or name another file with -o" in failure("pack", source)
    assert (tmp_path / "x.mpz").read_text() == "old"
    assert run("pack", "-f", source).exit_code == 0
    assert cpkg.load(tmp_path / "x.mpz") == [1]
    assert "x.json: already exists" in failure("unpack", tmp_path / "x.mpz")
    assert run("unpack", "--force", tmp_path / "x.mpz").exit_code == 0
    source.write_text("[2]")
    assert run("pack", source, "-o", tmp_path / "x.mpz").exit_code == 0
    assert cpkg.load(tmp_path / "x.mpz") == [2]


@pytest.mark.parametrize(
    ("command", "source", "target", "written"),
    [
        *(("pack", *names, b"\x01") for names in VECTORS["names of packed files"]),
        *(("unpack", *names, b"1\n") for names in VECTORS["names of unpacked files"]),
    ],
)
def test_the_name_of_the_output(tmp_path: Path, command: str, source: str, target: str, written: bytes) -> None:
    (tmp_path / source).write_bytes(b"1" if command == "pack" else b"\x01")
    assert run(command, tmp_path / source).exit_code == 0
    assert (tmp_path / target).read_bytes() == written


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    (tmp_path / "x.json").write_text("1")
    for command in ("pack", "unpack", "info", "demo"):
        assert failure(command, nowhere) == f"cpkg: {nowhere}: No such file or directory\n"
    assert failure("pack", tmp_path) == f"cpkg: {tmp_path}: Is a directory\n"
    assert "No such file" in failure("pack", tmp_path / "two\nlines")
    assert "No such file" in failure("pack", tmp_path / "x.json", "-o", nowhere / "y")
    assert "Is a directory" in failure("pack", tmp_path / "x.json", "-o", tmp_path)
    assert "is the input file;" in failure("pack", tmp_path / "x.json", "-o", tmp_path / "x.json")
    assert "empty" in failure("pack", tmp_path / "x.json", "-o", "", status=2)
    assert os.listdir(tmp_path) == ["x.json"]
    assert (tmp_path / "x.json").read_text() == "1"


# unpack


def test_what_json_has_no_type_for() -> None:
    value = {
        "bin": b"\x00\xff",
        "time": Timestamp(1717236000, 120_000_000),
        "early": Timestamp(-1, 1),
        "utc": dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc),
        "local": dt.datetime(2024, 1, 1, 12),
        "date": dt.date(2024, 1, 1),
        "clock": dt.time(1, 2, 3),
        "span": dt.timedelta(minutes=1, milliseconds=500),
        "id": uuid.UUID(int=1),
        "price": decimal.Decimal("1.50"),
        "ext": ExtType(5, b"x"),
        "far": Timestamp(2**40),
        "ancient": Timestamp(-(2**40), 500_000_000),
    }
    expected = VECTORS["values as JSON"]
    assert json.loads(run("unpack", stdin=cpkg.dumps(value)).stdout) == expected
    # a key of a type that JSON lacks takes the slow path, which must give the same result
    longer = json.loads(run("unpack", stdin=cpkg.dumps({**value, 1: [value]})).stdout)
    assert longer == {**expected, "1": [expected]}


def test_keys_that_json_has_no_type_for() -> None:
    keys = (1, None, 2.5, b"\x00", (1, (None, "a")), dt.date(2024, 1, 1), ExtType(5, b"x"), Timestamp(0))
    value = dict.fromkeys(keys)
    assert list(json.loads(run("unpack", stdin=cpkg.dumps(value)).stdout)) == VECTORS["keys as JSON"]
    assert 'two keys of the map at $["x"][0] become "1"' in failure(
        "unpack", stdin=cpkg.dumps({"x": [{1: 0, "1": 0}]})
    ).replace("$.x", '$["x"]')


@pytest.mark.parametrize(
    ("value", "place", "text"),
    [
        ({"a": [1, float("nan")]}, "$.a[1]: nan is not JSON; --allow-nan writes it", '{"a":[1,NaN]}\n'),
        ({"a": [array.array("d", [1, float("inf")])]}, "$.a[0][1]: inf is not JSON", '{"a":[[1.0,Infinity]]}\n'),
        ({1: float("inf")}, "", '{"1":Infinity}\n'),
        ({"m": {float("inf"): 1}}, "a key of the map at $.m", '{"m":{"Infinity":1}}\n'),
        ({"m": {(1, float("nan")): 1}}, "a key of the map at $.m", '{"m":{"[1, NaN]":1}}\n'),
    ],
)
def test_numbers_that_are_not_json_need_allow_nan(value: Any, place: str, text: str) -> None:
    data = cpkg.dumps(value)
    assert place in failure("unpack", stdin=data)
    assert run("unpack", "--allow-nan", stdin=data).stdout == text
    indented = run("unpack", "--allow-nan", "--indent", "2", stdin=data).stdout
    assert indented == json.dumps(json.loads(text), indent=2) + "\n"


def test_a_value_that_json_lacks_is_located() -> None:
    numpy = pytest.importorskip("numpy")
    data = cpkg.dumps({"a": [numpy.array([1j])]})
    assert "$.a[0][0]: JSON cannot represent a complex; read it in Python" in failure("unpack", stdin=data)
    days = cpkg.dumps({1: numpy.array(["2024-01-01"], "M8[D]")})
    assert run("unpack", stdin=days).stdout == '{"1":["2024-01-01"]}\n'


def test_damaged_input_leaves_no_file(tmp_path: Path) -> None:
    good = cpkg.dumps([{"id": i} for i in range(100)])
    assert good.startswith(MAGIC)
    plain = cpkg.dumps({"a": [1, 2]})
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 0x10
    for name, data in {
        "cut": good[:-5],
        "empty": b"",
        "corrupt": bytes(flipped),
        "extra": plain + b"\x00",
        "plain cut": plain[:-1],
        "c1": b"\xc1",
        "utf8": b"\xa1\xff",
        "garbage after the frame": good + b"garbage",
    }.items():
        (tmp_path / "x.mpz").write_bytes(data)
        message = failure("unpack", tmp_path / "x.mpz")
        assert message.startswith(f"cpkg: {tmp_path / 'x.mpz'}: "), name
        assert os.listdir(tmp_path) == ["x.mpz"], name
        assert run("unpack", stdin=data).stdout_bytes == b""


def test_a_bomb_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "x.mpz").write_bytes(cpkg.dumps(bytes(66 * 2**20), compress=True, level=1))
    message = failure("unpack", tmp_path / "x.mpz")
    assert "raise --max-output-size" in message
    assert os.listdir(tmp_path) == ["x.mpz"]
    (tmp_path / "x.mpz").write_bytes(cpkg.dumps("a" * 5000))
    assert "--max-output-size" in failure("unpack", tmp_path / "x.mpz", "--max-output-size", "4k")
    for size in ("8k", "8KiB", "8kb", "8192", "8192b", "1M", "1G", "unlimited"):
        result = run("unpack", "-f", tmp_path / "x.mpz", "--max-output-size", size)
        assert result.exit_code == 0, (size, result.stderr)
    for size in ("", "k", "-5", "4x", "4kk", "1.5M", "²"):
        assert "expected a size" in failure("unpack", tmp_path / "x.mpz", f"--max-output-size={size}", status=2)


@pytest.mark.skipif(sys.implementation.name == "pypy", reason="PyPy probes in another order, which needs other keys")
def test_no_limit_allows_keys_that_collide(tmp_path: Path) -> None:
    keys = [cpkg.packb(key) + b"\x01" for key in on_one_way(20_000)]
    (tmp_path / "x.mpz").write_bytes(b"\xdf" + len(keys).to_bytes(4, "big") + b"".join(keys))
    for limit in ([], ["--max-output-size", "1G"]):
        assert re.search(r"colliding hashes \(at byte \d+\)\n$", failure("unpack", tmp_path / "x.mpz", *limit))


LONG = 3 << 20
BOMBS = {
    "line.jsonl.zst": lambda: zstd.compress(b'{"a":"' + b"x" * LONG + b'"}\n', 1),
    "document.json.gz": lambda: gzip.compress(b'{"a":1}\n{"a":"' + b"x" * LONG + b'"}\n', 1),
    "lists.json.zst": lambda: zstd.compress(b"[" + b"[]," * 20_000 + b"[]]", 1),
    "row.csv.zst": lambda: zstd.compress(b"a,b\n1," + b"x" * LONG + b"\n", 1),
    "text.msgpack.zst": lambda: zstd.compress(cpkg.packb("x" * LONG), 1),
}
"""File name -> text that `pack`, `convert` and `demo` would read into memory without a limit."""


@pytest.mark.once
def test_compressed_text_is_bounded_as_messages_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a smaller limit, which is otherwise the same as that of messages."""
    assert inout.OUTPUT_FLOOR is dumps_loads.OUTPUT_FLOOR
    monkeypatch.setattr(inout, "OUTPUT_FLOOR", 2 << 20)
    monkeypatch.setattr(dumps_loads, "MEMORY_FLOOR", 2 << 20)
    for name, make in BOMBS.items():
        path = tmp_path / name
        path.write_bytes(make())
        calls = [["records", "convert", path, "-o", tmp_path / "out.rec"]]
        if ".json" in name:
            calls += [["pack", path, "-o", tmp_path / "out.mpz"], ["demo", path]]
        for call in calls:
            message = failure(*call)
            assert message.startswith(f"cpkg: {path}: its content takes more than 2,097,152 bytes"), call
            assert message.endswith("raise --max-output-size\n")
        assert sorted(os.listdir(tmp_path)) == [name]
        path.unlink()


@pytest.mark.once
def test_a_limit_of_compressed_text(tmp_path: Path) -> None:
    """The limit is for data in memory: everything when packing, one part at a time when converting."""
    path = tmp_path / "lines.jsonl.zst"
    lines = b'{"a":"%s"}\n' % (b"text" * 25) * 24_000
    path.write_bytes(zstd.compress(lines))
    pack = "pack", path, "-f", "-o", tmp_path / "out.mpz"
    convert = "records", "convert", path, "-o", tmp_path / "out.rec"
    assert "more than 2,097,152 bytes" in failure(*pack, "--max-output-size", "2M")
    for call in (pack, (*pack, "--max-output-size", "4M"), (*convert, "--max-output-size", "2300k")):
        result = run(*call)
        assert result.exit_code == 0, result.stderr
    (tmp_path / "lines.jsonl").write_bytes(lines)
    assert run("pack", tmp_path / "lines.jsonl").exit_code == 0
    failure("pack", tmp_path / "lines.jsonl", "-f", "--max-output-size", "2M")
    (tmp_path / "lists.json.zst").write_bytes(BOMBS["lists.json.zst"]())
    assert run("pack", tmp_path / "lists.json.zst", "--max-output-size", "64M").exit_code == 0


def test_a_window_of_a_gibibyte(tmp_path: Path) -> None:
    path = tmp_path / "x.mpz"
    path.write_bytes(frame_of(cpkg.packb(["text"]), window=b"\xa0"))
    for arguments in ([], ["--max-output-size", "100M"], ["--max-output-size", "1000M"]):
        message = failure("unpack", path, "-o", "-", *arguments)
        assert "Frame requires too much memory" in message
        assert message.endswith("; raise --max-output-size\n")
        assert "Parameter" not in message
    for size in ("1G", "2G", "unlimited"):
        assert run("unpack", path, "-o", "-", "--max-output-size", size).stdout == '["text"]\n'


# info


def test_info_of_a_packed_file(tmp_path: Path) -> None:
    path = tmp_path / "x.mpz"
    cpkg.dump([{"id": i} for i in range(1000)], path)
    size = path.stat().st_size
    message = len(cpkg.dumps([{"id": i} for i in range(1000)], compress=False))
    lines = run("info", path).stdout.splitlines()
    assert lines[0] == f"{path}: {size:,} bytes"
    assert lines[1] == "  container  Zstandard, 1 frame"
    assert f"content {message:,} bytes" in lines[2]
    assert "checksum yes, dictionary none" in lines[2]
    assert lines[3].startswith(f"  content    {message:,} bytes, ")
    assert lines[4] == "  message    MessagePack: array of 1,000 items"
    record = json.loads(run("info", "--json", path).stdout)
    assert record["items"] == 1000
    assert record["content"] == message
    assert record["error"] is None
    (frame,) = record["frames"]
    assert (frame["offset"], frame["size"], frame["content_size"]) == (0, size, message)
    assert [block["type"] for block in frame["blocks"]] == ["compressed"]
    assert run("info", stdin=path.read_bytes()).stdout.splitlines()[1:] == lines[1:]


@pytest.mark.parametrize(("data", "message"), VECTORS["types"])
def test_info_names_each_type(data: str, message: str) -> None:
    assert cpkg.loads(bytes.fromhex(data)) is not ...
    assert f"  message    MessagePack: {message}" in run("info", stdin=bytes.fromhex(data)).stdout.splitlines()


def test_info_of_several_frames() -> None:
    skippable = b"\x50\x2a\x4d\x18" + struct.pack("<I", 4) + bytes(4)
    data = skippable + frame_of(b"\x92", b"\x01") + frame_of(b"\x02") * 20
    lines = run("info", stdin=data).stdout.splitlines()
    assert lines[1] == "  container  Zstandard, 21 frames, 1 skippable frame"
    assert lines[2] == "  frame      at byte 0: 12 bytes, skippable"
    assert "content undeclared, window 1,048,576 bytes, checksum no, dictionary none, 2 blocks" in lines[3]
    assert lines[10] == "             and 14 more"
    assert lines[11] == "  content    of unknown size: not every frame declares it"
    assert lines[12] == "  message    MessagePack: array of 2 items"


def test_info_of_a_frame_with_a_dictionary() -> None:
    data = frame_of(b"\x92\x01\x02", descriptor=0x02, declared=b"\x39\x30")
    lines = run("info", stdin=data).stdout.splitlines()
    assert "dictionary 12345" in lines[2]
    assert "compressed with dictionary 12345, which is needed to read the content" in lines[-1]


def test_info_of_an_incomplete_archive() -> None:
    good = frame_of(b"\x92\x01", b"\x02")
    for end in range(2, len(good)):
        result = run("info", stdin=good[:end])
        assert result.exit_code == 1, end
        assert "truncated" in result.stderr, end
        assert result.stderr.count("\n") == 1
    assert "the bytes 67 61 72 62 (at byte 15)" in run("info", stdin=good + b"garbage").stderr
    assert "reserved bit" in run("info", stdin=frame_of(b"\x01", descriptor=8)).stderr
    assert "error" in json.loads(run("info", "--json", stdin=good[:7]).stdout)


@pytest.mark.parametrize(("data", "told"), VECTORS["other files"])
def test_info_of_something_else(data: str, told: str) -> None:
    result = run("info", "-", stdin=data.encode("latin-1"))
    assert told in result.output + result.stderr
    assert ("JSON" in result.stdout) == ("JSON" in told)


def test_files_of_other_commands(tmp_path: Path) -> None:
    """`unpack` and `info` name the command that reads the content, also if it was compressed."""
    with records.open(tmp_path / "x.rec", "wb") as writer:
        writer.append(1)
    assert "a record file: see 'cpkg records info'" in run("info", tmp_path / "x.rec").stdout
    found = run("records", "info", tmp_path / "x.rec").stdout
    assert ": 1 record in 1 frame, " in found
    assert "1 byte of MessagePack, no smaller when compressed" in found
    text = b'{"a": 1}'
    (tmp_path / "file").write_bytes(text)
    archive.create(tmp_path / "a.tar.zst", "file", base=tmp_path)
    assert "looks like JSON text: see 'cpkg pack'" in run("unpack", stdin=zstd.compress(text)).stderr
    assert "compressed with gzip: decompress it first" in run("unpack", stdin=gzip.compress(text)).stderr
    packed = tmp_path / "a.tar.zst"
    for command in ("unpack", "info"):
        found = run(command, packed)
        assert "a tar archive: see 'cpkg archive list'" in found.stdout + found.stderr
        plain = run(command, stdin=zstd.decompress(packed.read_bytes()))
        assert "an uncompressed tar archive: compress it with 'cpkg zstd'" in plain.stdout + plain.stderr
    assert failure("unpack", stdin=b"\x81\xa1\xff\x01").count("at byte") == 1


@pytest.mark.parametrize("width", [60, 80])
def test_help_texts_fit_the_terminal(width: int) -> None:
    """No line is longer than the terminal, and no text is cut off; two texts are for 80 columns."""
    from cpkg.cli import run as run_command
    from cpkg.cli.zstd import help as zstd_help

    for text in (run_command.USAGE, zstd_help.ALL):
        assert max(map(len, text.splitlines())) < 80
    context = click.Context(cli, info_name="cpkg", terminal_width=width)
    waiting: list[tuple[click.Command, click.Context]] = [(cli, context)]
    count = 0
    while waiting:
        command, context = waiting.pop()
        count += 1
        first, *rest = command.get_help(context).splitlines()
        assert max(map(len, [first, *rest])) <= width, context.command_path
        assert not any(line.endswith("...") for line in rest), context.command_path
        for name in command.list_commands(context) if isinstance(command, click.Group) else ():
            found = command.get_command(context, name)
            assert found is not None
            waiting.append((found, click.Context(found, parent=context, info_name=name, terminal_width=width)))
    assert count > 18


def test_info_does_not_unpack_a_bomb(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = cpkg.dumps(bytes(30 * 2**20), compress=True, level=1)
    monkeypatch.setattr(cpkg.objects.dumps_loads, "decompress", None)
    assert "content    31,457,285 bytes" in run("info", stdin=bomb).stdout


# demo, backends, help


def compare_only(monkeypatch: pytest.MonkeyPatch, codec: str, *others: str) -> None:
    """Let the demo compare fewer backends of a codec, each in a process: the chosen one and `others`."""
    kept = {_backend.choose(codec).module.BACKEND, *others}
    modules = {backend: module for backend, module in _backend.MODULES[codec].items() if backend in kept}
    monkeypatch.setitem(_backend.MODULES, codec, modules)


def test_demo_of_the_data_in_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """With only the chosen backends and one round, because the pure codecs are slow for this data."""
    compare_only(monkeypatch, "msgpack")
    compare_only(monkeypatch, "zstd")
    monkeypatch.setattr(compare, "ROUNDS", 1)
    result = run("demo", "--seconds", "0")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("airports.json: 282,631 bytes")
    assert "combinations agree" in result.stdout
    for codec in _backend.MODULES:
        assert f"{codec}: auto picks " in result.stdout or f"{codec}: " in result.stdout
    table = result.stdout.split("\n\n")[1].splitlines()
    assert max(map(len, table)) <= 60
    rows = [line.split() for line in table if line.endswith("auto")]
    assert [row[:2] for row in rows] == [[_backend.choose(codec).module.BACKEND for codec in ("msgpack", "zstd")]]


@pytest.mark.once
def test_demo_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n' * 50)
    compare_only(monkeypatch, "msgpack", "pure")
    compare_only(monkeypatch, "zstd", "pure")
    assert "combinations agree" in run("demo", tmp_path / "x.jsonl", "--seconds", "0").stdout
    assert "combinations agree" in run("demo", "-", "--seconds", "0", stdin=b'{"a": [1]}').stdout


@pytest.mark.parametrize(("jit", "rounds"), [(False, 1), (True, 3)])
def test_demo_warms_up_until_little_changes(monkeypatch: pytest.MonkeyPatch, jit: bool, rounds: int) -> None:
    times = [1.0, 0.5, 0.45, 0.45]
    monkeypatch.setattr(compare, "JIT", jit)
    monkeypatch.setattr(compare, "best_time", lambda call, seconds: times.pop(0))
    compare.warm_up(lambda: None, 100)
    assert len(times) == 4 - rounds


@pytest.mark.once
@pytest.mark.parametrize(
    ("codec", "code", "told"),
    [
        (
            "msgpack",
            """
            def wrong(obj, *, original=module.packb, **options):
                return original([obj], **options)

            module.packb = wrong
            module.prepare_packb = lambda **options: functools.partial(wrong, **options)  # for calls without options
            """,
            "the unpacked data differs from the packed data",
        ),
        (
            "zstd",
            """
            def wrong(data, *, original=module.decompress, **options):
                content = original(data, **options)
                return content[:-1] + bytes([content[-1] ^ 1])

            module.decompress = wrong
            """,
            "zstd pure: the unpacked data differs from the packed data",
        ),
        ("zstd", "module.decompress = lambda data, **options: b''", "with zstd pure: "),
        (
            "zstd",
            "import os; module.compress = lambda *_, **options: os._exit(7)",
            "with zstd pure: its process ended unexpectedly",
        ),
        ("zstd", "", "zstd pure does not read what msgpack "),
    ],
)
def test_demo_notices_a_wrong_backend(monkeypatch: pytest.MonkeyPatch, codec: str, code: str, told: str) -> None:
    """The code changes the pure codec in the processes of the demo; without code it is changed in this process."""
    for each in _backend.MODULES:
        compare_only(monkeypatch, each, *["pure"] * (each == codec))
    program = f"import functools\nimport purepy.{codec} as module\n{dedent(code)}\n{compare.SERVE}"
    monkeypatch.setattr(compare, "SERVE", f"exec({program!r})")
    if not code:
        monkeypatch.setattr(_backend.load("zstd", "pure"), "decompress", lambda frame: b"")
    result = run("demo", "--seconds", "0", "-", stdin=json.dumps(list(range(100)) * 20).encode())
    assert result.exit_code == 1
    assert told in result.stderr
    assert ("pack to different bytes" in result.stderr) == (codec == "msgpack" and len(available("msgpack")) > 1)
    assert "combinations agree" not in result.stdout


@pytest.mark.once
def test_demo_reports_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    compare_only(monkeypatch, "msgpack")
    compare_only(monkeypatch, "zstd")
    unavailable = {**_backend.MODULES["zstd"], "dlopen": "cpkg._no_such_module"}
    monkeypatch.setitem(_backend.MODULES, "zstd", unavailable)
    monkeypatch.delitem(_backend._loaded, ("zstd", "dlopen"), raising=False)
    result = run("demo", "--seconds", "0", "-", stdin=b"[1]")
    monkeypatch.delitem(_backend._loaded, ("zstd", "dlopen"))
    assert "not compared: zstd dlopen: the dlopen backend of zstd cannot be loaded" in result.stdout


def test_backends() -> None:
    text = run("backends").stdout
    for codec, chosen in cpkg.backend_info().items():
        assert f"{codec}: {chosen.backend}" in text
        assert chosen.reason.partition("; ")[0] in text
    for entry in json.loads(run("backends", "--json").stdout):
        assert entry["backend"] == cpkg.backend_info()[entry["codec"]].backend
        assert entry["backends"]["pure"] == "loads"


def test_a_reason_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    failure = ImportError("the native backend of zstd cannot be loaded: no compiler")
    monkeypatch.setitem(_backend._loaded, ("zstd", "native"), failure)
    monkeypatch.setattr(_backend, "_chosen", {})
    for variable in ("CPKG_BACKEND", "CPKG_ZSTD_BACKEND"):
        monkeypatch.delenv(variable, raising=False)
    text = run("backends").stdout
    assert text.count("no compiler") == 1
    assert "  native  no compiler\n" in text
    assert "no compiler" in cpkg.backend_info()["zstd"].reason


def test_help_and_version() -> None:
    assert run("--version").stdout == run("-V").stdout
    assert run("-V").stdout.startswith(f"cpkg {cpkg.__version__} (")
    for group in ([], ["archive"], ["records"]):
        result = run(*group)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == run(*group, "--help").stdout
        assert "..." not in result.stderr.partition("Commands:")[2]
    assert run("--help").exit_code == run("-h").exit_code == 0
    for command in ("pack", "unpack", "info", "demo", "backends"):
        assert "Usage: cpkg" in run(command, "--help").stdout
        assert command in run("--help").stdout


def test_signals_that_the_system_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows has no SIGHUP."""

    def handle(number: int, frame: Any) -> NoReturn:
        raise AssertionError

    monkeypatch.delattr(_signal, "SIGHUP")
    before = signal.getsignal(signal.SIGTERM)
    try:
        when_terminated(handle)
        assert signal.getsignal(signal.SIGTERM) is handle
    finally:
        signal.signal(signal.SIGTERM, before)


class Terminal(io.StringIO):
    """A terminal that keeps its output."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("size", "text"),
    [(4 * SHOWN, r"packing \[#{10} {10}\]  50% 2\.1 MB/s 0:04 left 0:04"), (None, r"packing 2\.1 MB/s 0:04")],
)
def test_rate_and_remaining_time(monkeypatch: pytest.MonkeyPatch, size: int | None, text: str) -> None:
    """A bar shows the remaining time only if the size of the input is known."""
    terminal = Terminal()
    now = 0.0
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(progress, "clock", lambda: now)
    monkeypatch.setenv("TERM", "xterm")
    with contextlib.closing(Bar(1, size)) as bar:
        bar.stage("packing")
        for now in (2.0, 4.0, 4.1):
            bar.at(int(now / 2) * SHOWN)
    shown = [line.rstrip() for line in terminal.getvalue().split("\r")]
    assert [line for line in shown if re.fullmatch(text, line)] == [shown[-4]], shown
    assert shown[-2:] == ["", ""]
