# SPDX-License-Identifier: Apache-2.0
"""The documentation of compression.zstd about ZstdFile and open(), on every backend."""

from __future__ import annotations

import gc
import io
import os
import pathlib
import sys
from types import ModuleType, SimpleNamespace

import pytest
from odd_files import Target
from zstd_data import FRAME_ABC, TEXT

LINES = TEXT.splitlines(keepends=True)


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "file.zst"


@pytest.mark.parametrize("mode", ["w", "xb", "a"])
def test_write_and_read_by_name(zstd: ModuleType, path: pathlib.Path, mode: str) -> None:
    for name in (path, str(path), os.fsencode(path)):
        with zstd.ZstdFile(name, mode) as file:
            assert file.write(TEXT) == len(TEXT)
            assert (file.mode, file.writable(), file.readable(), file.seekable()) == ("wb", True, False, False)
            assert file.name == name or file.name == str(path)
            assert file.tell() == len(TEXT)
            assert isinstance(file.fileno(), int)
        for read_mode in ("r", "rb"):
            with zstd.ZstdFile(name, read_mode) as file:
                assert (file.mode, file.writable(), file.readable(), file.seekable()) == ("rb", False, True, True)
                assert file.read() == TEXT
                assert file.tell() == len(TEXT)
        path.unlink()


def test_a_subclass_pledges_a_size(zstd: ModuleType) -> None:
    """conda-package-streaming 0.13 does so."""
    target = io.BytesIO()
    with zstd.ZstdFile(target, "w") as file:
        file._compressor.set_pledged_input_size(1000)
        file.write(bytes(1000))
    assert zstd.get_frame_info(target.getvalue()).decompressed_size == 1000
    target.seek(0)
    with zstd.ZstdFile(target) as file:
        assert not hasattr(file, "_compressor")


def test_temporary_file_object(zstd: ModuleType, path: pathlib.Path) -> None:
    """The file stays open while one of its methods runs, and closes itself afterwards."""
    path.write_bytes(zstd.compress(TEXT))
    assert zstd.open(path).read() == TEXT
    assert [line for line in zstd.open(path)] == LINES  # noqa: C416
    assert zstd.open(path).readline() == LINES[0]
    with zstd.open(path, "rt", encoding="utf-8") as text:
        assert text.read() == TEXT.decode()
    gc.collect()


def test_a_file_object_needs_only_the_method_of_its_mode(zstd: ModuleType) -> None:
    target = io.BytesIO()
    reader, writer = SimpleNamespace(read=None), SimpleNamespace(write=target.write)
    for mode, lacking in (("r", writer), ("w", reader)):
        with pytest.raises(TypeError, match="file must be a file-like object"):
            zstd.ZstdFile(lacking, mode)
    with zstd.ZstdFile(writer, "w") as file:
        file.write(TEXT)
    reader.read = io.BytesIO(target.getvalue()).read
    with zstd.ZstdFile(reader) as file:
        assert file.read() == TEXT


def test_seek_needs_a_seekable_file(zstd: ModuleType) -> None:
    source = io.BytesIO(zstd.compress(TEXT))
    source.seekable = lambda: False  # type: ignore[method-assign]
    with zstd.ZstdFile(source) as file:
        assert not file.seekable()
        pytest.raises(io.UnsupportedOperation, file.seek, 0)
        assert file.read() == TEXT


def test_truncated_file(zstd: ModuleType) -> None:
    compressed = zstd.compress(TEXT, options={zstd.CompressionParameter.checksum_flag: 1})
    with zstd.ZstdFile(io.BytesIO(compressed[:-4])) as file:
        # all available content can be read; only then is the missing end an error
        assert file.read(len(TEXT)) == TEXT
        pytest.raises(EOFError, file.read, 1)


def test_written_bytes(zstd: ModuleType) -> None:
    """The same bytes as from a ZstdCompressor, however the writes are divided and however little the file takes."""
    compressor = zstd.ZstdCompressor(1)
    expected = compressor.compress(TEXT) + compressor.flush()
    for step in (1000, 70_000, 10**6):
        target, slow = io.BytesIO(), Target(most=7)
        with zstd.ZstdFile(target, "w", level=1) as file, zstd.ZstdFile(slow, "w", level=1) as other:
            for start in range(0, len(TEXT), step):
                file.write(TEXT[start : start + step])
                other.write(TEXT[start : start + step])
        assert target.getvalue() == slow.content == expected


@pytest.mark.parametrize("newline", [None, "", "\n", "\r\n"])
def test_text_mode(zstd: ModuleType, path: pathlib.Path, newline: str | None) -> None:
    content = "first\nsecond ünïcödé\r\nthird"
    with (
        zstd.open(path, "wt", encoding="utf-8", newline=newline) as text,
        open(f"{path}.txt", "w", encoding="utf-8", newline=newline) as plain,
    ):
        assert isinstance(text, io.TextIOWrapper)
        text.write(content)
        plain.write(content)
    with zstd.open(path) as binary, open(f"{path}.txt", "rb") as plain_binary:
        assert binary.read() == plain_binary.read()
    with (
        zstd.open(path, "rt", encoding="utf-8", newline=newline) as text,
        open(f"{path}.txt", encoding="utf-8", newline=newline) as plain,
    ):
        assert list(text) == list(plain)
        text.seek(0)
        plain.seek(0)
        assert text.read(7) == plain.read(7)
        assert text.readline() == plain.readline()
        assert isinstance(text.buffer, zstd.ZstdFile)
    with zstd.open(path, "rt", encoding="ascii", errors="replace") as text:
        assert "\ufffd" in text.read()


def test_subclass_keeps_its_methods(zstd: ModuleType) -> None:
    class Loud(zstd.ZstdFile):  # type: ignore[name-defined,misc]
        def read(self, size: int | None = -1) -> bytes:
            return super().read(size).upper()

    with Loud(io.BytesIO(FRAME_ABC)) as file:
        assert file.read() == b"ABC"
        file.seek(0)
        assert file.readline() == b"abc"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "UTF_16", "utf-8-sig", "utf-16-le"])
@pytest.mark.parametrize("threads", [None, 2])
def test_text_has_encoding_mark(zstd: ModuleType, encoding: str, threads: int | None, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "text.zst"
    for text in ("first\n", ""):
        with zstd.open(path, "wt", encoding=encoding, newline="\n", threads=threads) as file:
            for part in text.partition("r"):
                file.write(part)
        written = path.read_bytes()  # empty with threads if io.TextIOWrapper passes on nothing (from 3.14)
        assert (zstd.decompress(written).decode(encoding) if written else "") == text
    with zstd.open(path, "wt", encoding=encoding, newline="\n") as file:
        file.write("first\n")
    assert zstd.decompress(path.read_bytes()) == "first\n".encode(encoding)
    with zstd.open(path, "rt", encoding=encoding) as file:
        assert file.read() == "first\n"
    if sys.implementation.name == "cpython" and encoding != "utf-8-sig":  # else io.TextIOWrapper writes another mark
        with zstd.open(path, "at", encoding=encoding, newline="\n") as file:
            file.write("second\n")
        assert zstd.decompress(path.read_bytes()) == "first\nsecond\n".encode(encoding)
