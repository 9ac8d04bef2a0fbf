# SPDX-License-Identifier: Apache-2.0
"""Exactly the content of an archive is extracted, whatever files exist already and wherever frames end."""

from __future__ import annotations

import io
import itertools
import os
import subprocess
import sys
import tarfile
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from archives import contents, created, header_of, make_files, member, packed, rewritten
from archives import extracted as problems_of
from interrupts import Outcome, at_every_line, by_timer, storms
from processes import needs

from cpkg import archive, zstd
from purepy.base.errors import ArchiveError, ArchiveLimitError
from purepy.base.system import is_root
from purepy.tar import members

END = bytes(1024)
LINK, HARD, DIRECTORY = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE


def extracted(source: Any, out: Path, **options: Any) -> tuple[list[str], list[str]]:
    """Extract an archive; return the names that exist afterwards, and the names of the problems."""
    problems = problems_of(source, out, **options)
    return sorted(os.listdir(out)), [problem.name for problem in problems]


@pytest.mark.parametrize("is_path", [False, True])
def test_data_are_skipped_after_a_header_that_two_frames_share(engine: str, is_path: bool, tmp_path: Path) -> None:
    odd = header_of(member("odd" * 40, uid=3_000_000), bytes(200_000))
    content = header_of("a", b"a") + odd + header_of("b", b"b") + END
    for cut in (1024 + 256, 1024 + 512, 1024 + 1536):
        frames = [content[:cut], *(content[at : at + 50_000] for at in range(cut, len(content), 50_000))]
        (tmp_path / "a.tzst").write_bytes(b"".join(map(zstd.compress, frames)))
        source = tmp_path / "a.tzst"
        found = extracted(source if is_path else source.read_bytes(), tmp_path / "out", exclude="odd*")
        assert found == (["a", "b"], [])


def test_a_header_at_a_frame_border_before_a_missing_end(engine: str, tmp_path: Path) -> None:
    content = header_of("a", b"a") + header_of(member("last"))
    for cut in range(1024, len(content), 128):
        frames = zstd.compress(content[:cut]) + zstd.compress(content[cut:])
        with pytest.raises(ArchiveError, match="truncated"):
            archive.extract(io.BytesIO(frames), tmp_path / f"{cut}")
        assert sorted(os.listdir(tmp_path / f"{cut}")) == ["a", "last"]


@pytest.mark.parametrize("seeks", [True, False])
@pytest.mark.parametrize("size", [1, 4000, 3 << 20])
def test_zeros_may_fill_up_what_follows_the_last_frame(engine: str, size: int, seeks: bool, tmp_path: Path) -> None:
    """bsdtar writes such zeros into a pipe; zeros before a frame and an archive of only zeros are errors."""
    content = zstd.decompress(packed(*((f"f{number}", b"%d" % number * 30_000) for number in range(9))))
    frames = [zstd.compress(content[at : at + 50_000]) for at in range(0, len(content), 50_000)]
    indexed = created(base=make_files(tmp_path / "tree", {"a": 9000, "b": 100}), frame_size=64 << 10)

    def placed(data: bytes) -> Any:
        if not seeks:
            return io.BytesIO(data)
        (tmp_path / "a.tar.zst").write_bytes(data)
        return tmp_path / "a.tar.zst"

    for data, count in ((b"".join(frames), 9), (indexed, 3)):
        for recover in (False, True):
            options = {"recover": recover, "on_problem": pytest.fail}
            assert archive.extract(placed(data + bytes(size)), tmp_path / "out", **options).entries == count
        assert archive.verify(placed(data + bytes(size))).entries == count
        assert len(list(archive.entries(placed(data + bytes(size)), threads=2))) == count
    for data in (bytes(size), frames[0] + bytes(size) + b"".join(frames[1:]), b"".join(frames) + bytes(size) + b"\1"):
        with pytest.raises(zstd.ZstdError):
            archive.verify(placed(data))
    with pytest.raises(ArchiveError, match="end-of-archive marker is missing"):
        archive.verify(placed(zstd.compress(content[:-1024]) + bytes(size)))


def made_of(*items: dict[str, Any]) -> io.BytesIO:
    """Return an archive of members, each given by name, type, data and other values."""
    values = [{key: value for key, value in item.items() if key != "data"} for item in items]
    members = [(member(**value), item.get("data", b"")) for value, item in zip(values, items)]
    return io.BytesIO(packed(*members, format=tarfile.PAX_FORMAT))


def as_nobody(work: Callable[[], None], folder: Path) -> None:
    """Call a function in a child process that works in a folder, without root rights."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.chdir(folder)
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            work()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.parametrize(
    ("items", "wanted"),
    [
        ([("d/sub", 0o555, 5), ("d", 0o700, 6)], {"d": (0o700, 6), "d/sub": (0o555, 5)}),
        ([("d", 0o755, 5), ("d", 0o700, -6)], {"d": (0o700, -6)}),
        ([("d", 0o700, -6), ("d", 0o755, 5)], {"d": (0o755, 5)}),
    ],
    ids=["inner first", "odd last", "odd first"],
)
@pytest.mark.skipif(not is_root(), reason="needs root to become nobody")
def test_directories_get_what_their_last_entries_say(
    engine: str, items: list[tuple[str, int, int]], wanted: dict[str, tuple[int, int]], tmp_path: Path
) -> None:
    source = made_of(*({"name": n, "type": DIRECTORY, "mode": mode, "mtime": mtime} for n, mode, mtime in items))
    os.chmod(tmp_path, 0o777)
    as_nobody(lambda: [archive.extract(source, "out", filter="tar")].clear(), tmp_path)
    found = {name: (value[1], value[2] // 10**9) for name, value in contents(tmp_path / "out").items()}
    assert found == wanted


@pytest.mark.skipif(not is_root(), reason="needs root to become nobody")
def test_a_directory_of_another_owner_is_a_problem(engine: str, tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o777)
    (tmp_path / "out" / "d").mkdir(parents=True)
    os.chmod(tmp_path / "out" / "d", 0o777)
    source = made_of({"name": "d", "type": DIRECTORY}, {"name": "d/f", "data": b"x"})

    def work() -> None:
        assert extracted(source, Path("out")) == (["d"], ["d"])

    as_nobody(work, tmp_path)
    assert (tmp_path / "out/d/f").read_bytes() == b"x"


FILE_A = {"name": "a", "data": b"new"}
FULL = {"name": "full", "data": b"x"}


def link(name: str, target: str) -> dict[str, Any]:
    """Return a hard link."""
    return {"name": name, "type": HARD, "linkname": target}


@pytest.mark.parametrize(
    ("items", "wanted", "problems"),
    [
        ([link("b", "a"), FILE_A], {"a": b"new", "b": b"new"}, []),
        ([link("c", "b"), link("b", "a"), FILE_A], {"a": b"new", "b": b"new", "c": b"new"}, []),
        ([link("b", "a"), {"name": "b", "data": b"file"}, FILE_A], {"a": b"new", "b": b"file"}, []),
        ([FILE_A, link("b", "a"), {"name": "a", "data": b"two"}], {"a": b"two", "b": b"new"}, []),
        ([link("b", "old")], {"b": b"old"}, []),
        ([link("b", "b")], {}, ["b"]),
        ([FULL, link("b", "full")], {}, ["b", "full"]),
        ([FULL, link("full", "full"), link("d/b", "full")], {}, ["d/b", "full", "full"]),
        ([FULL, FILE_A, link("a", "full"), link("b", "a")], {"a": b"new"}, ["a", "b", "full"]),
        ([FILE_A, link("b", "a"), {"name": "a", "type": tarfile.FIFOTYPE}], {"a": b"new", "b": b"new"}, ["a"]),
    ],
    ids=["before its file", "chain", "replaced", "of the first", "of what was there", "itself", "of what failed",
         "of itself that failed", "of a link that failed", "of what fails later"],
)  # fmt: skip
def test_hard_links_over_an_old_tree(
    engine: str, items: list[dict[str, Any]], wanted: dict[str, bytes], problems: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    (out / "full" / "in the way").mkdir(parents=True)
    for name in ("a", "old"):
        (out / name).write_bytes(b"old")
    names, found = extracted(made_of(*items), out)
    assert sorted(found) == problems
    files = {name: (out / name).read_bytes() for name in names if name not in ("full", "old")}
    assert files == {"a": b"old", **wanted}


@pytest.mark.parametrize("type", [tarfile.REGTYPE, LINK, HARD])
def test_an_empty_directory_is_replaced(engine: str, type: bytes, tmp_path: Path) -> None:
    """An empty directory is replaced, as by GNU tar and bsdtar; a directory with content stays."""
    for name in ("empty", "full/in the way"):
        (tmp_path / name).mkdir(parents=True)
    items = [{"name": name, "type": type, "linkname": "a"} for name in ("empty", "full")]
    assert extracted(made_of(FILE_A, *items), tmp_path)[1] == ["full"]
    assert (tmp_path / "empty").is_symlink() or (tmp_path / "empty").is_file()


SWAPS = [(DIRECTORY, "symbolic"), *itertools.product((tarfile.FIFOTYPE, tarfile.CHRTYPE, LINK), ("symbolic", "hard"))]


@pytest.mark.skipif(not is_root(), reason="needs root to change files of others")
@needs("cc")
def test_a_file_that_is_swapped_in_stays_as_it_is(engine: str, run_preloaded: Any, tmp_path: Path) -> None:
    """Mode, owner and times are set on the extracted file, even if another program replaces the file meanwhile."""
    before = []
    values = {"mode": 0o4777, "uid": 77, "gid": 78, "linkname": "x", "devmajor": 1, "devminor": 3}
    for number, (type, _) in enumerate(SWAPS):
        victim = tmp_path / f"victim{number}"
        victim.mkdir(0o700) if type == DIRECTORY else victim.touch(0o600)
        os.chown(victim, 12, 13)
        before.append(os.stat(victim))
        items = [{"name": "swapped", "type": type, **values}, {"name": "swapped/f", "data": b"x"}]
        (tmp_path / f"{number}.tzst").write_bytes(made_of(*items[: 1 + (type == DIRECTORY)]).getvalue())
    output = run_preloaded("swapped", "a swapped file", *(how for _, how in SWAPS), cwd=tmp_path).splitlines()
    for number, ((type, how), problems) in enumerate(zip(SWAPS, output)):
        after = os.stat(tmp_path / f"victim{number}")
        assert (after.st_mode, after.st_uid, after.st_gid) == (before[number].st_mode, 12, 13), (type, how)
        assert after.st_mtime_ns == before[number].st_mtime_ns, (type, how)
        if type == LINK and not problems:  # the other link is equivalent, or our link was extracted again
            assert (tmp_path / f"out{number}" / "swapped").is_symlink()
        else:
            assert problems.split() == ["swapped/f" if type == DIRECTORY else "swapped"], (type, how)
    assert len(output) == len(SWAPS)


def test_records_for_all_entries_are_bounded(engine: str, tmp_path: Path) -> None:
    """Unknown records are not kept, however many there are."""

    def with_global(*records: bytes) -> io.BytesIO:
        headers = [header_of(member("g", b"g"), record) for record in records]
        return io.BytesIO(zstd.compress(b"".join(headers) + header_of("a", b"a") + END))

    long = b"100012 k=" + b"a" * 100_002 + b"\n"
    assert extracted(with_global(*[long] * 30, b"12 mtime=77\n"), tmp_path / "a") == (["a"], [])
    assert (tmp_path / "a/a").stat().st_mtime == 77
    kept = b"".join(b"27 SCHILY.xattr.user.%04d=\n" % number for number in range(4000))
    with pytest.raises(ArchiveLimitError, match="for all entries"):
        archive.extract(with_global(kept), tmp_path / "b")


@pytest.mark.parametrize(("depth", "width"), [(100, 50), pytest.param(1500, 300, marks=pytest.mark.nightly)])
def test_deep_trees_and_few_descriptors(engine: str, depth: int, width: int, tmp_path: Path) -> None:
    """Depth, breadth and threads never need more descriptors than are available."""
    deep = "d/" * depth
    items = [{"name": f"{deep[: 2 * at]}f{at}", "data": b"x"} for at in (depth, 3, depth, 40, depth // 2, 0)]
    items += [{"name": f"wide{number}/f", "data": b"x"} for number in range(width)]
    source = made_of(*items)
    import resource

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 40, before[1]))
    try:
        summary = archive.extract(source, tmp_path, threads=12)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert (summary.entries, summary.problems) == (6 + width, [])
    assert os.path.exists(tmp_path / deep / f"f{depth}")
    subprocess.run(["rm", "-rf", tmp_path / "d"], check=True)  # too deep for the recursion of shutil


def test_a_list_of_members_that_leaves_out_a_part_of_a_file(engine: str, tmp_path: Path) -> None:
    """The frames of the file are not combined with others."""
    tree = make_files(tmp_path / "tree", {"large": 300_000})
    archive.create(tmp_path / "a", "large", base=tree, frame_size=64 << 10)

    def without_the_third(frame: bytes) -> bytes:
        lying = members.Members()
        for index in range(len(members.read(frame) or ())):
            lying.append(array("H", [crc32(b"large") & 0xFFFF] * (index != 2)), False)
        return lying.to_bytes()

    lying = rewritten(tmp_path / "a", without_the_third)
    for read in (
        lambda: archive.extract(lying, tmp_path / "out", include="large"),
        lambda: list(archive.entries(lying, include="large")),
    ):
        with pytest.raises(ArchiveError, match="list of members is wrong"):
            read()
    assert not (tmp_path / "out").exists()


CALLS: dict[str, Callable[[Path, Path, int], Any]] = {
    "extract": lambda source, out, threads: archive.extract(source, out, threads=threads),
    "extract with on_entry": lambda source, out, threads: archive.extract(
        io.BytesIO(source.read_bytes()), out, threads=threads, on_entry=lambda entry: None
    ),
    "entries": lambda source, _, threads: [entry.name for entry in archive.entries(source, threads=threads)],
    "verify": lambda source, _, threads: archive.verify(source, threads=threads).entries,
}


@pytest.mark.once
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a file that was not closed yet
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("by", ["lines", *storms("signal", "two signals")])
@pytest.mark.parametrize("call", CALLS)
def test_an_interrupt(engine: str, threads: int, by: str, call: str, tmp_path: Path) -> None:
    """No thread continues, no descriptor stays open, and each existing file is complete."""
    items = [{"name": f"d{number % 3}/f{number}", "data": b"%d" % number * 3000} for number in range(9)]
    items += [{"name": "odd", "uid": 3_000_000, "data": b"o" * 70_000}, {"name": "l", "type": HARD, "linkname": "odd"}]
    content = zstd.decompress(made_of(*items).getvalue())
    source = tmp_path / "a.tar.zst"
    source.write_bytes(b"".join(zstd.compress(content[at : at + 30_000]) for at in range(0, len(content), 30_000)))
    wanted = {item["name"]: item.get("data", b"o" * 70_000) for item in items}
    returned = {"entries": list(wanted), "verify": len(wanted)}.get(call)
    is_extracting = returned is None
    numbers = itertools.count()

    def make() -> Path:
        return tmp_path / f"{next(numbers)}"

    def act(out: Path) -> Any:
        return CALLS[call](source, out, threads)

    def check(out: Path, outcome: Outcome) -> None:
        assert outcome.error is None or outcome.is_interrupted, outcome.error
        found = {name: value[3][0] for name, value in contents(out).items() if value[3]} if out.exists() else {}
        if by == "two signals":  # the second may keep a temporary file from being removed
            found = {name: data for name, data in found.items() if not name.rpartition("/")[2].startswith(".cpkg-")}
        assert found.items() <= wanted.items()
        if outcome.error is None:
            assert found == wanted if is_extracting else outcome.value == returned

    if by == "lines":
        assert at_every_line(make, act, check, times=1, every=8 if call == "extract with on_entry" else 14) > 5
    else:
        # on PyPy, a signal may interrupt Python code between os.open and the code that keeps the descriptor
        settles = engine == "native" or sys.implementation.name == "cpython"
        by_timer(make, act, check, times=60, signals=1 + (by == "two signals"), settles=settles)
