# SPDX-License-Identifier: Apache-2.0
"""
Files in random sequences of all calls: text compared with io.TextIOWrapper over a plain file, bytes with a position.

`--operations N` sets the number of calls per test (tox's row `explore`: half a million). A failure is reduced to a
small case.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from shrinking import Case, check

from purepy.zstd.files import readers, zstd_file

PARTS = [part.encode() for part in ("a", "some words of text", "\n", "\n", "\n", "ü", "\u2028", "\U0001f600", "\0")]
RETURNS = [b"\r", b"\r\n", b"\n\r", b"\r\r\n"]
PAIRS = [b"\r\n", b"\r\n", b"words", "ü".encode()]
LONG = [b"long" * 20, ("lö" * 50).encode(), b"l" * 300]
BAD = [b"\xff", b"\xe2\x80", b"\xed\xa0\x80", b"\xef\xbb\xbf"]
KINDS = [PARTS, PARTS + LONG, PARTS + RETURNS, PARTS + RETURNS + LONG, PAIRS + LONG, PARTS + RETURNS + LONG + BAD]

NEWLINES = [None, "", "\n", "\r", "\r\n"]
ENCODINGS = ["utf-8", "utf-8", "UTF8", "ascii", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le", "gb18030"]
ERRORS = ["strict", "ignore", "replace", "surrogateescape", "backslashreplace"]
# from a size that splits every line to the real sizes
BUFFER_SIZES = [16, 37, 100, zstd_file.BUFFER_SIZE]
READ_SIZES = [7, 50, readers.READ_SIZE]
FRAMES = [1, 2, 1000]

# how often a case makes each call, out of about a hundred
CALLS = json.loads(Path(__file__).with_name("file_model.json").read_text(encoding="utf-8"))


def calls(chance: random.Random, weights: dict[str, int], count: int) -> tuple[Any, ...]:
    names = chance.choices(list(weights), list(weights.values()), k=count)
    return tuple((name, chance.choice([-1, 0, 1, 2, 5, 17, 40, 200, chance.randrange(1000)])) for name in names)


def make_content(chance: random.Random) -> tuple[bytes, ...]:
    kind = chance.choice(KINDS)
    return tuple(chance.choice(kind) for _ in range(chance.choice([0, 3, 10, 40, 150])))


# the options of each kind of case
SOURCES = {"buffer": BUFFER_SIZES, "read": READ_SIZES, "frames": FRAMES}
OPTIONS: dict[str, dict[str, list[Any]]] = {
    "text": {"encoding": ENCODINGS, "errors": ERRORS, "newline": NEWLINES, **SOURCES},
    "binary": {**SOURCES, "is_text": [False, True]},
    "writer": {"buffer": BUFFER_SIZES, "level": [1, 3]},
}


def make(kind: str, chance: random.Random) -> Case:
    options = {name: chance.choice(choices) for name, choices in OPTIONS[kind].items()}
    return Case(make_content(chance), options, calls(chance, CALLS[kind], chance.choice([3, 10, 30, 60])))


def compressed(zstd: ModuleType, case: Case) -> bytes:
    """Return the content in up to `count` frames."""
    parts = case.content
    size = max(1, -(-len(parts) // case.options["frames"]))
    pieces = [b"".join(parts[at : at + size]) for at in range(0, len(parts), size)]
    return b"".join(zstd.compress(piece) for piece in pieces or [b""])


@contextlib.contextmanager
def sizes(case: Case) -> Iterator[None]:
    """Make files read and buffer pieces of the case's sizes."""
    buffering = mock.patch.object(zstd_file, "BUFFER_SIZE", case.options["buffer"])
    reading = mock.patch.object(readers, "READ_SIZE", case.options.get("read", readers.READ_SIZE))
    with buffering, reading:
        yield


def position(content: bytes, number: int) -> int:
    """Return a position, more often one near the start or the end."""
    at = number % (len(content) + 1)
    return at if number % 2 else len(content) - at


class ReadOnly(io.BytesIO):
    def writable(self) -> bool:
        return False


class Texts:
    """A text file, the plain file that it must behave like, and what a caller knows about both."""

    def __init__(self, zstd: ModuleType, case: Case) -> None:
        self.content = b"".join(case.content)
        self.options = {name: case.options[name] for name in ("encoding", "errors", "newline")}
        self.file = zstd.open(io.BytesIO(compressed(zstd, case)), "rt", **self.options)
        self.plain = io.TextIOWrapper(ReadOnly(self.content), **self.options)
        # so that it fails at the bad bytes and not because of what comes before them
        self.plain._CHUNK_SIZE = 1 if case.options["errors"] == "strict" else 8192
        self.cookies: list[tuple[int, int]] = []
        self.rewound()

    def rewound(self) -> None:
        self.is_exact = True  # whether both are at their bytes' position: nothing was decoded ahead
        # io.TextIOWrapper.tell() may be wrong after next() and flush(), until a seek()
        self.iterated, self.tells = False, True
        # from 3.13 on, io.TextIOWrapper holds text if read() follows next(), and cannot be reconfigured then
        self.holds = False

    def both(self, name: str, *arguments: Any, **options: Any) -> None:
        """Make the same call on both and compare the results; calls not listed here return nothing to compare."""
        found = self.outcome(self.file, name, *arguments, **options)
        expected = self.outcome(self.plain, name, *arguments, **options)
        if found != expected and (found is UnicodeError or expected is UnicodeError):
            self.seek(0)  # one of them may decode farther ahead than the other
        else:
            assert found == expected, (name, arguments, options, found, expected)
            if found is UnicodeError:
                self.seek(0)

    def outcome(self, text: Any, name: str, *arguments: Any, **options: Any) -> Any:
        try:
            return list(text) if name == "list" else getattr(text, name)(*arguments, **options)
        except StopIteration:
            return StopIteration
        except UnicodeError:
            return UnicodeError
        except (OSError, ValueError) as exc:
            return type(exc), str(exc)

    def seek(self, offset: int, whence: int = 0) -> None:
        self.both("seek", offset, whence)
        self.rewound()

    def call(self, name: str, number: int) -> None:
        if name in ("start", "end"):
            self.seek(0, io.SEEK_SET if name == "start" else io.SEEK_END)
            return
        method = getattr(self, "do_" + name.replace(" ", "_"), None)
        if method is not None:
            method(number)
            return
        self.is_exact = False
        self.iterated = self.iterated or name in ("next", "lines", "lines of")
        called, *arguments = {
            "next": ["__next__"],
            "readline": ["readline"],
            "readline of": ["readline", number],
            "read of": ["read", number],
            "rest": ["read"],
            "lines": ["readlines"],
            "lines of": ["readlines", number],
        }[name]
        self.both(called, *arguments)
        if name == "rest":
            self.holds = self.iterated and sys.version_info >= (3, 13)

    def do_tell(self, number: int) -> None:
        if not self.tells:
            return
        if self.iterated:
            found, expected = self.outcome(self.file, "tell"), self.outcome(self.plain, "tell")
            if isinstance(found, tuple) or isinstance(expected, tuple):
                assert found == expected
                return
        self.cookies.append((self.file.tell(), self.plain.tell()))

    def do_back(self, number: int) -> None:
        if self.cookies:
            mine, other = self.cookies[number % len(self.cookies)]
            self.file.seek(mine)
            self.plain.seek(other)
            self.rewound()
            self.is_exact = mine < 1 << 64 and other < 1 << 64

    def do_seek(self, number: int) -> None:
        self.seek(position(self.content, number))

    def do_here(self, number: int) -> None:
        if self.tells and not self.iterated:
            self.file.seek(0, io.SEEK_CUR)
            self.plain.seek(0, io.SEEK_CUR)
            self.is_exact = False

    def do_all(self, number: int) -> None:
        self.seek(0)
        self.both("list" if number % 2 else "readlines")
        self.iterated = True
        self.is_exact = False
        assert self.file.newlines == self.plain.newlines

    def do_flush(self, number: int) -> None:
        self.both("flush")
        self.tells = self.tells and not self.iterated

    def do_state(self, number: int) -> None:
        for name in ("closed", "encoding", "errors", "line_buffering", "write_through"):
            assert getattr(self.file, name) == getattr(self.plain, name), name
        for name in ("readable", "writable", "seekable", "isatty"):
            self.both(name)
        self.both("write", "x")

    def do_line_buffering(self, number: int) -> None:
        self.both("reconfigure", line_buffering=bool(number % 2))
        self.tells = self.tells and not self.iterated

    def do_reconfigure(self, number: int) -> None:
        if self.holds:
            return
        options: Any = {"newline": NEWLINES[number % 5]}
        if number % 3 == 0:
            options = {"errors": "replace" if self.options["errors"] != "strict" else "strict"}
        elif number % 3 == 1:
            options = {"encoding": ENCODINGS[number % len(ENCODINGS)], "errors": self.options["errors"]}
        self.both("reconfigure", **options)
        self.tells = self.tells and not self.iterated

    def do_detach(self, number: int) -> None:
        if self.is_exact:
            chunk = self.plain._CHUNK_SIZE
            self.file = type(self.file)(self.file.detach(), **self.options)
            self.plain = io.TextIOWrapper(self.plain.detach(), **self.options)
            self.plain._CHUNK_SIZE = chunk

    def do_bytes(self, number: int) -> None:
        if not self.is_exact:
            return
        file, plain = self.file.buffer, self.plain.buffer
        assert file.tell() == plain.tell()
        if number % 4 == 0:
            assert file.read(number) == plain.read(number)
        elif number % 4 == 1:
            assert file.readline() == plain.readline()
        elif number % 4 == 2:
            at = position(self.content, number)
            assert file.seek(at) == plain.seek(at) == at
        else:
            assert file.read() == plain.read()
        assert file.tell() == plain.tell()


def run_text(zstd: ModuleType, case: Case) -> None:
    with sizes(case):
        texts = Texts(zstd, case)
        for name, number in case.operations:
            texts.call(name, number)
        texts.file.close()


class Bytes:
    """A binary file, and the file of plain bytes that it must behave like."""

    def __init__(self, zstd: ModuleType, case: Case) -> None:
        source = io.BytesIO(compressed(zstd, case))
        self.plain = io.BytesIO(b"".join(case.content))
        self.text = zstd.open(source, "rt", encoding="utf-8", errors="replace") if case.options["is_text"] else None
        self.file = zstd.open(source) if self.text is None else self.text.buffer

    def took(self, found: bytes, size: int) -> None:
        """Check the result of a call that may return less than `size` bytes, but nothing only at the end."""
        expected = self.plain.read(size)
        assert expected.startswith(found)
        assert bool(found) == bool(expected)
        self.plain.seek(len(found) - len(expected), io.SEEK_CUR)

    def call(self, name: str, number: int) -> None:
        file, plain = self.file, self.plain
        if name in ("read", "readline"):
            assert getattr(file, name)(number) == getattr(plain, name)(number)
        elif name == "rest":
            assert (file.read(None) if number % 2 else file.read()) == plain.read()
        elif name == "next":
            assert next(file, b"") == next(plain, b"")
        elif name == "lines":
            lines = file.readlines(number)
            assert lines == [plain.readline() for _ in lines]
            assert (number > 0 and lines) or plain.tell() == len(plain.getvalue())
        elif name == "read1":
            self.took(file.read1(number), number)
        elif name in ("readinto", "readinto1"):
            target = bytearray(b"?" * abs(number))
            size = getattr(file, name)(target)
            assert name == "readinto1" or size == min(abs(number), len(plain.getvalue()) - plain.tell())
            self.took(bytes(target[:size]), abs(number))
        elif name == "peek":
            at = plain.tell()
            self.took(file.peek(number), -1)
            plain.seek(at)
        elif name == "seek":
            self.seek(number)
        elif name == "state":
            assert (file.readable(), file.writable(), file.seekable(), file.closed) == (True, False, True, False)
        elif self.text is not None:  # a line of text: it may read ahead, but later reads continue from its position
            self.text.readline()
            plain.seek(file.tell())
        assert file.tell() == plain.tell()

    def seek(self, number: int) -> None:
        content, whence = self.plain.getvalue(), number % 3
        target = position(content, number) + number % 5 // 4  # a position beyond the end is the end
        base = (0, self.plain.tell(), len(content))[whence]
        assert self.file.seek(target - base, whence) == self.plain.seek(min(target, len(content)))


def run_binary(zstd: ModuleType, case: Case) -> None:
    with sizes(case):
        files = Bytes(zstd, case)
        for name, number in case.operations:
            files.call(name, number)
        files.file.close()


def run_writer(zstd: ModuleType, case: Case) -> None:
    """Write the parts of the content in order, repeatedly; flushed data can be read at once."""
    target = io.BytesIO()
    parts = case.content or (b"",)
    written = b""
    frames = 0
    is_open = False  # whether a frame is open
    with sizes(case), zstd.open(target, "wb", level=case.options["level"]) as file:
        for at, (name, number) in enumerate(case.operations):
            data = parts[at % len(parts)] * (1 + number % 3)
            if name == "write":
                buffer = (data, bytearray(data), memoryview(data))[number % 3]
                assert file.write(buffer) == len(data)
            elif name == "lines":
                file.writelines([data, b"", data])
                data *= 2
            else:
                data = b""
            written += data
            is_open = is_open or name in ("write", "lines")
            if name.startswith("flush"):
                mode = file.FLUSH_FRAME if name == "flush of" and number % 2 else file.FLUSH_BLOCK
                file.flush(*([mode] if name == "flush of" else []))
                decompressor = zstd.ZstdDecompressor(multi_frame=True)
                assert decompressor.decompress(target.getvalue()) == written
                if mode == file.FLUSH_BLOCK:
                    is_open = True  # even a frame without a block
                elif is_open:
                    frames += 1
                    is_open = False
                    assert decompressor.eof
            elif name == "state":
                assert (file.readable(), file.writable(), file.seekable(), file.closed) == (False, True, False, False)
            assert file.tell() == len(written)
    data = target.getvalue()
    found = at = 0
    while at < len(data):
        at += zstd.get_frame_size(data[at:])
        found += 1
    assert found == frames + is_open
    assert not found or zstd.decompress(data) == written


DEFAULTS = {"buffer": zstd_file.BUFFER_SIZE, "read": readers.READ_SIZE, "frames": 1}
TEXT_DEFAULTS = {"encoding": "utf-8", "errors": "replace", "newline": "\n", **DEFAULTS}


@pytest.mark.skipif(
    sys.implementation.name != "cpython",
    reason="text files are io.TextIOWrapper, whose lines on PyPy depend on where its chunks end",
)
def test_text_reader(zstd: ModuleType, operations: int) -> None:
    check(lambda case: run_text(zstd, case), partial(make, "text"), operations, TEXT_DEFAULTS)


def test_binary_reader(zstd: ModuleType, operations: int) -> None:
    check(lambda case: run_binary(zstd, case), partial(make, "binary"), operations, DEFAULTS | {"is_text": False})


def test_binary_writer(zstd: ModuleType, operations: int) -> None:
    check(lambda case: run_writer(zstd, case), partial(make, "writer"), operations, DEFAULTS | {"level": 3})
