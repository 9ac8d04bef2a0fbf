# SPDX-License-Identifier: Apache-2.0
"""Files that go bad in the middle: what stands in front of the error comes first, then the error, until a seek()."""

from __future__ import annotations

import functools
import io
from types import ModuleType
from typing import Any, Callable

import pytest
from zstd_data import FRAME_ABC, SKIPPABLE

LINES = [f"line {number}\n" for number in range(1000)]
CONTENT = "".join(LINES).encode()


# one compressed block that is none
CORRUPT = FRAME_ABC[:6] + bytes([5 << 3 | 2 << 1 | 1, 0, 0]) + b"\xff" * 5
TAILS: dict[str, Callable[[ModuleType], bytes]] = {
    "no frame": lambda zstd: bytes(10),
    "one byte": lambda zstd: b"\0",
    "corrupt frame": lambda zstd: CORRUPT,
    "no block": lambda zstd: FRAME_ABC[:6] + b"\xff\xff\xff",
    "corrupt frame, good frame": lambda zstd: CORRUPT + zstd.compress(b"not reached\n"),
    "empty frames, no frame": lambda zstd: zstd.compress(b"") + SKIPPABLE + bytes(10),
}


@pytest.fixture(params=list(TAILS))
def tail(request: pytest.FixtureRequest, zstd: ModuleType) -> bytes:
    return TAILS[request.param](zstd)


@functools.cache
def good(zstd: ModuleType) -> bytes:
    """A thousand frames of a line each."""
    return b"".join(zstd.compress(line.encode()) for line in LINES)


@pytest.fixture
def broken(zstd: ModuleType, tail: bytes) -> bytes:
    """A thousand frames, and then what is wrong."""
    return good(zstd) + tail


def by_lines(file: Any) -> Any:
    return iter(file.readline, file.read(0))


def by_parts(file: Any) -> Any:
    return iter(lambda: file.read1(100), b"")


def by_bytes(file: Any) -> Any:
    return iter(lambda: file.read(1), b"")


def filling(file: Any) -> Any:
    memory = bytearray(77)
    while True:
        size = file.readinto1(memory)
        if not size:
            return
        yield bytes(memory[:size])


@pytest.mark.parametrize("read", [iter, by_lines, by_parts, by_bytes, filling])
def test_bytes(zstd: ModuleType, broken: bytes, read: Callable[[Any], Any]) -> None:
    with zstd.open(io.BytesIO(broken)) as file:
        for _ in range(2):
            parts: list[bytes] = []
            with pytest.raises(zstd.ZstdError) as first:
                parts.extend(read(file))
            assert b"".join(parts) == CONTENT
            for call in (file.read, file.readline, lambda: file.read(1), file.peek, lambda: next(file)):
                with pytest.raises(zstd.ZstdError) as again:
                    call()
                assert (str(again.value), again.value.offset) == (str(first.value), first.value.offset)
            assert file.tell() == len(CONTENT)
            assert file.seek(0) == 0
        assert file.seek(len(CONTENT) - 4) == len(CONTENT) - 4
        assert file.read(4) == CONTENT[-4:]
        with pytest.raises(zstd.ZstdError):
            file.seek(1, io.SEEK_CUR)
        with pytest.raises(zstd.ZstdError):
            file.seek(0, io.SEEK_END)


@pytest.mark.parametrize("newline", [None, "", "\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
@pytest.mark.parametrize("read", [iter, by_lines])
def test_text(zstd: ModuleType, broken: bytes, read: Callable[[Any], Any], encoding: str, newline: str | None) -> None:
    with zstd.open(io.BytesIO(broken), "rt", encoding=encoding, newline=newline) as text:
        for _ in range(2):
            lines: list[str] = []
            try:
                lines.extend(read(text))
            except zstd.ZstdError:
                pass
            assert "".join(lines) == "".join(LINES) or (newline == "\r\n" and not lines)
            for call in (text.read, text.readline, text.__next__):
                with pytest.raises(zstd.ZstdError):
                    call()
            text.seek(0)
        assert newline == "\r\n" or text.readline() == LINES[0]


def test_everything_at_once_is_an_error(zstd: ModuleType, broken: bytes) -> None:
    for mode in ("rb", "rt"):
        with zstd.open(io.BytesIO(broken), mode) as file:
            for _ in range(2):
                with pytest.raises(zstd.ZstdError):
                    file.read()
            file.seek(0)
            assert file.readline() == (LINES[0] if mode == "rt" else LINES[0].encode())


def test_streams(zstd: ModuleType, broken: bytes, tail: bytes) -> None:
    for chunks in ([broken], [broken[:1000], broken[1000:]], [broken[: -len(tail)], tail], io.BytesIO(broken)):
        for write_size in (100, 1 << 20):
            pieces: list[bytes] = []
            with pytest.raises(zstd.ZstdError) as info:
                pieces.extend(zstd.decompress_iter(chunks, write_size=write_size))
            assert b"".join(pieces) == CONTENT
            assert info.value.offset is not None
            assert len(broken) - len(tail) <= info.value.offset <= len(broken)
            if isinstance(chunks, io.BytesIO):
                chunks.seek(0)
    target = io.BytesIO()
    with pytest.raises(zstd.ZstdError):
        zstd.copy_stream(io.BytesIO(broken), target, mode="decompress")
    assert target.getvalue() == CONTENT


@pytest.mark.parametrize("limit", [-1, len(CONTENT), len(CONTENT) + 1, 1 << 20])
def test_object_for_several_frames(zstd: ModuleType, broken: bytes, limit: int) -> None:
    decompressor = zstd.ZstdDecompressor(multi_frame=True)
    assert decompressor.decompress(broken, limit) == CONTENT
    assert (decompressor.eof, decompressor.needs_input, decompressor.unused_data) == (False, False, b"")
    assert decompressor.decompress(b"", 0) == b""
    assert (decompressor.eof, decompressor.needs_input) == (False, False)
    with pytest.raises(zstd.ZstdError):
        decompressor.decompress(b"more")
    assert (decompressor.eof, decompressor.needs_input) == (False, True)
    assert decompressor.decompress(FRAME_ABC) == b"abc"
    assert decompressor.eof


@pytest.mark.parametrize("mode", ["rb", "rt"])
def test_nothing_in_front(zstd: ModuleType, mode: str) -> None:
    source = io.BytesIO(bytes(len(FRAME_ABC)))
    with zstd.open(source, mode) as file:
        for _ in range(3):
            for _ in range(2):
                with pytest.raises(zstd.ZstdError):
                    file.read(1)
            assert file.seek(0) == 0
        source.getbuffer()[:] = FRAME_ABC
        assert file.read() == ("abc" if mode == "rt" else b"abc")


@pytest.mark.parametrize("mode", ["rb", "rt"])
def test_file_that_cannot_be_read_for_a_while(zstd: ModuleType, mode: str) -> None:
    class Source(io.BytesIO):
        fails = False

        def read(self, size: int | None = -1, /) -> bytes:
            self.fails = not self.fails
            if self.fails:
                raise OSError("not now")
            return super().read(7)

    with zstd.open(Source(zstd.compress(CONTENT)), mode) as file:
        lines: list[Any] = []
        failures = 0
        while True:
            try:
                line = file.readline()
            except OSError:
                failures += 1
            else:
                lines.append(line)
                if not line:
                    break
    assert failures > 10
    assert type(line)().join(lines) == (CONTENT if mode == "rb" else CONTENT.decode())


def test_file_that_ends_too_early_and_grows(zstd: ModuleType) -> None:
    frame = zstd.compress(CONTENT)
    source = io.BytesIO(frame[:-1])
    with zstd.open(source) as file:
        for _ in range(2):
            with pytest.raises(EOFError):
                file.read()
        source.write(frame[-1:])
        source.seek(-1, io.SEEK_END)
        file.read()
        assert file.tell() == len(CONTENT)


def test_interrupt_while_decompressing(zstd: ModuleType) -> None:
    """A decompressor that was interrupted has forgotten where it was; what follows must not be taken for the rest."""
    interrupts = []

    class Interrupted(zstd.ZstdDecompressor):  # type: ignore[misc, name-defined]
        def decompress(self, data: Any, max_length: int = -1) -> bytes:
            content: bytes = super().decompress(data, max_length)
            if interrupts:
                raise interrupts.pop()
            return content

        _decompress_into = None

    class File(zstd.ZstdFile):  # type: ignore[misc, name-defined]
        _decompressor_type = Interrupted

    with File(io.BytesIO(b"".join(zstd.compress(line.encode()) for line in LINES))) as file:
        for read in (file.readline, file.read, lambda: file.read(100_000)):
            interrupts.append(KeyboardInterrupt())
            with pytest.raises(KeyboardInterrupt):
                read()
            with pytest.raises(OSError, match="seek"):
                read()
            file.seek(0)
            assert file.read() == CONTENT
            file.seek(0)
