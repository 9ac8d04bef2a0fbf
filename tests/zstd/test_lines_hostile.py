# SPDX-License-Identifier: Apache-2.0
"""Text files for reading: re-entrant calls, threads, pipes, closing, the collector, and calls other than loops."""

from __future__ import annotations

import codecs
import copy
import gc
import io
import os
import pickle
import sys
import weakref
from types import ModuleType
from typing import Any, Callable
from unittest import mock

import pytest
from processes import run_alone, sections
from threads import run_threads, switching

from purepy.zstd.files import zstd_file

LINES = [f"{number} {'x' * (number % 90)}\n" for number in range(8_000)]
CONTENT = "".join(LINES).encode()


class Source(io.BytesIO):
    """A file that runs a function before each read."""

    meanwhile: Callable[[], Any] | None = None

    def read(self, size: int | None = -1, /) -> bytes:
        if self.meanwhile is not None:
            self.meanwhile()
        return super().read(size)


def opened(zstd: ModuleType, content: bytes = CONTENT, **options: Any) -> Any:
    return zstd.open(Source(zstd.compress(content)), "rt", **{"encoding": "utf-8", **options})


def test_reentering_while_reading(zstd: ModuleType) -> None:
    if sys.implementation.name != "cpython":
        pytest.skip("the lock of PyPy's io.BufferedReader lets its owner in")
    source = Source(zstd.compress(CONTENT))
    with zstd.open(source, "rt", encoding="utf-8") as text:
        for call in (text.__next__, text.readline, text.read, text.buffer.read1):
            source.meanwhile = call
            pytest.raises(RuntimeError, next, text)
            source.meanwhile = None
            text.seek(0)  # until then, an error of the file is final
        assert list(text) == LINES


def test_lines_that_are_kept_stay_as_they_are(zstd: ModuleType) -> None:
    # no line is changed into another one while something refers to it
    kept = {}
    with opened(zstd) as text:
        for number, line in enumerate(text):
            assert (line, hash(line)) == (LINES[number], hash(LINES[number]))
            if number % 3 == 0:
                kept[line] = number
            if number % 7 == 0:
                sys.intern(line)  # the table of interned strings does not count as a reference
    assert kept == {line: number for number, line in enumerate(LINES) if number % 3 == 0}
    assert [sys.intern(line) for line in LINES] == LINES


def test_threads_share_the_lines(zstd: ModuleType) -> None:
    with opened(zstd) as text:
        if type(text) is io.TextIOWrapper:
            pytest.skip("io.TextIOWrapper is not for threads")
        parts: list[list[str]] = [[] for _ in range(4)]
        with switching(1e-6):
            assert run_threads(*(lambda part=part: part.extend(text) for part in parts)) == []
    numbers = [[int(line.split()[0]) for line in part] for part in parts]
    assert all(part == sorted(part) for part in numbers)
    assert sorted(number for part in numbers for number in part) == list(range(len(LINES)))


def test_lines_come_as_soon_as_their_bytes_are_there(zstd: ModuleType) -> None:
    readable, writable = os.pipe()
    with os.fdopen(readable, "rb", buffering=0) as source, os.fdopen(writable, "wb", buffering=0) as target:
        compressor = zstd.ZstdCompressor()

        def send(data: bytes, mode: int = compressor.FLUSH_BLOCK) -> None:
            target.write(compressor.compress(data) + compressor.flush(mode))

        send(b"one\ntwo\nthr")
        with zstd.open(source, "rt", encoding="utf-8", newline="\n") as text:
            assert next(text) == "one\n"
            assert text.readline() == "two\n"
            send(b"ee\n")
            assert text.readline() == "three\n"
            send(b"four", compressor.FLUSH_FRAME)
            target.close()
            assert list(text) == ["four"]


def test_closing_between_lines(zstd: ModuleType) -> None:
    for close in ("text", "binary"):
        text = opened(zstd)
        assert next(text) == LINES[0]
        assert text.closed is False
        (text if close == "text" else text.buffer).close()
        assert text.closed is True
        for call in (text.__next__, text.readline, text.read, text.tell, text.seekable, text.buffer.tell):
            pytest.raises(ValueError, call).match("closed file")
        text.close()


def test_position_after_next(zstd: ModuleType) -> None:
    with opened(zstd) as text:
        assert text.tell() == 0
        assert text.readline() == LINES[0]
        assert text.tell() == len(LINES[0])
        next(text)
        for call in (text.tell, lambda: text.seek(0, io.SEEK_CUR)):
            pytest.raises(OSError, call).match("next")
        text.flush()
        assert text.tell() == len(LINES[0]) + len(LINES[1])
        assert list(text) == LINES[2:]
        assert text.tell() == len(CONTENT)
        text.seek(0)
        assert text.buffer.tell() == 0
        assert text.readline() == LINES[0]


@pytest.mark.parametrize("newline", [None, "", "\n"])
def test_position_in_small_memory_after_the_rest(zstd: ModuleType, newline: str | None) -> None:
    with mock.patch.object(zstd_file, "BUFFER_SIZE", 16):
        text = opened(zstd, b"\rlast without end", newline=newline)
    with text:
        text.read(5)
        cookie = text.tell()
        text.read()
        text.seek(cookie)
        assert next(text) == " without end"


def test_the_file_under_the_text(zstd: ModuleType) -> None:
    text = opened(zstd)
    next(text)
    binary = text.buffer
    assert isinstance(binary, zstd.ZstdFile)
    assert text.detach() is binary
    for call in (text.__next__, text.readline, lambda: text.closed):
        pytest.raises(ValueError, call).match("detached")
    binary.seek(len(LINES[0]))
    with type(text)(binary, "utf-8") as again:
        assert list(again) == LINES[1:]


def test_other_errors(zstd: ModuleType) -> None:
    codecs.register_error("cpkg.test", lambda error: ("!", error.end))
    with opened(zstd, b"one\nt\xffwo\nthree\n", errors="cpkg.test") as text:
        assert list(text) == ["one\n", "t!wo\n", "three\n"]
        for bad in ((None, None), ("x",), (1.5,)):
            pytest.raises(TypeError, text.readline, *bad)
        pytest.raises(TypeError, text.readline, size=1)
        assert isinstance(text, io.TextIOWrapper)
        assert "encoding='utf-8'" in repr(text)
        for copying in (pickle.dumps, copy.copy):
            pytest.raises(TypeError, copying, text)


def test_collector(zstd: ModuleType) -> None:
    source = Source(zstd.compress(CONTENT))
    text = zstd.open(source, "rt", encoding="utf-8")
    next(text)
    text.me = text
    text.probe = Source()
    probe = weakref.ref(text.probe)
    del text
    for _ in range(3):
        gc.collect()
    assert probe() is None
    assert not source.closed


@pytest.mark.skipif(not hasattr(sys, "getrefcount"), reason="counts are CPython's")
def test_reference_counts(zstd: ModuleType) -> None:
    """Count in a new process, where no other test releases anything meanwhile."""
    if not hasattr(sys.modules[zstd.ZstdFile.__module__], "_LineBuffer"):
        pytest.skip("this backend has no reader in C")
    result = run_alone(zstd, "zstd", sections(__file__, "programs.txt")["references of lines"])
    assert result.returncode == 0, result.stderr


def test_misuse_of_the_types_in_c(zstd: ModuleType) -> None:
    module = sys.modules[zstd.ZstdFile.__module__]
    base: Any = getattr(module, "_LineBuffer", None)
    if base is None:
        pytest.skip("this backend has no reader in C")
    for arguments in ((), (b"abc",), (None,), (bytearray(), 5)):
        pytest.raises(TypeError, base, *arguments)
    assert base.__new__(base)._take(5) == b""
    memory = bytearray(b"one\ntwo\nthree")
    buffer = base(memory)
    pytest.raises(RuntimeError, buffer.__init__, bytearray(5))
    pytest.raises(BufferError, memory.append, 1)
    for bad in (-1, len(memory) + 1):
        pytest.raises(ValueError, buffer._add, bad)
    buffer._add(len(memory))
    pytest.raises(ValueError, buffer._add, 1)
    for method in (buffer._add, buffer._take, buffer._take_line, buffer._move):
        pytest.raises(TypeError, method, "1")
    assert (buffer._take_line(2), buffer._take_line(10), buffer._take(1 << 80)) == (b"on", b"e\n", b"two\nthree")
    assert [buffer._move(by) for by in (1, -14, 1 << 80, -(1 << 80), -5)] == [False, False, False, False, True]
    assert (buffer._look(), buffer._make_room(), buffer.position, buffer.end) == (b"three", 5, 0, 5)
    buffer._release()
    buffer._release()
    assert (buffer._look(), buffer._take(5), buffer._make_room()) == (b"", b"", 0)
    memory.append(1)
    assert not hasattr(module, "_make_text_reader")  # with other classes it would use any object as a buffer
    with opened(zstd) as text:
        for lines in (None, 5, base(bytearray())):
            text._lines = lines
            assert text.readline() in LINES
