# SPDX-License-Identifier: Apache-2.0
"""An archived tree is extracted unchanged, by our functions and by other programs."""

from __future__ import annotations

import errno
import io
import os
import pickle
import shutil
import stat
import subprocess
import sys
import tarfile
import weakref
from pathlib import Path
from typing import Any

import pytest
from archives import ENGINES, contents, created, extracted, make_files, make_sparse, member, packed, uncompressed
from extent import some
from fuzz_archives import by_gnu_tar
from processes import needs, sections
from seeds import noise

from cpkg import _backend, archive, zstd
from purepy.base.system import is_root


def test_a_tree_comes_back(engine: str, tree: Path, tmp_path: Path) -> None:
    made = archive.create(tmp_path / "a.tar.zst", base=tree)
    read = archive.extract(tmp_path / "a.tar.zst", tmp_path / "out")
    assert contents(tmp_path / "out") == contents(tree)
    assert made.entries == read.entries == len(contents(tree)) + 1
    assert made.size == read.size
    assert made.compressed_size == read.compressed_size == (tmp_path / "a.tar.zst").stat().st_size
    assert made.problems == read.problems == []
    assert (tmp_path / "out").stat().st_mtime_ns == tree.stat().st_mtime_ns


def test_many_frames_and_a_large_file(engine: str, tmp_path: Path) -> None:
    """Frames end between entries if possible, and a large file fills several frames."""
    small = {f"{number:03}": 3000 for number in range(60)}
    tree = make_files(tmp_path / "tree", {**small, "large": bytes(range(256)) * 1200, "z": b"after"})
    data = created(base=tree, frame_size=64 << 10)
    at = frames = 0
    while at < len(data):
        size = zstd.get_frame_size(data[at:])
        content = zstd.decompress(data[at : at + size])
        if frames in (0, 1) and content:
            assert content[257:262] == b"ustar"  # it begins with a header
        frames += 1
        at += size
    assert frames >= 10
    archive.extract(io.BytesIO(data), tmp_path / "out")
    assert contents(tmp_path / "out") == contents(tree)


def test_names_as_tar_makes_them(engine: str, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    for paths, first in (
        ((".",), ["."]),
        (("sub/",), ["sub"]),
        (("sub/deep", "text"), ["sub/deep", "sub/deep/er", "sub/deep/er/file", "text"]),
        ((str(tree / "text"),), [str(tree / "text").lstrip("/")]),
        (("sub/../text",), ["text"]),
        (("./sub/deep/er",), ["./sub/deep/er", "./sub/deep/er/file"]),
    ):
        found = [entry.name for entry in archive.entries(io.BytesIO(created(*paths)))]
        assert found[: len(first)] == first


def test_a_frame_too_large_to_be_kept_whole(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """zstd -T0 writes a stream as one frame of any size; here, a few hundred KiB count as too large."""
    monkeypatch.setattr("purepy.zstd.format.splitter.WHOLE_CONTENT_MAX", 1 << 17)
    monkeypatch.setattr("purepy.zstd.format.splitter.READ_SIZE", 1 << 15)
    data = noise(150_000) + bytes(300_000)
    made = packed((member("f"), data), ("g", b"g"))
    archive.extract(io.BytesIO(made), tmp_path)
    assert (tmp_path / "f").read_bytes() == data
    assert (tmp_path / "g").read_bytes() == b"g"
    with pytest.raises(zstd.ZstdError, match="truncated"):
        archive.verify(io.BytesIO(made[:-3]))


def test_reproducible(engine: str, tree: Path, tmp_path: Path) -> None:
    """Equal trees give equal archives, whatever the times, owners and order of their files."""
    shutil.copytree(tree, tmp_path / "other", symlinks=True)
    os.unlink(tmp_path / "other" / "twin")
    os.link(tmp_path / "other" / "text", tmp_path / "other" / "twin")
    made = created(base=tree, reproducible=True, threads=1)
    assert created(base=tmp_path / "other", reproducible=True, threads=3) == made
    for entry in archive.entries(io.BytesIO(made)):
        assert (entry.mtime_ns, entry.uid, entry.gid, entry.uname, entry.gname) == (0, 0, 0, "", "")
    (entry,) = archive.entries(io.BytesIO(created("text", base=tree, mtime=1.5, owner=(3_000_000, 7))))
    assert (entry.mtime_ns, entry.uid, entry.gid, entry.uname) == (1_500_000_000, 3_000_000, 7, "")


def test_strip_components_and_members(engine: str, tree: Path, tmp_path: Path) -> None:
    archive.create(tmp_path / "a.tar.zst", "sub", "text", "twin", base=tree)
    archive.extract(tmp_path / "a.tar.zst", tmp_path / "out", strip_components=1, exclude=["deep", "up"])
    assert sorted(os.listdir(tmp_path / "out")) == sorted(set(os.listdir(tree / "sub")) - {"deep", "up"})
    archive.extract(tmp_path / "a.tar.zst", tmp_path / "some", include=["sub/deep", "t?xt"])
    assert sorted(contents(tmp_path / "some")) == ["sub", "sub/deep", "sub/deep/er", "sub/deep/er/file", "text"]
    found = archive.extract(tmp_path / "a.tar.zst", tmp_path / "some", include="sub/program", strip_components=9)
    assert not found.problems


def test_over_existing_files(engine: str, tree: Path, tmp_path: Path) -> None:
    """Files, links and directories replace existing ones with the same names; others stay."""
    archive.create(tmp_path / "a.tar.zst", base=tree)
    out = tmp_path / "out"
    (out / "text" / "in the way").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        archive.extract(tmp_path / "a.tar.zst", out)
    shutil.rmtree(out)
    out.mkdir()
    (out / "sub").write_text("a file where a directory belongs")
    os.symlink("/nowhere", out / "link")
    os.symlink("/etc/passwd", out / "text")
    (out / "other").write_text("other")
    for _ in range(2):
        archive.extract(tmp_path / "a.tar.zst", out)
        (out / "other").unlink(missing_ok=True)
        assert contents(out) == contents(tree)
    assert not [name for name in os.listdir(out) if name.startswith(".cpkg")]


@pytest.mark.skipif(not is_root(), reason="needs root for devices and owners")
def test_devices_owners_and_special_modes(engine: str, tmp_path: Path) -> None:
    tree = make_files(tmp_path / "tree", {"owned": b"x", "setuid": b"x", "closed/inside": b"x"})
    os.mkfifo(tree / "fifo")
    os.mknod(tree / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    os.chown(tree / "owned", 12345, 3_000_000)
    (tree / "sticky").mkdir()
    for name, mode in (("setuid", 0o4777), ("sticky", 0o1777), ("closed", 0o555)):
        (tree / name).chmod(mode)
    archive.create(tmp_path / "a.tar.zst", base=tree)
    archive.extract(tmp_path / "a.tar.zst", tmp_path / "out", filter="fully_trusted")
    assert contents(tmp_path / "out") == contents(tree)
    status = os.stat(tmp_path / "out" / "owned")
    assert (status.st_uid, status.st_gid) == (12345, 3_000_000)
    problems = extracted(tmp_path / "a.tar.zst", tmp_path / "data")
    assert sorted(problem.name for problem in problems) == ["./fifo", "./null"]
    modes = {name: value[1] for name, value in contents(tmp_path / "data").items()}
    assert modes == {"owned": 0o644, "setuid": 0o755, "sticky": 0o755, "closed": 0o755, "closed/inside": 0o644}
    archive.extract(tmp_path / "a.tar.zst", tmp_path / "tar", filter="tar")
    modes = {name: value[1] for name, value in contents(tmp_path / "tar").items()}
    assert modes["closed"] == 0o555
    assert modes["setuid"] == 0o755


def test_a_system_that_reports_no_holes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the system does not report holes, a sparse file is archived completely."""
    tree, lseek = make_files(tmp_path / "tree", {"sparse": b"begin"}), os.lseek
    os.truncate(tree / "sparse", 1 << 20)

    def refuse(number: int, offset: int, how: int) -> int:
        if how > os.SEEK_END:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return lseek(number, offset, how)

    monkeypatch.setenv("CPKG_ARCHIVE_BACKEND", "pure")
    monkeypatch.setattr(os, "lseek", refuse)
    archive.create(tmp_path / "a.tar.zst", base=tree, sparse=True)
    archive.extract(tmp_path / "a.tar.zst", tmp_path / "out")
    assert (tmp_path / "out" / "sparse").read_bytes() == b"begin".ljust(1 << 20, b"\0")


def test_sparse_files_both_ways(engine: str, tmp_path: Path) -> None:
    tree = make_files(tmp_path / "tree", {"hole": b""})
    make_sparse(tree / "sparse", 30, 1 << 18, 4000)
    os.truncate(tree / "hole", 2 << 20)
    archive.create(tmp_path / "a.tar.zst", base=tree, sparse=True)
    assert archive.extract(tmp_path / "a.tar.zst", tmp_path / "out").size < 1 << 20
    assert contents(tmp_path / "out") == contents(tree)
    assert (tmp_path / "out" / "sparse").stat().st_blocks * 512 < 2 << 20
    if shutil.which("tar"):
        stream = uncompressed((tmp_path / "a.tar.zst").read_bytes())
        assert by_gnu_tar(stream, tmp_path / "theirs") == contents(tree)


def test_entries_have_everything(engine: str) -> None:
    values = {"devmajor": 1, "devminor": 3, "uname": "u", "gname": "g", "uid": 4, "gid": 5, "mtime": 6}
    (entry,) = archive.entries(io.BytesIO(packed(member("d", tarfile.CHRTYPE, **values))))
    assert (entry.type, entry.device, entry.uname, entry.gname) == ("character", (1, 3), "u", "g")
    assert (entry.uid, entry.gid, entry.mtime_ns, entry.position) == (4, 5, 6 * 10**9, 0)
    assert pickle.loads(pickle.dumps(entry)) == entry == entry.replace() != entry.replace(uid=5)
    assert weakref.ref(entry)() is entry
    with pytest.raises(TypeError, match="colour"):
        entry.replace(colour="red")
    with pytest.raises(AttributeError, match="mtime"):
        entry.mtime = 5  # type: ignore[attr-defined]


@pytest.mark.skipif(
    "native" not in ENGINES or _backend.choose("zstd").module.BACKEND == "pure", reason="needs the C side and libzstd"
)
def test_the_same_bytes_without_the_loop_in_c(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C gives the same headers, order, frames and compressed bytes as Python."""
    # more directories than can stay open for a frame
    make_files(tree / "many", {f"{number}/deep/file": bytes([number]) * number * 40 for number in range(90)})
    deeper = "/".join(f"deeper {number}" for number in range(20))
    make_files(tree, {"large": 300_000, "x" * 99: b"", "y" * 100: b"", f"{deeper}/bottom": b"bottom"})
    (tree / "sub" / ("z" * 97)).mkdir()
    os.symlink("t" * 100, tree / "link100")
    os.symlink("t" * 101, tree / "link101")
    make_files(tree / "modes", {f"{number:02}": bytes(number) for number in range(40)})
    for number in range(40):  # more modes than C knows at a time
        (tree / "modes" / f"{number:02}").chmod(0o600 + number % 20)
    make_files(tree / "crowd", {f"{number:02}": b"" for number in range(20)})
    monkeypatch.setattr("cpkg.archive._native_frames._FILES_MAX", 7)  # files per call
    make_files(tree, {"hole": b""})
    os.truncate(tree / "hole", 100_000)
    os.utime(tree / "crowd" / "05", ns=(0, 8**11 * 10**9 - 1))
    os.utime(tree / "crowd" / "06", ns=(0, 1))
    if is_root():
        os.mknod(tree / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        os.chown(tree / "text", 3_000_000, 12345)
    os.mkfifo(tree / "fifo")
    choices: list[dict[str, Any]] = [
        {"frame_size": 100_000, "level": 1, "exclude": ["*.log", "d*p/er", "sub/s?cret", "\\*"]},
        *({}, {"frame_size": 64 << 10}, {"reproducible": True, "threads": 1}),
        {"mtime": -1.25, "owner": (1 << 31, 5), "recursive": True},
        *({"numeric_owner": True, "sort": True}, {"recursive": False}),
        {"include": ["*0*", "file"], "sparse": True},
    ]
    for options in some(choices, 4):
        for paths in ((".",), ("sub", "text", "twin", "many/5"), (str(tree), "sub/")):
            made = []
            for engine in ("native", "pure"):
                monkeypatch.setenv("CPKG_ARCHIVE_BACKEND", engine)
                target, told = io.BytesIO(), []
                summary = archive.create(target, *paths, base=tree, on_entry=told.append, **options)
                made.append((target.getvalue(), summary, told))
            assert made[0] == made[1], (options, paths)


@needs("unshare", "mount")
def test_a_system_without_proc(engine: str, tmp_path: Path) -> None:
    """As in a bare chroot: links and special files, the second time over the first."""
    tree = make_files(tmp_path / "tree", {"a": b"a", "large": 300_000})
    (tree / "d").mkdir()
    os.link(tree / "a", tree / "d" / "b")
    os.symlink("a", tree / "link")
    subprocess.run(["ln", "-P", tree / "link", tree / "twin"], check=True)
    os.mkfifo(tree / "fifo", 0o640)
    # owned by the user who extracts it, because a user namespace may have no other users
    archive.create(tmp_path / "a.tar.zst", base=tree, frame_size=64 << 10, owner=(0, 0), numeric_owner=True)
    script = 'mount -t tmpfs none /proc && exec "$@"'
    program = sections(__file__, "programs.txt")["without proc"]
    command = ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c", script, "sh", sys.executable, "-c", program]
    arguments = [tmp_path / "a.tar.zst", tmp_path / "out"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path)
    if done.stderr.startswith(("unshare:", "mount:")):
        pytest.skip(f"cannot hide /proc: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "out") == contents(tree)
