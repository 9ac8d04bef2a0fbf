# SPDX-License-Identifier: Apache-2.0
"""
Read JSON, JSON Lines and streams of JSON values with Python's `json`, and refuse values that MessagePack cannot hold.

Lines with whole values are read in pieces; a document is read as a whole. Python's `json` accepts NaN, duplicate keys,
lone surrogates, floats that overflow 64 bits and integers that need more. The code that locates such a value runs only
after one was noticed.
"""

from __future__ import annotations

import codecs
import collections
import json
import re
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, BinaryIO, Final

from cpkg import _backend
from cpkg.cli.fitting import HEAD
from cpkg.cli.json_text import JSONError, member
from cpkg.objects import dumps_loads
from purepy.base.reading import read_full, read_some
from purepy.msgpack.plain_writer import array_header

_PIECE: Final = 1 << 20
_WIDE_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_SPACE: Final = re.compile(r"[ \t\n\r]*")
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|-?Infinity|NaN', re.DOTALL)
_TOO_DEEP: Final = f"expected containers to nest at most {dumps_loads.MAX_DEPTH} deep, found more"
# Only a number with a three-digit exponent or hundreds of digits can overflow a double.
_HUGE_FLOAT: Final = re.compile(r"\d[eE]\+?0*[1-9]\d\d|\d{290}")


class JSONReader:
    """
    Reads the JSON values of a binary file.

    `lines` chooses between one JSON document (False) and JSON Lines (True). None means a document, or a stream if a
    second value begins on a later line. `name` begins each message, and `nan_hint` ends the message for NaN. `advance`
    is called with the number of bytes read so far.
    """

    def __init__(
        self,
        file: BinaryIO,
        name: str,
        *,
        lines: bool | None,
        allow_nan: bool,
        nan_hint: str = "; --allow-nan accepts it",
        advance: Callable[[int], object] = lambda size: None,
    ) -> None:
        self._nan_hint = nan_hint
        self._file = file
        self._name = name
        self._lines = lines
        self._allow_nan = allow_nan
        self._advance = advance
        refuse = None if allow_nan else _refuse_constant
        self._decoder = json.JSONDecoder(object_pairs_hook=self._object, parse_constant=refuse)
        self._twice: dict[int, tuple[dict[str, object], str]] = {}  # id -> object with a duplicate key, and the key
        self._line = 1  # the line number of the text that is being parsed
        self.size = 0
        """The number of bytes read."""
        self.head = b""
        """The first bytes of the text, at most HEAD."""

    def run(self, take: Callable[[list[Any], bool], object]) -> None:
        """
        Call `take(values, is_document)` with lists of values.

        `is_document` is True if there is only one value and `lines` is not True. Raises JSONError for text that is not
        JSON, for duplicate keys and numbers that overflow, and if `take` raises ValueError or OverflowError, as packers
        do for values that MessagePack cannot hold. An empty file is an error unless `lines` is True.
        """
        try:
            batches = self._batches()
            first, second = next(batches, None), next(batches, None)
            if first is None and not self._lines:
                raise JSONError(f"{self._name}: empty: expected a JSON value")
            is_document = first is not None and second is None and len(first[0]) == 1 and not self._lines
            for values, text, line in filter(None, chain((first, second), batches)):
                try:
                    take(values, is_document)
                except JSONError:
                    raise
                except (OverflowError, ValueError) as exc:
                    self._line = line
                    self._refuse(exc, text)
        except json.JSONDecodeError as exc:
            found = json.dumps(exc.doc[exc.pos], ensure_ascii=False) if exc.pos < len(exc.doc) else "the end"
            text = f"{exc.msg}, found {found}" if exc.msg.startswith("expecting") else exc.msg
            raise JSONError(f"{self._name}:{self._line - 1 + exc.lineno}:{exc.colno}: {text}") from None

    def _batches(self) -> Iterator[tuple[list[object], str, int]]:
        """Yield lists of values, each with its text and the number of the first line of the text."""
        pieces = self._pieces()
        for line, text in pieces:
            self._line = line
            try:
                values = self._values(text)
            except json.JSONDecodeError:
                self._twice.clear()
                if self._lines:
                    for self._line, row in enumerate(text.split("\n"), line):
                        self._values(row)  # raises for the line that is wrong
                rest = "".join([more for _, more in pieces])
                if not rest:
                    raise
                text += rest
                values = self._values(text)  # a value may span several lines
            if values:
                yield values, text, line

    def _pieces(self) -> Iterator[tuple[int, str]]:
        """Yield pieces of whole lines, or the whole document, each with the number of its first line."""
        head = read_full(self._file, 4)
        is_wide = head.startswith(_WIDE_MARKS)
        encoding = json.detect_encoding(head) if is_wide else "UTF-8"
        piece = bytearray(head.removeprefix(codecs.BOM_UTF8))
        start = len(head) - len(piece)
        self.size = len(head)
        line = 1
        while True:
            data = read_some(self._file, _PIECE)
            self.size += len(data)
            self._advance(self.size)
            end = 0 if is_wide or self._lines is False else data.rfind(b"\n") + 1
            piece += data[:end] if end else data
            if end or not data:
                self.head = self.head or bytes(piece[:HEAD])
                try:
                    text = piece.decode(encoding)
                except UnicodeDecodeError as exc:
                    line += exc.object.count(b"\n", 0, exc.start)
                    where = f"{exc.reason} at byte {start + exc.start}"
                    raise JSONError(f"{self._name}:{line}: not {encoding}: {where}") from None
                start += len(piece)
                piece = bytearray(data[end:])
                yield line, text
                line += text.count("\n")
            if not data:
                return

    def _values(self, text: str) -> list[object]:
        """
        Return the values of a text; between two values there must be a line break.

        With `lines` False, there may be only one value, and with `lines` True, each must be within a line. Raises
        JSONError or JSONDecodeError for the first value that is wrong.
        """
        values: list[object] = []
        end = 0
        while True:
            found: Any = _SPACE.match(text, end)
            at: int = found.end()
            if at == len(text):
                return values
            if values and (self._lines is False or text.find("\n", end, at) < 0):
                stop = "the end" if self._lines is False else "a line break or the end"
                raise json.JSONDecodeError(f"expecting {stop}", text, at)
            try:
                value, end = self._decoder.raw_decode(text, at)
            except RecursionError:
                raise JSONError(f"{self._name}:{self._line_of(text, at)}: {_TOO_DEEP}") from None
            except json.JSONDecodeError as exc:
                exc.msg = exc.msg[:1].lower() + exc.msg[1:]
                raise
            except ValueError as exc:  # a refused constant, or an integer of more digits than int() takes
                self._refuse(exc, text, at)
            if self._lines and text.find("\n", at, end) >= 0:
                raise json.JSONDecodeError("a value spans several lines", text, at)
            if _HUGE_FLOAT.search(text, at, end):
                self._refuse(None, text, at, end)
            if self._twice:
                path, key = self._find_twice(value)
                where = f"{self._name}:{self._line_of(text, at)}"
                raise JSONError(f"{where}: the key {json.dumps(key)} occurs twice in the object at {path}")
            values.append(value)

    def _line_of(self, text: str, position: int) -> int:
        return self._line + text.count("\n", 0, position)

    def _refuse(self, exc: Exception | None, text: str, start: int = 0, end: int = sys.maxsize) -> None:
        """
        Raise JSONDecodeError for the first token in text[start:end] that MessagePack or the options refuse.

        Without such a token, raises JSONError with the text of `exc`, or returns if `exc` is None.
        """
        for match in _TOKEN.finditer(text, start, end):
            reason = self._reason(match.group())
            if reason:
                raise json.JSONDecodeError(reason, text, match.start()) from None
        if exc is not None:
            reason = _TOO_DEEP if str(exc).startswith("recursion limit exceeded") else str(exc)
            raise JSONError(f"{self._name}: {reason}") from None

    def _reason(self, token: str) -> str:
        """Return why a string or number is refused; "" if it is accepted or if `json` itself refuses it."""
        if token[0] == '"':
            try:
                if "\\u" in token:
                    json.loads(token).encode()
            except UnicodeEncodeError:
                return "the string contains a lone surrogate, which UTF-8 cannot encode"
            except ValueError:
                pass  # `json` itself refuses this text
        elif token[-1] in "yN":
            return "" if self._allow_nan else f"{token} is not JSON{self._nan_hint}"
        elif not token.lstrip("-").isdigit():
            return "the number overflows a 64-bit float" if abs(float(token)) == float("inf") else ""
        elif len(token) > 18:
            digits = len(token.lstrip("-"))
            if digits > 20 or not -(2**63) <= int(token) < 2**64:
                return f"an integer of {digits} digits does not fit MessagePack's 64 bits"
        return ""

    def _object(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        value = dict(pairs)
        if len(value) != len(pairs):
            counts = collections.Counter([key for key, _ in pairs])
            self._twice[id(value)] = value, next(key for key in counts if counts[key] > 1)
        return value

    def _find_twice(self, value: object) -> tuple[str, str]:
        """Return the path of the first object with a duplicate key in `value`, which must have one, and the key."""
        pending = [(value, "$")]
        while True:
            value, path = pending.pop()
            if id(value) in self._twice:
                return path, self._twice[id(value)][1]
            if isinstance(value, dict):
                pending += [(item, member(path, key)) for key, item in reversed(list(value.items()))]
            elif isinstance(value, list):
                pending += [(item, f"{path}[{index}]") for index, item in reversed(list(enumerate(value)))]


def _refuse_constant(token: str) -> float:
    raise ValueError(f"{token} is not JSON")


class MessageBuilder:
    """Packs the values that `JSONReader.run` delivers into the same message as `cpkg.dumps`, not compressed."""

    def __init__(self, *, sort_keys: bool = False) -> None:
        self._packb = _backend.msgpack().packb
        self._options: dict[str, object] = {"sort_keys": sort_keys, "max_depth": dumps_loads.MAX_DEPTH}
        self._parts: list[bytes] = []
        self._count = 0  # items of the array; 0 for a document

    def take(self, values: list[Any], is_document: bool) -> None:
        """Add values to the array, or use the only value as the message."""
        packed: bytes = self._packb(values[0] if is_document else values, **self._options)
        if not is_document:
            self._count += len(values)
            packed = packed[len(array_header(len(values))) :]
        self._parts.append(packed)

    def message(self) -> bytes:
        """Return the message; an empty array if no values were taken."""
        is_document = self._parts and not self._count
        return self._parts[0] if is_document else b"".join([array_header(self._count), *self._parts])
