# SPDX-License-Identifier: Apache-2.0
"""
JSON, JSON Lines and streams of JSON values in, piece by piece.

Text is read a window at a time, and the items of an array, or the values of a stream, are handed on when the window
moves, so that a large file takes little memory. A single object has to be in memory as a whole.

Strict where Python's `json` is lax (json_strict). Each complaint names a line and a column. What finds the place runs
after a parse has failed, so that good input does not pay for it.
"""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Callable
from typing import Any, BinaryIO, Final, NoReturn, Protocol

from cpkg.cli.json_strict import HUGE_FLOAT, DuplicateKeyError, RefusedError, find_duplicate, strict_scanners
from cpkg.cli.json_text import TOKEN, JSONError, find_unpackable
from purepy.base.reading import read_some

_WINDOW: Final = 1 << 20
_LARGE_WINDOW: Final = 16 << 20
"""An item that is not in the first window is looked for in this one, then in the whole rest, so that none is parsed
more than three times, and the first two tries are short. A single value has no second try."""
_BATCH: Final = 10_000
_SUREST: Final = 16
"""An error, or the end of a value, so many characters before the end of the window is one whatever follows: no
number that is cut, no literal and no escape is longer."""

_NOT_SPACE = re.compile(r"[^ \t\n\r]|\Z")
_COMMA = re.compile(r"[ \t\n\r]*,[ \t\n\r]*")
_UNBROKEN = re.compile(r"[^\[\]{}\\]+")
# Items of an array that are numbers, literals or strings without an escape, each with the comma behind it.
_PLAIN_ITEMS = re.compile(r'(?:[^\[\]{}",]*(?:"[^"\\]*"[^\[\]{}",]*)?,)+')


class Sink(Protocol):
    """Where values go."""

    def take(self, values: list[object]) -> None:
        """Take the next items of an array, or values of a stream; OverflowError or ValueError if one is refused."""

    def nest(self) -> None:
        """Learn that what was taken so far is an array, which is the first value of a stream."""

    def single(self, value: object) -> None:
        """Take the only value."""


class JSONReader:
    """
    The values of a binary file, which go to a sink.

    `lines` chooses between JSON (False) and JSON Lines (True); None takes JSON, and a stream of values if a second one
    follows the first on a line below it. `name` begins each message, `advance` is called with the number of
    bytes read so far.
    """

    def __init__(
        self,
        file: BinaryIO,
        name: str,
        *,
        lines: bool | None,
        allow_nan: bool,
        advance: Callable[[int], object] | None = None,
    ) -> None:
        self._file = file
        self._name = name
        self._lines = lines
        self._advance = advance
        self._scanners = strict_scanners(allow_nan=allow_nan)
        self.size = 0
        """How many bytes were read."""
        self._decoder: codecs.IncrementalDecoder | None = None
        self._encoding = ""
        self._text = ""
        self._at_end = False
        # where the window begins
        self._line = 1
        self._column = 0
        self._in_pieces = False  # whether this is an array or a stream, and no value that is needed as a whole
        self._values: list[object] = []
        self._since = 0  # where in the window the first of them begins
        self._count = 0  # of those that were handed on

    def run(self, sink: Sink) -> None:
        """Read all; raise JSONError for text that is not JSON or does not fit into MessagePack."""
        self._sink = sink
        self._more(0)
        position = self._skip(0)
        if self._lines:
            self._in_pieces = True
            return self._read_lines(position)
        if position == len(self._text):
            raise JSONError(f"{self._name}: empty: expected a JSON value")
        is_array = self._in_pieces = self._text[position] == "["
        value: object = None
        if is_array:
            start = end = self._array(position)
        else:
            value, start, end = self._value(position)
        following, is_below = self._behind(start, end)
        if following < len(self._text) and (self._lines is False or not is_below):
            self._fail(following, "extra data")
        if is_array:
            self._flush(following)
            if following < len(self._text):
                sink.nest()
        elif following == len(self._text):
            return self._single(value)
        else:
            self._in_pieces = True
            self._values.append(value)
            self._since = 0
        return self._stream(following)

    def _single(self, value: object) -> None:
        try:
            self._sink.single(value)
        except (OverflowError, ValueError) as exc:
            raise self._explained(exc, 0, len(self._text)) from None

    # the window

    def _more(self, position: int) -> int:
        """Move the window on to begin at `position`, or to be longer if it begins there; return the new position."""
        self._flush(position)
        text = self._text
        newlines = text.count("\n", 0, position)
        self._line += newlines
        self._column = position - text.rfind("\n", 0, position) - 1 + (0 if newlines else self._column)
        text = text[position:]
        self._text = ""
        if not text or len(text) < _WINDOW // 2:
            size = _WINDOW
        elif self._in_pieces and len(text) < _LARGE_WINDOW // 2:
            size = _LARGE_WINDOW
        else:
            size = -1
        more = self._read(size, text)
        self._text = text + more if text else more
        self._since = 0
        self._scan = self._scanners[HUGE_FLOAT.search(self._text) is not None]
        return 0

    def _read(self, size: int, before: str) -> str:
        data = read_some(self._file, size)
        if self._decoder is None:
            self._encoding, self._decoder, mark = _decoder_for(data)
            data = data[mark:]
            self.size += mark
        self._at_end = size < 0 or not data
        kept = len(self._decoder.getstate()[0])
        try:
            text: str = self._decoder.decode(data, self._at_end)
        except UnicodeDecodeError as exc:
            line = self._line + before.count("\n") + exc.object.count(b"\n", 0, exc.start)
            where = self.size - kept + exc.start
            raise JSONError(f"{self._name}:{line}: not {self._encoding}: {exc.reason} at byte {where}") from None
        self.size += len(data)
        if self._advance is not None:
            self._advance(self.size)
        return text

    def _skip(self, position: int) -> int:
        """Return where the next thing begins that is no space: the end of the text if there is none."""
        while True:
            found: Any = _NOT_SPACE.search(self._text, position)
            position = found.start()
            if position < len(self._text) or self._at_end:
                return position
            position = self._more(position)

    def _behind(self, start: int, end: int) -> tuple[int, bool]:
        """
        Return where the next thing is behind a value, and whether that is on a line below it.

        If the window has to be moved for that, it keeps the value that begins at `start`.
        """
        while True:
            found: Any = _NOT_SPACE.search(self._text, end)
            following: int = found.start()
            if following < len(self._text) or self._at_end:
                return following, self._text.find("\n", end, following) >= 0
            self._more(start)
            end -= start
            start = 0

    def _line_of(self, position: int) -> int:
        return self._line + self._text.count("\n", 0, position)

    def _error(self, position: int, what: str) -> JSONError:
        line_start = self._text.rfind("\n", 0, position)
        column = position - line_start + (self._column if line_start < 0 else 0)
        return JSONError(f"{self._name}:{self._line_of(position)}:{column}: {what}")

    def _fail(self, position: int, what: str) -> NoReturn:
        raise self._error(position, what) from None

    # values

    def _flush(self, position: int) -> None:
        """Hand on the values read so far, which end before `position`."""
        values, self._values = self._values, []
        since, self._since = self._since, position
        if values:
            try:
                self._sink.take(values)
            except (OverflowError, ValueError) as exc:
                raise self._explained(exc, since, position) from None
            self._count += len(values)

    def _explained(self, exc: Exception, start: int, end: int) -> JSONError:
        """Return the error for text that parsed and does not pack, with the place if it is found."""
        problem = find_unpackable(self._text, start, end)
        return self._error(*problem) if problem else JSONError(f"{self._name}: {exc}")

    def _value(self, position: int, path: str = "$") -> tuple[object, int, int]:
        """
        Return the value at a position, the position, and that behind the value.

        Moves the window on if it ends before the value does; the positions are those in the new window.
        """
        while True:
            text = self._text
            try:
                value, end = self._scan(text, position)
            except StopIteration as exc:
                where, what = exc.value, "expecting value"
            except json.JSONDecodeError as exc:
                where, what = exc.pos, exc.msg[:1].lower() + exc.msg[1:]
            except RefusedError as exc:
                for match in TOKEN.finditer(text, position):
                    if match.group() == exc.token:
                        self._fail(match.start(), exc.reason)
                raise
            except DuplicateKeyError:
                try:
                    at, key = find_duplicate(text, position, path)
                except json.JSONDecodeError as exc:
                    where, what = exc.pos, exc.msg[:1].lower() + exc.msg[1:]
                else:
                    line = self._line_of(position)
                    raise JSONError(
                        f"{self._name}:{line}: the key {json.dumps(key)} occurs twice in the object at {at}"
                    ) from None
            except RecursionError:
                raise JSONError(f"{self._name}:{self._line_of(position)}: nested too deep") from None
            except ValueError as exc:  # int() limits the number of digits
                raise self._explained(exc, position, len(text)) from None
            else:
                if self._at_end or end < len(text) - _SUREST:
                    return value, position, end
                position = self._more(position)
                continue
            # a string that is not closed is wrong where it begins
            if self._at_end or (where < len(text) - _SUREST and text[where] != '"'):
                self._fail(where, what)
            position = self._more(position)

    def _array(self, position: int) -> int:
        """Hand on the items of an array; return the position behind it."""
        position = self._skip(position + 1)
        self._since = position
        if self._text[position : position + 1] == "]":
            return position + 1
        while True:
            position = self._plain_items(position)
            value, _, end = self._value(position, f"$[{self._count + len(self._values)}]")
            self._values.append(value)
            if len(self._values) >= _BATCH:
                self._flush(end)
            comma = _COMMA.match(self._text, end)
            if comma is not None and comma.end() < len(self._text):
                position = comma.end()
                continue
            end = self._skip(end)
            following = self._text[end : end + 1]
            if following == "]":
                return end + 1
            if following != ",":
                self._fail(end, "expecting ',' delimiter")
            position = self._skip(end + 1)

    def _plain_items(self, position: int) -> int:
        """Take items from a position on that are parsed at once; return the position behind them and their comma."""
        if self._text[position : position + 1] in ("{", "["):
            return position
        comma = _plain_end(self._text, position)
        if comma <= position:
            return position
        try:
            values, end = self._scan(f"[{self._text[position:comma]}]", 0)
        except (ValueError, StopIteration, RefusedError):
            return position  # one by one, each with its place
        if not values or end != comma - position + 2:  # no value in front of the comma, or more than one
            return position
        self._values += values
        return self._skip(comma + 1)

    def _stream(self, position: int) -> None:
        """Pass on the values from a position on, each of which begins on a later line than the one before."""
        while position < len(self._text):
            value, _, end = self._value(position)
            self._values.append(value)
            if len(self._values) >= _BATCH:
                self._flush(end)
            if self._text.startswith("\n{", end):
                position = end + 1
                continue
            position, is_below = self._behind(end, end)
            if position < len(self._text) and not is_below:
                self._fail(position, "extra data")
        self._flush(position)

    def _read_lines(self, position: int) -> None:
        """Pass on the values of JSON Lines, one per line."""
        while position < len(self._text):
            line_end = self._text.find("\n", position)
            if line_end < 0:
                if not self._at_end:
                    position = self._more(position)
                    continue
                line_end = len(self._text)
            try:
                value, end = self._scan(self._text, position)
            except Exception:
                end = -1
            # only a line feed ends a line: a string may contain U+2028
            if not position < end <= line_end or (end < line_end and not self._text[end:line_end].isspace()):
                self._fail_in_line(position, line_end)
            self._values.append(value)
            if len(self._values) >= _BATCH:
                self._flush(end)
            position = self._skip(line_end)
        self._flush(position)

    def _fail_in_line(self, start: int, end: int) -> NoReturn:
        """Raise the error for a line that is not one value."""
        line = JSONReader(
            io.BytesIO(self._text[start:end].encode("utf-8", "surrogatepass")), self._name, lines=False, allow_nan=True
        )
        line._scanners = self._scanners
        line._line = self._line_of(start)
        line_start = self._text.rfind("\n", 0, start)
        line._column = start - line_start - 1 + (self._column if line_start < 0 else 0)
        line.run(_Nowhere())
        raise AssertionError("the line is one value")


def _plain_end(text: str, position: int) -> int:
    """Return where the last comma is behind items without brackets and escapes, or a number that is no position."""
    found = _UNBROKEN.match(text, position)
    if found is None:
        return -1
    if text.find('"', position, found.end()) < 0:
        return text.rfind(",", position, found.end())
    quote = text.rfind('",', position, found.end())
    if quote >= 0 and text.count('"', position, quote) % 2:  # it is a closing one
        return quote + 1
    items = _PLAIN_ITEMS.match(text, position)
    return -1 if items is None else items.end() - 1


class _Nowhere:
    """A sink for values whose text is looked at again."""

    def take(self, values: list[object]) -> None: ...
    def nest(self) -> None: ...
    def single(self, value: object) -> None: ...


def _decoder_for(data: bytes) -> tuple[str, codecs.IncrementalDecoder, int]:
    """Return the name of an encoding, a decoder, and the length of the byte order mark for text that begins so."""
    if data.startswith(codecs.BOM_UTF8):
        return "UTF-8", codecs.getincrementaldecoder("utf-8")(), len(codecs.BOM_UTF8)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        encoding = json.detect_encoding(data)
        return encoding, codecs.getincrementaldecoder(encoding)(), 0
    return "UTF-8", codecs.getincrementaldecoder("utf-8")(), 0
