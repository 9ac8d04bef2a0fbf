# SPDX-License-Identifier: Apache-2.0
"""Archives that try to write outside the directory, exhaust the machine, or look different to different readers."""

from __future__ import annotations

import functools
import inspect
import io
import os
import re
import tarfile
from pathlib import Path

import pytest
from archives import contents, extracted, fixed, header_of, member, packed

from cpkg import archive, zstd
from cpkg.archive._settings import ContentLimit
from purepy.base.errors import ArchiveError, ArchiveLimitError, UnsafeEntryError

LINK, HARD, DIRECTORY = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """Return the directory to extract to, and a directory next to it that must not change."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "victim").write_text("untouched")
    return tmp_path / "in" / "out", tmp_path / "outside"


def from_the_root(path: Path) -> str:
    """Return an absolute path as in archives, without the drive of Windows."""
    return f"/{path.relative_to(path.anchor).as_posix()}"


def untouched(outside: Path) -> bool:
    return os.listdir(outside) == ["victim"] and (outside / "victim").read_text() == "untouched"


@pytest.mark.parametrize("filter", ["data", "tar", "fully_trusted"])
@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "..", "a/..", "./../evil"])
def test_names_that_lead_out(engine: str, filter: str, name: str, places: tuple[Path, Path]) -> None:
    out, outside = places
    for kind in (tarfile.REGTYPE, DIRECTORY, LINK, HARD):
        with pytest.raises(UnsafeEntryError, match=r"'\.\.'") as caught:
            archive.extract(io.BytesIO(packed(("ok", b"1"), member(name, kind, linkname="ok"))), out, filter=filter)
        assert caught.value.entry == name
    assert (out / "ok").read_bytes() == b"1"
    assert not (out.parent / "evil").exists()
    assert untouched(outside)


def test_absolute_names_lose_their_slashes(engine: str, places: tuple[Path, Path]) -> None:
    out, outside = places
    archive.extract(io.BytesIO(packed((f"/{from_the_root(outside)}/victim", b"evil"), ("//x//y", b"1"))), out)
    assert untouched(outside)
    assert (out / "x" / "y").read_bytes() == b"1"


LEAD_OUT = ("/etc", "../../outside", "..", "a/../../x", "./../.", "a/b/../../../x", "../in/out/../../outside")
REFUSED = {
    "link": [member("link", LINK, linkname=target) for target in LEAD_OUT],
    "outside the directory": [
        member("link", HARD, linkname=target) for target in ("../../outside/victim", "a/../../x", "..")
    ],
    "filter 'data' refuses": [
        member("dev", kind, devmajor=1, devminor=3) for kind in (tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE)
    ],
}


@pytest.mark.parametrize("message", REFUSED)
def test_links_that_lead_out_and_devices(engine: str, message: str, places: tuple[Path, Path]) -> None:
    out, outside = places
    for each in REFUSED[message]:
        with pytest.raises(UnsafeEntryError, match=message):
            archive.extract(io.BytesIO(packed(each, ("link/evil", b"1"))), out)
        assert not out.exists()
    assert untouched(outside)


@pytest.mark.parametrize("number", [1 << 31, (1 << 32) - 1])
def test_a_device_number_beyond_those_of_the_system(engine: str, number: int, tmp_path: Path) -> None:
    devices = [member("dev", tarfile.CHRTYPE, devmajor=number), member("dev", tarfile.BLKTYPE, devminor=number)]
    problems = extracted(packed(*devices, ("file", b"data")), tmp_path, filter="tar")
    assert [type(problem.error) for problem in problems] == [OSError, OSError]
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("filter", ["data", "tar", "fully_trusted"])
def test_nothing_is_written_through_a_link(engine: str, filter: str, places: tuple[Path, Path]) -> None:
    """Neither through a link of the archive, nor through one that existed before."""
    out, outside = places
    (out / "d").mkdir(parents=True)
    os.symlink(outside, out / "there")
    for made in (
        packed(member("link", LINK, linkname="d"), ("link/evil", b"1")),
        packed(("there/evil", b"1")),
        packed(("there/victim", b"evil")),
        packed(member("there/deep/evil", DIRECTORY)),
        packed(("x", b"x"), member("there/victim", HARD, linkname="x")),
        packed(member("x", HARD, linkname="there/victim"), ("x", b"evil")),
        packed(member("there/link", LINK, linkname="x")),
    ):
        with pytest.raises(OSError, match="expected a directory, found a file or link"):
            archive.extract(io.BytesIO(made), out, filter=filter)
    assert untouched(outside)
    assert os.listdir(out / "d") == []


def test_a_link_is_replaced_not_followed(engine: str, places: tuple[Path, Path]) -> None:
    out, outside = places
    out.mkdir(parents=True)
    for kind in (tarfile.REGTYPE, DIRECTORY, LINK, HARD):
        if os.path.lexists(out / "name"):
            os.rmdir(out / "name") if (out / "name").is_dir() else os.unlink(out / "name")
        os.symlink(outside / "victim", out / "name")
        made = packed(("x", b"x"), member("name", kind, linkname="x"))
        archive.extract(io.BytesIO(made), out)
        assert untouched(outside)
        assert kind == LINK or not (out / "name").is_symlink()


def test_a_chain_of_links(engine: str, places: tuple[Path, Path]) -> None:
    """Each link is harmless in its own place, but one through the other would lead outside."""
    out, outside = places
    made = packed(
        member("d/e", DIRECTORY),
        member("d/e/up", LINK, linkname="../.."),
        member("out", LINK, linkname="d/e/up/../../outside"),
    )
    archive.extract(io.BytesIO(made), out)
    assert os.readlink(out / "out") == "d/outside" or not os.path.exists(out / "out")
    assert untouched(outside)
    moved = packed(member("d/l", LINK, linkname=".."), member("l", HARD, linkname="d/l"))
    with pytest.raises(UnsafeEntryError, match="outside the directory"):
        archive.extract(io.BytesIO(moved), out)
    shallower = packed(member("a/b/l", LINK, linkname="../x"))
    with pytest.raises(UnsafeEntryError):
        archive.extract(io.BytesIO(shallower), out, strip_components=2)


def test_links_that_lead_nowhere(engine: str, places: tuple[Path, Path]) -> None:
    out, outside = places
    for target in (from_the_root(outside / "victim"), "missing", "h"):
        with pytest.raises(FileNotFoundError):
            archive.extract(io.BytesIO(packed(member("h", HARD, linkname=target))), out)
    for kind, error, inside in ((HARD, FileNotFoundError, ()), (LINK, NotADirectoryError, [("a/f", b"1")])):
        circle = packed(member("a", kind, linkname="b"), member("b", kind, linkname="a"), *inside)
        with pytest.raises(error):
            archive.extract(io.BytesIO(circle), out)
    assert untouched(outside)


def test_the_same_name_again_and_again(engine: str, places: tuple[Path, Path]) -> None:
    """The last entry wins, whatever the types are."""
    made = packed(
        *(("n", b"first"), member("h", HARD, linkname="n"), member("n", LINK, linkname="h"), ("n", b"second")),
        *(member("m", LINK, linkname="n"), ("m", b"third")),
        *(("k", b"file"), member("k", DIRECTORY), ("k/inside", b"x")),
    )
    archive.extract(io.BytesIO(made), places[0])
    found = {name: value[3] and value[3][0] for name, value in contents(places[0]).items()}
    assert found == {"n": b"second", "h": b"first", "m": b"third", "k": None, "k/inside": b"x"}


def test_bombs(engine: str, places: tuple[Path, Path]) -> None:
    out, _ = places
    bomb = packed((member("zeros"), bytes(8 << 20)))
    with pytest.raises(ArchiveLimitError, match="max_size"):
        archive.extract(io.BytesIO(bomb), out, max_size=4 << 20)
    assert not (out / "zeros").exists()
    with pytest.raises(ArchiveLimitError):
        archive.verify(io.BytesIO(bomb), max_size=4 << 20)
    assert archive.extract(io.BytesIO(bomb), out, max_size=-1).entries == 1
    huge = header_of(member("f", size=1 << 40))
    with pytest.raises(ArchiveError, match="truncated"):
        archive.extract(io.BytesIO(zstd.compress(huge + b"a little")), out)
    assert not (out / "f").exists()
    long_header = fixed(header_of(member("././@LongLink", b"L", size=1 << 30)))
    with pytest.raises(ArchiveLimitError):
        archive.extract(io.BytesIO(zstd.compress(long_header)), out)


def test_the_default_limit_is_the_documented_one() -> None:
    said = re.search(r"by default (\d+) GiB or (\d+) times", archive.extract.__doc__ or "")
    assert said is not None
    smallest, ratio = int(said[1]) << 30, int(said[2])
    limit = ContentLimit(None)
    assert limit.allowed(0) == limit.allowed(smallest // ratio) == smallest
    assert limit.allowed(smallest) == ratio * smallest
    for function in (archive.extract, archive.verify, archive.entries):
        assert inspect.signature(function).parameters["max_size"].default is None


def test_a_file_that_is_not_an_archive(engine: str, tmp_path: Path) -> None:
    extract = functools.partial(archive.extract, directory=tmp_path / "out")
    for data, error in (
        (b"", ArchiveError),
        (b"no zstd at all", zstd.ZstdError),
        (zstd.compress(b""), ArchiveError),
        (zstd.compress(b"no tar"), ArchiveError),
        (zstd.compress(b"no tar" * 1000), ArchiveError),
        (b"\x50\x2a\x4d\x18\x00\x00\x00\x00", ArchiveError),
        (b"\x50\x2a\x4d\x18\xff\xff\xff\xff", zstd.ZstdError),
    ):
        for read in (extract, archive.verify, lambda file: list(archive.entries(file))):
            with pytest.raises(error):
                read(io.BytesIO(data))
    assert list(archive.entries(io.BytesIO(zstd.compress(bytes(1024))))) == []


def test_a_window_beyond_the_limit(engine: str, tmp_path: Path) -> None:
    options = {zstd.CompressionParameter.window_log: 20, zstd.CompressionParameter.content_size_flag: 0}
    compressor = zstd.ZstdCompressor(options=options)
    stream = header_of("f", b"data") + bytes(1024)
    made = compressor.compress(stream[:600]) + compressor.flush(compressor.FLUSH_BLOCK)
    made += compressor.compress(stream[600:]) + compressor.flush()
    with pytest.raises(zstd.ZstdLimitError, match="window_log_max"):
        archive.verify(io.BytesIO(made), window_log_max=19)
    assert archive.verify(io.BytesIO(made), window_log_max=20).entries == 1


def test_wrong_arguments(engine: str, tmp_path: Path) -> None:
    extracting = {"filter": "none", "strip_components": -1, "max_size": -2, "window_log_max": 5}
    for function, values in (archive.create, {"frame_size": 1, "level": 99}), (archive.extract, extracting):
        for name, value in values.items():
            with pytest.raises(ValueError):
                function(io.BytesIO(), tmp_path, **{name: value})  # type: ignore[operator]
