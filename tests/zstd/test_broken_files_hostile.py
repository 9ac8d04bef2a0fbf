# SPDX-License-Identifier: Apache-2.0
"""Files damaged in the middle: reads return the content before the error, then raise the error, until a seek()."""

from __future__ import annotations

import functools
import io
from types import ModuleType
from typing import Any, Callable

import pytest
from zstd_data import FRAME_ABC, SKIPPABLE

LINES = [f"line {number}\n" for number in range(1000)]
CONTENT = "".join(LINES).encode()


# a compressed block that is not valid
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
    return b"".join(zstd.compress(line.encode()) for line in LINES)


@pytest.fixture
def broken(zstd: ModuleType, tail: bytes) -> bytes:
    return good(zstd) + tail


def filling(file: Any, memory: bytearray) -> Any:
    return (bytes(memory[:size]) for size in iter(lambda: file.readinto1(memory), 0))


WAYS: dict[str, Callable[[Any], Any]] = {
    "iter": iter,
    "readline": lambda file: iter(file.readline, file.read(0)),
    "read1": lambda file: iter(lambda: file.read1(100), b""),
    "read": lambda file: iter(lambda: file.read(1), b""),
    "readinto1": lambda file: filling(file, bytearray(77)),
}


@pytest.mark.parametrize("read", WAYS.values(), ids=WAYS)
def test_bytes(zstd: ModuleType, broken: bytes, read: Callable[[Any], Any]) -> None:
    with zstd.open(io.BytesIO(broken)) as file:
        for _ in range(2):
            parts: list[bytes] = []
            first = pytest.raises(zstd.ZstdError, parts.extend, read(file))
            assert b"".join(parts) == CONTENT
            for call in (file.read, file.readline, lambda: file.read(1), file.peek, lambda: next(file)):
                again = pytest.raises(zstd.ZstdError, call)
                assert (str(again.value), again.value.offset) == (str(first.value), first.value.offset)
            assert file.tell() == len(CONTENT)
            assert file.seek(0) == 0
        assert file.seek(len(CONTENT) - 4) == len(CONTENT) - 4
        assert file.read(4) == CONTENT[-4:]
        pytest.raises(zstd.ZstdError, file.seek, 1, io.SEEK_CUR)
        pytest.raises(zstd.ZstdError, file.seek, 0, io.SEEK_END)
        for _ in range(2):
            file.seek(0)
            pytest.raises(zstd.ZstdError, file.read)


@pytest.mark.parametrize(
    ("encoding", "newline"), [("utf-8", None), ("utf-8", "\n"), ("utf-8", "\r\n"), ("latin-1", ""), ("latin-1", "\n")]
)
@pytest.mark.parametrize("read", [WAYS["iter"], WAYS["readline"]])
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
                pytest.raises(zstd.ZstdError, call)
            text.seek(0)
        pytest.raises(zstd.ZstdError, text.read)
        text.seek(0)
        assert newline == "\r\n" or text.readline() == LINES[0]


def test_streams(zstd: ModuleType, broken: bytes, tail: bytes) -> None:
    for chunks in ([broken], [broken[:1000], broken[1000:]], [broken[: -len(tail)], tail], io.BytesIO(broken)):
        for write_size in (100, 1 << 20):
            pieces: list[bytes] = []
            info = pytest.raises(zstd.ZstdError, pieces.extend, zstd.decompress_iter(chunks, write_size=write_size))
            assert b"".join(pieces) == CONTENT
            assert info.value.offset is not None
            assert len(broken) - len(tail) <= info.value.offset <= len(broken)
            if isinstance(chunks, io.BytesIO):
                chunks.seek(0)
    target = io.BytesIO()
    pytest.raises(zstd.ZstdError, zstd.copy_stream, io.BytesIO(broken), target, mode="decompress")
    assert target.getvalue() == CONTENT


@pytest.mark.parametrize("threads", [None, 2])
def test_a_file_that_ended_inside_a_frame_is_read_again_after_a_seek(zstd: ModuleType, threads: int | None) -> None:
    """The start of an incomplete line is not lost when the file has grown."""
    frames = zstd.compress(b"a line\nhalf of") + zstd.compress(b" a line\n")
    source = io.BytesIO(frames[:-1])
    with zstd.ZstdFile(source, threads=threads) as file:
        assert file.readline() == b"a line\n"
        pytest.raises(EOFError, file.readline)
        source.seek(0, io.SEEK_END)
        source.write(frames[-1:])
        source.seek(-1, io.SEEK_END)
        pytest.raises(EOFError, file.read)
        assert (file.seek(7), file.read()) == (7, b"half of a line\n")


PARTS = [bytes([65 + number]) * 100_000 for number in range(10)]
WHOLE = b"".join(PARTS)
READS: dict[str, Callable[[Any], bytes]] = {
    "read": lambda file: file.read(),
    "read in two steps": lambda file: file.read(100) + file.read(),
    "read of a size": lambda file: file.read(2 * len(WHOLE)),
    "readinto": lambda file: filled(file, bytearray(2 * len(WHOLE))),
    "readlines": lambda file: b"".join(file.readlines()),
}


def filled(file: Any, memory: bytearray) -> bytes:
    return bytes(memory[: file.readinto(memory)])


class FailingOnce(io.BytesIO):
    """A file that returns little at a time, raises once in the middle, and then returns everything from its start."""

    failure: Exception | None = None

    def read(self, size: int | None = -1, /) -> bytes:
        failure = self.failure
        if failure is not None and self.tell() > len(self.getvalue()) // 2:
            self.failure = None
            raise failure
        return super().read(40 if size is None or size < 0 else min(size, 40))


FAILURES = [OSError(5, "not now"), TimeoutError("a handler's"), BlockingIOError(11, "no"), ValueError("of the file")]
FINAL = r"an earlier read or seek raised {}\(.*\), and content .* may be lost: .* call seek\(\)"


@pytest.mark.parametrize("kind", ["", "threads", "seekable"])
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_an_error_of_the_file_is_final_until_a_seek(zstd: ModuleType, read: Callable[[Any], bytes], kind: str) -> None:
    """Content read before the failure may be lost, so every read is refused until a seek()."""
    frames = b"".join(zstd.compress(part) for part in PARTS)
    source = FailingOnce(frames + zstd.index_frames(frames).to_bytes() * (kind == "seekable"))
    more = {"threads": 2} if kind == "threads" else {}
    file = (zstd.SeekableZstdFile if kind == "seekable" else zstd.ZstdFile)(source, **more)
    for failure in FAILURES:
        source.failure = failure
        first = pytest.raises(type(failure), read, file)
        assert first.value is failure
        for call in (file.read, file.readline, file.peek, lambda: file.read1(1), lambda: file.readinto(bytearray(9))):
            pytest.raises(OSError, call).match(FINAL.format(type(failure).__name__))
        assert (file.seek(3), file.read(), file.read()) == (3, WHOLE[3:], b"")
        file.seek(0)
    file.close()


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
@pytest.mark.parametrize("read", ["read", "readline"])
def test_an_error_of_the_file_of_text_is_final_until_a_seek(zstd: ModuleType, encoding: str, read: str) -> None:
    source = FailingOnce(b"".join(zstd.compress(part) for part in PARTS))
    source.failure = OSError(5, "not now")
    with zstd.open(source, "rt", encoding=encoding) as file:
        pytest.raises(OSError, getattr(file, read)).match("not now")
        for _ in range(2):
            pytest.raises(OSError, getattr(file, read)).match(FINAL.format("OSError"))
        assert (file.seek(0), file.read()) == (0, WHOLE.decode())


def test_a_failed_seek_is_final_until_the_next(zstd: ModuleType) -> None:
    class Source(io.BytesIO):
        fails = False

        def seek(self, offset: int, whence: int = 0, /) -> int:
            if self.fails:
                raise OSError(5, "not now")
            return super().seek(offset, whence)

    source = Source(b"".join(zstd.compress(part) for part in PARTS))
    with zstd.ZstdFile(source) as file:
        file.seek(500_000)
        source.fails = True
        pytest.raises(OSError, file.seek, 0).match("not now")
        pytest.raises(OSError, file.read, 200_000).match(FINAL.format("OSError"))
        source.fails = False
        assert (file.seek(1), file.read()) == (1, WHOLE[1:])
