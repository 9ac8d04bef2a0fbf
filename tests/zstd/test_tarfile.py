# SPDX-License-Identifier: Apache-2.0
"""cpkg.zstd.tarfile and register_shutil(): archives in every mode, of several frames, and with other programs."""

from __future__ import annotations

import io
import os
import random
import shutil
import stat
import subprocess
import tarfile as standard
import zipfile as standard_zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from odd_files import Counting
from processes import needs, run_python
from seeds import noise
from threads import beside
from zstd_data import SKIPPABLE
from zstd_oracle import standard as standard_module

from cpkg import zstd
from cpkg.zstd import tarfile, zipfile

CONTENT = {"tree/text": b"a line of text\n" * 500, "tree/folder/noise": noise(7_000), "tree/empty": b""}
# higher levels find more matches
WORDS = b" ".join(random.Random(1).choices([b"%d-word" % (number**3) for number in range(2000)], k=2_000))
WRITE_MODES = ["w:zst", "x:zst", "w|zst"]
READ_MODES = ["r:zst", "r", "r:*", "r|zst", "r|*"]


def plain_archive() -> bytes:
    output = io.BytesIO()
    with standard.open(fileobj=output, mode="w") as archive:
        for name, content in CONTENT.items():
            member = standard.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return output.getvalue()


PLAIN = plain_archive()
FRAMES = {
    "one": zstd.compress(PLAIN),
    "many": b"".join(zstd.compress(PLAIN[at : at + 1700]) for at in range(0, len(PLAIN), 1700)),
    # pzstd starts each frame like this
    "skippable first": SKIPPABLE + zstd.compress(PLAIN[:999]) + SKIPPABLE[:4] + bytes(4) + zstd.compress(PLAIN[999:]),
    "an empty frame first": zstd.compress(b"") + zstd.compress(PLAIN),
}


def pipe(data: bytes) -> Any:
    """Return a file that has only read(), which returns pieces of any size."""
    return SimpleNamespace(read=Counting(data, 1000).read)


def contents(archive: Any) -> dict[str, bytes]:
    return {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, content in CONTENT.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (tmp_path / "tree" / "link").symlink_to("text")
    return tmp_path


def members(folder: Path) -> dict[str, Any]:
    return {
        path.relative_to(folder).as_posix(): (
            os.readlink(path) if path.is_symlink() else path.is_file() and path.read_bytes()
        )
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("read_mode", READ_MODES)
@pytest.mark.parametrize("write_mode", WRITE_MODES)
def test_round_trip(tree: Path, write_mode: str, read_mode: str) -> None:
    with tarfile.open("out.tar.zst", write_mode) as archive:
        archive.add("tree")
    with tarfile.open("out.tar.zst", read_mode) as archive:
        assert isinstance(archive, standard.TarFile)
        assert contents(archive) == CONTENT


@pytest.mark.parametrize("mode", ["zst", "|zst"])
def test_threads(tree: Path, mode: str) -> None:
    separator = "" if mode.startswith("|") else ":"
    with tarfile.open("out.tar.zst", f"w{separator}{mode}", threads=2) as archive:
        archive.add("tree")
    for threads in (None, 2):
        with tarfile.open("out.tar.zst", f"r{separator}{mode}", threads=threads) as archive:
            assert contents(archive) == CONTENT
    with tarfile.open(fileobj=io.BytesIO(FRAMES["many"]), mode=f"r{separator}{mode}", threads=2) as archive:
        assert contents(archive) == CONTENT
    pytest.raises(ValueError, tarfile.open, "wrong.tar.zst", f"w{separator}{mode}", threads=-1).match("threads")
    assert not os.path.exists("wrong.tar.zst")


@pytest.mark.parametrize("read_mode", READ_MODES)
@pytest.mark.parametrize("frames", list(FRAMES))
def test_frames_are_read_to_the_end(frames: str, read_mode: str) -> None:
    source = pipe(FRAMES[frames]) if "|" in read_mode else io.BytesIO(FRAMES[frames])
    with tarfile.open(fileobj=source, mode=read_mode) as archive:
        assert contents(archive) == CONTENT


def test_arguments_of_the_compressor() -> None:
    dictionary = zstd.ZstdDict(PLAIN[:2000], is_raw=True)
    options = {zstd.CompressionParameter.checksum_flag: 1, zstd.CompressionParameter.compression_level: 1}
    for mode in ("w:zst", "w|zst"):
        sizes = []
        for arguments in ({"level": -100}, {"level": 5}, {"options": options, "zstd_dict": dictionary}):
            output = io.BytesIO()
            with tarfile.open(fileobj=output, mode=mode, format=tarfile.PAX_FORMAT, **arguments) as archive:
                member = tarfile.TarInfo("numbers")
                data = WORDS
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
            sizes.append(len(output.getvalue()))
        assert sizes[1] < sizes[0]
        with tarfile.open(fileobj=io.BytesIO(output.getvalue()), mode="r|zst", zstd_dict=dictionary) as archive:
            assert contents(archive) == {"numbers": data}


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"mode": "a:zst"}, ValueError),
        ({"mode": "x|zst"}, ValueError),
        ({"mode": "w|*"}, ValueError),
        ({"mode": "w:zst", "level": 99}, ValueError),
        ({"mode": "w|zst", "level": "high"}, TypeError),
        ({"mode": "r|zst", "level": 3}, TypeError),
        ({"mode": "w:nothing"}, tarfile.CompressionError),
    ],
    ids=str,
)
def test_wrong_arguments(tmp_path: Path, arguments: dict[str, Any], error: type[Exception]) -> None:
    path = tmp_path / "out.tar.zst"
    pytest.raises(error, tarfile.open, path, **arguments)
    assert not path.exists()
    pytest.raises(ValueError, tarfile.open, mode="r|zst").match("nothing to open")


@pytest.mark.parametrize("compression", ["", "gz", "xz"])
def test_other_compressions(tree: Path, compression: str) -> None:
    for mode in ("w:", "w|"):
        with tarfile.open("out.tar", mode + compression) as archive:
            archive.add("tree")
        for read_mode in ("r:*", "r|*", "r|" + compression):
            with tarfile.open("out.tar", read_mode) as archive:
                assert contents(archive) == CONTENT


def test_files_are_closed(tree: Path) -> None:
    with tarfile.open("out.tar.zst", "w|zst") as archive:
        archive.add("tree")
    with open("out.tar.zst", "rb") as file:
        for mode in ("r:zst", "r|zst", "r|*"):
            file.seek(0)
            tarfile.open(fileobj=file, mode=mode).close()
            assert not file.closed
    before = len(os.listdir("/proc/self/fd"))
    for mode in ("r:zst", "r|zst", "r|*"):
        tarfile.open("out.tar.zst", mode).close()
    Path("out.tar").write_bytes(PLAIN)
    tarfile.open("out.tar", "r|*").close()
    assert len(os.listdir("/proc/self/fd")) <= before


def test_a_fifo(tree: Path) -> None:
    """`r|*` examines the first bytes of a source that can be read only once."""
    os.mkfifo("fifo")

    def feed() -> None:
        with open("fifo", "wb") as file:
            file.write(FRAMES["many"])

    with beside(feed) as errors, tarfile.open("fifo", "r|*") as archive:
        assert contents(archive) == CONTENT
    assert errors == []


@pytest.mark.parametrize("mode", ["r|zst", "r|*"])
def test_a_source_without_data_at_the_moment(mode: str) -> None:
    reads = iter((FRAMES["one"][:4], None))
    source = SimpleNamespace(read=lambda size: next(reads))
    pytest.raises(BlockingIOError, tarfile.open, fileobj=source, mode=mode)


def test_is_tarfile(tree: Path) -> None:
    Path("yes.tar.zst").write_bytes(FRAMES["one"])
    Path("no.tar.zst").write_bytes(zstd.compress(b"no archive" * 100))
    Path("no.txt").write_bytes(b"no archive" * 100)
    assert [tarfile.is_tarfile(name) for name in ("yes.tar.zst", "no.tar.zst", "no.txt")] == [True, False, False]
    file = io.BytesIO(b"..." + FRAMES["one"])
    file.seek(3)
    assert tarfile.is_tarfile(file)
    assert file.tell() == 3


@pytest.mark.parametrize("mode", ["r:zst", "r|zst", "r|*"])
@pytest.mark.parametrize("damage", ["cut", "cut between frames' bytes", "garbage", "flipped"])
def test_damage_is_an_error(mode: str, damage: str) -> None:
    data = FRAMES["many"]
    first = zstd.get_frame_size(data)
    bad = {
        "cut": data[:-5],
        "cut between frames' bytes": data[: first + 3],
        "garbage": data[:first] + b"garbage" + data[first:],
        "flipped": data[: first + 40] + bytes(20) + data[first + 60 :],
    }[damage]

    def read() -> None:
        with tarfile.open(fileobj=pipe(bad) if "|" in mode else io.BytesIO(bad), mode=mode) as archive:
            found = contents(archive)
            # a tar archive may end before its compressed data ends
            assert found != CONTENT or damage == "cut"
            archive.fileobj.read(1 << 20)

    pytest.raises((tarfile.ReadError, zstd.ZstdError, EOFError), read)


@pytest.mark.parametrize("data", [b"", b"(\xb5/\xfd", b"no frame" * 200, zstd.compress(b"no archive" * 200)], ids=len)
@pytest.mark.parametrize("mode", READ_MODES)
def test_no_archive(mode: str, data: bytes) -> None:
    pytest.raises(tarfile.ReadError, tarfile.open, fileobj=io.BytesIO(data), mode=mode)


@pytest.mark.parametrize(("module", "original"), [(tarfile, standard), (zipfile, standard_zipfile)])
def test_every_name_is_there(module: Any, original: Any) -> None:
    assert [name for name in dir(original) if not hasattr(module, name)] == []
    for name in {"TarError", "TarInfo", "BadZipFile"} & {*dir(original)}:
        assert getattr(module, name) is getattr(original, name)
    pytest.raises(AttributeError, getattr, module, "nothing").match("has no attribute 'nothing'")


def test_with_the_standard_module(tree: Path) -> None:
    other = standard_module("tarfile")
    with other.open("theirs.tar.zst", "w:zst") as archive:
        archive.add("tree")
    with tarfile.open("theirs.tar.zst") as archive:
        assert contents(archive) == CONTENT
    for mode in WRITE_MODES:
        Path("ours.tar.zst").unlink(missing_ok=True)
        with tarfile.open("ours.tar.zst", mode) as archive:
            archive.add("tree")
        for read_mode in READ_MODES:
            with other.open("ours.tar.zst", read_mode) as archive:
                assert contents(archive) == CONTENT


@needs("tar", "zstd")
def test_with_tar(tree: Path) -> None:
    with tarfile.open("ours.tar.zst", "w|zst") as archive:
        archive.add("tree")
    os.mkdir("out")
    subprocess.run(["tar", "-x", "-f", "ours.tar.zst", "-C", "out"], check=True)
    assert members(tree / "out" / "tree") == members(tree / "tree")
    subprocess.run(["tar", "--zstd", "-cf", "theirs.tar.zst", "tree"], check=True)
    with tarfile.open("theirs.tar.zst", "r|*") as archive:
        assert contents(archive) == CONTENT


@pytest.fixture
def registered() -> Any:
    saved: Any = dict(shutil._ARCHIVE_FORMATS), dict(shutil._UNPACK_FORMATS)  # type: ignore[attr-defined]
    zstd.register_shutil(threads=2)
    yield
    shutil._ARCHIVE_FORMATS, shutil._UNPACK_FORMATS = saved  # type: ignore[attr-defined]


@pytest.mark.parametrize("suffix", [".tar.zst", ".tzst"])
@pytest.mark.filterwarnings("ignore:Python 3.14 will:DeprecationWarning")  # for extracting without a filter
def test_shutil(tree: Path, suffix: str, registered: None) -> None:
    name = shutil.make_archive("made/archive", "zstdtar", tree, "tree")
    assert name == str(tree / "made/archive.tar.zst")
    os.rename(name, "archive" + suffix)
    shutil.unpack_archive("archive" + suffix, "out")
    assert members(tree / "out" / "tree") == members(tree / "tree")
    Path("archive" + suffix).write_bytes(FRAMES["skippable first"])
    shutil.unpack_archive("archive" + suffix, "again")
    assert set(members(tree / "again")) >= set(CONTENT)


def test_shutil_in_its_own_tree(tree: Path, registered: None) -> None:
    for _ in range(2):
        name = shutil.make_archive("tree/archive", "zstdtar", base_dir="tree")
        with tarfile.open(name) as archive:
            assert contents(archive) == CONTENT
            assert "tree/archive.tar.zst" not in archive.getnames()


def test_shutil_leaves_nothing_behind(tree: Path, registered: None) -> None:
    pytest.raises(OSError, shutil.make_archive, "archive", "zstdtar", base_dir="nowhere").match("nowhere")
    assert sorted(os.listdir()) == ["tree"]
    Path("archive.tar.zst").write_bytes(zstd.compress(b"none"))
    pytest.raises(shutil.ReadError, shutil.unpack_archive, "archive.tar.zst", "out")


def test_shutil_dry_run_and_owner(tree: Path, registered: None) -> None:
    assert shutil.make_archive("archive", "zstdtar", base_dir="tree", dry_run=True) == "archive.tar.zst"
    assert not os.path.exists("archive.tar.zst")
    pwd = pytest.importorskip("pwd")
    name = pwd.getpwuid(os.getuid()).pw_name
    shutil.make_archive("archive", "zstdtar", base_dir="tree", owner=name)
    with tarfile.open("archive.tar.zst") as archive:
        assert {(member.uid, member.uname) for member in archive} == {(os.getuid(), name)}
    assert stat.S_IMODE(os.stat("archive.tar.zst").st_mode) & 0o400


def test_shutil_arguments(tree: Path, registered: None) -> None:
    sizes = []
    for level in (-100, 5):
        zstd.register_shutil(zip=False, level=level)
        Path("tree/words").write_bytes(WORDS)
        sizes.append(os.path.getsize(shutil.make_archive("archive", "zstdtar", base_dir="tree")))
    assert sizes[1] < sizes[0]


@pytest.mark.interpreter
@pytest.mark.parametrize("command", [["cpkg.zstd.tarfile"], ["cpkg", "run", "--force", "-m", "backports.zstd.tarfile"]])
def test_the_command_line_of_the_module(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")

    def run(*arguments: str) -> str:
        done = run_python("-m", *command, *arguments, env=dict(os.environ), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("-c", "a.tar.zst", "file")
    assert b"content" in zstd.decompress((tmp_path / "a.tar.zst").read_bytes())
    assert run("-l", "a.tar.zst").split() == ["file"]
    run("-t", "a.tar.zst")
    run("-e", "a.tar.zst", "out")
    assert (tmp_path / "out" / "file").read_bytes() == b"content"
