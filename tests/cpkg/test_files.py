# SPDX-License-Identifier: Apache-2.0
"""dump and load: files appear complete or not at all, with the same permissions as with open()."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from threads import beside

import cpkg
from purepy.base.new_files import replacing
from purepy.zstd.seekable.frame_index import write_index
from purepy.zstd.seekable.table import SeekTable

VALUE = {"a": [1, 2.5, "text"] * 50}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return an existing file, alone in its folder."""
    (tmp_path / "x").write_bytes(b"old")
    return tmp_path / "x"


@pytest.mark.parametrize("kind", [str, os.fsencode, Path])
def test_paths(tmp_path: Path, kind: Any) -> None:
    path = kind(str(tmp_path / "données.mpz"))
    cpkg.dump(VALUE, path)
    assert cpkg.load(path) == VALUE
    assert (tmp_path / "données.mpz").read_bytes() == cpkg.dumps(VALUE)
    assert len(list(tmp_path.iterdir())) == 1


def test_file_objects(tmp_path: Path) -> None:
    file = io.BytesIO()
    cpkg.dump(VALUE, file, compress=False)
    assert file.getvalue() == cpkg.dumps(VALUE, compress=False)
    file.seek(0)
    assert cpkg.load(file) == VALUE
    with open(tmp_path / "x", "wb", buffering=0) as raw:
        cpkg.dump(VALUE, raw)
    with open(tmp_path / "x", "rb", buffering=0) as raw:
        assert cpkg.load(raw) == VALUE


def test_files_opened_for_text_are_refused(tmp_path: Path) -> None:
    calls = ("w", partial(cpkg.dump, VALUE), "'wb'", "write"), ("r", cpkg.load, "'rb'", "read")
    for mode, call, wanted, method in calls:
        with open(tmp_path / "x", mode) as file, pytest.raises(TypeError, match=wanted):
            call(file)
        for place in (1.5, True, None):
            pytest.raises(TypeError, call, place).match(rf"a binary file with {method}\(\), not")


def test_arguments_reach_dumps_and_loads(path: Path) -> None:
    options: dict[str, Any] = {"compress": True, "level": 1, "checksum": False, "default": str, "sort_keys": True}
    cpkg.dump({"b": 1j, "a": (1, 2)}, path, **options)
    assert path.read_bytes() == cpkg.dumps({"b": 1j, "a": (1, 2)}, **options)
    assert cpkg.load(path, use_list=False) == {"a": (1, 2), "b": "1j"}
    pytest.raises(cpkg.LimitError, cpkg.load, path, max_output_size=3)


def test_nothing_is_left_of_a_failed_dump(path: Path) -> None:
    for place in (path, path.with_name("new")):
        pytest.raises(TypeError, cpkg.dump, object(), place)
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]
    file = io.BytesIO()
    pytest.raises(TypeError, cpkg.dump, [1, object()], file)
    assert file.getvalue() == b""


def test_a_system_that_removes_no_open_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows is such a system."""
    folder, unlink = "/proc/self/fd", os.unlink

    def opened() -> Iterator[str]:
        for number in os.listdir(folder) if os.path.isdir(folder) else []:
            with contextlib.suppress(OSError):
                yield os.readlink(f"{folder}/{number}")

    def refusing(path: str) -> None:
        if path in opened():
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        unlink(path)

    monkeypatch.setattr(os, "unlink", refusing)
    with pytest.raises(KeyError), replacing(tmp_path / "x") as file:
        {}[file.write(b"half")]  # writes, and raises KeyError
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(SeekTable, "to_bytes", lambda _: {}[0])
    pytest.raises(KeyError, write_index, tmp_path / "x", SeekTable(checksums=False))
    assert list(tmp_path.iterdir()) == []


def test_readers_see_the_old_file_until_the_new_one_is_whole(path: Path) -> None:
    with open(path, "rb") as reader:
        with replacing(path) as file:
            file.write(b"new")
            assert path.read_bytes() == b"old"
            (name,) = {entry.name for entry in path.parent.iterdir()} - {"x"}
            assert re.fullmatch(rf"\.x\.cpkg-{os.getpid()}-[0-9a-f]+\.tmp", name)
        assert reader.read() == b"old"
    assert path.read_bytes() == b"new"


def test_permissions(path: Path) -> None:
    """A new file gets those of open(); an existing file keeps its own, also while it is written."""
    umask = os.umask(0o027)
    try:
        cpkg.dump(VALUE, path.with_name("new"))
        path.chmod(0o604)
        cpkg.dump(VALUE, path)
    finally:
        os.umask(umask)
    assert stat.S_IMODE(path.with_name("new").stat().st_mode) == 0o640
    assert stat.S_IMODE(path.stat().st_mode) == 0o604
    path.chmod(0o600)
    with replacing(path):
        (name,) = {entry.name for entry in path.parent.iterdir()} - {"x", "new"}
        assert stat.S_IMODE(path.with_name(name).stat().st_mode) == 0o600


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    expected = cpkg.dumps(VALUE)  # here, so that a failure does not leave the reader waiting for a writer
    with beside(partial(cpkg.dump, VALUE, path)) as errors:
        assert path.read_bytes() == expected
    assert errors == []
    assert stat.S_ISFIFO(path.stat().st_mode)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
def test_a_read_only_file_is_not_replaced(path: Path) -> None:
    path.chmod(0o444)
    pytest.raises(PermissionError, cpkg.dump, VALUE, path)
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("has_links", [True, False])
def test_without_overwrite_a_file_is_kept(path: Path, has_links: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """This also holds on systems without hard links, as in browsers."""
    if not has_links:
        monkeypatch.delattr(os, "link")
    with pytest.raises(FileExistsError), replacing(path, overwrite=False) as file:
        file.write(b"second")
    path.unlink()

    def lose_the_race() -> None:
        with replacing(path, overwrite=False) as file:
            file.write(b"late")
            path.write_bytes(b"came into being")

    pytest.raises(FileExistsError, lose_the_race)
    assert path.read_bytes() == b"came into being"
    path.unlink()
    with replacing(path, overwrite=False) as file:
        file.write(b"first")
    assert path.read_bytes() == b"first"
    assert list(path.parent.iterdir()) == [path]
