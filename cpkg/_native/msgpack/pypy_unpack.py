# SPDX-License-Identifier: Apache-2.0
"""
Unpacking from the token tape: the fast loop of the native backend on PyPy.

The tape is a list of 64-bit words into which C parses a stretch of a message: a word per value or end of a container,
with its kind, its key's number and its length, and after some kinds a second word or numbers
(`ffi_build/msgpack/pypy/tape.c` has the details, and why this is fast). The loop here is what PyPy compiles: each turn
takes a word, makes the value that it stands for and stores it in the container at hand. Containers are filled where
they will stay, so that there is no recursion, and a message may be nested as deep as the C side has frames.

`read()` serves what nearly every message is; for anything else, and for every error, it returns None, and the caller
turns to the pure codec. All of this works on CPython too, where the tests use it, but is not fast there.
"""

from __future__ import annotations

from cpkg._native._msgpack_ffi import ffi, lib
from cpkg._native.msgpack.pypy_tape import (
    HEAD_END,
    HEAD_FORGET,
    HEAD_KEY,
    HEAD_NEW_NAMES,
    HEAD_POOL,
    HEAD_WORDS,
    KEY_IS_KEY,
    KEY_PENDING,
    Tape,
)
from purepy._jit import newlist_hint
from purepy.msgpack.ext import ExtType, Timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from cpkg._native.msgpack.pypy_checks import Options

# the kinds of words, in the order of the enum in msgpack/pypy/tape_words.c
(
    END,
    NIL,
    FALSE,
    TRUE,
    INT,
    WIDE,
    UINT,
    FLOAT,
    ASCII,
    STR,
    BIN,
    EXT,
    ARRAY,
    MAP,
    EMPTY_ARRAY,
    EMPTY_MAP,
    INTS,
    FLOATS,
    OPEN_INTS,
    OPEN_FLOATS,
    MORE,
    MORE_INTS,
    MORE_FLOATS,
) = range(23)

TWO_WORDS: Final = frozenset((WIDE, UINT, FLOAT, STR, BIN, EXT))
"""The scalars that have a second word."""

_CONTINUE: Final = -1
_NEXT_PART: Final = -2

# Lists are made for so many items at most before these are there, whatever a header declares: a thousand may be open.
_HINT_MAX: Final = 128

_unpack = ffi.unpack
_next = lib.cpkg_tape_next


# Tapes at rest. A call takes one and puts it back, so that threads and calls from within calls never share one.
_idle: list[Tape] = []
_IDLE_MAX: Final = 4


def read(data: bytes, start: int, options: Options, timestamp: int, ext_hook: Any = ExtType) -> tuple[Any, int] | None:
    """
    Return the object that begins at `start` and the offset of its end, or None if the pure codec has to look at it.

    `options` are those of `pypy_checks`; `timestamp` and `ext_hook` are those of `unpackb`, the hook one that is
    repeatable if `options` allow extensions. Arrays become lists.
    """
    reading = Reading(options, timestamp, ext_hook)
    try:
        found = _read(reading, data, start, len(data))
    except _Unnamed:
        return None  # the tape's names no longer match its numbers: it is dropped
    except (ValueError, OverflowError, TypeError):
        # no UTF-8, an extension that its type refuses, one as key that has no hash: the pure codec knows its offset
        found = REFUSED
    reading.release()
    return (reading.containers[0][0], reading.tape.words[HEAD_END]) if found == COMPLETE else None


INCOMPLETE: Final = 0
COMPLETE: Final = 1
REFUSED: Final = -1


class Reading:
    """
    A message that is being read: its tape, and where the reader stands between two parts of it.

    `containers` are those that are open, from the outermost on: a list that stands for the message, whose item it is.
    Each is stored in the one before.
    """

    __slots__ = ("containers", "ext_hook", "fresh", "pending", "tape", "timestamp")

    def __init__(self, options: Options, timestamp: int, ext_hook: Any = ExtType) -> None:
        try:
            tape = _idle.pop()
        except IndexError:
            tape = Tape()
        if tape.options is not options and tape.options != options:
            tape.configure(options)
        self.tape = tape
        self.timestamp = timestamp
        self.ext_hook = ext_hook
        self.containers: list[Any] = [[]]
        self.pending: Any = None  # the last key that has no number
        self.fresh = True

    def read(self, data: bytes, begin: int, end: int) -> int:
        """Read the part of the message in data[begin:end], which holds whole values; return how it stands with it."""
        found = _read(self, data, begin if self.fresh else _NEXT_PART - begin, end)
        self.fresh = False
        return found

    def key(self) -> Any:
        """Return the key whose value comes next."""
        number = self.tape.words[HEAD_KEY]
        return self.pending if number == KEY_PENDING else self.tape.names[number]

    def release(self) -> None:
        """Let others have the tape."""
        if len(_idle) < _IDLE_MAX:
            _idle.append(self.tape)


class _Unnamed(Exception):
    """A key that the C side has numbered is no UTF-8."""


def _ext(data: bytes, begin: int, end: int, reading: Reading) -> Any:
    code = data[begin]
    payload = data[begin + 1 : end]
    if code != 255:
        return reading.ext_hook(code if code < 128 else code - 256, payload)
    timestamp = reading.timestamp
    stamp = Timestamp.from_bytes(payload)
    if timestamp == 0:
        return stamp
    if timestamp == 1:
        return stamp.to_unix()
    if timestamp == 2:
        return stamp.to_unix_nano()
    return stamp.to_datetime()


def _scalar(reading: Reading, data: bytes, pool: str, begin: int, i: int) -> Any:
    """Return the scalar whose word is at `i`; `begin` is where it begins in the pool, if it is there."""
    tape = reading.tape
    words = tape.words
    word = words[i]
    kind = word & 0xFF
    if kind == INT:
        return word >> 24
    if kind == ASCII:
        return pool[begin : word >> 24]
    if kind == NIL:
        return None
    if kind == TRUE:
        return True
    if kind == FALSE:
        return False
    if kind == WIDE:
        return words[i + 1]
    if kind == UINT:
        return tape.unsigned[i + 1]
    if kind == FLOAT:
        return tape.doubles[i + 1]
    begin = words[i + 1]
    end = begin + (word >> 24)
    if kind == STR:
        return data[begin:end].decode()
    if kind == BIN:
        return data[begin:end]
    return _ext(data, begin, end, reading)


def _read(reading: Reading, data: bytes, start: int, size: int) -> int:
    tape = reading.tape
    handle = tape.handle
    words = tape.words
    doubles = tape.doubles
    names = tape.names
    parents = reading.containers
    node = parents.pop()  # the container that is being filled
    in_map = type(node) is dict
    pending = reading.pending
    key: Any = None
    while True:
        used = _next(handle, data, size, start)
        start = _CONTINUE
        if words[HEAD_NEW_NAMES] or words[HEAD_FORGET]:
            try:
                tape.learn(data)
            except ValueError:
                raise _Unnamed from None
        if used == 0:
            return REFUSED
        pooled = words[HEAD_POOL]
        pool = _unpack(tape.pool, pooled).decode("ascii") if pooled else ""
        last = used < 0
        if last:
            used = -used
        begin = 0  # of the next string in the pool
        i = HEAD_WORDS
        while i < used:
            if in_map:
                while i < used:
                    word = words[i]
                    i += 1
                    kind = word & 0xFF
                    number = (word >> 8) & 0xFFFF
                    if kind == END:
                        node = parents.pop()
                        if type(node) is list:
                            in_map = False
                            break
                        continue
                    if number < KEY_IS_KEY:
                        key = names[number]
                    elif number == KEY_PENDING:
                        key = pending
                    else:
                        pending = _scalar(reading, data, pool, begin, i - 1)
                        if kind == ASCII:
                            begin = word >> 24
                        elif kind in TWO_WORDS:
                            i += 1
                        continue
                    if kind == ASCII:
                        end = word >> 24
                        node[key] = pool[begin:end]
                        begin = end
                    elif kind == INT:
                        node[key] = word >> 24
                    elif kind == MAP:
                        parents.append(node)
                        outer = node
                        node = {}
                        outer[key] = node
                        outer = None
                    elif kind == ARRAY:
                        count = word >> 24
                        parents.append(node)
                        outer = node
                        node = newlist_hint(count if count < _HINT_MAX else _HINT_MAX)
                        outer[key] = node
                        outer = None
                        in_map = False
                        break
                    elif kind == FLOAT:
                        node[key] = doubles[i]
                        i += 1
                    elif kind == STR:
                        offset = words[i]
                        i += 1
                        node[key] = data[offset : offset + (word >> 24)].decode()
                    elif kind == INTS:
                        count = word >> 24
                        node[key] = _unpack(words + i, count)
                        i += count
                    elif kind == FLOATS:
                        count = word >> 24
                        node[key] = _unpack(doubles + i, count)
                        i += count
                    elif kind == NIL:
                        node[key] = None
                    elif kind == TRUE:
                        node[key] = True
                    elif kind == FALSE:
                        node[key] = False
                    elif kind == BIN:
                        offset = words[i]
                        i += 1
                        node[key] = data[offset : offset + (word >> 24)]
                    elif kind == WIDE:
                        node[key] = words[i]
                        i += 1
                    elif kind == EMPTY_ARRAY:
                        node[key] = []
                    elif kind == EMPTY_MAP:
                        node[key] = {}
                    elif kind in (OPEN_INTS, OPEN_FLOATS):
                        count = word >> 24
                        parents.append(node)
                        outer = node
                        node = _unpack((words if kind == OPEN_INTS else doubles) + i, count)
                        outer[key] = node
                        outer = None
                        i += count
                        in_map = False
                        break
                    else:
                        node[key] = _scalar(reading, data, pool, begin, i - 1)
                        i += 1
            else:
                while i < used:
                    word = words[i]
                    i += 1
                    kind = word & 0xFF
                    if kind == ASCII:
                        end = word >> 24
                        node.append(pool[begin:end])
                        begin = end
                    elif kind == INT:
                        node.append(word >> 24)
                    elif kind == END:
                        node = parents.pop()
                        if type(node) is dict:
                            in_map = True
                            break
                    elif kind == MAP:
                        parents.append(node)
                        outer = node
                        node = {}
                        outer.append(node)
                        outer = None
                        in_map = True
                        break
                    elif kind == ARRAY:
                        count = word >> 24
                        parents.append(node)
                        outer = node
                        node = newlist_hint(count if count < _HINT_MAX else _HINT_MAX)
                        outer.append(node)
                        outer = None
                    elif kind == FLOAT:
                        node.append(doubles[i])
                        i += 1
                    elif kind == STR:
                        offset = words[i]
                        i += 1
                        node.append(data[offset : offset + (word >> 24)].decode())
                    elif kind == INTS:
                        count = word >> 24
                        node.append(_unpack(words + i, count))
                        i += count
                    elif kind == FLOATS:
                        count = word >> 24
                        node.append(_unpack(doubles + i, count))
                        i += count
                    elif kind == NIL:
                        node.append(None)
                    elif kind == TRUE:
                        node.append(True)
                    elif kind == FALSE:
                        node.append(False)
                    elif kind == BIN:
                        offset = words[i]
                        i += 1
                        node.append(data[offset : offset + (word >> 24)])
                    elif kind == WIDE:
                        node.append(words[i])
                        i += 1
                    elif kind == EMPTY_ARRAY:
                        node.append([])
                    elif kind == EMPTY_MAP:
                        node.append({})
                    elif kind in (MORE_INTS, MORE_FLOATS):
                        count = word >> 24
                        node.extend(_unpack((words if kind == MORE_INTS else doubles) + i, count))
                        i += count
                    elif kind in (OPEN_INTS, OPEN_FLOATS):
                        count = word >> 24
                        parents.append(node)
                        outer = node
                        node = _unpack((words if kind == OPEN_INTS else doubles) + i, count)
                        outer.append(node)
                        outer = None
                        i += count
                    elif kind != MORE:
                        node.append(_scalar(reading, data, pool, begin, i - 1))
                        i += 1
        if last or words[HEAD_END] == size:
            parents.append(node)
            reading.pending = pending
            return COMPLETE if last else INCOMPLETE
