# SPDX-License-Identifier: Apache-2.0
"""Other programs read what we write, and we what they write."""

from __future__ import annotations

import base64
import io
import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from archives import contents, fixed, header_of, member, packed, uncompressed

from cpkg import archive, zstd
from purepy.errors import CodecError

TAR, BSDTAR, GO = shutil.which("tar"), shutil.which("bsdtar"), shutil.which("go")
needs_tar = pytest.mark.skipif(
    TAR is None or "GNU" not in subprocess.run([TAR, "--version"], capture_output=True, text=True, check=False).stdout,
    reason="needs GNU tar",
)
needs_bsdtar = pytest.mark.skipif(BSDTAR is None, reason="needs bsdtar")
needs_go = pytest.mark.skipif(GO is None, reason="needs Go")


@needs_tar
def test_gnu_tar_reads_it(engine: str, tree: Path, tmp_path: Path) -> None:
    archive.create(tmp_path / "a.tar.zst", base=tree)
    subprocess.run(["zstd", "-qt", tmp_path / "a.tar.zst"], check=True)
    (tmp_path / "out").mkdir()
    done = subprocess.run(
        [TAR, "--zstd", "-xf", tmp_path / "a.tar.zst", "-C", tmp_path / "out"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "implausibly old" in done.stderr or done.stderr == ""
    assert contents(tmp_path / "out") == contents(tree)


@needs_tar
@pytest.mark.parametrize("format", ["v7", "oldgnu", "gnu", "ustar", "pax"])
def test_it_reads_gnu_tar(engine: str, format: str, tree: Path, tmp_path: Path) -> None:
    leave_out = ["--exclude=*name*"] if format in ("v7", "ustar") else []
    subprocess.run(
        [TAR, f"--format={format}", *leave_out, "-cf", tmp_path / "a.tar", "-C", tree, "."],
        check=format not in ("v7", "ustar"),  # which cannot hold all names and times
        stderr=subprocess.DEVNULL,
    )
    data = zstd.compress((tmp_path / "a.tar").read_bytes())
    archive.extract(io.BytesIO(data), tmp_path / "out")
    subprocess.run(["mkdir", tmp_path / "theirs"], check=True)
    subprocess.run([TAR, "-xf", tmp_path / "a.tar", "-C", tmp_path / "theirs"], check=True, stderr=subprocess.DEVNULL)
    assert contents(tmp_path / "out") == contents(tmp_path / "theirs")
    assert len(contents(tmp_path / "out")) > 10


@needs_bsdtar
@pytest.mark.parametrize("format", ["ustar", "pax", "gnutar", "v7"])
def test_bsdtar_both_ways(engine: str, format: str, tree: Path, tmp_path: Path) -> None:
    shutil.rmtree(tree / "sub" / ("a long name " * 12))
    (tree / ("a long name " * 12)).unlink()
    (tree / os.fsdecode(b"no utf-8 \xff\xfe")).unlink()
    os.utime(tree / "empty", ns=(0, 0))
    made = subprocess.run(
        [BSDTAR, f"--format={format}", "-cf", "-", "-C", tree, "."],
        capture_output=True,
        check=True,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    archive.extract(io.BytesIO(zstd.compress(made.stdout)), tmp_path / "out")
    exact = format == "pax"
    assert {key: value[3] for key, value in contents(tmp_path / "out").items()} == {
        key: value[3] for key, value in contents(tree).items()
    }
    if exact:
        assert contents(tmp_path / "out") == contents(tree)
    archive.create(tmp_path / "b.tar.zst", base=tree)
    (tmp_path / "theirs").mkdir()
    subprocess.run([BSDTAR, "-xf", tmp_path / "b.tar.zst", "-C", tmp_path / "theirs"], check=True)
    assert contents(tmp_path / "theirs") == contents(tree)


def test_tarfile_both_ways(engine: str, tree: Path, tmp_path: Path) -> None:
    target = io.BytesIO()
    archive.create(target, base=tree)
    with tarfile.open(fileobj=io.BytesIO(uncompressed(target.getvalue())), encoding="utf-8") as file:
        theirs = [(info.name, info.size if info.isreg() else 0, info.mode, info.linkname) for info in file]
    ours = [
        (entry.name, entry.size, entry.mode, entry.linkname) for entry in archive.entries(io.BytesIO(target.getvalue()))
    ]
    assert theirs == ours
    for format in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        members = [
            (member("d", tarfile.DIRTYPE), b""),
            (member("d/f", mtime=5), b"data"),
            (member("d/l", tarfile.SYMTYPE, linkname="f"), b""),
            (member("d/h", tarfile.LNKTYPE, linkname="d/f"), b""),
            (member("x" * 90 + "/" + "y" * 60), b"long"),
        ]
        out = tmp_path / f"out{format}"
        archive.extract(io.BytesIO(packed(*members, format=format)), out)
        assert (out / "d" / "l").read_bytes() == (out / "d" / "h").read_bytes() == b"data"
        assert (out / ("x" * 90) / ("y" * 60)).read_bytes() == b"long"


@pytest.mark.skipif(shutil.which("pzstd") is None, reason="needs pzstd")
def test_it_reads_pzstd_and_large_frames(engine: str, tree: Path, tmp_path: Path) -> None:
    archive.create(tmp_path / "a.tar.zst", base=tree)
    (tmp_path / "a.tar").write_bytes(uncompressed((tmp_path / "a.tar.zst").read_bytes()))
    for command in (["pzstd", "-q", "-p", "2", "-c"], ["zstd", "-q", "-c", "-T0"], ["zstd", "-q", "-c", "--no-check"]):
        made = subprocess.run([*command, tmp_path / "a.tar"], capture_output=True, check=True)
        archive.extract(io.BytesIO(made.stdout), tmp_path / "out")
        assert contents(tmp_path / "out") == contents(tree)


@needs_tar
@pytest.mark.parametrize(
    "options",
    [
        ["--format=gnu"],
        ["--format=oldgnu"],
        *(["--format=pax", f"--sparse-version={n}"] for n in ("0.0", "0.1", "1.0")),
    ],
)
def test_sparse_files_of_gnu_tar(engine: str, options: list[str], tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    with (tree / "sparse").open("wb") as file:
        for number in range(40):  # more pieces than fit in one header
            file.seek(number << 16)
            file.write(b"data" * (1024 if number % 2 else 1025))
        file.truncate(4 << 20)
    (tree / "z").write_text("behind it")
    made = subprocess.run([TAR, "-cSf", "-", *options, "-C", tree, "."], stdout=subprocess.PIPE, check=True)
    archive.extract(io.BytesIO(zstd.compress(made.stdout)), tmp_path / "out")
    assert {key: value[3] for key, value in contents(tmp_path / "out").items()} == {
        key: value[3] for key, value in contents(tree).items()
    }


def star_header(name: str, pieces: list[tuple[int, int]], size: int) -> bytes:
    """Return what star writes in front of a sparse file's data: all pieces in blocks behind the header."""
    blocks = []
    for at in range(0, len(pieces), 21):
        block = b"".join(b"%011o %011o " % piece for piece in pieces[at : at + 21]).ljust(504, b"\0")
        blocks.append((block + (b"1" if at + 21 < len(pieces) else b"\0")).ljust(512, b"\0"))
    stored = sum(length for _, length in pieces) + 512 * len(blocks)
    header = bytearray(header_of(member(name, b"S", size=stored)))
    header[257:265] = b"ustar\00000"
    header[345:512] = bytes(167)
    header[345:348] = b"dir"
    header[452:464] = b"%011o " % size
    header[508:512] = b"tar\0"
    return fixed(bytes(header)) + b"".join(blocks)


@pytest.mark.parametrize("count", [0, 1, 21, 22, 50])
def test_sparse_files_of_star(engine: str, count: int, tmp_path: Path) -> None:
    pieces = [(number * 4096, 512) for number in range(count)]
    size = count * 4096 + 1000
    data = b"".join(bytes([number + 1]) * 512 for number in range(count))
    stream = star_header("f", [*pieces, (size, 0)], size) + data + header_of(member("g"), b"behind") + bytes(1024)
    archive.extract(io.BytesIO(zstd.compress(stream)), tmp_path)
    found = (tmp_path / "dir" / "f").read_bytes()
    assert len(found) == size
    assert b"".join(found[offset : offset + length] for offset, length in pieces) == data
    assert found.count(0) == size - len(data)
    assert (tmp_path / "g").read_bytes() == b"behind"


def test_sparse_files_in_forms_that_nobody_knows(engine: str, tmp_path: Path) -> None:
    """They are refused, not extracted without their holes."""
    records = b"26 SCHILY.filetype=sparse\n" + b"26 SCHILY.realsize=100000\n"
    stream = header_of(member("pax", b"x"), records) + header_of(member("f"), b"data") + bytes(1024)
    with pytest.raises(archive.ArchiveError, match="no form that is known"):
        archive.extract(io.BytesIO(zstd.compress(stream)), tmp_path)


GO_PROGRAM = r"""
package main

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(format tar.Format) {
	writer := tar.NewWriter(os.Stdout)
	add := func(header tar.Header, data string) {
		header.Format, header.Size, header.Mode = format, int64(len(data)), 0o640
		header.ModTime = time.Unix(1234567890, 0)
		if format == tar.FormatPAX {
			header.ModTime = time.Unix(1234567890, 987654321)
		}
		check(writer.WriteHeader(&header))
		_, err := io.WriteString(writer, data)
		check(err)
	}
	long := strings.Repeat("d/", 60)
	add(tar.Header{Typeflag: tar.TypeDir, Name: "d/"}, "")
	add(tar.Header{Typeflag: tar.TypeReg, Name: "d/file", Uid: 5, Gid: 6, Uname: "user", Gname: "group"}, "some data")
	add(tar.Header{Typeflag: tar.TypeSymlink, Name: "d/link", Linkname: "file"}, "")
	add(tar.Header{Typeflag: tar.TypeLink, Name: "d/hard", Linkname: "d/file"}, "")
	add(tar.Header{Typeflag: tar.TypeReg, Name: long + "prefix"}, strings.Repeat("x", 2000))
	if format != tar.FormatUSTAR {
		add(tar.Header{Typeflag: tar.TypeReg, Name: strings.Repeat("n", 200), Uid: 1 << 30}, "long name")
		add(tar.Header{Typeflag: tar.TypeSymlink, Name: "far", Linkname: strings.Repeat("t", 150)}, "")
		add(tar.Header{Typeflag: tar.TypeReg, Name: "café"}, "")
	}
	if format == tar.FormatPAX {
		add(tar.Header{Typeflag: tar.TypeReg, Name: "x", PAXRecords: map[string]string{"SCHILY.xattr.user.a": "v"}}, "")
	}
	check(writer.Close())
}

func read(file io.Reader) error {
	reader := tar.NewReader(file)
	for {
		header, err := reader.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := io.ReadAll(reader)
		if err != nil {
			return err
		}
		text, err := json.Marshal([]any{header.Name, string(header.Typeflag), len(data), header.Mode & 0o7777,
			header.ModTime.UnixNano(), header.Linkname, header.Uid, header.Gid})
		check(err)
		fmt.Println(string(text))
	}
}

func main() {
	switch os.Args[1] {
	case "ustar":
		write(tar.FormatUSTAR)
	case "pax":
		write(tar.FormatPAX)
	case "gnu":
		write(tar.FormatGNU)
	default:
		check(read(os.Stdin))
	}
}
"""


GOS: dict[str, str] = {
    "ustar": (
        "KLUv/QBobQUAsscWEaBvIKFPbjqyqq4E1pZbv4EpOSQ35Yc4I7ulKn3Qx4xUUVPQLQGamP9/0sGQGl2UgIrTUjwrq8piB12OEP9v"
        "ioJuhdTuXdG1uAvoL+S4txDjnRTy/+3txHiHFB8gYGkZBW02oAJ65acKzPNfHQXZFPOnAAaQat3Q09ISBUAlVhxTxKvUxBiQVJlX"
        "RU9KY0iacokgK65IA6ZFChSAzWCkE6QGCCCIKcB84m4="
    ),
    "pax": (
        "KLUv/QBorQ8ARlU/IqA5B/9ZVQWiXVnaRn3vt5WNeTorXbFot0wypZQJxh96PQU0ADQANQDqzHc3/TUXJ5PldvaNASgKYNozb97m"
        "MaDIWNqpmtDFicpq5X/ramp+a6oywee4J6hcYXEC7Oy8K9u3O9ApXgQ9vNJ/d5sXEhSli85Zj9GYHFQDJuCbKG3Mu/uMae+LoGdh"
        "K5d5U03m3tA9hpNWQmpEve+9K2XizKy3brqNA1GL2UTS5f3GzepSpSvdnTG39q+g50HH4jSK6Bzre5kFu1k9GqfAN1EKjNFVyoEw"
        "EAQMi/F6+8yq/eMQkMjjEL7tnenjEJFXevs3dE8SFxIULf9t2pS1M16gUaWErCRokpJKOiBLGQVxDv1ZhbFVTVARQL1o4Y1UkQ3w"
        "KiMlkxrQDpANuNWKDNhQJkgBT1uvJuDGLDggqhVhTGpAcvtRF6xUjwEolLJOoVQrYcSlr72xKnd34IYeoFIm9AMiqoylRvKMA9KD"
        "3hSJj2bABg9UUVnGOf00gB51IzPP+BOwAV31A+repTKApRjWolD5STqB1OgWY+80FygD1MQgDIiyrLKrD1L5mqkKBkwo7ZdVViXB"
        "Ug6AdNk8U/EpZRgmpD1wchBcjyftl62s6gGjGLCslKmx6gQp6DloADUC9Wncu1rnKAlIAzYW9LBEJpMG"
    ),
    "gnu": (
        "KLUv/QBonQkAsgwmHLC5AcwJAw5giYQqRtaMlmCG48Ta3ill0M3ILgWOGTdVGa+AfJW5D34+AxpWm3OPzJN7yGb5f/aqgqpOUnLr"
        "fomZNXf3UmLE6SxIrHrgHLNzzazIhDhkQwgLWECvOn84H+KrzLtbkcmyoD7owY1M8zhRM48Zn4hX27t3d9DikhgL6u580BNpW+1m"
        "jlndv5k11t3KyixgXTA6oHGlgspKpGU3IGsyCtsc/ZkKYwMiVRsDUPFLDXjSPAZIUpxl0KolpBpMHXsHBjDq6FnNMV41oKz72XtA"
        "ao1UE6FwjCpzMaHEPPMDbMDUBLwLzjll4FJtpil0lJI0gE3z4IHtGk1qgSJQDQvHgNReqeKJrcgY0NQ5r/pPVGFImg45MOBmGiBN"
        "KpTgc5GEBlNDhIYJIJ84Ew=="
    ),
}
"""The program's output (Go 1.26.8)."""


@pytest.fixture(scope="session")
def go(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a program of Go's that writes an archive, or lists one."""
    folder = tmp_path_factory.mktemp("go")
    (folder / "main.go").write_text(GO_PROGRAM)
    environment = {**os.environ, "GO111MODULE": "off", "GOFLAGS": "", "GOTOOLCHAIN": "local"}
    done = subprocess.run(
        [str(GO), "build", "-o", "program", "main.go"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"Go cannot build here: {done.stderr[:200]}")
    return str(folder / "program")


@needs_go
@pytest.mark.nightly
@pytest.mark.parametrize("format", list(GOS))
def test_go_writes_what_is_kept_of_it(format: str, go: str) -> None:
    made = subprocess.run([go, format], stdout=subprocess.PIPE, check=True).stdout
    assert made == zstd.decompress(base64.b64decode(GOS[format]))


@pytest.mark.parametrize("format", list(GOS))
def test_it_reads_gos(engine: str, format: str, tmp_path: Path) -> None:
    made = base64.b64decode(GOS[format])
    entries = {entry.name: entry for entry in archive.entries(io.BytesIO(made))}
    assert len(entries) == {"ustar": 5, "pax": 9, "gnu": 8}[format]
    assert (entries["d/file"].uid, entries["d/file"].gid) == (5, 6)
    assert (entries["d/file"].uname, entries["d/file"].gname) == ("user", "group")
    nanoseconds = 987654321 if format == "pax" else 0
    assert {entry.mtime_ns for entry in entries.values()} == {1234567890 * 10**9 + nanoseconds}
    if format != "ustar":
        assert entries["n" * 200].uid == 1 << 30
    if format == "pax":
        assert entries["x"].xattrs == {"user.a": b"v"}
    archive.extract(io.BytesIO(made), tmp_path)
    assert (tmp_path / "d" / "link").read_bytes() == (tmp_path / "d" / "hard").read_bytes() == b"some data"
    assert (tmp_path / ("d/" * 60) / "prefix").read_bytes() == b"x" * 2000


@needs_go
@pytest.mark.nightly
def test_go_reads_it(engine: str, tree: Path, go: str) -> None:
    os.utime(tree / "empty", ns=(0, 1_000_000_000))  # Go has no times before 1970
    target = io.BytesIO()
    archive.create(target, base=tree)
    listed = subprocess.run([go, "read"], input=uncompressed(target.getvalue()), stdout=subprocess.PIPE, check=True)
    theirs = [json.loads(line) for line in listed.stdout.splitlines()]
    flags = {"file": "0", "hardlink": "1", "symlink": "2", "directory": "5"}
    ours = [
        [
            entry.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            + ("/" if entry.type == "directory" else ""),
            flags[entry.type],
            entry.size,
            entry.mode,
            entry.mtime_ns,
            entry.linkname,
            entry.uid,
            entry.gid,
        ]
        for entry in archive.entries(io.BytesIO(target.getvalue()))
    ]
    assert theirs == ours


@needs_go
@pytest.mark.nightly
def test_gos_own_test_archives(engine: str, go: str, tmp_path: Path) -> None:
    """Of the archives with which Go tests its reader we make the same entries; what is none for it is none for us."""
    root = subprocess.run([str(GO), "env", "GOROOT"], capture_output=True, text=True, check=True).stdout.strip()
    paths = sorted(Path(root, "src/archive/tar/testdata").glob("*.tar"))
    if not paths:
        pytest.skip("Go's own tests are not installed")
    for path in paths:
        data = path.read_bytes()
        done = subprocess.run([go, "read"], input=data, capture_output=True, check=False)
        theirs = [json.loads(line) for line in done.stdout.splitlines()]
        ours: list[archive.Entry] = []
        error = ""
        try:
            ours.extend(archive.entries(io.BytesIO(zstd.compress(data))))
        except CodecError as exc:
            error = str(exc)
        if any(item[1] == "g" for item in theirs):
            continue  # Go lists global headers and leaves it to others to apply them
        members = [item[0].rstrip("/") for item in theirs]
        names = [entry.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for entry in ours]
        assert names[: len(members)] == members, path.name
        if not done.returncode and not error:
            assert names == members, path.name
        # one ends within its only file, one has the name of an attribute that no file can have
        assert error or not done.returncode or path.name in ("writer-big.tar", "pax-nul-xattrs.tar")
        # and Go does not ask for the marker of the end
        assert not error or done.returncode or "end-of-archive" in error, (path.name, error)
