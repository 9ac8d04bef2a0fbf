# SPDX-License-Identifier: Apache-2.0
"""fsspec: compression by name, and the content of one file as a filesystem, also over HTTP."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.compression import compr
from fsspec.implementations.memory import MemoryFile, MemoryFileSystem

from cpkg import zstd
from cpkg.integrations import fsspec as plug
from purepy.base.errors import ZstdError

CONTENT = b"".join(b"%d: a line of text\n" % number for number in range(50_000))


@pytest.fixture
def registered() -> Iterator[None]:
    before = dict(compr)
    plug.register(level=7)
    yield
    compr.clear()
    compr.update(before)


@pytest.fixture
def memory() -> Iterator[Any]:
    """Return a filesystem for this test."""
    yield MemoryFileSystem()
    MemoryFileSystem.store.clear()


def test_the_compression_is_found_by_the_name(tmp_path: Path, registered: None) -> None:
    path = tmp_path / "data.zst"
    with fsspec.open(str(path), "wb", compression="infer") as file:
        file.write(CONTENT)
    assert zstd.decompress(path.read_bytes()) == CONTENT
    with fsspec.open(str(path), "rb", compression="infer") as file:
        assert file.read() == CONTENT
    path.write_bytes(path.read_bytes()[:-1])
    with fsspec.open(str(path), "rb", compression="infer") as file, pytest.raises(EOFError):
        file.read()


def seekable() -> bytes:
    target = io.BytesIO()
    with zstd.SeekableZstdFile(target, "w", max_frame_content_size=10_000) as file:
        file.write(CONTENT)
    return target.getvalue()


@pytest.mark.parametrize(("data", "size"), [(zstd.compress(CONTENT), None), (seekable(), len(CONTENT))])
def test_the_content_of_a_file_is_a_filesystem(memory: Any, data: bytes, size: int | None) -> None:
    memory.pipe("/folder/data.txt.zst", data)
    system, name = fsspec.url_to_fs("zstd://data.txt::memory://folder/data.txt.zst")
    assert isinstance(system, plug.ZstdFileSystem)
    assert system.ls("") == [{"name": "data.txt", "size": size, "type": "file"}]
    assert system.cat(name) == CONTENT
    for start, end in ((300_000, 300_100), (-20, None), (-20, -10)):
        assert system.cat_file(name, start, end) == CONTENT[start:end]
    with fsspec.open("zstd://data.txt::memory://folder/data.txt.zst", "rt") as file:
        assert sum(1 for _ in file) == 50_000
    with pytest.raises(FileNotFoundError):
        system.open("other.txt")
    with pytest.raises(ValueError, match="read-only"):
        system.open(name, "wb")


def test_reading_a_part_of_a_seekable_file_fetches_only_a_part(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = seekable()
    memory.pipe("/data.zst", data)
    taken = []

    def read(self: Any, *size: Any) -> bytes:
        taken.append(io.BytesIO.read(self, *size))
        return taken[-1]

    monkeypatch.setattr(MemoryFile, "read", read)
    with fsspec.filesystem("zstd", fo="memory://data.zst").open("data") as file:
        file.seek(900_000)
        assert file.read(100) == CONTENT[900_000:900_100]
    assert 0 < sum(map(len, taken)) < len(data) // 4


def test_damage_is_an_error(memory: Any) -> None:
    memory.pipe("/data.zst", b"no frame at all")
    memory.pipe("/missing.zst", zstd.compress(CONTENT)[:-1])
    for name, error in (("data", ZstdError), ("missing", EOFError), ("absent", FileNotFoundError)):
        with pytest.raises(error):
            fsspec.filesystem("zstd", fo=f"memory://{name}.zst").cat(name)


def test_another_filesystem_does_not_decompress_the_content_again(memory: Any) -> None:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        info = tarfile.TarInfo("d/member")
        info.size = 4
        tar.addfile(info, io.BytesIO(b"data"))
    memory.pipe("/a.tar.zst", zstd.compress(content.getvalue()))
    with fsspec.open("zstd://a.tar::memory://a.tar.zst") as file:
        assert file.name == "a.tar"
    with fsspec.open("tar://d/member::zstd://a.tar::memory://a.tar.zst") as file:
        assert file.read() == b"data"
