# SPDX-License-Identifier: Apache-2.0
"""Text files open for reading, call by call against an io.TextIOWrapper over the same bytes."""

from __future__ import annotations

import contextlib
import io
import sys
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from purepy.zstd.files import zstd_file

pytestmark = pytest.mark.skipif(
    sys.implementation.name != "cpython",
    reason="text files are io.TextIOWrapper, whose lines on PyPy depend on where its chunks end",
)

SLOW_SETUP = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
TEXT = [b"a", b"some words of text", b"\n", b"\n", b"\n", "ü".encode(), "\u2028".encode(), "\U0001f600".encode(), b"\0"]
RETURNS = [b"\r", b"\r\n", b"\n\r"]
PAIRS = [b"\r\n", b"\r\n", b"words", "ü".encode()]
LONG = [b"long" * 20, ("lö" * 50).encode()]
BAD = [b"\xff", b"\xe2\x80", b"\xed\xa0\x80", b"\xef\xbb\xbf"]


def contents(*kinds: list[bytes]) -> Any:
    return st.lists(st.sampled_from([part for kind in kinds for part in kind]), max_size=40).map(b"".join)


newlines = st.sampled_from([None, "", "\n", "\r", "\r\n"])
# from one that cuts every line to the real one
buffer_sizes = st.sampled_from([16, 37, 100, zstd_file.BUFFER_SIZE])
# without flush(), after which io.TextIOWrapper.tell() may be wrong if next() has read from the file
operations = st.lists(
    st.one_of(
        st.sampled_from(
            ["next", "next", "next", "readline", "readline", "tell", "start", "here", "end", "rest", "lines"]
        ),
        st.tuples(st.sampled_from(["readline", "read", "back"]), st.integers(-1, 30)),
    ),
    max_size=25,
)


def apply(text: Any, operation: Any, cookies: list[int]) -> Any:
    """Do one thing to a text file and return what came of it; positions only go to `cookies`."""
    if isinstance(operation, tuple):
        name, number = operation
        if name == "back":
            if cookies:
                text.seek(cookies[number % len(cookies)])
            return None
        return getattr(text, name)(number)
    if operation == "next":
        return next(text, None)
    if operation == "readline":
        return text.readline()
    if operation == "rest":
        return text.read()
    if operation == "lines":
        return text.readlines(50)
    if operation == "tell":
        cookies.append(text.tell())
    elif operation == "start":
        text.seek(0)
    elif operation == "here":
        text.seek(0, io.SEEK_CUR)
    else:
        text.seek(0, io.SEEK_END)
    return None


def outcome(text: Any, operation: Any, cookies: list[int]) -> Any:
    try:
        return apply(text, operation, cookies)
    except (OSError, ValueError) as exc:
        return type(exc), str(exc)


def opened(zstd: ModuleType, content: bytes, buffer_size: int, **options: Any) -> Any:
    with mock.patch.object(zstd_file, "BUFFER_SIZE", buffer_size):
        return zstd.open(io.BytesIO(zstd.compress(content)), "rt", **options)


@SLOW_SETUP
@given(
    content=contents(TEXT, RETURNS, LONG) | contents(TEXT, LONG) | contents(PAIRS, LONG),
    newline=newlines,
    encoding=st.sampled_from(["utf-8", "UTF8", "utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16-le"]),
    buffer_size=buffer_sizes,
    done=operations,
)
def test_calls(
    zstd: ModuleType, content: bytes, newline: str | None, encoding: str, buffer_size: int, done: list[Any]
) -> None:
    options: Any = {"encoding": encoding, "newline": newline, "errors": "replace"}
    plain = io.TextIOWrapper(io.BytesIO(content), **options)
    plain_cookies: list[int] = []
    cookies: list[int] = []
    with opened(zstd, content, buffer_size, **options) as text:
        for operation in done:
            assert outcome(text, operation, cookies) == outcome(plain, operation, plain_cookies), operation
        assert list(text) == list(plain)


@SLOW_SETUP
@given(
    content=contents(TEXT, RETURNS, LONG, BAD) | contents(PAIRS, LONG),
    newline=newlines,
    encoding=st.sampled_from(["utf-8", "ascii"]),
    errors=st.sampled_from(["strict", "ignore", "replace", "surrogateescape", "backslashreplace"]),
    buffer_size=buffer_sizes,
)
def test_lines(
    zstd: ModuleType, content: bytes, newline: str | None, encoding: str, errors: str, buffer_size: int
) -> None:
    options: Any = {"encoding": encoding, "newline": newline, "errors": errors}
    plain = io.TextIOWrapper(io.BytesIO(content), **options)
    lines: list[str] = []
    with opened(zstd, content, buffer_size, **options) as text:
        expected = None
        with contextlib.suppress(UnicodeDecodeError):
            expected = list(plain)
        if expected is None:
            with pytest.raises(UnicodeDecodeError):
                lines.extend(text)
            # lines in front of it may come first
            plain = io.TextIOWrapper(io.BytesIO(content), encoding, "surrogateescape", newline)
            assert lines == list(plain)[: len(lines)]
        else:
            lines.extend(text)
            assert lines == expected
            assert text.newlines == plain.newlines
            text.seek(0)
            assert list(iter(text.readline, "")) == expected


sizes = st.integers(-1, 60)
binary_operations = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["read", "readline", "read1", "peek"]), sizes),
        st.tuples(st.sampled_from(["readinto", "readinto1"]), st.integers(0, 60)),
        st.tuples(st.just("seek"), st.tuples(st.integers(0, 200), st.sampled_from([0, 1, 2]))),
        st.tuples(st.just("line of text"), st.none()),
    ),
    max_size=25,
)


def apply_binary(file: Any, length: int, name: str, argument: Any) -> Any:
    """Do one thing to a binary file with `length` bytes of content and return what came of it."""
    if name == "seek":
        target, whence = argument[0] % (length + 1), argument[1]
        return file.seek(target - (0, file.tell(), length)[whence], whence)
    if name.startswith("readinto"):
        target = bytearray(argument)
        return bytes(target[: getattr(file, name)(target)])
    return getattr(file, name)(argument)


@SLOW_SETUP
@given(content=contents(TEXT, LONG), buffer_size=buffer_sizes, done=binary_operations)
def test_bytes_under_text(zstd: ModuleType, content: bytes, buffer_size: int, done: list[Any]) -> None:
    plain = io.BytesIO(content)
    with opened(zstd, content, buffer_size, encoding="utf-8", errors="replace") as text:
        binary = text.buffer
        for name, argument in done:
            at = plain.tell()
            if name == "line of text":
                text.readline()
                plain.seek(binary.tell())
                continue
            result = apply_binary(binary, len(content), name, argument)
            if name in ("read1", "readinto1", "peek"):  # the result may be as short as it likes, but not empty
                rest = plain.read()
                assert rest.startswith(result)
                assert bool(result) == bool(rest and (argument or name == "peek"))
                plain.seek(at if name == "peek" else at + len(result))
            else:
                assert result == apply_binary(plain, len(content), name, argument)
            assert binary.tell() == plain.tell()
