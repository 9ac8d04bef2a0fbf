# SPDX-License-Identifier: Apache-2.0
"""What counts as a URL, a file or a descriptor; uploads that fail; files that have no data yet."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from pathlib import Path
from typing import Any, Callable, ClassVar

import interrupts
import pytest
from record_files import read_all, write_all

import cpkg
from cpkg import _places, _urls, archive
from cpkg.records.sources import open_target
from purepy.base import descriptors

VALUE = {"a": list(range(100))}
URLS = ["s3://bucket/x", "simplecache::s3://bucket/x", "zip://inner.csv::/local/a.zip"]
NAMES = ["notes.txt::v2.tar.zst", "./x::y", "std::vector.tar.zst", "c://x", "plain", ""]


def test_what_is_a_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert list(filter(_urls.is_url, URLS + NAMES)) == URLS
    Path("ab:").mkdir()
    assert _urls.is_url("ab://file")
    Path("ab:/file").touch()
    assert not any(map(_urls.is_url, ("ab://file", Path("s3://x"), b"s3://x")))


WAYS: dict[str, tuple[Callable[[Any], None], Callable[[Any], Any], Any]] = {
    "objects": (lambda place: cpkg.dump(VALUE, place), cpkg.load, VALUE),
    "records": (lambda place: write_all(place, VALUE["a"]), read_all, VALUE["a"]),
    "archive": (
        lambda place: archive.create(place, "tree"),
        lambda place: [entry.name for entry in archive.entries(place)],
        ["tree", "tree/x"],
    ),
}
ways = pytest.mark.parametrize(("write", "read", "wanted"), WAYS.values(), ids=WAYS)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "x").touch()
    return tmp_path


@ways
def test_colons_in_a_name_write_no_other_file(tree: Path, write: Any, read: Any, wanted: Any) -> None:
    Path("notes.txt").write_text("notes")
    write("notes.txt::v2")
    assert read("notes.txt::v2") == wanted
    assert Path("notes.txt").read_text() == "notes"


@ways
def test_a_descriptor_is_the_callers(tree: Path, write: Any, read: Any, wanted: Any) -> None:
    with open("x", "w+b", buffering=0) as file:
        write(file.fileno())
        assert file.tell() == os.stat("x").st_size
        file.seek(0)
        assert read(file.fileno()) == wanted
        file.seek(0)  # it is still open


@ways
def test_urls(tree: Path, write: Any, read: Any, wanted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")
    write("memory://places/x")
    assert read("memory://places/x") == wanted
    pytest.raises(FileNotFoundError, read, "memory://places/missing")
    pytest.raises(OSError, read, "nosuch://x").match("Protocol not known: nosuch")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    for call in (read, write):
        with pytest.raises(ImportError, match=r"^memory://places/x: install fsspec to open URLs"):
            call("memory://places/x")


class Trickle(io.RawIOBase):
    """A non-blocking file that has no data between two pieces."""

    def __init__(self, *pieces: bytes | None) -> None:
        self.pieces = iter(pieces)

    def readable(self) -> bool:
        return True

    def readinto(self, memory: Any) -> int | None:
        piece = next(self.pieces, b"")
        if piece is None:
            return None
        memory[: len(piece)] = piece
        return len(piece)


def test_an_archive_that_has_nothing_now(tree: Path) -> None:
    archive.create("x", "tree")
    data = Path("x").read_bytes()
    whole = archive.verify(io.BytesIO(data)).entries
    for end in range(1, len(data)):
        pytest.raises(BlockingIOError, archive.verify, Trickle(data[:end], None, data[end:]))
    assert archive.verify(Trickle(*(data[at : at + 100] for at in range(0, len(data), 100)))).entries == whole


@pytest.mark.once
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.parametrize(("old", "overwrite"), [(None, True), (b"old", True), (None, False)])
@pytest.mark.parametrize("by", ["line", *interrupts.storms("timer", "two signals")])
def test_a_write_that_is_interrupted_is_whole_or_not_there(
    tmp_path: Path, old: bytes | None, overwrite: bool, by: str
) -> None:
    new = bytes(range(256)) * 100

    def act(path: Path) -> None:
        with _places.writing(path, overwrite=overwrite) as file:
            for start in range(0, len(new), 1000):
                file.write(new[start : start + 1000])

    def make() -> Path:
        for path in tmp_path.iterdir():
            path.unlink()
        if old is not None:
            (tmp_path / "x").write_bytes(old)
        return tmp_path / "x"

    def check(path: Path, outcome: interrupts.Outcome) -> None:
        assert outcome.error is None or outcome.is_interrupted
        if not is_right(outcome):
            gc.collect()  # PyPy frees unreachable objects later
            assert is_right(outcome)

    def is_right(outcome: interrupts.Outcome) -> bool:
        found = {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()}
        if by == "two signals":  # the second may keep the name of the temporary file from being removed
            found = {name: data for name, data in found.items() if not name.endswith(".tmp")}
        return found == {"x": new} or (outcome.error is not None and found == ({} if old is None else {"x": old}))

    if by == "line":
        interrupts.at_every_line(make, act, check, times=3)
    else:
        interrupts.by_timer(make, act, check, times=300, signals=1 + (by == "two signals"))


@pytest.mark.once
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_an_upload_that_is_interrupted_is_whole_or_not_there(store: Any) -> None:
    new = bytes(200_000)

    def act(_: object) -> None:
        with _places.writing("failing://bucket/x") as file:
            file.write(new[:100_000])
            file.write(new[100_000:])

    def check(_: object, outcome: interrupts.Outcome) -> None:
        assert outcome.error is None or outcome.is_interrupted
        gc.collect()
        assert store.objects in ([{}, {"bucket/x": new}] if outcome.error else [{"bucket/x": new}])

    interrupts.at_every_line(store.objects.clear, act, check, times=3)


@pytest.mark.nightly
def test_a_descriptor_that_is_opened_or_closed_while_a_signal_comes_is_not_lost() -> None:
    def act(_: object) -> None:
        for _ in range(30):
            descriptors.Descriptor(os.devnull, os.O_RDONLY, by=os.open).close()

    interrupts.by_timer(object, act, lambda *_: None, times=1600)


def test_a_descriptor_that_was_closed_or_passed_on_has_no_number() -> None:
    descriptor = descriptors.Descriptor(os.devnull, os.O_RDONLY, by=os.open)
    with descriptor.file("rb", 0) as file:
        assert file.fileno() >= 0
        for _ in range(2):
            with pytest.raises(ValueError, match="closed descriptor, or on one that now belongs"):
                _ = descriptor.number
            descriptor.close()


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a store that assembles an object from pieces when its file is closed, and fails while `failing` is set."""
    fsspec = pytest.importorskip("fsspec")
    from fsspec.spec import AbstractBufferedFile, AbstractFileSystem

    class File(AbstractBufferedFile):  # type: ignore[misc, unused-ignore]
        def _initiate_upload(self) -> None:
            self.pieces: list[bytes] = []

        def _upload_chunk(self, final: bool = False) -> bool:
            if Store.failing:
                raise OSError(errno.EIO, "no network")
            self.pieces.append(self.buffer.getvalue())
            if final:
                Store.objects[self.path] = b"".join(self.pieces)
            return True

    class Store(AbstractFileSystem):  # type: ignore[misc, unused-ignore]
        protocol = "failing"
        objects: ClassVar[dict[str, bytes]] = {}
        failing = False

        def _open(self, path: str, mode: str = "rb", **options: object) -> File:
            return File(self, path, mode, block_size=1 << 16)

    fsspec.register_implementation("failing", Store, clobber=True)
    return Store


def test_an_upload_that_fails_says_so_at_every_close(store: Any) -> None:
    upload = _urls.Upload("failing://bucket/x")
    upload.write(b"content")
    store.failing = True
    pytest.raises(OSError, upload.close).match("no network")
    store.failing = False
    for call in (upload.close, upload.flush, lambda: upload.write(b"more"), upload.close):
        pytest.raises(OSError, call).match("earlier write to this upload failed")
    assert store.objects == {}
    upload.discard()
    upload.close()


@pytest.mark.parametrize("end", ["raise", "drop", "discard"])
def test_an_upload_that_is_given_up_leaves_nothing(store: Any, end: str) -> None:
    if end == "raise":
        with pytest.raises(KeyError), _places.writing("failing://bucket/x") as file:
            {}[file.write(bytes(100_000))]  # writes, and raises KeyError
    else:
        target = open_target("failing://bucket/x")
        target.write(0, bytes(100_000))
        if end == "discard":
            target.discard()
        del target
    gc.collect()
    assert store.objects == {}


def test_an_upload_does_not_overwrite_unless_asked(tree: Path) -> None:
    pytest.importorskip("fsspec")
    cpkg.dump(1, "memory://places/there")
    with pytest.raises(FileExistsError), _places.writing("memory://places/there", overwrite=False):
        pass
    assert cpkg.load("memory://places/there") == 1
