# SPDX-License-Identifier: Apache-2.0
"""cpkg.zstd.zipfile: members compressed with method 93, and archives that misstate them."""

from __future__ import annotations

import contextlib
import io
import os
import random
import shutil
import struct
import sys
import zipfile as standard
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from extent import IS_THOROUGH
from processes import run_python
from zstd_oracle import standard as standard_module

import cpkg
from cpkg import zstd
from cpkg.zstd import zipfile

TEXT = b"a line of text\n" * 2_000


def stored(data: bytes, content: bytes, size: int | None = None) -> io.BytesIO:
    """Return an archive whose member "member" has `data` in method 93, and the size and CRC of `content`."""
    file = io.BytesIO()
    with standard.ZipFile(file, "w") as archive:
        archive.writestr("member", data)
    raw = bytearray(file.getvalue())
    directory = raw.rindex(b"PK\x01\x02")
    for at in (0, directory):
        fields = at + (8 if at == 0 else 10)
        struct.pack_into("<H", raw, fields, 93)
        struct.pack_into("<L", raw, fields + 6, zlib.crc32(content))
        struct.pack_into("<L", raw, fields + 14, len(content) if size is None else size)
    return io.BytesIO(bytes(raw))


def archive_of(**arguments: Any) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_ZSTANDARD, **arguments) as archive:
        archive.writestr("text", TEXT)
        archive.writestr("folder/empty", b"")
        with archive.open("folder/streamed", "w") as member:
            for at in range(0, len(TEXT), 1000):
                member.write(TEXT[at : at + 1000])
        archive.writestr("deflated", TEXT, compress_type=zipfile.ZIP_DEFLATED)
    return file


def test_round_trip() -> None:
    with zipfile.ZipFile(archive_of()) as archive:
        assert isinstance(archive, standard.ZipFile)
        found = {name: archive.read(name) for name in archive.namelist()}
        assert found == {"text": TEXT, "folder/empty": b"", "folder/streamed": TEXT, "deflated": TEXT}
        assert archive.testzip() is None
        info = archive.getinfo("text")
        assert (info.compress_type, info.extract_version) == (93, 63)
        assert (zipfile.ZIP_ZSTANDARD, zipfile.ZSTANDARD_VERSION) == (93, 63)
        assert info.compress_size < len(TEXT) // 30


def test_levels_and_options() -> None:
    # higher levels find more matches
    data = b" ".join(random.Random(1).choices([b"%d-word" % (number**3) for number in range(2000)], k=2_000))

    def size(**arguments: Any) -> int:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", 93, **arguments) as archive:
            archive.writestr("numbers", data)
        with zipfile.ZipFile(file) as archive:
            assert archive.read("numbers") == data
            return archive.getinfo("numbers").compress_size

    checksum = {zstd.CompressionParameter.checksum_flag: 1}
    assert size(compresslevel=5) < size(compresslevel=-100)
    assert size(options=checksum) == size() + 4
    assert size(compresslevel=5, options=checksum) == size(compresslevel=5) + 4
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("one", data, compress_type=93, compresslevel=-100)
        archive.writestr("two", data, compress_type=93, compresslevel=5)
        assert archive.getinfo("two").compress_size < archive.getinfo("one").compress_size


@pytest.mark.parametrize(
    ("arguments", "error"),
    [({"compresslevel": 99}, ValueError), ({"options": {99999: 1}}, ValueError), ({"options": 7}, TypeError)],
    ids=str,
)
def test_wrong_arguments(tmp_path: Path, arguments: dict[str, Any], error: type[Exception]) -> None:
    path = tmp_path / "out.zip"
    pytest.raises(error, zipfile.ZipFile, path, "w", zipfile.ZIP_ZSTANDARD, **arguments)
    assert not path.exists()


def test_files_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text").write_bytes(TEXT)
    with zipfile.ZipFile("out.zip", "w", zipfile.ZIP_ZSTANDARD) as archive:
        archive.write("text")
    with zipfile.ZipFile("out.zip", "a", zipfile.ZIP_ZSTANDARD, compresslevel=9) as archive:
        archive.write("text", "again")
    with zipfile.ZipFile("out.zip") as archive:
        archive.extractall("out")
        file, member = archive.fp, archive.open("text")
    assert file is not None
    assert not file.closed  # the member still needs the file
    member.close()
    assert file.closed
    assert Path("out/text").read_bytes() == Path("out/again").read_bytes() == TEXT
    zstd.register_shutil(tar=False)
    try:
        shutil.unpack_archive("out.zip", "unpacked")
        assert Path("unpacked/again").read_bytes() == TEXT
        Path("no.zip").write_bytes(b"none")
        pytest.raises(shutil.ReadError, shutil.unpack_archive, "no.zip", "unpacked")
    finally:
        shutil.unregister_unpack_format("zip")
        shutil.register_unpack_format("zip", [".zip"], shutil._unpack_zipfile, [], "ZIP file")  # type: ignore[attr-defined]


def test_written_to_a_pipe() -> None:
    target = io.BytesIO()
    pipe: Any = SimpleNamespace(write=target.write, flush=target.flush)
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_ZSTANDARD) as archive:
        archive.writestr("text", TEXT)
    with zipfile.ZipFile(target) as archive:
        assert archive.read("text") == TEXT


def test_members_of_several_frames() -> None:
    skippable = b"\x50\x2a\x4d\x18\x03\0\0\0abc"
    frames = [zstd.compress(TEXT[at : at + 3999]) for at in range(0, len(TEXT), 3999)]
    data = skippable + skippable.join(frames) + zstd.compress(b"")
    with zipfile.ZipFile(stored(data, TEXT)) as archive:
        assert archive.read("member") == TEXT
        assert archive.testzip() is None


def test_reading_in_pieces_and_seeking() -> None:
    with zipfile.ZipFile(archive_of()) as archive, archive.open("text") as file:
        assert (file.name, file.mode) == ("text", "rb")
        assert (file.readable(), file.writable(), file.seekable()) == (True, False, True)
        assert file.readline() == b"a line of text\n"
        assert file.seek(len(TEXT) - 5) == len(TEXT) - 5
        assert file.read() == TEXT[-5:]
        assert file.seek(100) == 100
        assert file.read(50) == TEXT[100:150]
        assert file.seek(-3, io.SEEK_END) == len(TEXT) - 3
        assert file.read1() == TEXT[-3:]
        assert file.seek(0) == 0
        assert b"".join(file) == TEXT
        room = bytearray(7)
        assert (file.seek(1), file.readinto(room), room) == (1, 7, TEXT[1:8])
        pytest.raises(ValueError, file.seek, 0, 9).match("whence")
    with zipfile.ZipFile(archive_of()) as archive, io.TextIOWrapper(archive.open("text"), "ascii") as lines:
        assert sum(1 for _ in lines) == 2_000


@pytest.mark.parametrize("size", [0, 10, len(TEXT) - 1, len(TEXT) + 1, 1 << 31])
def test_a_wrong_declared_size(size: int) -> None:
    with zipfile.ZipFile(stored(zstd.compress(TEXT), TEXT, size=size)) as archive:
        pytest.raises(zipfile.BadZipFile, archive.read, "member").match(r"File 'member' holds (more|less) than the")
        assert archive.testzip() == "member"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (zstd.compress(TEXT)[:-3], "ends inside a Zstandard frame"),
        (zstd.compress(TEXT) + b"garbage", "Bad Zstandard data"),
        (b"no frame at all", "Bad Zstandard data"),
        (zstd.compress(TEXT) + b"(\xb5/", "ends inside a Zstandard frame"),
        (b"", "holds less than"),
        (zstd.compress(TEXT[:-1] + b"?"), "Bad CRC-32 for file 'member'"),
        # a window of 2 GiB, which no file needs
        (b"(\xb5/\xfd\x00\xa8" + b"\x01\x00\x00", "Bad Zstandard data"),
    ],
    ids=lambda value: value if isinstance(value, str) else str(len(value)),
)
def test_damage(data: bytes, told: str) -> None:
    with zipfile.ZipFile(stored(data, TEXT)) as archive:
        pytest.raises(zipfile.BadZipFile, archive.read, "member").match(told)
        with archive.open("member") as file, pytest.raises(zipfile.BadZipFile, match=told):
            list(iter(lambda: file.read(1000), b""))


def test_flipped_bits_of_a_member_are_a_bad_zip_file(tmp_path: Path) -> None:
    """A flipped bit raises an error of zipfile, unless it is in a field that is not used; in memory as on disk."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_ZSTANDARD) as archive:
        archive.writestr("a", b"some content")
    whole = file.getvalue()
    for at in range(0, 8 * len(whole), 1 if IS_THOROUGH else 7):
        damaged = bytearray(whole)
        damaged[at // 8] ^= 1 << at % 8
        (tmp_path / "a.zip").write_bytes(damaged)
        for source in (io.BytesIO(damaged), tmp_path / "a.zip"):
            expected = contextlib.suppress(zipfile.BadZipFile, NotImplementedError, RuntimeError)
            with expected, zipfile.ZipFile(source) as archive:
                for name in archive.namelist():
                    archive.read(name)


@pytest.mark.parametrize("method", [zipfile.ZIP_ZSTANDARD, zipfile.ZIP_STORED])
@pytest.mark.parametrize("offset", [1 << 31, 1 << 62, 1 << 63, (1 << 64) - 1])
def test_a_member_where_no_file_reaches(tmp_path: Path, method: int, offset: int) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("a", b"some content")
    damaged = bytearray(file.getvalue())
    entry = damaged.rindex(b"PK\1\2")
    end = damaged.rindex(b"PK\5\6")
    large = struct.pack("<HHQ", 1, 8, offset)
    struct.pack_into("<L", damaged, end + 12, end - entry + len(large))
    struct.pack_into("<H", damaged, entry + 30, len(large))
    struct.pack_into("<L", damaged, entry + 42, 0xFFFFFFFF)
    damaged[end:end] = large
    (tmp_path / "a.zip").write_bytes(damaged)
    for source in (io.BytesIO(damaged), tmp_path / "a.zip"):
        with zipfile.ZipFile(source) as archive, pytest.raises(zipfile.BadZipFile):
            archive.read("a")


@pytest.mark.parametrize("size", [1 << 31, 1 << 62, 1 << 63, (1 << 64) - 1])
def test_a_directory_larger_than_any_file(tmp_path: Path, size: int) -> None:
    tail = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, size, 0)
    tail += struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1)
    tail += struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    (tmp_path / "a.zip").write_bytes(tail)
    for source in (io.BytesIO(tail), tmp_path / "a.zip"):
        pytest.raises(zipfile.BadZipFile, zipfile.ZipFile, source)


def test_a_limit_on_members() -> None:
    file = archive_of()
    with zipfile.ZipFile(file, max_output_size=len(TEXT) - 1) as archive:
        for name in ("text", "deflated"):
            with pytest.raises(cpkg.LimitError, match=f"'{name}' has 30000 bytes, more than max_output_size"):
                archive.read(name)
        assert archive.read("folder/empty") == b""
    with zipfile.ZipFile(file, max_output_size=len(TEXT)) as archive:
        assert archive.read("text") == TEXT


def test_a_member_with_the_traditional_encryption() -> None:
    with zipfile.ZipFile(Path(__file__).with_name("encrypted.zip")) as archive:
        assert archive.read("member", b"secret") == b"what nobody may read" * 100
        pytest.raises(RuntimeError, archive.read, "member").match("password")


def test_paths(tmp_path: Path) -> None:
    path = tmp_path / "out.zip"
    path.write_bytes(archive_of().getvalue())
    for root in (str(path), zipfile.ZipFile(path)):
        inside = zipfile.Path(root)
        assert sorted(part.name for part in inside.iterdir()) == ["deflated", "folder", "text"]
        assert (inside / "folder").is_dir()
        assert (inside / "folder" / "streamed").read_bytes() == TEXT
        assert [part.name for part in (inside / "folder").iterdir()] == ["empty", "streamed"]
        assert inside.joinpath("text").read_text(encoding="ascii") == TEXT.decode()
        inside.root.close()


def test_with_the_standard_module() -> None:
    other = standard_module("zipfile")
    with other.ZipFile(archive_of()) as archive:
        assert archive.testzip() is None
        assert archive.read("folder/streamed") == TEXT
    file = io.BytesIO()
    with other.ZipFile(file, "w", 93, compresslevel=7) as archive:
        archive.writestr("text", TEXT)
        archive.writestr("empty", b"")
    with zipfile.ZipFile(file) as archive:
        assert archive.testzip() is None
        assert (archive.read("text"), archive.read("empty")) == (TEXT, b"")


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="the standard one has the method itself")
def test_the_standard_module_is_as_it_was() -> None:
    pytest.raises(NotImplementedError, standard.ZipFile, io.BytesIO(), "w", 93)


def test_the_command_line_of_the_module(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_ZSTANDARD) as archive:
        archive.writestr("file", "content")
    for arguments, told in ((("-t", "a.zip"), "Done testing"), (("-e", "a.zip", "out"), "")):
        done = run_python("-m", "cpkg.zstd.zipfile", *arguments, env=dict(os.environ), cwd=tmp_path)
        assert (done.returncode, done.stderr, done.stdout.strip()) == (0, "", told)
    assert (tmp_path / "out" / "file").read_text() == "content"
