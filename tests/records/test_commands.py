# SPDX-License-Identifier: Apache-2.0
"""`cpkg records ...`: output, files and errors of the commands."""

from __future__ import annotations

import array
import csv
import datetime
import gzip
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from record_files import flip, forget_index, read_all, spans, write_all

from cpkg import msgpack, records, zstd

pytest.importorskip("click")
from click.testing import CliRunner

from cpkg.cli.commands import cli

pytestmark = pytest.mark.once


def run(*arguments: object, status: int = 0, data: bytes | None = None) -> str:
    """Run a command; return its output on both streams."""
    result = CliRunner().invoke(cli, ["records", *map(str, arguments)], input=data)
    assert result.exit_code == status, result.output
    return result.output


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rows = [{"number": number, "name": f"name {number}", "nothing": None} for number in range(40)]
    write_all(tmp_path / "file.rec", rows, frame_size=300)
    return tmp_path / "file.rec"


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def test_looking(path: Path) -> None:
    assert [row["number"] for row in lines(run("cat", path))] == list(range(40))
    assert [row["number"] for row in lines(run("cat", path, "--start", -5, "--stop", 38))] == [35, 36, 37]
    assert [row["number"] for row in lines(run("head", path, "-n", 3))] == [0, 1, 2]
    assert run("head", path, "-n", 0) == ""
    assert run("count", path) == "40\n"
    assert [row["number"] for row in lines(run("cat", "-", data=path.read_bytes()))] == list(range(40))
    assert "40 records in" in run("info", path)
    assert json.loads(run("info", path, "--json"))["records"] == 40
    assert "index       yes" in run("verify", path)
    assert run("verify", path).endswith("  damage      none\n")
    forget_index(path)
    assert "index       none" in run("verify", path)


def test_values_that_json_does_not_have(tmp_path: Path) -> None:
    path = tmp_path / "file.rec"
    write_all(path, [b"\x00\xff", msgpack.ExtType(5, b"x"), {1: msgpack.Timestamp(0, 1)}, float("nan")])
    shown = ['"AP8="', '{"ext":5,"data":"eA=="}', '{"1":"1970-01-01T00:00:00.000000001Z"}', "NaN"]
    assert run("cat", path).splitlines() == shown
    assert "JSON" in run("convert", path, "-o", tmp_path / "out.jsonl", status=1)
    assert not (tmp_path / "out.jsonl").exists()
    run("convert", path, "-o", tmp_path / "copy.rec")
    with records.open(tmp_path / "copy.rec") as reader:
        assert reader[1] == msgpack.ExtType(5, b"x")
    assert run("cat", tmp_path / "copy.rec").splitlines() == shown  # nanoseconds and all
    text = tmp_path / "text.jsonl"
    refused = "the record of line 4 cannot become JSON: $: nan is not JSON; --allow-nan writes it"
    assert refused in run("convert", path, "-o", text, status=1)
    run("convert", path, "-o", text, "--allow-nan")
    assert text.read_text().splitlines() == shown
    assert "text.jsonl:4:1: NaN is not JSON; --allow-nan accepts it" in run(
        "convert", text, "-o", tmp_path / "out.rec", status=1
    )
    run("convert", text, "-o", tmp_path / "out.rec", "--allow-nan")
    assert run("cat", tmp_path / "out.rec").splitlines() == shown
    write_all(path, [datetime.date(2024, 6, 1), array.array("h", [1, 2])])
    assert run("cat", path).splitlines() == ['"2024-06-01"', "[1,2]"]


def test_damage(path: Path) -> None:
    second = spans(path)[1]
    flip(path, second.end - 9)
    hidden = f"records {second.first} to {second.stop - 1}"
    assert f"{hidden} " in run("cat", path, status=1)
    assert "; with --skip-damage, " in run("cat", path, status=1).partition(hidden)[2]
    assert "; with --skip-damage, " in run("head", path, "-n", 40, status=1)
    shown = run("cat", path, "--skip-damage")
    assert hidden in shown
    assert "to read the rest" not in shown
    assert sum(line.startswith("{") for line in shown.splitlines()) == 40 - (second.stop - second.first)
    assert hidden in run("verify", path, status=1)
    damage = json.loads(run("verify", path, "--json", status=1).splitlines()[0])["damage"]
    assert damage[0]["first"] == second.first
    text = run("repair", path)
    assert hidden in text
    assert f"{second.stop - second.first} are lost" in text
    assert "nothing to repair" in run("repair", path)
    assert "lost" in run("verify", path)
    path.write_bytes(path.read_bytes()[:-3])
    assert "torn" in run("verify", path, status=1)
    assert "torn" in run("repair", path)


def test_an_unfinished_end_is_noted(path: Path, tmp_path: Path) -> None:
    """Once for each file, on standard error, with exit status 0."""
    end = spans(path)[-1]
    path.write_bytes(path.read_bytes()[: end.end - 9])
    note = f"cpkg: {path}: left out the last {end.end - 9 - end.start} bytes, an unfinished frame or index: "
    whole = tmp_path / "whole.rec"
    write_all(whole, [{"a": 1}])
    for command in (
        ("cat", path),
        ("head", path),
        ("count", path),
        ("convert", path, whole, "-o", tmp_path / "out.csv"),
        ("convert", path, "-o", tmp_path / "out.rec"),
        ("join", path, whole, "-o", path, "-f"),
    ):
        result = CliRunner().invoke(cli, ["records", *map(str, command)])
        assert result.exit_code == 0
        assert result.output.count(note) == 1, command
        assert result.output.count("left out") == 1
    assert run("count", path) == f"{end.first + 1}\n"


def test_conversions(path: Path, tmp_path: Path) -> None:
    rows = read_all(path)
    for name in ("a.jsonl", "a.msgpack", "a.msgpack.zst", "a.csv", "a.jsonl.zst", "a.csv.gz", "a.ndjson.GZ", "a.rec"):
        run("convert", path, "-o", tmp_path / name)
        run("convert", "--numbers", tmp_path / name, "-o", tmp_path / "back.rec", "--frame-size", "1k", "-l", 1)
        with records.open(tmp_path / "back.rec") as reader:
            expected = [{**row, "nothing": ""} for row in rows] if ".csv" in name else rows
            assert list(reader) == expected
    assert [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()] == rows
    packed = (tmp_path / "a.msgpack").read_bytes()
    assert list(msgpack.Unpacker(io.BytesIO(packed))) == rows
    assert zstd.decompress((tmp_path / "a.msgpack.zst").read_bytes()) == packed
    assert zstd.decompress((tmp_path / "a.jsonl.zst").read_bytes()) == (tmp_path / "a.jsonl").read_bytes()
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()) == (tmp_path / "a.csv").read_bytes()
    for name, reason in (("a.tsv", "unknown suffix"), ("b.rec.zst", "leave out .zst"), ("b.xz", "suffix")):
        assert reason in run("convert", path, "-o", tmp_path / name, status=1)
        assert not (tmp_path / name).exists()
    (tmp_path / "a.tsv").touch()
    assert "unknown suffix" in run("convert", tmp_path / "a.tsv", "-o", tmp_path / "b.rec", status=1)
    with open(tmp_path / "a.csv", newline="") as file:
        assert next(csv.DictReader(file)) == {"number": "0", "name": "name 0", "nothing": ""}
    run("convert", path, tmp_path / "a.jsonl", "-o", tmp_path / "both.rec")
    assert run("count", tmp_path / "both.rec") == "80\n"
    run("convert", "--append", path, "-o", tmp_path / "both.rec")
    assert run("count", tmp_path / "both.rec") == "120\n"
    run("convert", "--frame-size", 300, path, path, path, "-o", tmp_path / "small.rec")
    assert run("convert", path, "-o", "-", "--to", "jsonl") == (tmp_path / "a.jsonl").read_text()


def test_joining_to_a_file_that_exists_names_the_option(path: Path, tmp_path: Path) -> None:
    way_on = f"cpkg: {path}: already exists; use -f to replace it, or name another file with -o\n"
    assert run("join", path, "-o", path, status=1) == way_on
    assert run("join", path, "-o", path, "-f") == f"{path}: 40 records\n"


def test_json_of_every_form(tmp_path: Path) -> None:
    for text in ('[{"a":1},{"a":2}]', '{"a":1}\n{"a":2}\n', '{"a":1}'):
        (tmp_path / "in.json").write_text(text)
        run("convert", tmp_path / "in.json", "-o", tmp_path / "out.rec")
        assert lines(run("cat", tmp_path / "out.rec")) == [{"a": 1}, {"a": 2}][: text.count("a")]
    run("convert", "--from", "jsonl", "-o", tmp_path / "out.rec", data=b'{"a":1}\n')
    assert run("count", tmp_path / "out.rec") == "1\n"


def test_csv_with_fields_of_every_kind(tmp_path: Path) -> None:
    path = tmp_path / "file.rec"
    values = [{"a": 1, "b": [1, {"c": 2}]}, {"a": 'x,"y"\n', "d": True}, {"b": 0.5}]
    write_all(path, values)
    run("convert", path, "-o", tmp_path / "out.csv")
    with open(tmp_path / "out.csv", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["a", "b", "d"]
    assert rows == [["1", '[1,{"c":2}]', ""], ['x,"y"\n', "", "true"], ["", "0.5", ""]]
    write_all(path, [[1]], mode="ab")
    assert "record 3 cannot become a line of CSV" in run("convert", path, "-o", tmp_path / "other.csv", status=1)
    assert not (tmp_path / "other.csv").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"), json.loads(Path(__file__).with_name("bad_input.json").read_text(encoding="utf-8"))
)
def test_bad_input(tmp_path: Path, name: str, content: str, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode("latin-1"))
    assert message in run("convert", path, "-o", tmp_path / "out.rec", status=1)
    assert not (tmp_path / "out.rec").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x81\x81\x01\x02\x03", "unhashable type: 'dict'"),
        (b"\xd7\xff\xff\xff\xff\xff\xff\xff\xff\xff", "nanoseconds must be"),
        (b"\xa1\xff", "can't decode byte 0xff"),
    ],
)
def test_records_that_python_cannot_hold(tmp_path: Path, content: bytes, message: str) -> None:
    """They are copied, and an error in one line names the file that contains them."""
    stream, copy, text = tmp_path / "a.msgpack", tmp_path / "a.rec", tmp_path / "a.jsonl"
    stream.write_bytes(b"\x01" + content)
    run("convert", stream, "-o", copy)
    assert f"cpkg: {stream}: " in run("convert", stream, "-o", text, status=1)
    for arguments in (["cat", copy], ["head", copy], ["convert", copy, "-o", text]):
        error = run(*arguments, status=1).splitlines()[-1]
        assert error.startswith(f"cpkg: {copy}: a record cannot be read: ")
        assert message in error
    stream.write_bytes(b"\x81\x91\x01\x02")
    run("convert", stream, "-o", text)
    assert text.read_text() == '{"[1]":2}\n'


def test_wrong_use(path: Path, tmp_path: Path) -> None:
    assert "No such file" in run("count", tmp_path / "missing", status=1)
    run("convert", path, status=2)
    run("repair", "-", status=2)
    assert "- names no file" in run("join", path, "-o", "-", status=2)
    assert "--append needs a record file" in run("convert", "--append", path, "-o", tmp_path / "a.csv", status=1)
    assert "name a file" in run("convert", "--from", "jsonl", "-o", tmp_path / "a.csv", status=1, data=b"{}")
    with records.open(path, "ab"):
        assert "another writer" in run("repair", path, status=1)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
def test_errors_name_what_they_are_about(path: Path) -> None:
    """An error about a full disk names the output, an error about damage the input."""
    assert "/dev/full: No space" in run("convert", path, "-o", "/dev/full", "--to", "jsonl", status=1)
    flip(path, spans(path)[1].end - 10)
    assert f"{path}: record" in run("convert", path, "-o", path.with_suffix(".jsonl"), status=1)


def test_urls(path: Path) -> None:
    url = "memory://commands/file.rec"
    pytest.importorskip("fsspec").filesystem("memory").pipe_file("commands/file.rec", path.read_bytes())
    assert run("count", url) == "40\n"
    assert len(lines(run("cat", url))) == 40
    run("verify", url)
    run("repair", url, status=2)


def test_what_only_looks_like_a_number_is_text(tmp_path: Path) -> None:
    fields = ["007", "01.5", "\u0661\u0662", "1e400", "-1e400", "1_000", "+5", ".5", "5.", "0x10", "NaN", "-", "9" * 25]
    sound = {"0": 0, "-7": -7, "1.5": 1.5, "2e3": 2000.0, "18446744073709551615": 2**64 - 1}
    (tmp_path / "a.csv").write_text("\n".join(["x", *fields, *sound]) + "\n", encoding="utf-8")
    run("convert", tmp_path / "a.csv", "-o", tmp_path / "a.rec", "--numbers", "-q")
    assert [row["x"] for row in read_all(tmp_path / "a.rec")] == [*fields, *sound.values()]
