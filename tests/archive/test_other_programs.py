# SPDX-License-Identifier: Apache-2.0
"""Other programs read our archives, and we read theirs."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
from archives import LONG, contents, created, make_files, make_sparse, uncompressed
from fuzz_archives import by_gnu_tar
from processes import needs

from cpkg import archive, zstd

pytestmark = pytest.mark.once

GO = Path(__file__).parent / "go"
"""A program in Go, and what it writes (Go 1.26.8)."""
FORMATS = {"ustar": 5, "pax": 9, "gnu": 8}
"""The formats that it writes, and the numbers of entries."""


@needs("tar", "zstd")
def test_gnu_tar_reads_it(engine: str, tree: Path, tmp_path: Path) -> None:
    archive.create(tmp_path / "a.tar.zst", base=tree)
    subprocess.run(["zstd", "-qt", tmp_path / "a.tar.zst"], check=True)
    (tmp_path / "out").mkdir()
    command = ["tar", "--zstd", "-xf", tmp_path / "a.tar.zst", "-C", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "implausibly old" in done.stderr or done.stderr == ""
    assert contents(tmp_path / "out") == contents(tree)


def data_of(tree: Path) -> dict[str, Any]:
    """Return the names in a tree, each with the data of its file or the target of its link."""
    return {name: value[3] for name, value in contents(tree).items()}


@needs("tar")
@pytest.mark.parametrize("format", ["v7", "oldgnu", "gnu", "ustar", "pax"])
def test_it_reads_gnu_tar(engine: str, format: str, tree: Path, tmp_path: Path) -> None:
    leave_out = ["--exclude=*name*"] if format in ("v7", "ustar") else []
    subprocess.run(
        ["tar", f"--format={format}", *leave_out, "-cf", tmp_path / "a.tar", "-C", tree, "."],
        check=format not in ("v7", "ustar"),  # these cannot store all names and times
        stderr=subprocess.DEVNULL,
    )
    made = (tmp_path / "a.tar").read_bytes()
    archive.extract(io.BytesIO(zstd.compress(made)), tmp_path / "out")
    assert contents(tmp_path / "out") == by_gnu_tar(made, tmp_path / "theirs")
    assert len(contents(tmp_path / "out")) > 10


@needs("bsdtar")
@pytest.mark.parametrize("format", ["ustar", "pax", "gnutar", "v7"])
def test_bsdtar_both_ways(engine: str, format: str, tree: Path, tmp_path: Path) -> None:
    shutil.rmtree(tree / "sub" / LONG)
    (tree / LONG).unlink()
    (tree / os.fsdecode(b"no utf-8 \xff\xfe")).unlink()
    os.utime(tree / "empty", ns=(0, 0))
    command = ["bsdtar", f"--format={format}", "-cf", "-", "-C", tree, "."]
    made = subprocess.run(command, stdout=subprocess.PIPE, check=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    archive.extract(io.BytesIO(zstd.compress(made.stdout)), tmp_path / "out")
    assert data_of(tmp_path / "out") == data_of(tree)
    if format == "pax":
        assert contents(tmp_path / "out") == contents(tree)
    archive.create(tmp_path / "b.tar.zst", base=tree)
    (tmp_path / "theirs").mkdir()
    subprocess.run(["bsdtar", "-xf", tmp_path / "b.tar.zst", "-C", tmp_path / "theirs"], check=True)
    assert contents(tmp_path / "theirs") == contents(tree)


def test_tarfile_reads_it(engine: str, tree: Path) -> None:
    made = created(base=tree)
    with tarfile.open(fileobj=io.BytesIO(uncompressed(made)), encoding="utf-8") as file:
        theirs = [(info.name, info.size if info.isreg() else 0, info.mode, info.linkname) for info in file]
    assert theirs == [(it.name, it.size, it.mode, it.linkname) for it in archive.entries(io.BytesIO(made))]


@needs("pzstd", "zstd")
def test_it_reads_pzstd_and_large_frames(engine: str, tree: Path, tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(uncompressed(created(base=tree)))
    for command in (["pzstd", "-q", "-p", "2", "-c"], ["zstd", "-q", "-c", "-T0"], ["zstd", "-q", "-c", "--no-check"]):
        made = subprocess.run([*command, tmp_path / "a.tar"], capture_output=True, check=True)
        archive.extract(io.BytesIO(made.stdout), tmp_path / "out")
        assert contents(tmp_path / "out") == contents(tree)


@needs("tar")
@pytest.mark.parametrize(
    "options",
    [
        ["--format=gnu"],
        ["--format=oldgnu"],
        *(["--format=pax", f"--sparse-version={n}"] for n in ("0.0", "0.1", "1.0")),
    ],
)
def test_sparse_files_of_gnu_tar(engine: str, options: list[str], tmp_path: Path) -> None:
    tree = make_files(tmp_path / "tree", {"z": b"after it"})
    make_sparse(tree / "sparse", 40, 1 << 16, 4099)  # more pieces than fit in one header
    made = subprocess.run(["tar", "-cSf", "-", *options, "-C", tree, "."], stdout=subprocess.PIPE, check=True)
    archive.extract(io.BytesIO(zstd.compress(made.stdout)), tmp_path / "out")
    assert data_of(tmp_path / "out") == data_of(tree)


@pytest.fixture(scope="session")
def go(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Build the Go program."""
    program = str(tmp_path_factory.mktemp("go") / "program")
    environment = {**os.environ, "GO111MODULE": "off", "GOFLAGS": "", "GOTOOLCHAIN": "local"}
    command = ["go", "build", "-o", program, "main.go"]
    done = subprocess.run(command, cwd=GO, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"Go cannot build here: {done.stderr[:200]}")
    return program


@needs("go")
@pytest.mark.nightly
@pytest.mark.parametrize("format", FORMATS)
def test_go_writes_the_archives_that_are_kept(format: str, go: str) -> None:
    made = subprocess.run([go, format], stdout=subprocess.PIPE, check=True).stdout
    assert made == uncompressed((GO / f"{format}.tar.zst").read_bytes())


@pytest.mark.parametrize("format", FORMATS)
def test_it_reads_gos(engine: str, format: str, tmp_path: Path) -> None:
    made = GO / f"{format}.tar.zst"
    entries = {entry.name: entry for entry in archive.entries(made)}
    assert len(entries) == FORMATS[format]
    assert (entries["d/file"].uid, entries["d/file"].gid) == (5, 6)
    assert (entries["d/file"].uname, entries["d/file"].gname) == ("user", "group")
    nanoseconds = 987654321 if format == "pax" else 0
    assert {entry.mtime_ns for entry in entries.values()} == {1234567890 * 10**9 + nanoseconds}
    if format != "ustar":
        assert entries["n" * 200].uid == 1 << 30
    if format == "pax":
        assert entries["x"].xattrs == {"user.a": b"v"}
    archive.extract(made, tmp_path)
    assert (tmp_path / "d" / "link").read_bytes() == (tmp_path / "d" / "hard").read_bytes() == b"some data"
    assert (tmp_path / ("d/" * 60) / "prefix").read_bytes() == b"x" * 2000
