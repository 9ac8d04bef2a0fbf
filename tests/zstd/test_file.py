# SPDX-License-Identifier: Apache-2.0
"""The documentation of compression.zstd about ZstdFile and open(), on every backend."""

from __future__ import annotations

import array
import gc
import io
import os
import pathlib
from types import ModuleType
from typing import Any

import pytest
from zstd_data import FRAME_ABC, SKIPPABLE, TEXT

LINES = TEXT.splitlines(keepends=True)


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "file.zst"


@pytest.fixture
def reader(zstd: ModuleType) -> Any:
    """A file object open for reading TEXT."""
    with zstd.ZstdFile(io.BytesIO(zstd.compress(TEXT))) as file:
        yield file


@pytest.mark.parametrize("mode", ["w", "wb", "x", "xb", "a", "ab"])
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


def test_append_adds_a_frame(zstd: ModuleType, path: pathlib.Path) -> None:
    for _ in range(3):
        with zstd.open(path, "ab") as file:
            file.write(b"abc")
    with zstd.open(path) as file:
        assert file.read() == b"abcabcabc"


def test_exclusive_mode(zstd: ModuleType, path: pathlib.Path) -> None:
    path.touch()
    with pytest.raises(FileExistsError):
        zstd.ZstdFile(path, "x")


@pytest.mark.parametrize("mode", ["", "br", "rb+", "r+", "rt", "U", "rw", "wx", "wt", "rbb", 3, None, b"r"])
def test_wrong_modes(zstd: ModuleType, mode: Any) -> None:
    with pytest.raises(ValueError, match=r"[Mm]ode"):
        zstd.ZstdFile(io.BytesIO(FRAME_ABC), mode)


def test_a_subclass_pledges_a_size(zstd: ModuleType) -> None:
    """conda-package-streaming 0.13 does."""
    target = io.BytesIO()
    with zstd.ZstdFile(target, "w") as file:
        file._compressor.set_pledged_input_size(1000)
        file.write(bytes(1000))
    assert zstd.get_frame_info(target.getvalue()).decompressed_size == 1000
    target.seek(0)
    with zstd.ZstdFile(target) as file:
        assert not hasattr(file, "_compressor")


def test_wrong_files(zstd: ModuleType) -> None:
    for file in (3, None, object(), [b""]):
        for mode in ("r", "w"):
            with pytest.raises(TypeError):
                zstd.ZstdFile(file, mode)


def test_wrong_arguments(zstd: ModuleType, path: pathlib.Path) -> None:
    parameter = zstd.CompressionParameter
    for mode, keywords, error in (
        ("r", {"level": 3}, TypeError),
        ("w", {"level": "3"}, TypeError),
        ("w", {"level": 3, "options": {}}, TypeError),
        ("w", {"options": 5}, TypeError),
        ("r", {"options": []}, TypeError),
        ("r", {"options": {parameter.window_log: 20}}, TypeError),
        ("r", {"options": {9999: 1}}, ValueError),
        ("w", {"options": {parameter.window_log: 99}}, ValueError),
        ("r", {"zstd_dict": b"dictionary"}, TypeError),
    ):
        path.write_bytes(FRAME_ABC)
        with pytest.raises(error):
            zstd.ZstdFile(path, mode, **keywords)
        assert path.read_bytes() == FRAME_ABC


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [("encoding", "nothing", LookupError), ("encoding", 7, TypeError), ("newline", "x", ValueError)],
)
def test_wrong_arguments_of_text(
    zstd: ModuleType, path: pathlib.Path, name: str, value: Any, error: type[Exception]
) -> None:
    """They make no file, and leave one that is there as it was."""
    for mode in ("wt", "at", "xt"):
        with pytest.raises(error):
            zstd.open(path, mode, **{name: value})
        assert not path.exists()
    path.write_bytes(FRAME_ABC)
    with pytest.raises(error):
        zstd.open(path, "wt", **{name: value})
    assert path.read_bytes() == FRAME_ABC


def test_other_file_objects_stay_open(zstd: ModuleType) -> None:
    source = io.BytesIO(FRAME_ABC)
    file = zstd.ZstdFile(source)
    file.close()
    file.close()
    assert not source.closed
    target = io.BytesIO()
    zstd.ZstdFile(target, "w").close()
    assert not target.closed


def test_closed(zstd: ModuleType) -> None:
    for file in (zstd.ZstdFile(io.BytesIO(FRAME_ABC)), zstd.ZstdFile(io.BytesIO(), "w")):
        assert not file.closed
        file.close()
        assert file.closed
        assert file.mode == "rb"
        for call in (file.read, file.readline, file.tell, file.fileno, file.readable, file.writable, file.seekable):
            with pytest.raises(ValueError, match="closed"):
                call()
        for name, arguments in (("write", (b"",)), ("seek", (0,)), ("readinto", (bytearray(5),)), ("__next__", ())):
            with pytest.raises(ValueError, match="closed"):
                getattr(file, name)(*arguments)
        with pytest.raises(ValueError, match="closed"):
            file.name
        with pytest.raises(ValueError, match="closed"):
            iter(file)


def test_wrong_direction(zstd: ModuleType) -> None:
    with zstd.ZstdFile(io.BytesIO(FRAME_ABC)) as file:
        with pytest.raises(io.UnsupportedOperation):
            file.write(b"")
        file.flush()
    with zstd.ZstdFile(io.BytesIO(), "w") as file:
        for name, arguments in (("read", ()), ("readline", ()), ("peek", ()), ("seek", (0,)), ("read1", ())):
            with pytest.raises(io.UnsupportedOperation):
                getattr(file, name)(*arguments)
        with pytest.raises(io.UnsupportedOperation):
            next(file)


def test_unsupported(zstd: ModuleType, reader: Any) -> None:
    for call in (reader.detach, reader.truncate):
        with pytest.raises(io.UnsupportedOperation):
            call()


def test_read_sizes(zstd: ModuleType, reader: Any) -> None:
    assert reader.read(0) == b""
    assert reader.read(10) == TEXT[:10]
    assert reader.read(100_000) == TEXT[10:100_010]
    assert reader.read(None) == TEXT[100_010:]
    assert reader.read() == reader.read(5) == b""
    with pytest.raises(TypeError):
        reader.read(1.5)


def test_read1(zstd: ModuleType, reader: Any) -> None:
    assert reader.read1(0) == b""
    pieces = [reader.read1(10), reader.read1(), reader.read1(-1)]
    assert len(pieces[0]) == 10
    assert all(0 < len(piece) <= 131072 for piece in pieces)
    while pieces[-1]:
        pieces.append(reader.read1())
    assert b"".join(pieces) == TEXT
    with pytest.raises(TypeError):
        reader.read1(None)


@pytest.mark.parametrize("name", ["readinto", "readinto1"])
def test_readinto(zstd: ModuleType, reader: Any, name: str) -> None:
    numbers = array.array("I", bytes(400))
    assert getattr(reader, name)(numbers) == 400
    assert numbers.tobytes() == TEXT[:400]
    assert getattr(reader, name)(bytearray()) == 0
    rest = bytearray(len(TEXT))
    size = 0
    while True:
        step = getattr(reader, name)(memoryview(rest)[size:])
        if not step:
            break
        size += step
    assert rest[:size] == TEXT[400:]
    with pytest.raises(TypeError):
        getattr(reader, name)(b"read-only")


def test_peek(zstd: ModuleType, reader: Any) -> None:
    for _ in range(2):
        ahead = reader.peek()
        assert ahead
        assert TEXT.startswith(ahead)
    assert TEXT.startswith(reader.peek(10))
    assert reader.read() == TEXT
    assert reader.peek() == b""


def test_lines(zstd: ModuleType, path: pathlib.Path) -> None:
    with zstd.open(path, "wb") as file:
        file.writelines(LINES)
    with zstd.open(path) as file:
        assert list(file) == LINES
        assert list(file) == []
    with zstd.open(path) as file:
        assert [file.readline() for _ in LINES] == LINES
        assert file.readline() == b""
    with zstd.open(path) as file:
        assert file.readlines() == LINES
    with zstd.open(path) as file:
        assert next(file) == LINES[0]
        assert next(iter(file)) == LINES[1]
        assert file.readline(3) == LINES[2][:3]
        assert file.readline(-1) == LINES[2][3:]
        assert file.readline(None) == LINES[3]
        assert file.read() == b"".join(LINES[4:])
        with pytest.raises(StopIteration):
            next(file)


def test_temporary_file_object(zstd: ModuleType, path: pathlib.Path) -> None:
    """The file stays open for as long as a method of it runs, and closes itself afterwards."""
    path.write_bytes(zstd.compress(TEXT))
    assert zstd.open(path).read() == TEXT
    assert [line for line in zstd.open(path)] == LINES  # noqa: C416
    assert zstd.open(path).readline() == LINES[0]
    with zstd.open(path, "rt", encoding="utf-8") as text:
        assert text.read() == TEXT.decode()
    gc.collect()


def test_unclosed_writer_writes_everything(zstd: ModuleType) -> None:
    target = io.BytesIO()
    file = zstd.ZstdFile(target, "w")
    file.write(b"abc")
    del file
    gc.collect()
    assert zstd.decompress(target.getvalue()) == b"abc"


def test_seek_and_tell(zstd: ModuleType, reader: Any) -> None:
    assert reader.tell() == 0
    for position in (500, 100_000, 30, 0, len(TEXT) - 1, len(TEXT)):
        assert reader.seek(position) == position == reader.tell()
        assert reader.read(7) == TEXT[position : position + 7]
    assert reader.seek(-9, io.SEEK_END) == len(TEXT) - 9
    assert reader.read() == TEXT[-9:]
    assert reader.seek(-20, io.SEEK_CUR) == len(TEXT) - 20
    assert reader.read() == TEXT[-20:]
    assert reader.seek(10**9) == len(TEXT)
    assert reader.read() == b""
    with pytest.raises(ValueError):
        reader.seek(0, 9)


def test_seek_needs_a_seekable_file(zstd: ModuleType) -> None:
    source = io.BytesIO(zstd.compress(TEXT))
    source.seekable = lambda: False  # type: ignore[method-assign]
    with zstd.ZstdFile(source) as file:
        assert not file.seekable()
        with pytest.raises(io.UnsupportedOperation):
            file.seek(0)
        assert file.read() == TEXT


def test_several_frames(zstd: ModuleType) -> None:
    data = FRAME_ABC + SKIPPABLE + zstd.compress(TEXT) + FRAME_ABC + SKIPPABLE
    content = b"abc" + TEXT + b"abc"
    with zstd.ZstdFile(io.BytesIO(data)) as file:
        assert file.read() == content
        file.seek(2)
        assert file.read(5) == content[2:7]
        assert b"".join(iter(lambda: file.read(1000), b"")) == content[7:]


def test_empty_file(zstd: ModuleType) -> None:
    for call in (lambda f: f.read(1), lambda f: f.read(), lambda f: f.readline(), next):
        with zstd.ZstdFile(io.BytesIO()) as file:
            assert file.read(0) == b""
            with pytest.raises(EOFError, match="Compressed file ended before the end-of-stream marker was reached"):
                call(file)


def test_truncated_file(zstd: ModuleType) -> None:
    compressed = zstd.compress(TEXT, options={zstd.CompressionParameter.checksum_flag: 1})
    for cut in (1, 4, 5, 1000, len(compressed) - 1, len(compressed) - 7):
        with zstd.ZstdFile(io.BytesIO(compressed[:-cut])) as file, pytest.raises(EOFError):
            file.read()
    with zstd.ZstdFile(io.BytesIO(compressed[:-4])) as file:
        # all that there is can be read; only then is the end missing
        assert file.read(len(TEXT)) == TEXT
        with pytest.raises(EOFError):
            file.read(1)


@pytest.mark.parametrize("data", [b"no Zstandard file", FRAME_ABC + b"12345", SKIPPABLE + b"\0\0\0\0\0"])
def test_bad_file(zstd: ModuleType, data: bytes) -> None:
    for call in (lambda f: f.read(), lambda f: [f.read(100), f.read(100)], lambda f: list(f)):
        with zstd.ZstdFile(io.BytesIO(data)) as file, pytest.raises(zstd.ZstdError):
            call(file)


def test_errors_of_the_file_pass(zstd: ModuleType) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError("broken")

        def write(self, data: object) -> int:
            raise OSError("broken")

    with zstd.ZstdFile(Broken()) as file:
        for call in (file.read, file.readline, lambda: file.read(5)):
            with pytest.raises(OSError, match="broken"):
                call()
    broken = Broken()
    file = zstd.ZstdFile(broken, "w")
    file.write(b"abc")
    with pytest.raises(OSError, match="broken"):
        file.flush()
    with pytest.raises(OSError, match="broken"):
        file.close()
    assert not file.closed
    broken.write = lambda data: len(data)  # type: ignore[method-assign, assignment]
    file.close()
    assert file.closed


def test_no_read_ahead_beyond_the_buffer(zstd: ModuleType) -> None:
    """A bomb is decompressed as far as it is read."""
    with zstd.ZstdFile(io.BytesIO(zstd.compress(bytes(3_000_000)))) as file:
        assert file.read(1) == b"\0"
        assert file._buffer.raw.tell() <= 131072


def test_written_bytes(zstd: ModuleType) -> None:
    """The same bytes as a ZstdCompressor's, however the writes are cut."""
    compressor = zstd.ZstdCompressor(1)
    expected = compressor.compress(TEXT) + compressor.flush()
    for step in (1000, 70_000, 10**6):
        target = io.BytesIO()
        with zstd.ZstdFile(target, "w", level=1) as file:
            for start in range(0, len(TEXT), step):
                file.write(TEXT[start : start + step])
        assert target.getvalue() == expected


def test_write_takes_buffers(zstd: ModuleType) -> None:
    target = io.BytesIO()
    data = bytearray(b"abc")
    with zstd.ZstdFile(target, "w") as file:
        assert file.write(data) == 3
        data[:] = b"xyz"
        assert file.write(memoryview(data)[1:]) == 2
        assert file.write(array.array("I", [0, 0])) == 8
        for bad in ("text", None, 5):
            with pytest.raises(TypeError):
                file.write(bad)
    assert zstd.decompress(target.getvalue()) == b"abcyz" + bytes(8)


def test_frames_of_empty_files(zstd: ModuleType) -> None:
    def written(use: Any) -> bytes:
        target = io.BytesIO()
        with zstd.ZstdFile(target, "w") as file:
            use(file)
        return target.getvalue()

    assert written(lambda file: None) == b""
    assert written(lambda file: file.flush(file.FLUSH_FRAME)) == b""
    assert zstd.decompress(written(lambda file: file.write(b""))) == b""
    assert zstd.decompress(written(lambda file: file.flush(file.FLUSH_BLOCK))) == b""


def test_flush(zstd: ModuleType) -> None:
    target = io.BytesIO()
    with zstd.ZstdFile(target, "w") as file:
        assert (file.FLUSH_BLOCK, file.FLUSH_FRAME) == (1, 2)
        file.write(b"abc")
        assert target.getvalue() == b""
        file.flush()
        assert zstd.ZstdDecompressor().decompress(target.getvalue()) == b"abc"
        size = len(target.getvalue())
        file.flush()
        assert len(target.getvalue()) == size
        file.flush(file.FLUSH_FRAME)
        assert zstd.decompress(target.getvalue()) == b"abc"
        file.write(b"def")
        for mode in (0, 3, None, "block"):
            with pytest.raises(ValueError, match="Invalid mode"):
                file.flush(mode)
    assert zstd.decompress(target.getvalue()) == b"abcdef"


class Reluctant(io.BytesIO):
    """A raw file that takes a few bytes at a time and fails now and then."""

    calls = 0

    def write(self, data: Any) -> int:
        self.calls += 1
        if self.calls % 5 == 0:
            raise OSError("try again")
        return super().write(bytes(data[:1000]))


def test_failed_write_leaves_no_gap(zstd: ModuleType) -> None:
    target = Reluctant()
    file = zstd.ZstdFile(target, "w")
    for start in range(0, len(TEXT), 50_000):
        try:
            file.write(TEXT[start : start + 50_000])
        except OSError:
            pass
    while True:
        try:
            file.flush(file.FLUSH_FRAME)
            break
        except OSError:
            pass
    file.close()
    assert zstd.decompress(target.getvalue()) == TEXT


def test_dictionary_and_options(zstd: ModuleType) -> None:
    raw = zstd.ZstdDict(TEXT[:2000], is_raw=True)
    target = io.BytesIO()
    options = {zstd.CompressionParameter.checksum_flag: 1, zstd.CompressionParameter.compression_level: 1}
    with zstd.open(target, "wb", options=options, zstd_dict=raw) as file:
        file.write(TEXT)
    read_options = {zstd.DecompressionParameter.window_log_max: 25}
    with zstd.open(io.BytesIO(target.getvalue()), zstd_dict=raw, options=read_options) as file:
        assert file.read() == TEXT


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


def test_open_arguments(zstd: ModuleType) -> None:
    for keywords in ({"encoding": "utf-8"}, {"errors": "strict"}, {"newline": "\n"}):
        for mode in ("rb", "r", "w"):
            with pytest.raises(ValueError, match="not supported in binary mode"):
                zstd.open(io.BytesIO(), mode, **keywords)
    for mode in ("tb", "rbt", "wbt"):
        with pytest.raises(ValueError, match="Invalid mode"):
            zstd.open(io.BytesIO(), mode)
    assert isinstance(zstd.open(io.BytesIO(FRAME_ABC)), zstd.ZstdFile)


def test_subclass_keeps_its_methods(zstd: ModuleType) -> None:
    class Loud(zstd.ZstdFile):  # type: ignore[name-defined,misc]
        def read(self, size: int | None = -1) -> bytes:
            return super().read(size).upper()

    with Loud(io.BytesIO(FRAME_ABC)) as file:
        assert file.read() == b"ABC"
        file.seek(0)
        assert file.readline() == b"abc"
